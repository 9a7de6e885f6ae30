# A Chrome trace as a picture, for ./ferry timeline (plots/trace/draw.c), in whose folder it runs. Everything is in pixels:
#   boxes  left, right, top, bottom, color    lines  x, y, dx, dy    texts  x, y, style, text
# Arguments: the folder of the plots, format, theme, width, height.
format = ARG2; theme = ARG3; width = ARG4 + 0; height = ARG5 + 0; out = "picture"
load ARG1."/theme.gp"

unset border
unset tics
unset key
unset grid
set lmargin at screen 0; set rmargin at screen 1; set tmargin at screen 1; set bmargin at screen 0
set xrange [0:width]
set yrange [height:0]
set datafile commentschars ""
set style fill solid 1 noborder
do for [i=1:7] { set linetype i linecolor rgb color[i] }
of(style) = sprintf("< awk -F '\t' '$3 == %d' texts", style)

plot "lines" using 1:2:3:4 with vectors nohead linecolor rgb line linewidth 0.6, \
  "boxes" using (($1 + $2) / 2):(($3 + $4) / 2):1:2:3:4:5 with boxxyerror linecolor variable, \
  of(0) using 1:2:4 with labels left noenhanced font font_title textcolor rgb ink, \
  of(1) using 1:2:4 with labels left noenhanced font font_small textcolor rgb faint, \
  of(2) using 1:2:4 with labels left noenhanced font font_small textcolor rgb ink, \
  of(3) using 1:2:4 with labels left noenhanced font font_small textcolor rgb color[2], \
  of(4) using 1:2:4 with labels left noenhanced font font_tiny textcolor rgb faint, \
  of(5) using 1:2:4 with labels left noenhanced font font_tiny textcolor rgb background, \
  of(6) using 1:2:4 with labels center noenhanced font font_tiny textcolor rgb faint, \
  of(7) using 1:2:4 with labels left noenhanced font font_tiny textcolor rgb ink
