# A hundred sums of products: each fetched to the host at once, or all of them at the end.
load folder."/style.gp"
set label 1 "A hundred sums of products, fetched one by one or together"
set label 2 "sum(a * b) of two (n, n), float32, 100 times; median of many runs, the bar is the middle half."
eval whole
set rmargin at screen 0.66
set logscale xy
set xlabel "n"
set ylabel "time of all hundred"
set format y "%.0s %cs"
set key outside right top vertical width -2
parts = "file('cpu', 'sums_copied_each-float32') using 1:2:3:4 with yerrorlines linetype 1 title 'CPU, one by one'"
parts = parts.", file('cpu', 'sums_copied_once-float32') using 1:2:3:4 with yerrorlines linetype 7 title 'CPU, together'"
if (has_gpu && have("gpu", "sums_copied_each-float32")) {
  parts = parts.", file('gpu', 'sums_copied_each-float32') using 1:2:3:4 with yerrorlines linetype 2 title 'GPU, one by one'"
  parts = parts.", file('gpu', 'sums_copied_once-float32') using 1:2:3:4 with yerrorlines linetype 3 title 'GPU, together'"
}
if (has_model && have("model", "sums_copied_each-float32")) {
  parts = parts.", file('model', 'sums_copied_each-float32') using 1:2 with linespoints linetype 2 dashtype 2 pointtype 6 title 'one by one:'"
  parts = parts.", file('model', 'sums_copied_once-float32') using 1:2 with linespoints linetype 4 dashtype 2 pointtype 4 title 'together:'"
  parts = parts.", NaN with lines linecolor rgb faint dashtype 2 title model_title"
  set label 5 "Dashed: ".model_model at screen 0.012,0.868 left font font_tiny textcolor rgb faint noenhanced
}
# What the second source article of the lessons prints for n = 1000: both ways on one GPU, which it names as an RTX 3080.
set label 6 "" at 1000,0.5832 point pointtype 8 pointsize 1.2 linecolor rgb faint
set label 7 "" at 1000,0.0214 point pointtype 10 pointsize 1.2 linecolor rgb faint
parts = parts.", NaN with points pointtype 8 linecolor rgb faint title 'reported: article 002, one by one'"
parts = parts.", NaN with points pointtype 10 linecolor rgb faint title 'reported: article 002, together'"
eval "plot ".parts
