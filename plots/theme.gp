# What all pictures share: the colors of the two themes, fonts, the terminal.
# The caller sets: theme (light, dark), format (png, svg), out (the file), width and height in pixels.

is_dark = theme eq "dark"
background = is_dark ? "#0d1117" : "#ffffff"
ink = is_dark ? "#e6edf3" : "#1f2328"
faint = is_dark ? "#9198a1" : "#59636e"
line = is_dark ? "#3d444d" : "#c8d1da"
array color[7]
if (is_dark) {
  color[1] = "#58a6ff"; color[2] = "#ff9f50"; color[3] = "#56d364"; color[4] = "#d2a8ff"
  color[5] = "#ff7b72"; color[6] = "#39c5cf"; color[7] = "#9198a1"
} else {
  color[1] = "#0550ae"; color[2] = "#bc4c00"; color[3] = "#1a7f37"; color[4] = "#8250df"
  color[5] = "#cf222e"; color[6] = "#1b7c83"; color[7] = "#6e7781"
}

# PNG in twice the pixels, so that it stays sharp at page width.
scale = format eq "png" ? 2 : 1
sized(points) = sprintf("DejaVu Sans,%g", points * scale)
font_title = sized(17); font_plain = sized(13); font_small = sized(11); font_tiny = sized(9.5)
if (format eq "png") {
  set terminal pngcairo size 2*width,2*height font font_plain linewidth 2 pointscale 2 background rgb background
} else {
  set terminal svg size width,height dynamic font font_plain background rgb background
}
set output out
set encoding utf8
set datafile separator "\t"
