# SPDX-License-Identifier: MIT
# One column of a tile in three layouts, with 8 banks in place of 32: the number in a cell is the bank that its word lies in.
function xor(a, b,  bit, sum) {
  for (bit = 1; bit < 8; bit *= 2)
    if (int(a / bit) % 2 != int(b / bit) % 2)
      sum += bit
  return sum + 0
}
function tile(x0, width, swizzle, title, passes,  r, c, at, word) {
  label(x0, 34, "start", 12, title)
  for (r = 0; r < 8; r++)
    for (c = 0; c < width; c++) {
      word = r * width + c
      at = swizzle ? xor(2, r) : 2
      cell(x0 + c * size, 50 + r * size, size, size, c == at ? (passes > 1 ? 5 : 3) : c == 8 ? 7 : 0, word % 8)
    }
  note(x0, 50 + 8 * size + 20, "start", "column 2: " passes (passes > 1 ? " wavefronts" : " wavefront"))
}
BEGIN {
  begin(860, 290, "Column 2 of a tile with 8 banks: with rows of 8 words all elements are in bank 2; with rows of 9 words and in a swizzled tile each element is in a different bank")
  size = 26
  tile(30, 8, 0, "rows of 8 words", 8)
  tile(310, 9, 0, "rows of 9 words, the last unused", 1)
  tile(610, 8, 1, "swizzled: word x ^ y", 1)
  end()
}
