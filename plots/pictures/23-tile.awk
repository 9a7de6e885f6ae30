# SPDX-License-Identifier: MIT
# A block's tile on its way: read along rows of in, written along rows of out, turned in shared memory.
function grid(x0, y0, n, size, row, column,  r, c) {
  for (r = 0; r < n; r++)
    for (c = 0; c < n; c++)
      cell(x0 + c * size, y0 + r * size, size, size, r == row || c == column ? (r == row ? 1 : 2) : 7, "")
}
BEGIN {
  begin(860, 250, "A tile in shared memory: a warp reads a row of in and writes it as a row of the tile; after the barrier it reads a column of the tile and writes it as a row of out")
  size = 20
  grid(40, 50, 8, size, 2, -1)
  label(120, 34, "middle", 12, "in, global memory")
  grid(350, 50, 8, size, 2, 5)
  label(430, 34, "middle", 12, "tile, shared memory")
  grid(660, 50, 8, size, 5, -1)
  label(740, 34, "middle", 12, "out, global memory")
  arrow(206, 100, 344, 100, 1)
  note(275, 90, "middle", "row to row")
  arrow(516, 160, 654, 160, 2)
  note(585, 150, "middle", "column to row")
  note(120, 230, "middle", "adjacent threads, adjacent words")
  note(430, 230, "middle", "written, __syncthreads(), read")
  note(740, 230, "middle", "adjacent threads, adjacent words")
  end()
}
