#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A long build on a terminal is one line with how far it is; errors are shown in full, and the status is make's. Elsewhere make's own
# lines are seen.
# run:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
command -v script >/dev/null || skip_all 'script (Debian: bsdutils) is not installed'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset V MAKEFLAGS MAKELEVEL

# Thirty files of C and thirty of CUDA; `make FAIL=N` fails at one of them.
cat >"$work/Makefile" <<'END_OF_MAKEFILE'
say = @printf '  %-5s %s\n' '$(1)' '$(2)'
FILES := $(shell seq 30)
all: $(FILES:%=c%) $(FILES:%=s%)
$(FILES:%=c%):
	$(call say,CC,some/file_$@.c)
	@[ '$@' != '$(FAIL)' ] || { echo 'file_$@.c: error: no such thing' >&2; exit 3; }
$(FILES:%=s%):
	$(call say,SIM,some/file_$@.cu)
END_OF_MAKEFILE

build() { # COMMAND-LINE: on a terminal
  TERM=xterm script -qec "stty cols 80; .ci/build/progress.sh parts make -s -C $work $1" /dev/null </dev/null | tr '\r' '\n'
  return "${PIPESTATUS[0]}"
}

said=$(build all)
result $? 'a build that succeeds' "$said"
grep -q '^parts: 1 %  *file_' <<<"$said" || grep -q '^parts: 0 %  *file_' <<<"$said"
result $? 'it begins near 0 %' "$(head -n 3 <<<"$said")"
# 30 of the 300 parts of the work are C: a CUDA file takes as long as nine of C.
grep -q 'parts: 10 %.*file_c30.c' <<<"$said"
result $? 'CUDA files weigh more than C files' "$(grep -a 'c30' <<<"$said")"
grep -q 'parts: 100 %.*file_s30.cu' <<<"$said"
result $? 'and ends at 100 %' "$(tail -n 3 <<<"$said")"
grep -q 'parts: done in ' <<<"$said"
result $? 'it says how long it took' "$(tail -n 1 <<<"$said")"
said=$(build 'FAIL=c7 all')
[ $? != 0 ] && grep -q 'file_c7.c: error: no such thing' <<<"$said" && ! grep -q 'done in' <<<"$said"
result $? 'a build that fails: the error, and the status' "$said"
said=$(.ci/build/progress.sh parts make -s -C "$work" all)
[ "$(grep -c '^  \(CC\|SIM\) ' <<<"$said")" = 60 ] && ! grep -q % <<<"$said"
result $? 'without a terminal: the lines of make' "$(head -n 3 <<<"$said")"
said=$(build 'c1 c2')
grep -q '^  CC    some/file_c1.c' <<<"$said"
result $? 'a short build, too' "$said"
finish
