#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry scale: what it prints, for people and for programs, pictures, and what it says to wrong command lines.
# run:
# shellcheck source=tests/grader/common.sh
. tests/grader/common.sh
scale() {
  "$ferry" scale "$@"
}
step=(--model resnet50 --step-time 97ms)

# ---- for people ------------------------------------------------------------------------------------------------------------

says 'efficiencies' 0 'modeled, not measured' scale "${step[@]}"
says 'where the numbers are from' 0 'github.com/NVIDIA/nccl' scale "${step[@]}"
says 'what is assumed' 0 'which is assumed' scale "${step[@]}"
says 'what is given' 0 'forward 30, backward 60, rest 7' scale --model resnet50 --step-time 97ms --forward 30ms --backward 60ms
says 'times of one network' 0 'not hidden ms' scale "${step[@]}" --network 8xib-ndr
says 'message by message' 0 'by events' scale "${step[@]}" --network eth-10 --gpus 8,16 --events
says 'numbers of hardware' 0 'NVLink 4, NVSwitch, H100' scale --list
says 'published figures' 0 'within 10 points' scale --published
says 'not message by message what is too large' 0 '1e+08 ms' scale --parameters 1e13 --step-time 1e5 --network eth-10 --gpus 64 --events --algorithm ring
says 'bytes alone' 0 '26.0 MiB of float32 in 2 buckets' scale --buckets 1MiB,25MiB --step-time 0.1
says 'parameters alone' 0 '47.7 MiB of float16 in 3 buckets' scale --parameters 25M --dtype float16 --step-time 0.1s
says 'a step of no communication' 0 '100.0 %' scale --buckets 1 --step-time 1000s --network eth-10 --gpus 1,8
says 'a measured step' 0 'measured: batch 64, Intel(R) Xeon(R)' scale --model cnn_001 --bench plots/recorded/xeon.tsv --batch 64
says 'the largest batch without --batch' 0 'measured: batch 1024' scale --model 784_256_128_10 --bench plots/recorded/xeon.tsv
says 'other numbers' 0 'alpha 50.0 us, 1.0 GB/s (given)' scale "${step[@]}" --alpha 50us --beta 8Gbit/s
for command in "scale --list" "scale --published" "scale ${step[*]}" "scale ${step[*]} --network eth-10 --events" \
  "scale --model cnn_001 --bench plots/recorded/xeon.tsv"; do
  wide=$($command | awk 'length > 80')
  [ -z "$wide" ] && ! $command | grep -q $'\033'
  result $? "80 columns without colors: $command" "$wide"
done
colored=$(env -u NO_COLOR script -qec "'$ferry' scale ${step[*]}" /dev/null 2>/dev/null | grep -c $'\033')
plain=$(NO_COLOR=1 script -qec "'$ferry' scale ${step[*]}" /dev/null 2>/dev/null | grep -c $'\033')
if command -v script >/dev/null; then
  [ "$colored" -gt 3 ] && [ "$plain" = 0 ]
  result $? 'colors on a terminal, none with NO_COLOR' "$colored lines and $plain"
else
  skip 'colors on a terminal, none with NO_COLOR' 'there is no program script here to make a terminal'
fi

# ---- for programs ----------------------------------------------------------------------------------------------------------

reads_with_python=1
scale "${step[@]}" --network eth-10,8xib-hdr --gpus 8,16,4096 --events --csv >"$work/table.csv"
scale "${step[@]}" --network eth-10,8xib-hdr --gpus 8,16,4096 --events --json >"$work/table.json"
why=$(python3 - "$work/table.csv" "$work/table.json" 2>&1 <<'END'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
ours = json.load(open(sys.argv[2]))
assert ours["kind"] == "modeled" and "nccl" in ours["source"] and "assumed" in ours["step"]["from"]
assert abs(sum(b["bytes"] for b in ours["buckets"]) - 4 * 25557032) < 1
same = [(n["name"], n["adapters"], r) for n in ours["networks"] for r in n["rows"]]
assert len(rows) == len(same) == 6, rows
for row, (name, adapters, r) in zip(rows, same):
    assert (row["kind"], row["network"], int(row["adapters"]), int(row["gpus"])) == ("modeled", name, adapters, r["gpus"]), row
    assert abs(float(row["efficiency"]) - r["efficiency"]) < 1e-9 and abs(float(row["step_s"]) - r["step_s"]) < 1e-9
    assert abs(r["efficiency"] * r["step_s"] - 0.097) < 1e-6, r
    assert ("events_s" in r) == (r["gpus"] <= 64) == (row["events_s"] != ""), r
    assert "events_s" not in r or abs(r["events_s"] / r["step_s"] - 1) < 0.02, r
END
)
result $? 'CSV and JSON agree with each other and with the step' "$(tail -n 1 <<<"$why")"

if command -v gnuplot >/dev/null; then
  says 'pictures' 0 '4 pictures' scale "${step[@]}" --plot "$work/pictures"
  [ "$(grep -l 'Modeled, not measured' "$work"/pictures/modeled-{light,dark}.svg | wc -l)" = 2 ] &&
    [ "$(wc -c <"$work/pictures/modeled-light.png")" -gt 30000 ] && [ -s "$work/pictures/modeled-dark.png" ]
  result $? 'each is one, and says what it is' "$(ls -l "$work/pictures")"
  says 'a folder that cannot be' 2 'cannot be made' scale "${step[@]}" --plot "$work/no/where"
else
  skip 'pictures' 'gnuplot is not installed'
fi
says 'without gnuplot' 3 'gnuplot is not installed' env PATH=/nowhere "$ferry" scale "${step[@]}" --plot "$work/pictures"

# The page about it shows what it prints, which is the same everywhere.
cp docs/scaling.md "$work/page.md"
docs/refresh.sh --outputs "$work/page.md" >/dev/null 2>&1
difference=$(diff docs/scaling.md "$work/page.md")
result $? 'docs/scaling.md is up to date (docs/refresh.sh --outputs docs/scaling.md)' "$(head -n 5 <<<"$difference" | tr '\n' ' ')"

# ---- wrong command lines ---------------------------------------------------------------------------------------------------

wrong() { # TEXT ARGUMENT...
  local text=$1
  shift
  says "refused: $*" 2 "$text" scale "$@"
}
wrong 'one of --model NAME, --parameters N and --buckets'
wrong 'one of --model NAME, --parameters N and --buckets' --model resnet50 --parameters 1 --step-time 1
wrong 'say how long a step takes' --model resnet50
wrong 'there is no model "resnet5"' --model resnet5 --step-time 1
wrong 'there is no option --gpu' "${step[@]}" --gpu 8
wrong '--gpus needs a value' "${step[@]}" --gpus
wrong 'no whole number of nodes of 8; ask for 8' "${step[@]}" --gpus 12
wrong '--gpus takes whole numbers' "${step[@]}" --gpus 8,,16
wrong '--gpus takes whole numbers' "${step[@]}" --gpus 0
wrong '--gpus takes whole numbers' "${step[@]}" --gpus 99999999
wrong 'at most 32' "${step[@]}" --gpus "$(seq -s , 8 8 400)"
wrong 'there is no network "ib-foo": it is one of eth-10' "${step[@]}" --network ib-foo
wrong 'there is no network "0xeth-10"' "${step[@]}" --network 0xeth-10
wrong 'at most 6' "${step[@]}" --network eth-10,eth-10,eth-10,eth-10,eth-10,eth-10,eth-10
wrong 'there is no node "nvlink9"' "${step[@]}" --node nvlink9
wrong '--per-node takes' "${step[@]}" --per-node 0
wrong '--algorithm takes ring, tree or best' "${step[@]}" --algorithm star
wrong '--step-time takes a time' --model resnet50 --step-time 97m
wrong '--step-time takes a time' --model resnet50 --step-time -1
wrong '--step-time takes a time' --model resnet50 --step-time nan
wrong '--step-time takes a time' --model resnet50 --step-time 1e999
wrong 'belong together' --model resnet50 --step-time 1 --forward 0.1
wrong 'longer than --step-time' --model resnet50 --step-time 1 --forward 0.5 --backward 0.6
wrong '--alpha takes' "${step[@]}" --alpha fast
wrong '--beta takes a rate' "${step[@]}" --beta 12GB
wrong '--parameters takes a number' --parameters many --step-time 1
wrong '--buckets takes sizes' --buckets 1MiB,x --step-time 1
wrong '--dtype takes' "${step[@]}" --dtype int8
wrong '--events is for the table of one --network' "${step[@]}" --events
wrong '--step-time takes a time' --model resnet50 --step-time 1e6
wrong '--beta takes a rate' "${step[@]}" --beta 1e-300
wrong 'not both' "${step[@]}" --json --csv
wrong 'cannot be read' --model cnn_001 --bench "$work/nowhere"
wrong 'it needs --model' --parameters 1M --bench plots/recorded/xeon.tsv
wrong 'leave out --step-time' --model cnn_001 --step-time 1 --bench plots/recorded/xeon.tsv
wrong 'has no row train_resnet50' --model resnet50 --bench plots/recorded/xeon.tsv
wrong 'has no row train_cnn_001 of that --batch' --model cnn_001 --batch 7 --bench plots/recorded/xeon.tsv
wrong 'no file of ./ferry bench' --model cnn_001 --bench README.md
wrong 'chooses a row of --bench' "${step[@]}" --batch 7
sed 's/^\(train[^\t]*\tcpu\t\)no/\1yes/' plots/recorded/xeon.tsv >"$work/simulated.tsv"
wrong 'measured on simulated devices' --model cnn_001 --bench "$work/simulated.tsv"
sed 's/^# simulated: no/# simulated: yes/' plots/recorded/xeon.tsv >"$work/simulated.tsv"
wrong 'measured on simulated devices' --model cnn_001 --bench "$work/simulated.tsv"

finish
