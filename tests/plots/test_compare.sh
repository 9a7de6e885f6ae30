#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The comparison with PyTorch: its statistics on made-up numbers, its settings, and the whole of it with Ferry on both sides.
# run: FERRY_CUDA=sim
# timeout: 120
# shellcheck source=tests/plots/common.sh
. "$(dirname "$0")/common.sh"
command -v python3 >/dev/null 2>&1 || skip_all 'python3 is not installed'

# ---- statistics and settings -------------------------------------------------------------------------------------------------

output=$(PYTHONDONTWRITEBYTECODE=1 python3 tests/plots/check_compare.py 2>&1)
result $? 'statistics, settings, cases' "$(tail -n 6 <<<"$output" | tr '\n' ' ')"

# ---- the driver ----------------------------------------------------------------------------------------------------------------

compare() {
  PYTHONDONTWRITEBYTECODE=1 python3 plots/torch/compare.py --bench "$bench" --out "$work/compare.tsv" --quick "$@"
}

says 'help' 0 'a table of ratios' compare --help
says 'the list' 0 'train_cnn_002' compare --list
says 'an unknown case' 2 'there is no case or group matmull' compare --only matmull
says 'an unknown row' 2 'default, two or tuned' compare --rows fast
says 'no threads' 2 'at least 1' compare --threads 0

says 'Ferry against itself' 0 'the same' compare --other "$bench --worker" --only train_100_50_10,overhead --rows two
[ "$(awk -F '\t' '!/^#/ && NF != 12' "$work/compare.tsv" | wc -l)" = 0 ] &&
  [ "$(awk -F '\t' '$1 == "two" && $5 > 0 && $6 > 0 && $8 <= $7 && $7 <= $9' "$work/compare.tsv" | wc -l)" = 4 ]
result $? 'its file has the four cases' "$(cat "$work/compare.tsv")"
says 'memory and start' 0 'Start, one small operation' compare --other "$bench --worker" --only start
says 'a side that dies' 1 'it left no message' compare --other false --only train_100_50_10
says 'a side that says why' 1 'no such worker' compare --other "sh -c 'echo no such worker >&2'" --only train_100_50_10

says 'a GPU that is not there' 1 'no CUDA device' compare --other "$bench --worker" --device cuda --only train_100_50_10

# A side that cannot do a case: the case is left out, the others go on.
cat >"$work/half.sh" <<'END'
while read -r line; do
  case $line in
  'case small_add '*) echo 'error not here' ;;
  *) echo 'ok 0.5 0.5 0.5' ;;
  esac
done
END
says 'a case that one side lacks' 0 'left out: error not here' compare --other "sh $work/half.sh" --only overhead --rows two
grep -q '^two	small_backward' "$work/compare.tsv" && ! grep -q '^two	small_add	' "$work/compare.tsv"
result $? 'the other cases go on'

finish
