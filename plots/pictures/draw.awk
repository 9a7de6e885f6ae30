# SPDX-License-Identifier: MIT
# What the lessons' drawings share: begin, shapes, end. A drawing is an awk program that uses these; plots/pictures/draw.sh runs it,
# with theme=light and theme=dark. Lengths are pixels, y goes down. Colors: plots/theme.gp's, by number; 0 is the page's own.
#
#   begin(width, height, alt)            alt: what the picture shows, in words
#   cell(x, y, w, h, color, label)      a box, pale in that color, with a small label in the middle
#   bar(x, y, w, h, color, label)       a box, full in that color
#   frame(x, y, w, h, color, label)     an empty box with a label at its upper left corner, above it
#   label(x, y, align, size, text)       align: start, middle, end; size: 9 to 15
#   note(x, y, align, text)              a faint label
#   arrow(x1, y1, x2, y2, color)
#   line(x1, y1, x2, y2, color)
#   end()
function setup_colors(  all, i) {
  if (theme == "dark") {
    split("#58a6ff #ff9f50 #56d364 #d2a8ff #ff7b72 #39c5cf #9198a1", color_, " ")
    ground_ = "#0d1117"; ink_ = "#e6edf3"; faint_ = "#9198a1"; rule_ = "#3d444d"
  } else {
    split("#0550ae #bc4c00 #1a7f37 #8250df #cf222e #1b7c83 #6e7781", color_, " ")
    ground_ = "#ffffff"; ink_ = "#1f2328"; faint_ = "#59636e"; rule_ = "#c8d1da"
  }
}
function hue(n) { return n ? color_[n] : rule_ }
function xml(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text); return text }
function begin(width, height, alt) {
  setup_colors()
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"DejaVu Sans, Verdana, sans-serif\">\n", width, height
  printf "<title>%s</title>\n<rect width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", xml(alt), width, height, ground_
  printf "<defs>"
  for (heads = 0; heads <= 7; heads++)
    printf "<marker id=\"h%d\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"%s\"/></marker>", heads, hue(heads)
  print "</defs>"
}
function box_(x, y, w, h, fill, opacity, edge) {
  printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\" fill=\"%s\" fill-opacity=\"%s\" stroke=\"%s\"/>\n", x, y, w, h, fill, opacity, edge
}
function label_(x, y, align, size, fill, text) {
  if (text != "")
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%s\" fill=\"%s\">%s</text>\n", x, y, align, size, fill, xml(text)
}
function cell(x, y, w, h, n, text) {
  box_(x, y, w, h, n ? hue(n) : ground_, n ? "0.22" : "1", hue(n))
  label_(x + w / 2, y + h / 2 + 4, "middle", h < 18 || w < 18 ? 8 : 11, ink_, text)
}
function bar(x, y, w, h, n, text) {
  box_(x, y, w, h, hue(n), "1", hue(n))
  label_(x + w / 2, y + h / 2 + 4, "middle", h < 18 || w < 18 ? 8 : 11, ground_, text)
}
function frame(x, y, w, h, n, text) {
  box_(x, y, w, h, "none", "0", hue(n))
  label_(x, y - 5, "start", 11, n ? hue(n) : faint_, text)
}
function label(x, y, align, size, text) { label_(x, y, align, size, ink_, text) }
function note(x, y, align, text) { label_(x, y, align, 11, faint_, text) }
function arrow(x1, y1, x2, y2, n) {
  printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"1.4\" marker-end=\"url(#h%d)\"/>\n", x1, y1, x2, y2, hue(n), n
}
function line(x1, y1, x2, y2, n) {
  printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1, y1, x2, y2, hue(n)
}
function end() { print "</svg>" }
