# Time of a matrix product against its size, CPU and GPU; beside it the speed-up, or the arithmetic where there is no GPU.
load folder."/style.gp"
set label 1 "Matrix product: time against size"
set label 2 "(n, n) \\@ (n, n); median of many runs, the bar is the middle half. Without moves between host and device."
set multiplot layout 1,2

eval left_panel
set logscale xy
set xlabel "n"
set ylabel "time of one product"
set format y "%.0s %cs"
set key top left
set yrange [*:1000] # room for the legend
parts = "file('cpu', 'matmul-float32') using 1:2:3:4 with yerrorlines linetype 1 title 'CPU, float32'"
if (have("cpu", "matmul-float64")) {
  parts = parts.", file('cpu', 'matmul-float64') using 1:2:3:4 with yerrorlines linetype 6 title 'CPU, float64'"
}
if (has_gpu && have("gpu", "matmul-float32")) {
  parts = parts.", file('gpu', 'matmul-float32') using 1:2:3:4 with yerrorlines linetype 2 title 'GPU, float32'"
}
if (has_gpu && have("gpu", "matmul-bfloat16")) {
  parts = parts.", file('gpu', 'matmul-bfloat16') using 1:2:3:4 with yerrorlines linetype 5 title 'GPU, bfloat16'"
}
if (has_model && have("model", "matmul-float32")) {
  parts = parts.", file('model', 'matmul-float32') using 1:2 with linespoints linetype 4 dashtype 2 pointtype 6 title model_title"
  set label 5 "Dashed: ".model_model at screen 0.012,0.868 left font font_tiny textcolor rgb faint noenhanced
}
# What the source article of the lessons prints for its 5000 x 5000 product, on machines that it does not name.
set label 6 "" at 5000,1.847 point pointtype 8 pointsize 1.2 linecolor rgb faint
set label 7 "" at 5000,0.021 point pointtype 8 pointsize 1.2 linecolor rgb faint
parts = parts.", NaN with points pointtype 8 linecolor rgb faint title 'reported: article 001, CPU and GPU'"
eval "plot ".parts
eval unset_texts
set yrange [*:*]
unset label 5; unset label 6; unset label 7

eval right_panel
if (has_gpu && have("gpu", "matmul-float32")) {
  # Sizes that both have, side by side in one file.
  joined = "< awk -F '\t' -v OFS='\t' 'NR == FNR { cpu[$1] = $2; next } $1 in cpu { print $1, cpu[$1] / $2 }' "
  pair(name, gpu) = joined."'".file('cpu', name)."' '".file('gpu', gpu)."'"
  set ylabel "speed-up: CPU time / GPU time"
  set format y "%g"
  parts = "pair('matmul-float32', 'matmul-float32') with linespoints linetype 2 title 'matmul, float32'"
  if (have("cpu", "train_cnn_001-float32") && have("gpu", "train_cnn_001-float32")) {
    parts = parts.", pair('train_cnn_001-float32', 'train_cnn_001-float32') with linespoints linetype 3 title 'CNN step, by batch'"
  }
  parts = parts.", 1 with lines linecolor rgb faint dashtype 2 title 'as fast'"
  set xlabel "n, or batch"
  eval "plot ".parts
} else {
  unset logscale y
  set yrange [0:*]
  set format y "%g"
  set ylabel "GFLOP/s on the CPU"
  set key bottom right
  parts = "file('cpu', 'matmul-float32') using 1:5 with linespoints linetype 1 title 'float32'"
  if (have("cpu", "matmul-float64")) {
    parts = parts.", file('cpu', 'matmul-float64') using 1:5 with linespoints linetype 6 title 'float64'"
  }
  if (have("cpu", "ceiling_fma-float32")) {
    top = best_rate("cpu", "ceiling_fma-float32")
    parts = parts.", top with lines linecolor rgb faint dashtype 2 title sprintf('ceiling, float32: %.0f', top)"
  }
  eval "plot ".parts
}
unset multiplot
