#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The plots: from measurements of this machine and a made-up GPU to pictures; no way for simulated times into one.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 300
# shellcheck source=tests/plots/common.sh
. "$(dirname "$0")/common.sh"
command -v gnuplot >/dev/null 2>&1 || skip_all 'gnuplot is not installed'

png_size() { # FILE: "1920x1080" from its header, nothing when it is no PNG
  [ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || return 1
  od -An -j16 -N8 -tu1 "$1" | awk '{ print $1 * 16777216 + $2 * 65536 + $3 * 256 + $4 "x" $5 * 16777216 + $6 * 65536 + $7 * 256 + $8 }'
}

complete_pictures() { # FOLDER PLOT...: complains about what is missing, no picture or empty
  local folder=$1 plot theme file
  shift
  for plot in "$@"; do
    for theme in light dark; do
      file=$folder/$plot-$theme.png
      [ "$(png_size "$file" 2>&1)" = 1920x1080 ] && [ "$(wc -c <"$file")" -gt 30000 ] || echo "$file"
      file=$folder/$plot-$theme.svg
      head -c 100 "$file" 2>/dev/null | grep -q '<?xml' && tail -n 3 "$file" | grep -q '</svg>' &&
        [ "$(grep -c '<path' "$file")" -gt 10 ] || echo "$file"
    done
  done
}

"$bench" --quick --repeat 2 --out "$work/cpu.tsv" >/dev/null 2>&1
"$bench" --device cuda --quick --repeat 1 --out "$work/sim.tsv" >/dev/null 2>&1
awk -v simulated=no -f tests/plots/made_up_gpu.awk >"$work/gpu.tsv"
awk -v simulated=yes -f tests/plots/made_up_gpu.awk >"$work/made_up_sim.tsv"
# A header that does not own up to it is not enough.
sed 's/^# simulated: yes/# simulated: no/' "$work/made_up_sim.tsv" >"$work/hidden_sim.tsv"

plots='speed bandwidth sums roofline training scaling memory timeline gradients'

# ---- pictures ----------------------------------------------------------------------------------------------------------------

says 'drawing the CPU alone' 0 '36 pictures' plots/draw.sh --cpu "$work/cpu.tsv" --gpu none --out "$work/alone"
complaints=$(complete_pictures "$work/alone" $plots)
[ -z "$complaints" ]
result $? 'every picture is one, and not empty' "$complaints"
[ "$(grep -l 'No GPU measured yet' "$work"/alone/*.svg | wc -l)" = 16 ]
result $? 'each says how to add a GPU'

says 'drawing CPU and GPU' 0 '40 pictures' plots/draw.sh --cpu "$work/cpu.tsv" --gpu "$work/gpu.tsv" --out "$work/both"
complaints=$(complete_pictures "$work/both" $plots roofline_gpu)
[ -z "$complaints" ]
result $? 'every picture with a GPU, too' "$complaints"
[ "$(grep -l 'GPU, recorded: Made-up GPU.*2000-01-01' "$work"/both/*.svg | wc -l)" = 18 ]
result $? 'each names the recorded GPU and its date'
[ "$(grep -l "CPU, recorded: .* cores, .* threads; $(date +%Y)" "$work"/both/*.svg | wc -l)" = 18 ]
result $? 'each names the CPU and its date'
for text in 'speed-up' 'GPU, bfloat16'; do
  grep -q "$text" "$work/both/speed-light.svg" && ! grep -q "$text" "$work/alone/speed-light.svg"
  result $? "$text: with a GPU, and not without"
done
grep -q 'GPU to host, pinned' "$work/both/bandwidth-dark.svg" && grep -q 'DataParallel' "$work/both/scaling-dark.svg"
result $? 'transfers and several GPUs are drawn'

# ---- simulated devices ---------------------------------------------------------------------------------------------------------

for sim in sim made_up_sim hidden_sim; do
  plots/draw.sh --cpu "$work/cpu.tsv" --gpu "$work/$sim.tsv" --out "$work/$sim" --formats svg --themes light >"$work/$sim.log" 2>&1
  [ "$(grep -l 'No GPU measured yet' "$work/$sim"/*.svg | wc -l)" = 8 ] &&
    ! grep -qE 'speed-up|DataParallel|pinned|Simulated|Made-up' "$work/$sim"/*.svg
  result $? "simulated times do not reach a plot ($sim)" "$(tail -n 3 "$work/$sim.log" | tr '\n' ' ')"
done
says 'nothing but simulated times' 2 'no rows to draw' plots/draw.sh --cpu "$work/sim.tsv" --gpu none --out "$work/none"

# ---- a modeled GPU --------------------------------------------------------------------------------------------------------------

FERRY_CUDA=sim FERRY_SIM_GPU=a100 "$bench" --device cuda --quick --repeat 1 --out "$work/model.tsv" matmul train_784_256_128_10 \
  sums_copied_each sums_copied_once \
  >"$work/model.log" 2>&1
label='modeled, not measured: computed from counts and the data sheet of NVIDIA A100'
[ "$(grep -c "$label" "$work/model.log")" -ge 2 ] && grep -q "^# model: $label" "$work/model.tsv"
result $? 'modeled results say so in the first line, above the table and in the file' "$(head -n 1 "$work/model.log")"
says 'drawing a modeled GPU' 0 '9 pictures' plots/draw.sh --cpu "$work/cpu.tsv" --gpu none --model "$work/model.tsv" --out "$work/modeled" \
  --formats svg --themes light
for plot in speed sums training; do
  grep -q "$label" "$work/modeled/$plot-light.svg" && grep -qi 'dasharray' "$work/modeled/$plot-light.svg"
  result $? "its times are dashed and labeled ($plot)"
done
plots/draw.sh --cpu "$work/cpu.tsv" --gpu "$work/model.tsv" --out "$work/taken" --formats svg --themes light >"$work/taken.log" 2>&1
! grep -qE 'speed-up|A100' "$work/taken"/*.svg
result $? 'modeled times are not drawn as a measured GPU'
grep -q 'reported: article 001' "$work/alone/speed-light.svg" && grep -q 'reported: article 002' "$work/alone/sums-light.svg"
result $? 'what the articles print is marked as reported'

# ---- what can go wrong ----------------------------------------------------------------------------------------------------------

says 'help' 0 'usage: plots/draw.sh' plots/draw.sh --help
says 'an unknown option' 2 'unknown option --paint' plots/draw.sh --paint
echo 'size	time' >"$work/other.tsv"
says 'a file of something else' 1 'there is no column' plots/draw.sh --cpu "$work/other.tsv" --gpu none --out "$work/none"
says 'a file that is not there' 2 'is not there' plots/draw.sh --cpu "$work/nowhere.tsv" --out "$work/none"
grep -vE '^(ceiling_fma|memory_step)	' "$work/cpu.tsv" >"$work/part.tsv"
says 'a part of the benchmarks' 0 'roofline is left out' plots/draw.sh --cpu "$work/part.tsv" --gpu none --out "$work/part" --themes light
[ -s "$work/part/speed-light.png" ] && [ ! -e "$work/part/roofline-light.png" ] && [ ! -e "$work/part/memory-light.png" ]
result $? 'the rest is drawn'

# ---- tables --------------------------------------------------------------------------------------------------------------------

for name in ceilings operations training; do
  table=$(plots/tables.sh $name "$work/cpu.tsv" 2>&1)
  [ "$(wc -l <<<"$table")" -gt 4 ] && ! grep -qvE '^(\| [^|]+ |\| --- )(\|[^|]*)+\|$' <<<"$table" && ! grep -qi 'nan\|inf' <<<"$table"
  result $? "table of $name" "$(head -n 4 <<<"$table" | tr '\n' ' ')"
done
printf 'row\tcase\tsize\tunit\tferry\tpytorch\tratio\tq1\tq3\trounds\ttarget\tverdict\n' >"$work/torch.tsv"
printf 'two\tmatmul\t64\ts\t2e-06\t5e-06\t2.5\t2.4\t2.75\t5\t1.00 x\tmet\n' >>"$work/torch.tsv"
printf '# Page\n\n<!-- table torch-two -->\n| old |\n| --- |\n\nText | with a bar.\n| kept |\n' >"$work/page.md"
plots/tables.sh --refresh "$work/page.md" "$work/cpu.tsv" "$work/torch.tsv"
[ "$(grep -c 'old' "$work/page.md")" = 0 ] && grep -qxF '| kept |' "$work/page.md" && grep -qxF 'Text | with a bar.' "$work/page.md" &&
  grep -qxF '| matmul | 64 | 2 us | 5 us | 2.50 | 2.40 .. 2.75 | 1.00 x | met |' "$work/page.md"
result $? 'tables of a page are replaced, its text is not' "$(tr '\n' '/' <"$work/page.md")"
cp "$work/page.md" "$work/again.md"
plots/tables.sh --refresh "$work/again.md" "$work/cpu.tsv" "$work/torch.tsv"
cmp -s "$work/page.md" "$work/again.md"
result $? 'a second time changes nothing'

# ---- recorded files ---------------------------------------------------------------------------------------------------------------

complaints=
for file in plots/recorded/*.tsv; do
  [ -e "$file" ] || continue
  grep -q '^# simulated: no' "$file" && ! grep -q 'Made-up' "$file" && grep -qE '^# commit: [0-9a-f]{7,}$' "$file" ||
    complaints="$complaints $file"
done
[ -z "$complaints" ]
result $? 'recorded files are real and of a commit' "$complaints"

finish
