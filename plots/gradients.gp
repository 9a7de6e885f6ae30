# How large the gradients of a step are, and which float16 loses: chapter 12's counts.
load folder."/style.gp"
set label 1 "Gradients of one step, by size"
set label 2 "In float32, and under autocast in float16: without a scale, and with the loss multiplied by 65536."
set label 3 gradients_about
unset label 4
eval whole
set datafile missing "0"
set logscale y
set yrange [0.7:3e6]
set xrange [-44:2]
set ylabel "parameters"
set xlabel "size of the gradient, from one power of two to the next" offset 0,0.3
set format x "2^{%g}"
set format y "10^{%L}"
set xtics -44,4,0
set grid noxtics
set boxwidth 0.9
set style fill solid 1 noborder
set arrow 1 from -24,graph 0 to -24,graph 1 nohead linecolor rgb faint dashtype 2
set label 5 "float16's smallest" at -24,graph 0.97 right offset -0.6,0 textcolor rgb faint font font_tiny
set arrow 2 from -14,graph 0 to -14,graph 1 nohead linecolor rgb faint dashtype 3
set label 6 "fewer digits" at -14,graph 0.97 right offset -0.6,0 textcolor rgb faint font font_tiny
set key top right
plot data."/gradients.dat" using ($1 + 0.5):2 with boxes linecolor rgb line title "float32", \
  data."/gradients.dat" using ($1 + 0.5):3 with linespoints linetype 2 title "float16", \
  data."/gradients.dat" using ($1 + 0.5):4 with linespoints linetype 1 pointtype 6 title "float16, scaled by 65536"
