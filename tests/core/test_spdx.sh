#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every source of the library, the program, the tests and the build names its license in its first line, by SPDX's short form.
#
# usage: tests/core/test_spdx.sh [--write]
#   --write  put the line where it is missing, after a script's first line
#
# Left out is what learners read and lessons quote (exercises/, solutions/, chapters/), and what tests only feed to the program,
# whose first line says what they expect and whose lines are counted.
# run check:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh

sources() {
  find Makefile core plots tests docs .ci -type f \( -name Makefile -o -name '*.mk' -o -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \
    -o -name '*.sh' -o -name '*.py' -o -name '*.awk' \) \
    -not -path '*/__pycache__/*' -not -path 'docs/*/*.c*' \
    -not -path '*/hidden/*/right_*' -not -path '*/hidden/*/wrong_*' -not -path 'tests/hidden/*/refused_*' \
    -not -path '*/hidden/*/answer.h' -not -path 'tests/grader/attacks/*' -not -path 'tests/grader/broken/*' \
    -not -path 'tests/*/programs/*' -not -path 'tests/programs/*.c*' -not -path 'tests/*/kernels/*' | LC_ALL=C sort
}

license_of() { # FILE: its line, in its language's comment
  case $1 in
  *.c | *.h | *.cu | *.cuh) echo '// SPDX-License-Identifier: MIT' ;;
  *) echo '# SPDX-License-Identifier: MIT' ;;
  esac
}

has_license() { # FILE: in the first line, or the second after #!
  local first second
  { read -r first && read -r second; } <"$1"
  [ "$first" = "$(license_of "$1")" ] || { [[ $first == '#!'* ]] && [ "$second" = "$(license_of "$1")" ]; }
}

missing=()
while IFS= read -r file; do
  has_license "$file" || missing+=("$file")
done < <(sources)

if [ "${1:-}" = --write ]; then
  for file in ${missing[@]+"${missing[@]}"}; do
    if [[ $(head -n 1 "$file") == '#!'* ]]; then at=1; else at=0; fi
    { head -n $at "$file" && license_of "$file" && tail -n +$((at + 1)) "$file"; } >"$file.new" &&
      cat "$file.new" >"$file" && rm "$file.new" || exit
  done
  echo "${#missing[@]} files have it now"
  exit
fi

[ "$(sources | wc -l)" -gt 500 ]
result $? 'there are sources' "only $(sources | wc -l)"
[ ${#missing[@]} = 0 ]
result $? 'every source names its license' "tests/core/test_spdx.sh --write adds it to ${#missing[@]}: ${missing[*]:0:8}"
finish
