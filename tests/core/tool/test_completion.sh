#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What bash, zsh and fish offer for ./ferry, asked of each shell itself.
# run check: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# shellcheck source=tests/grader/common.sh
. tests/grader/common.sh
mkdir -p "$work/here"
ln -s "$ferry" "$work/here/ferry"
touch "$work/here/kernel.cu"
files=$PWD/core/tool
export TERM=dumb XDG_DATA_HOME=$work/data

in_bash() { # WORD...: the last may be a beginning
  (cd "$work/here" && bash --norc -c '
    source "$1"; shift
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _ferry
    printf "%s\n" "${COMPREPLY[@]}"' bash "$files/ferry.bash-completion" "$@")
}
in_fish() {
  (cd "$work/here" && HOME=$work fish --no-config -c 'source $argv[1]; complete -C "$argv[2]"' \
    "$files/ferry.fish-completion" "$*")
}
# zsh completes at a terminal alone, so it gets one of its own, asks what it is given to complete, and says what it would list.
in_zsh() {
  (cd "$work/here" && HOME=$work zsh -f -c '
    zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell "PS1=; autoload -U compinit; compinit -u -d $HOME/dump; source $1"
    zpty -w shell "LISTMAX=1000; echo rea\"\"dy"
    zpty -r shell line "*ready*"
    zpty -w -n shell "$2"$'"'\t\t'"'
    for ((i = 0; i < 100; i++)) do # until it has come, or 10 seconds
      while zpty -r -t shell line; do all+=$line; done
      [[ $all == *$3* ]] && break
      sleep 0.1
    done
    print -r -- "$all"
    zpty -d shell' zsh "$files/ferry.zsh-completion" "$*" "$expected" | tr '\r' '\n' | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g')
}

offers() { # SHELL WHAT WORDS...
  local shell=$1 what=$2 expected=$2 output
  shift 2
  output=$("in_$shell" "$@" 2>&1)
  grep -qE -- "(^|[[:space:]])$what([[:space:]]|$)" <<<"$output"
  result $? "$shell offers $what after: $*" "offered: $(head -c 300 <<<"$output" | tr '\n' ' ')"
}

for shell in bash fish zsh; do
  if ! command -v "$shell" >/dev/null 2>&1; then
    skip "what $shell offers" "$shell is not installed"
    continue
  fi
  offers "$shell" inspect ./ferry in
  offers "$shell" 20_1_saxpy ./ferry run 20_1
  offers "$shell" --replay ./ferry run --re
  offers "$shell" --table ./ferry inspect --ta
  offers "$shell" --gradescope ./ferry grade --gr
  offers "$shell" kernel.cu ./ferry cuda ker
  offers "$shell" watch ./ferry help wa
  offers "$shell" step ./ferry st
  offers "$shell" --limit ./ferry step --li
  offers "$shell" kernel.cu ./ferry step ker
  offers "$shell" divergent ./ferry step kernel.cu --at di
done

# One source of options: what the help names is what a mistyped one is compared with.
says 'a near option is named: grade' 2 'there is no option --jnuit. Did you mean --junit?' "$ferry" grade --jnuit x
says 'inspect' 2 'Did you mean --table?' "$ferry" inspect --tabel
says 'step' 2 'Did you mean --block?' "$ferry" step --blok 3
says 'scale' 2 'Did you mean --per-node?' "$ferry" scale --pernode 8
says 'launch' 2 'Did you mean --plain?' "$ferry" launch --plian -n 2 true
says 'run' 2 'Did you mean --replay?' "$ferry" run --repaly 1
finish
