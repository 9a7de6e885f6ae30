# SPDX-License-Identifier: MIT
# Hillis and Steele's scan of 8 elements, and Blelloch's sums up the tree.
BEGIN {
  begin(860, 300, "Two scans of eight elements. Hillis and Steele: in three steps each element adds the one at distance 1, 2 and 4 before it. Blelloch: partial sums up a tree, then prefixes down again")
  size = 44
  split("3 1 7 0 4 1 6 3", v, " ")
  label(20, 24, "start", 12, "Hillis and Steele: 17 additions")
  for (step = 0; step <= 3; step++) {
    y = 40 + step * 62
    for (i = 1; i <= 8; i++)
      cell(20 + (i - 1) * size, y, size - 8, 26, step == 3 ? 3 : 1, v[i])
    if (step < 3) {
      d = 2 ^ step
      for (i = 8; i > d; i--)
        arrow(20 + (i - 1 - d) * size + 18, y + 27, 20 + (i - 1) * size + 16, y + 60, 1)
      for (i = 8; i > d; i--)
        v[i] += v[i - d]
    }
  }
  split("3 1 7 0 4 1 6 3", v, " ")
  x0 = 450
  label(x0, 24, "start", 12, "Blelloch, up-sweep: 7 additions (and 7 in the down-sweep)")
  for (step = 0; step <= 3; step++) {
    y = 40 + step * 62
    for (i = 1; i <= 8; i++)
      cell(x0 + (i - 1) * size, y, size - 8, 26, step == 0 || i % (2 ^ step) == 0 ? 1 : 0, v[i])
    if (step < 3) {
      d = 2 ^ step
      for (i = 2 * d; i <= 8; i += 2 * d) {
        arrow(x0 + (i - 1 - d) * size + 18, y + 27, x0 + (i - 1) * size + 14, y + 60, 2)
        v[i] += v[i - d]
      }
    }
  }
  note(20, 284, "start", "3 1 7 0 4 1 6 3 becomes 3 4 11 11 15 16 22 25")
  note(x0, 284, "start", "the last element is the sum of all, 25")
  end()
}
