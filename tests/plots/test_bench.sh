#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry bench: arguments, the list, and result files in which every benchmark of the list has its row.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 300
# shellcheck source=tests/plots/common.sh
. "$(dirname "$0")/common.sh"

# ---- arguments -------------------------------------------------------------------------------------------------------------

says 'help' 0 'usage: ./ferry bench' "$bench" --help
says 'the list' 0 'train_cnn_002' "$bench" --list
says 'an unknown benchmark' 2 'there is no benchmark or group matmull' "$bench" matmull
says 'a part of a name' 2 'Similar names: train_784_256_128_10' "$bench" 784
says 'an unknown option' 2 'unknown option --fast' "$bench" --fast
says 'a size that is no number' 2 '--size x' "$bench" matmul --size x
says 'a size that is none' 2 '--size' "$bench" matmul --size=-3
says 'no repeats' 2 'from 1 to' "$bench" --repeat 0
says 'a value left out' 2 '--seconds needs a value' "$bench" --seconds
says 'no such device' 2 'numbered from 0' "$bench" --device cuda:7
says 'no such kind of device' 2 'tpu' "$bench" --device tpu
says 'CUDA switched off' 2 'take --device cpu' env FERRY_CUDA=off "$bench" --device cuda
says 'a benchmark of the other device' 2 'copy_d2d does not run on cpu' "$bench" copy_d2d
says 'a place that cannot be' 1 "$work/none/x.tsv: cannot write" "$bench" matmul --size 4 --repeat 1 --out "$work/none/x.tsv"
if [ -x "$build/ferry" ]; then
  says 'through ./ferry' 0 'usage: ./ferry bench' "$build/ferry" bench --help
  says 'its status through ./ferry' 2 'unknown option' "$build/ferry" bench --fast
fi

# ---- result files ------------------------------------------------------------------------------------------------------------

well_formed() { # FILE SIMULATED: complains about what is not as plots/README.md says
  awk -F '\t' -v simulated="$2" '
    function wrong(what) { printf "%s:%d: %s; ", FILENAME, FNR, what; bad = 1 }
    /^# / { split($0, part, /^# |: /); header[part[2]] = 1; next }
    !columns {
      columns = NF
      if ($0 != "bench\tdevice\tsimulated\tdtype\tsize\trepeat\tmedian\tmin\tq1\tq3\tunit\trate\trate_unit\tflops\tbytes\tlabel")
        wrong("columns are " $0)
      next
    }
    NF != columns { wrong(NF " columns"); next }
    $3 != simulated { wrong("simulated: " $3) }
    $6 < 1 || !($7 > 0) { wrong("repeat " $6 ", median " $7) }
    !($8 <= $9 && $9 <= $7 && $7 <= $10) { wrong("min, q1, median, q3 out of order") }
    $11 != "s" && $11 != "B" { wrong("unit " $11) }
    simulated == "yes" && $12 != "-" { wrong("a rate of a simulated device") }
    simulated == "no" && $11 == "s" && !($12 > 0) { wrong("rate " $12) }
    END {
      n = split("machine cpu cores threads device device_name simulated driver version commit date", key, " ")
      for (i = 1; i <= n; i++) if (!(key[i] in header)) wrong("no header " key[i])
      if (!columns) wrong("empty")
      exit bad
    }' "$1"
}

# Names of the list that run on this kind of device and have no row in the file. What says why it was left out is not missing.
without_row() { # FILE OTHER-DEVICE OUTPUT
  "$bench" --list | awk -v other="($2)" 'NR > 1 && $NF != other { print $1 }' | while read -r name; do
    grep -q "^$name	" "$1" || grep -q "^  $name, " "$3" || echo "$name"
  done
}

for device in cpu cuda; do
  "$bench" --device $device --quick --repeat 2 --out "$work/$device.tsv" >"$work/$device.log" 2>&1
  result $? "all benchmarks on $device" "$(tail -n 5 "$work/$device.log" | tr '\n' ' ')"
  simulated=no other=cuda
  if [ $device = cuda ]; then
    simulated=yes other=cpu
  fi
  complaints=$(well_formed "$work/$device.tsv" $simulated)
  result $? "the file of $device is well-formed" "$complaints"
  missing=$(without_row "$work/$device.tsv" $other "$work/$device.log")
  [ -z "$missing" ]
  result $? "every benchmark has a row on $device" "${missing//$'\n'/ }"
done

grep -q 'simulated device: these times' "$work/cuda.log" && ! grep -qE '(GFLOP|GB|samples|calls)/s' "$work/cuda.log"
result $? 'simulated devices are named, and have no rates'
! grep -q $'\033' "$work/cpu.log"
result $? 'no escape sequences in a file'

"$bench" matmul --size 8,16 --repeat 3 --out "$work/folder/deep" >/dev/null 2>&1
file=$(ls "$work"/folder/deep/*-cpu0.tsv 2>/dev/null)
[ -n "$file" ] && [ "$(awk -F '\t' '$1 == "matmul" && $4 == "float32" { printf "%s:%s ", $5, $6 }' "$file")" = '8:3 16:3 ' ]
result $? 'sizes and repeats as asked for, in a folder that is made'

ASAN_OPTIONS=${ASAN_OPTIONS:-}:allocator_may_return_null=1 "$bench" add --size 8,100000000000000 --repeat 1 --out "$work/huge.tsv" >"$work/huge.log" 2>&1
[ $? = 0 ] && grep -q '^  add, .* 100000000000000' "$work/huge.log" && grep -q '^add	' "$work/huge.tsv"
result $? 'what does not fit into memory is left out, and said' "$(tail -n 4 "$work/huge.log" | tr '\n' ' ')"

finish
