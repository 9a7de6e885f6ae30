#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# both_ways.sh [PATTERN]: runs the exercises' right answers that are kernels (solutions, tests/hidden/*/right_*.cu) with the grader's own
# inputs, each both on fibers and as the loops that cu2cpp --split makes of it, and compares what they compute (both_ways.c). Takes
# about ten minutes. Products and sums are not contracted: g++ would choose others in each version. A g++ of its own, first on PATH, compiles the answers as the library's kernels are.
set -u
cd "$(dirname "$0")/../.." || exit 1
pattern=${1:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/g++" <<END
#!/bin/bash
all=" \$* " new=()
case \$all in
*" -c answer.cpp "*)
  "$PWD/build/cu2cpp" --split [0-9]*.cu answer.cpp || exit 1
  while [ \$# -gt 0 ]; do
    case \$1 in
    -DCUDASIM_JUDGED | -fsanitize=alignment | -Og | -Wall | -Wextra) ;;
    -include) # the runtime's header is not the one that was compiled beforehand with other flags
      case \$2 in *judged.h) new+=(-include cuda_runtime.h) ;; *) new+=("\$1" "\$2") ;; esac
      shift
      ;;
    *) new+=("\$1") ;;
    esac
    shift
  done
  exec "$(command -v g++)" -w -O2 -march=native -ffp-contract=off -ftree-vectorize "\${new[@]}"
  ;;
*" -o program answer.o "*)
  gcc -O1 -D_GNU_SOURCE -I"$PWD/core" -I"$PWD/tests/grader" -c "$PWD/tests/programs/both_ways.c" -o both_ways.o || exit 1
  exec "$(command -v g++)" "\$@" -Wl,--wrap=main both_ways.o
  ;;
esac
exec "$(command -v g++)" "\$@"
END
chmod 755 "$work" "$work/g++"
failed=0
for file in solutions/*.cu tests/hidden/*/right_*.cu; do
  case $file in
  solutions/*) exercise=$(basename "$file" .cu) ;;
  *) exercise=$(basename "$(dirname "$file")") ;;
  esac
  grep -qE "$pattern" <<<"$file" || continue
  PATH=$work:$PATH ./ferry run --sandbox none --all --file "$file" "$exercise" >"$work/said" 2>&1
  if grep -qE 'BOTH WAYS DIFFER|compile error|grader error' "$work/said" || ! grep -q 'tests passed' "$work/said"; then
    echo "not ok $file"
    grep -m 1 -B 8 -E 'BOTH WAYS DIFFER|error' "$work/said" | sed 's/^/    /'
    failed=1
  else
    echo "ok $file: $(grep -m 1 'tests passed' "$work/said")"
  fi
done
exit $failed
