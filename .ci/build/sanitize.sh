#!/bin/sh
# SPDX-License-Identifier: MIT
# sanitize.sh address|thread COMMAND...: runs the tests with the sanitizers' settings for Ferry.
set -eu
kind=$1
shift
here=$(cd "$(dirname "$0")" && pwd)

# The simulator switches stacks (fibers) and handles SIGSEGV itself.
asan=detect_leaks=1:allow_user_segv_handler=1:use_sigaltstack=0:detect_stack_use_after_return=0
export ASAN_OPTIONS="$asan${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
export LSAN_OPTIONS="suppressions=$here/lsan.supp:print_suppressions=0${LSAN_OPTIONS:+:$LSAN_OPTIONS}"
export TSAN_OPTIONS="suppressions=$here/tsan.supp:second_deadlock_stack=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}"

export TEST_TIMEOUT="${TEST_TIMEOUT:-900}"
if [ "$kind" = thread ]; then
  export OMP_NUM_THREADS=1 # oneDNN's own OpenMP threads synchronize out of the sanitizer's sight
fi
exec "$@"
