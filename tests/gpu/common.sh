# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the stages of the GPU check share. Sourced by them, in the project's folder. Environment, from check.sh: GPU_STAGE, GPU_OUT,
# GPU_DEADLINE (seconds since 1970), GPU_BUILD, GPU_MAKE, GPU_NAME, GPU_DRY ("yes" in a dry run).
set -u
work=$(mktemp -d)
# timeout signals a stage twice, itself and as a process group: the second TERM must not end what the first has begun.
trap 'trap "" TERM; kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
trap 'trap "" TERM; exit 143' TERM
cores=$(nproc)

# Whole seconds until the stage's time is over, less a second for writing its results.
left() {
  awk -v until="$GPU_DEADLINE" -v now="$EPOCHREALTIME" 'BEGIN { s = until - now - 1; printf "%d", s < 0 ? 0 : s }'
}

# One line is appended by one write, so that jobs side by side can report.
result() { # GROUP NAME STATUS SECONDS [WHY]
  printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$GPU_STAGE" "$1" "$2" "$3" "$4" "$(printf '%s' "${5:-}" | tr '\t\n' '  ' | cut -c 1-400)" \
    >>"$GPU_OUT/results.tsv"
}

since() { # TIME: seconds since then
  awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'
}

# Runs a command for at most SECONDS and at most until the stage's time is over. Sets status, time (seconds) and output (a file);
# status is "cut" where the time was over before the command ended.
limited() { # SECONDS COMMAND...
  local limit=$1 from=$EPOCHREALTIME remaining
  shift
  output=$(mktemp -p "$work") time=0 status=cut remaining=$(left)
  [ "$limit" -le "$remaining" ] || limit=$remaining
  [ "$limit" -ge 1 ] || return 0
  # In the background, so that the trap above stops it when this stage is stopped: timeout is in a process group of its own.
  CMOCKA_MESSAGE_OUTPUT=stdout timeout --kill-after=2 "$limit" "$@" >"$output" 2>&1 </dev/null &
  wait $!
  status=$?
  time=$(since "$from")
  case $status in 124 | 137) [ "$(left)" -gt 0 ] || status=cut ;; esac
}

# How the command ended, on the log; 0 unless it failed.
say_end() { # NAME
  printf '%s: %s, %s s\n' "$1" "$(case $status in 0) echo ok ;; cut) echo cut ;; *) echo "status $status" ;; esac)" "$time"
  case $status in
  0 | cut) return 0 ;;
  esac
  tail -n 30 "$output" | cut -c 1-200 | sed 's/^/  | /'
  return "$status"
}

# Runs one test program (cmocka or TAP) for at most SECONDS and reports each of its tests.
run_tests() { # GROUP SECONDS COMMAND...
  local group=$1 limit=$2 status output time crash=''
  shift
  limited "$@"
  case $status in
  cut) result "$group" '' cut "$time" 'the time was over' ;;
  124 | 137) crash="still running after $limit s" ;;
  *) [ "$status" -le 128 ] || crash="crashed (SIG$(kill -l $((status - 128))))" ;;
  esac
  awk -f .ci/build/parse-tests.awk -v status="$status" -v limit="$limit" -v crash="$crash" "$output" |
    while IFS=$'\t' read -r kind name why; do
      result "$group" "$name" "$kind" "$time" "$why"
    done
  say_end "$group"
}

# One command that is right when it ends with 0.
run_command() { # GROUP NAME SECONDS COMMAND...
  local group=$1 name=$2 limit=$3 status output time
  shift 2
  limited "$@"
  case $status in
  0) result "$group" "$name" passed "$time" ;;
  cut) result "$group" "$name" cut "$time" 'the time was over' ;;
  124 | 137) result "$group" "$name" failed "$time" "still running after $limit s" ;;
  *)
    result "$group" "$name" failed "$time" \
      "status $status: $(grep -m 1 -iE 'error|fail|differ|expected|not found' "$output" || tail -n 1 "$output")"
    ;;
  esac
  say_end "$group $name"
}

# The tool NAME (ncu, compute-sanitizer) in $tool; without it, the stage says that its part is skipped.
find_tool() { # NAME
  tool=$(command -v "$1" || ls "${CUDA_HOME:-/usr/local/cuda}/bin/$1" 2>/dev/null)
  [ -n "$tool" ] || result "$1" '' skipped 0 "$1 is not installed: it comes with the CUDA toolkit"
  [ -n "$tool" ]
}

# The entry of the model's table that is this GPU, in $model: the longest name there that this GPU's name begins with.
find_model() {
  model=$(FERRY_CUDA=sim FERRY_SIM_GPU=list "$GPU_BUILD/chapters/20_the_first_kernel" 2>&1 | awk -v name="$GPU_NAME" '
    { id = $1; sub(/^ *[^ ]+ +/, ""); sub(/ +[0-9]+ multiprocessors.*/, "") }
    index(name, $0) == 1 && length($0) > length(best) { best = $0; found = id }
    END { print found }')
  [ -n "$model" ]
}

# nvcc's build of a program where there is a GPU, the simulator's in a dry run.
ladders() {
  if [ -n "$GPU_DRY" ]; then echo "$GPU_BUILD/tests/gpu/ladders"; else echo build/cuda/tests/gpu/ladders; fi
}
