# Training throughput against the batch's size.
load folder."/style.gp"
set label 1 "Training: samples per second against batch size"
set label 2 "A step is zero\\_grad, forward, backward and Adam, on data that is on the device already."
eval whole
set rmargin at screen 0.72
set logscale xy
set xlabel "batch size"
set ylabel "samples per second"
set format y "%.0s%c"
set key outside right top vertical width -2
array names[4] = ["train_100_50_10", "train_784_256_128_10", "train_cnn_001", "train_cnn_002"]
array texts[4] = ["100-50-10", "784-256-128-10", "CNN, 28x28", "CNN, 3x32x32"]
add(part) = parts eq "" ? part : parts.", ".part
do for [i=1:4] {
  if (have("cpu", names[i]."-float32")) {
    parts = add(sprintf("file('cpu', '%s-float32') using 1:5 with linespoints linetype %d title 'CPU: %s'", names[i], i, texts[i]))
  }
  if (have("gpu", names[i]."-float32")) {
    parts = add(sprintf("file('gpu', '%s-float32') using 1:5 with linespoints linetype %d dashtype 2 pointtype 9 title 'GPU: %s'", \
      names[i], i, texts[i]))
  }
  if (has_model && have("model", names[i]."-float32")) {
    parts = add(sprintf("file('model', '%s-float32') using 1:5 with linespoints linetype %d dashtype 3 pointtype 6 title 'modeled GPU: %s'", \
      names[i], i, texts[i]))
  }
}
if (has_model) {
  set label 5 "Dotted: ".model_model."; of its host's work, launches alone" \
    at screen 0.012,0.868 left font font_tiny textcolor rgb faint noenhanced
}
eval "plot ".parts
