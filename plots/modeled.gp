# Scaling efficiency on paper (./ferry scale --plot): a line for each network.
load folder."/style.gp"
set label 1 "Modeled scaling: efficiency against the number of GPUs"
set label 2 sprintf("%s: %.1f MiB of gradients in %d buckets, %.4g ms a step on one GPU (%s).", model, bytes / 1048576., buckets, \
  1e3 * step, step_from) noenhanced
set label 3 sprintf("Modeled, not measured. %d GPUs a node: %s.", per_node, node) noenhanced
set label 4 source noenhanced
eval whole
set xlabel "GPUs"
set ylabel "% of so many times one GPU's speed"
set logscale x 2
set format x "%.0f"
set format y "%g"
set yrange [0:105]
set key bottom left noenhanced
rows = data."/modeled.dat"
plot for [i=2:networks + 1] rows using 1:i with linespoints linetype i - 1 title columnheader(i)
