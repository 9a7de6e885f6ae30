#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry step: what it records of kernels with typical mistakes in them (step/cases.cu), of programs and of answers, and what it says
# where there is nothing to record.
# run:
# timeout: 900
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (a sanitized build has none)"
cases=tests/core/inspect/step/cases.cu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export NO_COLOR=1 COLUMNS=80

step() { # CASE [OPTIONS]: its record in $work/CASE.json, and what is said in $work/out
  name=$1
  "$ferry" step "$cases" --json "$work/$1.json" "${@:2}" -- "$1" >"$work/out" 2>&1
}
# The last record's findings, of one kind or all: step and thread, the other's, lanes, what.
findings() {
  python3 - "$work/$name.json" "${1:-}" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
line = {s["id"]: s["l"] for s in r["statements"]}
for f in r["findings"]:
    if f["k"].startswith(sys.argv[2]):
        at = lambda n: line.get(r["steps"][n]["s"], 0) if n >= 0 else -1
        print(f["k"], at(f["step"]), f["thread"], at(f["other_step"]), f["other"], "%x" % f["lanes"], "%x" % f["other_lanes"], f["text"])
END
}
line_of() { grep -nF "$1" "$cases" | head -1 | cut -d: -f1; }
finds() { # KIND PATTERN: the record has such a finding
  found=$(findings "$1")
  grep -qE -e "$2" <<<"$found"
  result $? "$name: $1" "$found $(cat "$work/out")"
}
# The masks of the steps that did the statement with this text, in order.
masks() {
  python3 - "$work/$name.json" "$(line_of "$1")" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
line = {s["id"]: s["l"] for s in r["statements"]}
print(" ".join("%x" % s["m"] for s in r["steps"] if s["k"] == "s" and line.get(s["s"]) == int(sys.argv[2])))
END
}

# ---- what a mistake looks like -------------------------------------------------------------------------------------------

step guard --block 3
finds bounds-global "bounds-global $(line_of 'out[i] = 2 * i') 232 -1 -1 100 0 thread 232 accesses out\[1000\], which has 1000 elements"

step no_barrier
finds race-block "race-block $(line_of 'piece[t] = in[t]') 32 $(line_of 'piece[THREADS - 1 - t]') 31 ffffffff ffffffff piece\[32\]: thread 31 reads, thread 32 writes"

step nested
[ -z "$(findings)" ] && [ "$(masks 'out[t] = sum')" = 'ffffdfff ffffffff' ]
result $? 'lanes meet again behind branches, loops and calls' "$(findings) $(masks 'out[t] = sum')"
[ "$(masks 'sum += i;')" = 'e0e0e0e e0e0e0e' ] || [ "$(masks 'sum += i;' | wc -w)" = 4 ]
result $? 'and part in them' "$(masks 'sum += i;')"

step columns
[ "$(masks 'tile[row][t] = in')" = "$(printf 'ffffffff %.0s' $(seq 32) | sed 's/ $//')" ]
result $? 'a template, a loop of 32 turns' "$(masks 'tile[row][t] = in')"
"$ferry" step "$cases" --at "line:$(line_of 'sum += tile[t][column]')" -- columns >"$work/out" 2>&1
grep -q '32 wavefronts (ideal 1)' "$work/out"
result $? 'a 32-way bank conflict' "$(cat "$work/out")"
"$ferry" step "$cases" --at "line:$(line_of 'sum += tile[t][column]')" -- padded >"$work/out" 2>&1
grep -q '1 wavefront (ideal 1)' "$work/out"
result $? 'and its padded twin' "$(cat "$work/out")"
"$ferry" step "$cases" --at "line:$(line_of 'in[8 * threadIdx.x]')" -- strided >"$work/out" 2>&1
grep -q '32 sectors (ideal 4)' "$work/out"
result $? 'a strided load' "$(cat "$work/out")"

step unset
finds uninitialized-shared "uninitialized-shared $(line_of 'if (best[t] > 1)') .* ffff0000 0 "
finds uninitialized-variable "uninitialized-variable $(line_of 'out[t] = most') 0 .*thread 0 reads most"

step shuffle
grep -q '"met":\[2147483647,' "$work/shuffle.json" && [ "$(masks '__shfl_down_sync')" = '7fffffff 7fffffff' ]
result $? 'a shuffle without a lane' "$(masks '__shfl_down_sync')"

step half_way
finds divergent "divergent 0 0 $(line_of 'out[threadIdx.x] = 1') 32|divergent .* thread 0 waits here, thread 32 at another barrier"
grep -q '"end":"deadlock"' "$work/half_way.json"
result $? 'a deadlock ends the record'

step aggregated
python3 - "$work/aggregated.json" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
added = [a for s in r["steps"] for a in s.get("a", []) if a[0] == "a"]
assert len(added) == 2 and all(bin(a[3]).count("1") == 1 for a in added), added
before = [a[6][0] for a in added]
after = [a[5][0] for a in added]
assert before[0] == 0 and before[1] == after[0] and after[1] == sum(i * 5 % 7 % 3 == 0 for i in range(64)), added
END
result $? 'one atomic for each warp, with the old value and the new'

step mixed
python3 - "$work/mixed.json" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
p = [i for i, v in enumerate(r["variables"]) if v[1] == "p"][0]
assert [m[0] for m in r["variables"][p][4]] == ["x", "y", "tags"], r["variables"][p]
values = {}
for s in r["steps"]:
    for variable, depth, mask, v in s.get("v", []):
        lanes = [l for l in range(32) if mask >> l & 1]
        if variable == p and s["w"] == 1:
            for i, lane in enumerate(lanes):
                values[lane] = v[0] if len(v) == 1 else v[i]
assert values[0] == [3 * 32 + 0.5 + (4 if 32 % 3 == 0 else 0), 6 * 32, [7, -32]], values[0]
assert values[1] == [3 * 33, 6 * 33, [33, 5 if 33 % 3 == 1 else 1]], values[1]
END
result $? 'a struct, arrays, a macro, a template, a switch'

step lock
python3 - "$work/lock.json" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["end"] == "complete" and len(r["steps"]) < 2000, len(r["steps"])
END
result $? 'threads that take a lock in turn' "$(tail -c 300 "$work/lock.json")"

step memories --block 0,0
python3 - "$work/memories.json" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
assert {a["name"] for a in r["arrays"]} >= {"dynamic", "calls", "out"}, r["arrays"]
assert [a for a in r["arrays"] if a["name"] == "dynamic"][0]["d"][0] == 64
END
result $? 'dynamic shared memory, and a variable of the device'

why=$(python3 tests/core/inspect/step/check_record.py "$work"/*.json 2>&1)
result $? 'each read has what the steps before it have written' "$why"

# ---- programs, answers, limits -------------------------------------------------------------------------------------------

# A recorded run computes what the same program computes unrecorded, to the bit.
differ=
for name in nested columns strided shuffle aggregated mixed lock memories; do
  FERRY_STEP_OUTPUT=$work/recorded "$ferry" step "$cases" --json "$work/same.json" -- $name >/dev/null 2>&1
  FERRY_STEP_OUTPUT=$work/unrecorded "$ferry" step "$cases" --launch 9 --json "$work/none.json" -- $name >/dev/null 2>&1
  grep -q 'no error' "$work/recorded" && cmp -s "$work/recorded" "$work/unrecorded" || differ="$differ $name"
done
[ -z "$differ" ] && [ ! -e "$work/none.json" ]
result $? 'the same results with a record and without' "$differ"
"$ferry" step chapters/26_scan.cu --kernel by_warps --json "$work/by_warps.json" >"$work/out" 2>&1 &&
  python3 tests/core/inspect/step/check_record.py "$work/by_warps.json" >"$work/out" 2>&1
result $? 'a kernel of lesson 26' "$(cat "$work/out")"

"$ferry" step "$cases" --limit 20 --json "$work/short.json" -- nested >"$work/out" 2>&1 && grep -q '"end":"limit","limit":20' "$work/short.json"
result $? 'a record of 20 steps says so' "$(cat "$work/out")"

answer=tests/hidden/24_1_sum_reduction
racy=$(grep -lE 'syncthreads' "$answer"/wrong_*.cu | head -1)
mkdir "$work/24_1_sum_reduction"
cp "$racy" "$work/24_1_sum_reduction/answer.cu"
cp solutions/24_1_sum_reduction.cu "$work/24_1_sum_reduction.cu"
"$ferry" step "$work/24_1_sum_reduction.cu" --json "$work/answer.json" >"$work/out" 2>&1 && python3 tests/core/inspect/step/check_record.py "$work/answer.json" >>"$work/out" 2>&1
result $? 'an answer to an exercise, in the sandbox' "$(cat "$work/out")"

says() { # NAME STATUS PATTERN ARGUMENTS...
  "$ferry" step "${@:4}" >"$work/out" 2>&1
  local status=$?
  [ $status = "$2" ] && grep -qE -e "$3" "$work/out" && ! grep -q "$work/ferry\|cu2cpp_\|cudasim_step" "$work/out"
  result $? "$1" "$status: $(cat "$work/out")"
}
says 'no file' 2 'no file given'
says 'a file that is not there' 2 'cannot be read' "$work/none.cu"
says 'an unknown kernel' 3 'no kernel other was launched' "$cases" --kernel other -- guard
says 'a launch that is not' 3 'no launch 5' "$cases" --launch 5 -- guard
says 'a block that is not' 3 'no block 9,0,0' "$cases" --block 9 -- guard
says 'a block that is none' 2 'takes the index of a block' "$cases" --block middle -- guard
says 'a step that is not' 2 'no step' "$cases" --at 1000000 -- strided
says 'a test that is not' 3 'has no test' "$work/24_1_sum_reduction.cu" --test nothing
echo '__global__ void k(int *x) { *x = y; } int main() { k<<<1, 1>>>(0); }' >"$work/broken.cu"
says 'what does not compile' 3 "broken.cu:1.*y.*(not declared|undeclared)" "$work/broken.cu"

"$ferry" step "$cases" --html "$work/page.html" -- no_barrier >"$work/out" 2>&1 && grep -q 'ferry-step 1' "$work/page.html" && ! grep -qE '(src|href)="?http' "$work/page.html"
result $? 'a page without requests' "$(cat "$work/out")"
finish
