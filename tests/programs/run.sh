#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds and runs CUDA programs that others wrote on the simulated device, and tells how each ended. It fetches nothing: the
# checkouts are named by their paths, and nothing is written into them. `tests/programs/run.sh --help` says more.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)

usage() {
  cat <<'END'
usage: tests/programs/run.sh [--samples DIR] [--hecbench DIR] [--llmc DIR] [options] [PATTERN]
  --samples DIR   NVIDIA's cuda-samples: all that need no graphics, driver API, run-time compilation or further library
  --hecbench DIR  HeCBench: --count programs of src/*-cuda (140), drawn by --seed (42)
  --llmc DIR      llm.c: dev/cuda
  --even          draw them by md5sum of seed and name: without it, names at the alphabet's beginning are drawn more often
  PATTERN         only the programs whose name matches this extended regular expression
  --compile-only  do not run them
  --O0            compile faster
  --once          HeCBench: let the last argument, mostly a number of repetitions, be 1
  --reduced FILE  smaller programs: other arguments and numbers in the sources (reduced.txt says how); only those named there.
                  llm.c's programs then run once for each number of a kernel that they have
  --limit S       processor seconds to run, of all threads together (60); five times as long by the clock
  --compiling S   seconds to compile (120), by the clock
  --jobs N        programs at a time (1)
  --ferry FILE    another ferry than ./ferry, an installed one
  --logs DIR      keep what each printed (default: a temporary folder, removed)
  --table FILE    the results as a table in Markdown; programs that are in it and did not run now keep their rows
The table's seconds are processor time, user's and system's, to compile and to run: they depend little on what else the machine does.
A program ends well when it exits with 0, has not said that a check failed, and the simulator has found nothing. Of one that was ended
at its limit the table says when it had told that its checks passed before (its benchmark was going on), or that one failed.
END
}

samples='' hecbench='' llmc='' count=140 seed=42 pattern=. limit=60 jobs=1 logs='' table='' run=1 optimize='' ferry=$root/build/ferry compiling=120 once='' reduced='' even=''
while [ $# -gt 0 ]; do
  case $1 in
  --samples | --hecbench | --llmc | --count | --seed | --limit | --jobs | --logs | --table | --ferry | --compiling | --reduced)
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    printf -v "${1#--}" %s "$2"
    shift
    ;;
  --compile-only) run= ;;
  --once) once=1 ;;
  --even) even=1 ;;
  --O0) optimize=-O0 ;;
  --help | -h) usage && exit 0 ;;
  -*) usage >&2 && exit 2 ;;
  *) pattern=$1 ;;
  esac
  shift
done
[ -n "$samples$hecbench$llmc" ] || { usage >&2 && exit 2; }
[ -x "$ferry" ] || { echo "tests/programs/run.sh: build ./ferry first: make" >&2 && exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -n "$logs" ] || logs=$work/logs
mkdir -p "$logs" "$work/src"
export FERRY_SIM_MEMORY_MB=${FERRY_SIM_MEMORY_MB:-8192} # a small GPU's
# The compiler's own folders without /usr/local/include, where a toolkit's headers may be linked to.
folders=$(g++ -E -v -x c++ /dev/null 2>&1 | sed -n 's@^ \(/[^ ]*\)$@\1@p' | grep -v '^/usr/local/include' | sed 's/^/-isystem /' | tr '\n' ' ')
printf '#!/bin/sh\nexec "%s" nvcc "$@" %s -Xcompiler -nostdinc %s\n' "$ferry" "$optimize" "$folders" >"$work/nvcc"
chmod +x "$work/nvcc"
if [ -n "$reduced" ]; then
  reduced=$(realpath -e "$reduced") || exit 2
fi
export work logs limit compiling once run samples hecbench llmc reduced

# What --reduced says of a program: its arguments (:), or a command of sed (!).
changes() { # : or !, COLLECTION/NAME
  [ -n "$reduced" ] || return 0
  awk -v key="$2$1" -v all="${2%%/*}/*$1" '
    index($0, key) == 1 { print substr($0, length(key) + 2); exit }
    index($0, all) == 1 { print substr($0, length(all) + 2); exit }' "$reduced"
}
edit() { # COLLECTION/NAME: the sources in this folder
  local command
  command=$(changes ! "$1")
  [ -z "$command" ] || find . -type f \( -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.h' \) -exec sed -i "$command" {} +
}
export -f changes edit

# ---- the list: collection, name, folder ------------------------------------------------------------------------------

list_samples() {
  find "$samples/Samples" \( -name '*.cu' -o -name '*.cpp' \) -printf '%h\n' | sed 's@/src$@@' | sort -u |
    grep -vE '/[78]_|/cmake/|nvrtc|Drv|GL|EGL|NPP|D3D|Vulkan|vulkan|nvJPEG|NvSci|Nvsci|cuSolver|jitLto|JIT|MMAP|memMap|ptxjit|MPI|cuDLA|IPC' |
    while IFS= read -r dir; do
      grep -qliE 'GL/|helper_gl|rendercheck_gl|nvrtc|freeimage' "$dir"/*.cu "$dir"/*.cpp "$dir"/*.h 2>/dev/null ||
        echo "samples $(basename "$dir") $dir"
    done
}
drawn() { # --count of the lines
  if [ -n "$even" ]; then
    while IFS= read -r dir; do echo "$(echo "$seed $(basename "$dir")" | md5sum | cut -c 1-16) $dir"; done | sort | cut -d ' ' -f 2 | head -n "$count"
  else
    shuf --random-source=<(yes "$seed") -n "$count"
  fi
}
list_hecbench() {
  find "$hecbench/src" -maxdepth 1 -name '*-cuda' | sort | drawn | sort |
    while IFS= read -r dir; do echo "HeCBench $(basename "$dir" -cuda) $dir"; done
}
list_llmc() {
  for file in "$llmc"/dev/cuda/*.cu; do echo "llm.c $(basename "$file" .cu) $file"; done
}

{
  [ -z "$samples" ] || list_samples
  [ -z "$hecbench" ] || list_hecbench
  [ -z "$llmc" ] || list_llmc
} | awk -v pattern="$pattern" '$2 ~ pattern' |
  while IFS= read -r line; do
    # shellcheck disable=SC2086
    set -- $line
    [ -n "$reduced" ] && [ -z "$(changes : "$1/$2")$(changes ! "$1/$2")" ] && ! grep -qxF "$1/$2:" "$reduced" || echo "$line"
  done >"$work/list"

# ---- one program -----------------------------------------------------------------------------------------------------

# Compile in the current folder; the program is left as ./main or named in ./run.
build_samples() { # DIR NAME
  cp -R "$1/." . && chmod -R u+w .
  edit "samples/$2"
  local sources
  sources=$(sed 's/#.*//' CMakeLists.txt | tr '\n()' '   ' | grep -oE 'add_executable .*' | tr ' ' '\n' |
    sed '/^target_\|^set_/,$d' | grep -E '\.(cu|cpp|c)$' | sort -u)
  # shellcheck disable=SC2086
  timeout "$compiling" "$work/nvcc" -O2 -I. -Iinc -I"$samples/Common" ${sources:-*.cu} -o main -lpthread
}
build_hecbench() {
  mkdir -p ../src
  ln -sfn "$hecbench"/src/* ../src/
  rm -f "../src/$(basename "$1")"
  cp -R "$1" ../src/ && chmod -R u+w "../src/$(basename "$1")"
  cd "../src/$(basename "$1")" || return
  edit "HeCBench/$2"
  timeout "$compiling" make CC="$work/nvcc" NVCC="$work/nvcc" ARCH=sm_90
}
build_llmc() {
  cp "$1" "$(dirname "$1")"/*.h . && chmod -R u+w .
  edit "llm.c/$2"
  timeout "$compiling" "$work/nvcc" -O2 "$2.cu" -o main -lcublas -lcublasLt
}
export -f build_samples build_hecbench build_llmc

# What `make run` would do. With --once, the last number of each program's arguments, which mostly says how often it repeats, is 1.
hecbench_command() { # NAME
  if [ -n "$reduced" ] && grep -qE "^HeCBench/$1:" "$reduced"; then
    local program
    program=$(make -n run CC="$work/nvcc" NVCC="$work/nvcc" ARCH=sm_90 | grep -oE '(^|[[:space:]])\./[^ ]+' | head -n 1)
    echo "$program $(changes : "HeCBench/$1")"
    return
  fi
  make -n run CC="$work/nvcc" NVCC="$work/nvcc" ARCH=sm_90 |
    if [ -n "$once" ]; then sed -E 's/^(.*\.\/[^ ]+.*[[:space:]])[0-9]+[[:space:]]*$/\11/'; else cat; fi
}
# With --reduced, each kernel that the program has a number for.
llmc_command() { # NAME
  local kernels
  kernels=$(grep -oE '^ *case [0-9]+:' "$1.cu" | grep -oE '[0-9]+' | sort -nu | tr '\n' ' ')
  cat <<END
for kernel in ${kernels:-1}; do
  echo "kernel \$kernel"
  ./main \$kernel | tee said
  status=\${PIPESTATUS[0]}
  [ \$status = 0 ] || grep -q -e 'Invalid kernel number' -e 'only supported for' said || exit \$status
done
END
}
# What a program has printed is in its log by lines, even where it is ended.
start() { # COLLECTION NAME
  ulimit -S -t "$limit" # ends a program by SIGXCPU; one that only waits is ended by the clock
  case $1 in
  HeCBench) timeout $((5 * limit + 30)) stdbuf -oL bash -c "$(hecbench_command "$2")" ;;
  *)
    if [ -n "$reduced" ] && [ "$1" = llm.c ]; then
      timeout $((5 * limit + 30)) stdbuf -oL bash -c "$(llmc_command "$2")"
    else
      # shellcheck disable=SC2046
      timeout $((5 * limit + 30)) stdbuf -oL ./main $(changes : "$1/$2")
    fi
    ;;
  esac
}
# Runs a command, its output in LOG, and adds the processor time that it took to LOG.seconds.
timed() { # LOG COMMAND...
  local log=$1 TIMEFORMAT='%U %S'
  shift
  { time "$@" >"$log" 2>&1; } 2>"$log.seconds"
}
seconds() { # LOG
  tail -n 1 "$1.seconds" 2>/dev/null | awk '{ printf "%.1f", $1 + $2 }'
}

one() { # COLLECTION NAME DIR
  local log=$logs/$1-$2 status=0 ended
  mkdir -p "$work/$1-$2/here" && cd "$work/$1-$2/here" || return
  local build=build_${1,,}
  rm -f "$log".*
  timed "$log.build" inner "${build//./}" "$3" "$2" || status=$?
  if [ $status = 124 ]; then
    ended='compiling takes too long'
  elif [ $status != 0 ]; then
    ended="does not compile: $(grep -m 1 -E 'error:|undefined reference|cu2cpp|\*\*\*' "$log.build" | sed 's@^/[^ ]*/@@' | cut -c 1-150)"
  elif [ -z "$run" ]; then
    ended=compiles
  else
    [ "$1" = HeCBench ] && cd "../src/$2-cuda"
    timed "$log.run" inner start "$1" "$2" || status=$?
    ended=$(judge $status "$log.run")
  fi
  echo "$1|$2|$(seconds "$log.build")|$(seconds "$log.run")|$ended"
  rm -rf "${work:?}/$1-$2"
}

# A check that compares by `>` lets NaN pass, which is what memory that nobody has written is full of here.
judge() { # STATUS LOG
  local ended
  ended=$(judge_status "$1" "$2")
  case $ended in
  passes* | checks* | runs*) ! grep -qiwE -- '-?nan' "$2" || ended="$ended; prints nan" ;;
  esac
  echo "$ended"
}
judge_status() { # STATUS LOG
  local fails='\bFAIL(ED)?\b|Test failed|Mismatch' passes='\bpass(ed)?\b|success|\bOK\b|results match'
  if [ "$1" = 152 ] || [ "$1" = 124 ]; then
    if grep -qE "$fails" "$2"; then
      echo "its check fails: $(grep -m 1 -E "$fails" "$2" | cut -c 1-100)"
    elif grep -qiE "$passes" "$2"; then
      echo "checks passed, then not done after $limit s"
    else
      echo "not done after $limit s"
    fi
  elif grep -E '^cudasim: ' "$2" | grep -qv '^cudasim: warning'; then
    echo "stopped: $(grep -E '^cudasim: ' "$2" | grep -m 1 -v '^cudasim: warning' | cut -c 1-120)"
  elif [ "$1" != 0 ] && grep -qiE 'no such file|cannot open|unable to open|failed to open|could not open|Error opening|file. failed|Failed to recognize|cannot be opened|could not find|bad file|file not found' "$2"; then
    echo 'no data'
  elif [ "$1" != 0 ]; then
    echo "ends with status $1: $(grep -m 1 -iE 'error|fail' "$2" | cut -c 1-100)"
  elif grep -qE "$fails" "$2"; then
    echo "its check fails: $(grep -m 1 -E "$fails" "$2" | cut -c 1-100)"
  elif grep -qiE "$passes" "$2"; then
    echo 'passes its check'
  else
    echo 'runs, has no check'
  fi
}
inner() { ("$@"); }
export -f one inner start timed seconds judge judge_status hecbench_command llmc_command

total=$(wc -l <"$work/list") n=0
: >"$work/results"
while IFS= read -r line; do
  n=$((n + 1))
  echo "$line" >>"$work/results"
  printf '[%d/%d] %s\n' "$n" "$total" "$line"
done < <(xargs -P "$jobs" -d '\n' -I{} bash -c 'set -- {}; one "$@"' <"$work/list")

sort "$work/results" | awk -F'|' '
  { group = $5; sub(/[:;].*/, "", group); count[$1, group]++; total[$1]++; names[$1]; groups[group] }
  END {
    print ""
    for (name in names) {
      printf "%s: %d programs\n", name, total[name]
      for (group in groups) if (count[name, group]) printf "  %4d  %s\n", count[name, group], group
    }
  }'
if [ -n "$table" ]; then
  touch "$table"
  {
    echo '| collection | program | s to compile | s to run | how it ended |'
    echo '|---|---|---|---|---|'
    {
      sort "$work/results" | awk -F'|' '{ rest = $5; for (i = 6; i <= NF; i++) rest = rest "\\|" $i
        printf "| %s | %s | %s | %s | %s |\n", $1, $2, $3, $4, rest }'
      grep -E '^\| (samples|HeCBench|llm\.c) ' "$table"
    } | awk -F'|' '!seen[$2, $3]++' | sort -f
  } >"$work/table" && cp "$work/table" "$table"
fi
