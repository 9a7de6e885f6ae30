# Bytes in tensors over one training step.
load folder."/style.gp"
source = have("cpu", "memory_step-float32") ? "cpu" : "gpu"
set label 1 "Memory over a training step"
set label 2 "Lesson 1's CNN, batch 256: bytes in tensors after each layer forward, as each gradient arrives, and after Adam."
eval whole
set bmargin at screen 0.29
set yrange [0:*]
set ylabel "MB in tensors"
set format y "%g"
set xtics noenhanced rotate by -45 font font_tiny scale 0.5
set grid noxtics
set boxwidth 0.8
set style fill solid 0.85 noborder
set key top left
forward(label) = label[strlen(label) - 3:] eq "grad" ? 0 : 1
peak = best(source, "memory_step-float32", 2) / 1e6
set arrow 1 from graph 0,first peak to graph 1,first peak nohead linecolor rgb faint dashtype 2
set label 5 sprintf("peak %.0f MB", peak) at graph 0.01,first peak left offset 0,0.7 textcolor rgb faint font font_tiny
set yrange [0:peak * 1.25]
unset key
plot file(source, "memory_step-float32") using 1:($2 / 1e6):xtic(8) with boxes linetype 1 notitle
