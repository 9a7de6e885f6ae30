# Bytes in tensors over one training step, after every block that the recorder saw come or go.
load folder."/style.gp"
source = have("cpu", "memory_timeline-float32") ? "cpu" : "gpu"
set label 1 "Memory over time in a training step"
set label 2 "Lesson 1's CNN, batch 256: bytes in tensors after every block that came or went."
eval whole
set xlabel "blocks that came or went"
set ylabel "MB in tensors"
set format x "%g"
set format y "%g"
set style fill solid 0.75 noborder
rows = file(source, "memory_timeline-float32")
# The stretch of a phase: its rows, and the next one, so that no gap is left between them.
of_phase(name) = sprintf("< awk -F '\t' '$8 == \"%s\" { print; inside = 1; next } inside { print; inside = 0 }' '%s'", name, rows)
peak = best(source, "memory_timeline-float32", 2) / 1e6
set yrange [0:peak * 1.25]
set xrange [0:system("wc -l < '".rows."'") + 0]
set arrow 1 from graph 0,first peak to graph 1,first peak nohead linecolor rgb faint dashtype 2
set label 5 sprintf("peak %.0f MB", peak) at graph 0.99,first peak right offset 0,0.7 textcolor rgb faint font font_tiny
set key top left horizontal
plot of_phase("forward") using 1:($2 / 1e6) with fillsteps linetype 1 title "forward", \
  of_phase("backward") using 1:($2 / 1e6) with fillsteps linetype 2 title "backward", \
  of_phase("Adam") using 1:($2 / 1e6) with fillsteps linetype 3 title "Adam's step"
