# SPDX-License-Identifier: MIT
# Attention in tiles: a block's queries, keys and values that come by, what goes along.
BEGIN {
  begin(860, 320, "A block keeps its queries and iterates over the keys and values tile by tile; it updates maximum, sum and weighted sum")
  label(40, 26, "start", 13, "keys and values, 32 rows a tile")
  for (t = 0; t < 8; t++) {
    cell(200 + t * 62, 40, 56, 28, t == 3 ? 1 : 0, "k " t)
    cell(200 + t * 62, 74, 56, 28, t == 3 ? 2 : 0, "v " t)
  }
  arrow(200, 118, 690, 118, 7)
  note(700, 122, "start", "in sequence")
  frame(40, 150, 130, 56, 4, "32 queries, in registers")
  cell(50, 160, 110, 36, 4, "q")
  for (t = 0; t < 8; t++)
    cell(200 + t * 62, 160, 56, 36, t == 3 ? 5 : 0, t < 3 ? "done" : t == 3 ? "32 x 32" : "")
  note(200, 214, "start", "scores: one tile at a time, never in device memory")
  arrow(414, 104, 414, 158, 1)
  frame(40, 250, 660, 46, 3, "goes along, for each query: scaled by e^(old maximum - new maximum) when a larger score comes")
  cell(50, 258, 130, 30, 3, "maximum")
  cell(190, 258, 130, 30, 3, "sum")
  cell(330, 258, 360, 30, 3, "weighted sum of v, D numbers")
  end()
}
