#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry inspect on kernels with one fault each, on right ones that look faulty, and on ones whose counts are known by hand.
# What each has to give stands in the kernels' files.
# timeout: 900
# run:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (a sanitized build has none)"
kernels=tests/core/inspect/kernels
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

field() { # NAME: of the JSON lines on stdin, one value a line, "-" where there is none
  awk -v key="\"$1\": " '{ at = index($0, key); rest = at ? substr($0, at + length(key)) : "-"
    if (rest ~ /^"/) { rest = substr(rest, 2); sub(/".*/, "", rest) } else sub(/[,}].*/, "", rest)
    print rest }'
}

inspect() { # FILE [ARGUMENTS]: its JSON lines in $work/json, its status in $status
  "$ferry" inspect "$kernels/$1.cu" --json "$work/json" "${@:2}" >"$work/out" 2>"$work/err"
  status=$?
}

# ---- findings ----

# "kind kernel line other": the lines that `//@name` names in place of names, in one order
expected() { # FILE
  awk 'match($0, /\/\/@[a-z0-9]+/) { line[substr($0, RSTART + 3, RLENGTH - 3)] = NR }
    /^\/\/ expect / { told[++n] = $0 }
    END { for (i = 1; i <= n; i++) { split(told[i], w, " "); a = line[w[5]]; b = w[6] == "" ? "-" : line[w[6]]
      if (b != "-" && b < a) { c = a; a = b; b = c }
      print w[3], w[4], a, b } }' "$1" | sort
}
found() {
  grep -E '"type": "(finding|note)"' "$work/json" >"$work/found"
  paste -d ' ' <(field kind <"$work/found") <(field kernel <"$work/found") <(field line <"$work/found") \
    <(field other_line <"$work/found") | awk '{ if ($4 != "-" && $4 + 0 < $3 + 0) print $1, $2, $4, $3; else print }' | sort
}

inspect wrong
result "$((status != 1))" 'a file with faults ends with status 1' "status $status: $(tail -n 3 "$work/err")"
difference=$(diff <(expected "$kernels/wrong.cu") <(found))
result $? 'each fault is found, of its kind and at its lines, and nothing else' \
  "expected (<), found (>): $(grep '^[<>]' <<<"$difference" | tr '\n' ' ')"
long=$(awk 'length($0) > 80' "$work/out" | head -n 1)
[ -z "$long" ]
result $? 'the report keeps to 80 columns' "$long"

# ---- dynamic shared memory, wherever the system puts it: several times, since that is chance ----
wrong=''
for _ in 1 2 3 4 5 6; do
  FERRY_SIM_GPU=a100 inspect dynamic --blocks 8 --no-registers
  [ "$status" = 0 ] && [ -z "$(found)" ] || wrong="status $status: $(found | tr '\n' ' ')"
done
[ -z "$wrong" ]
result $? 'no thread takes dynamic shared memory for its own stack' "$wrong"

# ---- kernels of an included file ----
at() { # NAME FILE: the line that is marked so
  grep -n "//@$1" "$kernels/$2" | cut -d : -f 1
}
inspect included
found=$(grep '"type": "finding"' "$work/json" | sed -E 's/.*"kernel": "([a-z]+)", "file": "([a-z.]+)", "line": ([0-9]+).*/\1 \2 \3/' | sort)
expected=$(printf 'fill included.cuh %s\nuse included.cu %s' "$(at beyond included.cuh)" "$(at call included.cu)")
[ "$found" = "$expected" ]
result $? 'an access has the line of its kernel, not of the launch, also in an included file' "$(tr '\n' ' ' <<<"$found")"

# ---- deprecated keys: written for one release, beside those that replace them ----
inspect counts
: >"$work/differ"
for pair in looked:instrumented_blocks lanes:active_lanes passes_load:wavefronts_load passes_store_ideal:wavefronts_store_ideal \
  requests_passes_load:requests_wavefronts_load lanes_at_one_address_passes:lanes_at_one_address_wavefronts; do
  field "${pair#*:}" <"$work/json" >"$work/new"
  grep -qv '^-$' "$work/new" && field "${pair%:*}" <"$work/json" | cmp -s - "$work/new" || echo "$pair" >>"$work/differ"
done
[ ! -s "$work/differ" ]
result $? 'each deprecated JSON key has the value of the key that replaces it' "$(tr '\n' ' ' <"$work/differ")"

inspect right
result "$status" 'right kernels end with status 0' "$(head -n 5 "$work/out" | tr '\n' ' ')"
[ -z "$(found)" ]
result $? 'right kernels have no finding' "$(found | tr '\n' ' ')"
for mode in threads lazy sync; do
  FERRY_SIM_MODE=$mode FERRY_SIM_THREADS=4 inspect right
  [ "$status" = 0 ] && [ -z "$(found)" ]
  result $? "nor in the mode $mode with four workers" "status $status: $(found | tr '\n' ' ')"
done

# ---- lanes of a warp ----

inspect warps_wrong
difference=$(diff <(expected "$kernels/warps_wrong.cu") <(found))
result $? 'a meeting orders its lanes, and what they know of others, and nothing else' \
  "expected (<), found (>): $(grep '^[<>]' <<<"$difference" | tr '\n' ' ') $(tail -n 3 "$work/err")"
inspect warps_right
[ "$status" = 0 ] && [ -z "$(found)" ]
result $? 'nor is anything found where meetings order lanes by way of others, or after 65536 of them' \
  "status $status: $(found | tr '\n' ' ')"

# ---- volatile words, atomics and locks ----

inspect strong_wrong
difference=$(diff <(expected "$kernels/strong_wrong.cu") <(found))
result $? 'volatile words, atomics and locks that do not order what they should' \
  "expected (<), found (>): $(grep '^[<>]' <<<"$difference" | tr '\n' ' ') $(tail -n 3 "$work/err")"
grep -q 'use __threadfence()' "$work/json" && grep -q 'took a lock with atomicCAS' "$work/json"
result $? 'and which fence is missing' "$(grep narrow_fence "$work/json")"
inspect strong_right
[ "$status" = 0 ] && [ -z "$(found)" ]
result $? 'nor is anything found where flags are polled, written again after they were seen, or set by all' \
  "status $status: $(found | tr '\n' ' ') $(tail -n 3 "$work/err")"

inspect many_blocks
difference=$(diff <(expected "$kernels/many_blocks.cu") <(found))
result $? 'a race is found after 2^32 blocks' \
  "expected (<), found (>): $(grep '^[<>]' <<<"$difference" | tr '\n' ' ') $(tail -n 3 "$work/err")"

# ---- names of kernels ----

kernels_found() { # "name, as launched: launches" of each
  grep '"type": "kernel"' "$work/json" >"$work/found"
  paste -d '|' <(field kernel <"$work/found") <(field launch <"$work/found") <(field launches <"$work/found")
}
inspect names
difference=$(diff <(kernels_found) - <<'END'
fill(float*)|fill|1
fill(int*)|fill|1
twice(float*)|twice|1
twice(int*)|twice|1
times<2>(float*)|times<N>|1
times<3>(float*)|times<N>|1
plus_one|-|2
END
)
result $? 'overloads and instances of a template are kernels of their own' "$(tr '\n' ' ' <<<"$difference") $(tail -n 3 "$work/err")"
inspect tab
[ "$status" = 0 ] && [ "$(kernels_found)" = 'put<3, float>|-|1' ]
result $? "a tab in a launch's name" "status $status: $(kernels_found) $(tail -n 3 "$work/err")"

# As glibc has a locale's numbers: six fields by offset, of which the first is the decimal point, and the fourth that as a wide character.
mkdir "$work/comma"
printf '%b' '\x14\x11\x03\x20\x06\0\0\0\x20\0\0\0\x22\0\0\0\x23\0\0\0\x24\0\0\0\x28\0\0\0\x2c\0\0\0,\0\0\0,\0\0\0\0\0\0\0\0\0\0\0' >"$work/comma/LC_NUMERIC"
inspect names --gpu t4
times=$(grep '"type": "kernel"' "$work/json" | field modeled_us)
LOCPATH=$work inspect names --gpu t4
if grep -q 'with a comma: 0,5' "$work/out"; then
  [ "$times" = "$(grep '"type": "kernel"' "$work/json" | field modeled_us)" ] && ! grep -qx '0\|-' <<<"$times"
  result $? 'the times of a program that has a decimal comma' "$(tr '\n' ' ' <<<"$times"), with a comma: $(field modeled_us <"$work/json" | tr '\n' ' ')"
else
  skip 'the times of a program that has a decimal comma' 'this C library takes no locale from LOCPATH'
fi

# A handler that waits for the lock would wait for ever.
timeout 60 "$ferry" inspect "$kernels/damaged.cu" --no-registers >"$work/out" 2>&1
grep -q 'left no record (status 139)' "$work/out"
result $? 'a program that faults within the inspector ends by its fault' "$(tail -n 3 "$work/out")"

# ---- streams ----

# Which of two kernels in two streams runs first hangs on the mode; that nothing orders them does not.
without_kernels() {
  cut -d ' ' -f 1,3,4 | sort
}
for mode in lazy threads sync; do
  FERRY_SIM_MODE=$mode FERRY_SIM_THREADS=4 inspect streams_wrong
  difference=$(diff <(expected "$kernels/streams_wrong.cu" | without_kernels) <(found | without_kernels))
  result $? "each race between streams is found in the mode $mode, and nothing else" \
    "expected (<), found (>): $(grep '^[<>]' <<<"$difference" | tr '\n' ' ') $(tail -n 3 "$work/err")"
  FERRY_SIM_MODE=$mode FERRY_SIM_THREADS=4 inspect streams_right
  [ "$status" = 0 ] && [ -z "$(found)" ]
  result $? "and none in streams that are ordered" "status $status: $(found | tr '\n' ' ')"
done

# ---- counts ----

inspect counts
result "$status" 'the kernels whose counts are known have no finding' "$(head -n 5 "$work/out" | tr '\n' ' ')"
grep '"type": "line"' "$work/json" >"$work/lines"
cp "$work/lines" "$work/all"
while read -r _ _ kernel name what want; do
  line=$(grep -n "//@$name\$" "$kernels/counts.cu" | cut -d : -f 1)
  got=$(grep -F "\"kernel\": \"$kernel\"" "$work/lines" | grep -F "\"line\": $line," | field "$what")
  [ "$got" = "$want" ]
  result $? "$kernel, line $line: $what is $want" "it is ${got:-not there}"
done < <(grep '^// count ' "$kernels/counts.cu")

FERRY_SIM_MODE=threads FERRY_SIM_THREADS=4 inspect counts
difference=$(diff "$work/all" <(grep '"type": "line"' "$work/json"))
result $? 'the counts are the same with four workers' "$difference"

# ---- the command ----

inspect counts --kernel naive --blocks 2
grep -q '2 of 4 blocks instrumented' "$work/out" && ! grep -q '"kernel": "copy"' "$work/json"
result $? '--kernel and --blocks leave out the rest, and the report says so' "$(head -n 8 "$work/out" | tr '\n' ' ')"
inspect counts --once
difference=$(diff "$work/all" <(grep '"type": "line"' "$work/json"))
result $? '--once counts the same in half of the runs' "$difference"
says 'a kernel that is not there' 2 'no kernel nothing was launched' "$ferry" inspect "$kernels/counts.cu" --kernel nothing
says 'a file that is not there' 2 'cannot be read' "$ferry" inspect "$work/none.cu"
says 'a number that is none' 2 '--blocks takes a number' "$ferry" inspect "$kernels/counts.cu" --blocks few
says 'no file' 2 'no file given' "$ferry" inspect
echo '__global__ void k(int *x) { *x = 1; }' >"$work/half.cu"
says 'a file without main' 2 'has no main' "$ferry" inspect "$work/half.cu"
echo 'int main(void) { return nothing; }' >"$work/bad.cu"
says 'a file that does not compile' 3 'the compilation failed' "$ferry" inspect "$work/bad.cu"
printf '#include <cstdlib>\nint main() { abort(); }\n' >"$work/abort.cu"
says 'a program that aborts' 3 'left no record' "$ferry" inspect "$work/abort.cu"
"$ferry" inspect tests/core/inspect/kernels/apart.cu --with tests/core/inspect/kernels/apart_kernel.cu --json "$work/apart" >"$work/out" 2>&1
grep -q '"kind": "bounds-global".*"kernel": "doubled", "file": "apart_kernel.cu", "line": 7' "$work/apart"
result $? 'a kernel that is launched in one file and defined in another' "$(head -n 5 "$work/out")"

inspect casts
grep -qx '0 + 2 is 2' "$work/out"
result $? 'what a cast pointer writes is read anew, as nvcc has it' "$(head -n 2 "$work/out")"

# ---- uninstrumented blocks ----

written=$(grep -n '//@written$' "$kernels/dual_version.cu" | cut -d : -f 1)
read=$(grep -n '//@read$' "$kernels/dual_version.cu" | cut -d : -f 1)
for nvcc in '' --nvcc; do
  inspect dual_version --blocks 2 $nvcc
  grep -qx '1 constructed, 24 blocks counted, 1472 and 1472 each, 1519104 in all; 6 ran the plain copy' "$work/out"
  result $? "uninstrumented blocks run a plain version, which shares the program's variables${nvcc:+ (--nvcc)}" \
    "$(head -n 1 "$work/out") $(head -n 3 "$work/err")"
  grep -qx '8 blocks agree' "$work/out"
  result $? "instrumented blocks and others compute the same bits${nvcc:+ (--nvcc)}" "$(grep agree "$work/out")"
  grep '"kind": "race-block"' "$work/json" | grep -q "\"line\": $written, .*\"other_line\": $read," &&
    grep -q '2 of 8 blocks instrumented' "$work/out"
  result $? "the others are instrumented${nvcc:+ (--nvcc)}" "$(grep race "$work/json")"
done
# Only the instrumented version calls libgcc's __popcountdi2 here: the other's flags let the compiler use an instruction for it.
"$ferry" inspect chapters/26_scan.cu --kernel keep_by_warps --blocks 8 >"$work/out" 2>"$work/err"
result $? 'a library function that only the instrumented version calls is linked' "$(head -n 3 "$work/err") $(grep -A 2 findings "$work/out")"
finish
