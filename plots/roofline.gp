# The roofline of the CPU: what arithmetic and memory allow at each intensity, and where the operations are.
load folder."/style.gp"
set label 1 "Roofline of the CPU"
set label 2 "Each operation at its largest size. Arithmetic limits what is at the flat part; the slopes are what memory and caches bring."
eval whole
set logscale xy
set format x "%g"
set format y "%g"
set xlabel "operations per byte that must move"
set ylabel "GFLOP/s"
set key bottom right

arithmetic = best_rate("cpu", "ceiling_fma-float32")
# The faster of ordinary and streaming stores, on arrays of `bytes`.
triad(bytes) = (ordinary = rate_at("cpu", "ceiling_triad-float32", bytes), \
  streaming = have("cpu", "ceiling_triad_streaming-float32") ? rate_at("cpu", "ceiling_triad_streaming-float32", bytes) : 0, \
  streaming > ordinary ? streaming : ordinary)
roof(x, bandwidth) = x * bandwidth < arithmetic ? x * bandwidth : arithmetic
roof_title(bytes) = sprintf("arrays of %s: %.0f GB/s", bytes_text(bytes), triad(bytes))

set xrange [0.04:1000]
set yrange [0.2:arithmetic * 2.5]
set samples 500
# x, y, name, and where the name goes: right of the point (0), above (1) or below (2), so that none covers another.
operations = "matmul conv_1_32_28 conv_32_64_14 conv_3_32_32 add relu tanh gelu sum max softmax cross_entropy adam_1"
points = "< for f in ".operations."; do test -s ".data."/cpu/$f-float32.dat && tail -n 1 ".data."/cpu/$f-float32.dat |" \
  ." awk -F '\t' -v OFS='\t' -v name=$f '$7 > 0 && $6 > 0 { print $6 / $7, $6 / $2 / 1e9, name, name ~ /^(matmul|adam|relu|add)/ ? 1 : name ~ /^(conv_32|gelu|cross)/ ? 2 : 0 }'; done"
sizes = system("cut -f 1 '".file("cpu", "ceiling_triad-float32")."' | sort -n | tr '\n' ' '")
smallest = word(sizes, 1) + 0
largest = word(sizes, words(sizes)) + 0
middle = word(sizes, words(sizes) > 2 ? words(sizes) - 2 : 1) + 0
parts = "roof(x, triad_small) with lines linecolor rgb faint dashtype 3 title roof_title(smallest)"
triad_small = triad(smallest)
triad_middle = triad(middle)
triad_large = triad(largest)
if (middle != smallest) {
  parts = parts.", roof(x, triad_middle) with lines linecolor rgb faint dashtype 2 title roof_title(middle)"
}
if (largest != smallest) {
  parts = parts.", roof(x, triad_large) with lines linetype 1 linewidth 2.5 title roof_title(largest)"
}
parts = parts.", arithmetic with lines linetype 1 linewidth 2.5 title sprintf('arithmetic: %.0f GFLOP/s', arithmetic)"
parts = parts \
  .", points using 1:2 with points linetype 2 pointsize 1.1 notitle" \
  .", points using 1:($4 == 0 ? $2 : NaN):3 with labels left offset 0.8,0 font font_small textcolor rgb ink noenhanced notitle" \
  .", points using 1:($4 == 1 ? $2 : NaN):3 with labels center offset 0,0.9 font font_small textcolor rgb ink noenhanced notitle" \
  .", points using 1:($4 == 2 ? $2 : NaN):3 with labels center offset 0,-0.9 font font_small textcolor rgb ink noenhanced notitle"
eval "plot ".parts
