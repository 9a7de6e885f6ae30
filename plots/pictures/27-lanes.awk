# SPDX-License-Identifier: MIT
# The part of a tile that a warp has, in two shapes, and what it wants of a's and b's tiles for one p.
function part(x0, y0, w, h, columns, rows, title, words,  r, c) {
  label(x0 - 20, 30, "start", 12, title)
  cell(x0 - 20, y0, 12, h, 1, "")
  cell(x0, y0 - 20, w, 12, 2, "")
  for (r = 0; r < rows; r++)
    for (c = 0; c < columns; c++)
      cell(x0 + c * w / columns, y0 + r * h / rows, w / columns, h / rows, 3, "")
  note(x0 - 20, y0 + h + 22, "start", words)
}
BEGIN {
  begin(860, 280, "A warp's 2048 elements of c as 16 rows of 128 need 144 words of the tiles for each p; as 64 rows of 32 they need 96")
  part(50, 70, 448, 56, 16, 2, "lanes in 2 rows of 16: 16 x 128 elements of c", "for each p: 16 + 128 = 144 words of the tiles for 2048 multiply-adds")
  part(600, 70, 112, 168, 4, 8, "lanes in 8 rows of 4: 64 x 32", "64 + 32 = 96 words")
  end()
}
