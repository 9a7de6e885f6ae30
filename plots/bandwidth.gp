# Copies: bandwidth against size.
load folder."/style.gp"
set label 1 "Copies: bandwidth against size"
set label 2 "Reads and writes both count within one memory; across the bus, what crosses. Caches make small copies fast."
eval whole
set rmargin at screen 0.72
set logscale xy
set xlabel "bytes of an array"
set ylabel "GB/s"
set xtics ("4 KiB" 4096, "64 KiB" 65536, "1 MiB" 1048576, "16 MiB" 16777216, "256 MiB" 268435456)
set xrange [2048:536870912]
set format y "%g"
set key outside right top vertical width -2
add(part) = parts eq "" ? part : parts.", ".part
array names[9] = ["copy_host", "ceiling_copy", "ceiling_copy_streaming", "copy_h2d", "copy_h2d_pinned", "copy_d2h", \
  "copy_d2h_pinned", "copy_d2d", "ceiling_triad_streaming"]
array texts[9] = ["CPU: copy\\_ of tensors", "CPU ceiling: plain stores", "CPU ceiling: streaming", "host to GPU, pageable", \
  "host to GPU, pinned", "GPU to host, pageable", "GPU to host, pinned", "within the GPU", "CPU ceiling: triad"]
array types[9] = [1, 7, 6, 2, 2, 4, 4, 3, 3]
array dashes[9] = [1, 2, 2, 2, 1, 2, 1, 1, 2]
do for [i=1:8] {
  source = names[i] eq "copy_host" || names[i][1:7] eq "ceiling" ? "cpu" : "gpu"
  if (have(source, names[i]."-float32")) {
    parts = add(sprintf("file('%s', '%s-float32') using 1:5 with linespoints linetype %d dashtype %d title '%s'", source, \
      names[i], types[i], dashes[i], texts[i]))
  }
}
eval "plot ".parts
