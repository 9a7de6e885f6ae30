#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The catalogs of docs/translations: they compile, their formats fit the messages, ./ferry speaks their language and only where it is
# asked to, what programs read stays English, and translated lessons have the code and the outputs of the English ones.
# run:
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh

for program in msgfmt po4a-translate; do
  command -v $program >/dev/null || skip_all "$program is not installed"
done
work=$(mktemp -d "$PWD/build/translations-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset LC_ALL LC_MESSAGES LANG LANGUAGE

docs/translations/build.sh "$work/built" >"$work/out" 2>&1
result $? 'the catalogs compile' "$(tail -n 3 "$work/out")"
for po in docs/translations/*/messages.po; do
  name=$(basename "$(dirname "$po")")
  msgfmt --check -o /dev/null "$po" 2>"$work/out"
  result $? "$po: formats fit" "$(tail -n 3 "$work/out")"
  [ "$(msgunfmt "$work/built/$name/LC_MESSAGES/ferry.mo" | grep -A1 '^msgid "en"' | tail -n 1)" = "msgstr \"$name\"" ]
  result $? "$name: the catalog says its own code"
done
for page in "$work"/built/*/docs/*.md; do
  name=$(basename "$page")
  listings() { sed -n '/^```/,/^```/p' "$1" | grep -v '^ *$'; }
  [ "$(listings "$page")" = "$(listings "docs/$name")" ]
  result $? "${page#"$work"/built/}: same listings and outputs as in English"
  [ "$(grep -c '^#' "$page")" = "$(grep -c '^#' "docs/$name")" ]
  result $? "${page#"$work"/built/}: same number of headings"
done

# A catalog with a wrong format is refused: it would crash ./ferry.
mkdir -p "$work/bad"
sed 's/^msgstr "%s: se esperaba %s, se obtuvo %s"/msgstr "%d: se esperaba %s"/' docs/translations/es/messages.po >"$work/bad/messages.po"
! msgfmt --check-format -o /dev/null "$work/bad/messages.po" 2>/dev/null
result $? 'a translation with another format is an error'

# The program with these catalogs: a clone made of hard links, since ./ferry finds its folder by its own path.
mkdir -p "$work/root/build"
cp -al .clangd core docs exercises solutions tests "$work/root/"
for entry in build/*; do
  case $entry in
  build/translations* | build/book | build/venv | build/asan | build/tsan | build/clang | build/portable | build/stage*) ;;
  *) cp -al "$entry" "$work/root/build/" ;;
  esac
done
cp -a "$work/built" "$work/root/build/translations"
ferry() { (cd "$work" && FERRY_WORK="$work/work" "$work/root/build/ferry" "$@"); }
ferry start >/dev/null
says() { # NAME PATTERN COMMAND...
  local name=$1 pattern=$2
  "${@:3}" >"$work/out" 2>&1
  grep -q -- "$pattern" "$work/out"
  result $? "$name" "$(head -n 4 "$work/out" | tr '\n' '|')"
}
says 'English without a language' '^Next: ' ferry next
says 'LANGUAGE=es' '^Siguiente: ' env LANGUAGE=es bash -c "$(declare -f ferry); work=$work; ferry next"
says 'LANGUAGE=xx, which has no catalog' '^Next: ' env LANGUAGE=xx bash -c "$(declare -f ferry); work=$work; ferry next"
export LANGUAGE=es
says 'a lesson' '^1\. Por qué una GPU' ferry chapter 1 --read
says 'a section by its English anchor' '^En resumen' ferry chapter 1#in-short
says 'a lesson that is not translated' '^2\. ' ferry chapter 2 --read
says 'a hint' '¿Cuál es su índice' ferry hint 20.1
ferry run 20.1 --json "$work/verdict.json" >"$work/out" 2>&1
grep -q 'pruebas fallan: ' "$work/out"
result $? 'a verdict' "$(head -n 3 "$work/out" | tr '\n' '|')"
grep -q '"status": "fail"' "$work/verdict.json"
result $? 'what programs read stays English' "$(head -c 300 "$work/verdict.json")"
ferry list --json | python3 -c 'import json, sys; json.load(sys.stdin)' 2>"$work/out"
result $? 'list --json is JSON' "$(tail -n 1 "$work/out")"
finish
