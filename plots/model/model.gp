# Modeled against published, a point for each row of a published table. The caller sets: theme, format, out, folder, rows.
width = 960; height = 540
load folder."/theme.gp"
set border 3 linecolor rgb line
set tics nomirror textcolor rgb ink out
set grid xtics ytics linecolor rgb line linewidth 0.6 dashtype 1
set label 1 "The modeled GPU against published measurements" at screen 0.012,0.955 left font font_title textcolor rgb ink
set label 2 "Modeled, not measured: computed from counts and data sheets. Above 1 the model is slower than what was published." \
  at screen 0.012,0.905 left font font_small textcolor rgb faint
set label 3 "Published values are as reported by the sources that plots/published/tables.tsv names; none was measured here." \
  at screen 0.012,0.03 left font font_tiny textcolor rgb faint
set tmargin at screen 0.84
set bmargin at screen 0.2
set lmargin at screen 0.105
set rmargin at screen 0.965
set key top right Left reverse textcolor rgb ink font font_small
set yrange [0.25:4]
set logscale y 2
set format y "%g"
set ylabel "modeled time / reported time" textcolor rgb ink
set xlabel "rows of the tables, by table" textcolor rgb ink
unset xtics
set style fill transparent solid 0.08 noborder
set object 1 rectangle from graph 0,first 0.6667 to graph 1,first 1.5 behind fillcolor rgb ink fillstyle transparent solid 0.08 noborder
row(set, column) = strcol(2) eq set ? column : NaN
plot rows using 0:(row('fitted', $10)) with points pointtype 6 pointsize 0.7 linecolor rgb color[1] title "reported, table used to fit", \
  rows using 0:(row('held out', $10)) with points pointtype 7 pointsize 0.6 linecolor rgb color[2] title "reported, held out", \
  rows using 0:(row('kept apart', $10)) with points pointtype 1 pointsize 0.6 linecolor rgb faint title "reported, kept apart", \
  1 with lines linecolor rgb faint dashtype 2 title "as reported", \
  NaN with boxes linecolor rgb ink fillstyle transparent solid 0.08 title "within x1.5"
