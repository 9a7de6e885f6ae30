# How a training step gains from more threads, and from more devices.
load folder."/style.gp"
set label 1 "Scaling: lesson 1's CNN on more threads and more devices"
set label 2 "Relative to one. Threads share a batch of 128; each device gets 256 samples of its own, so its line may rise as n."
eval whole
set xlabel "threads, or devices"
set ylabel "times the samples per second of one"
set format x "%g"
set format y "%g"
set xtics 1
set yrange [0:*]
set key top left
relative = "< awk -F '\t' -v OFS='\t' 'NR == 1 { one = $5 } { print $1, $5 / one }' "
parts = "x with lines linecolor rgb faint dashtype 2 title 'n times as much'"
most = 2
if (have("cpu", "train_threads-float32")) {
  parts = parts.", relative.\"'\".file('cpu', 'train_threads-float32').\"'\" with linespoints linetype 1 title 'CPU threads'"
  most = best("cpu", "train_threads-float32", 1)
}
if (have("gpu", "data_parallel-float32")) {
  parts = parts.", relative.\"'\".file('gpu', 'data_parallel-float32').\"'\" with linespoints linetype 2 title 'GPUs, DataParallel'"
  devices = best("gpu", "data_parallel-float32", 1)
  most = devices > most ? devices : most
}
most = most < 2 ? 2 : most
set xrange [0.8:most + 0.2]
eval "plot ".parts
