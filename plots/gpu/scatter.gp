# What a GPU check recorded against what Ferry said, both axes logarithmic. The caller sets: theme, format, out, folder, part, points.
width = 760; height = 560
load folder."/theme.gp"
set border 3 linecolor rgb line
set tics nomirror textcolor rgb ink out
set grid xtics ytics linecolor rgb line linewidth 0.6 dashtype 1
set datafile separator "\t"
times = part eq 'times'
set label 1 (times ? "Modeled against measured" : "The inspector against ncu") at screen 0.015,0.955 left font font_title textcolor rgb ink
set label 2 (times ? "Microseconds of a launch; on the line the model is right." : "Counts of a launch; on the line both say the same.") \
  at screen 0.015,0.905 left font font_small textcolor rgb faint
set tmargin at screen 0.84
set bmargin at screen 0.14
set lmargin at screen 0.14
set rmargin at screen 0.96
set logscale xy
set format xy "10^{%L}"
set xlabel (times ? "measured" : "ncu") textcolor rgb ink
set ylabel (times ? "modeled" : "inspector") textcolor rgb ink
unset key
from = 3
to = times ? 5 : 4
positive(c) = (strcol(c) eq '-' || column(c) <= 0) ? NaN : column(c)
plot points using (positive(from)):(positive(to)) with points pointtype 7 pointsize 0.7 linecolor rgb color[2], \
  x with lines linecolor rgb faint dashtype 2
