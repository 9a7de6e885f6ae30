# The roofline of a device (which: cpu or gpu): what arithmetic and memory allow at each intensity, and where the operations
# are. The CPU's ceilings are measured by loops of their own; a GPU's are its fastest product and its fastest copy.
load folder."/style.gp"
is_cpu = which eq "cpu"
set label 1 is_cpu ? "Roofline of the CPU" : "Roofline of the GPU"
set label 2 is_cpu ? \
  "Each operation at its largest size. Arithmetic limits what is at the flat part; the slopes are what memory and caches bring." : \
  "Each operation at its largest size, float32. The ceilings are what the fastest product and the fastest copy reach."
eval whole
set logscale xy
set format x "%g"
set format y is_cpu ? "%g" : "%.0s%c"
set xlabel "operations per byte that must move"
set ylabel "GFLOP/s"
set key bottom right

arithmetic = best_rate(which, is_cpu ? "ceiling_fma-float32" : "matmul-float32")
set xrange [0.04:3000]
set yrange [arithmetic / 2000:arithmetic * 2.5]
set samples 500
roof(x, bandwidth) = x * bandwidth < arithmetic ? x * bandwidth : arithmetic

# x, y, name, and where the name goes: right of the point (0), above (1) or below (2), so that none covers another.
operations = "matmul conv_1_32_28 conv_32_64_14 conv_3_32_32 add relu tanh gelu sum max softmax cross_entropy adam_1"
folder_of_rows = data."/".which
points = "< for f in ".operations."; do test -s ".folder_of_rows."/$f-float32.dat && tail -n 1 ".folder_of_rows."/$f-float32.dat |" \
  ." awk -F '\t' -v OFS='\t' -v name=$f '$7 > 0 && $6 > 0 { print $6 / $7, $6 / $2 / 1e9, name," \
  ." name ~ /^(matmul|adam|relu|add|conv_3_)/ ? 1 : name ~ /^(conv_32|gelu|cross)/ ? 2 : 0 }'; done"

if (is_cpu) {
  # The faster of ordinary and streaming stores, on arrays of `bytes`.
  triad(bytes) = (ordinary = rate_at("cpu", "ceiling_triad-float32", bytes), \
    streaming = have("cpu", "ceiling_triad_streaming-float32") ? rate_at("cpu", "ceiling_triad_streaming-float32", bytes) : 0, \
    streaming > ordinary ? streaming : ordinary)
  sizes = system("cut -f 1 '".file("cpu", "ceiling_triad-float32")."' | sort -n | tr '\n' ' '")
  smallest = word(sizes, 1) + 0
  middle = word(sizes, words(sizes) > 2 ? words(sizes) - 2 : 1) + 0
  largest = word(sizes, words(sizes)) + 0
  title_of(bytes, rate) = sprintf("arrays of %s: %.0f GB/s", bytes_text(bytes), rate)
  slope_small = triad(smallest)
  slope_middle = triad(middle)
  memory = triad(largest)
  parts = "roof(x, slope_small) with lines linecolor rgb faint dashtype 3 title title_of(smallest, slope_small)" \
    .", roof(x, slope_middle) with lines linecolor rgb faint dashtype 2 title title_of(middle, slope_middle)" \
    .", roof(x, memory) with lines linetype 1 linewidth 2.5 title title_of(largest, memory)"
} else {
  memory = best_rate("gpu", "copy_d2d-float32")
  parts = "roof(x, memory) with lines linetype 1 linewidth 2.5 title sprintf('copies within the GPU: %.0f GB/s', memory)"
}
parts = parts.", arithmetic with lines linetype 1 linewidth 2.5 title sprintf('arithmetic: %.0f GFLOP/s', arithmetic)"
parts = parts \
  .", points using 1:2 with points linetype 2 pointsize 1.1 notitle" \
  .", points using 1:($4 == 0 ? $2 : NaN):3 with labels left offset 0.8,0 font font_small textcolor rgb ink noenhanced notitle" \
  .", points using 1:($4 == 1 ? $2 : NaN):3 with labels center offset 0,0.9 font font_small textcolor rgb ink noenhanced notitle" \
  .", points using 1:($4 == 2 ? $2 : NaN):3 with labels center offset 0,-0.9 font font_small textcolor rgb ink noenhanced notitle"
eval "plot ".parts
