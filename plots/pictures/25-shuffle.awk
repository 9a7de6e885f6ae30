# SPDX-License-Identifier: MIT
# __shfl_down_sync in a warp of 8 lanes: 4 apart, 2 apart, 1 apart.
BEGIN {
  begin(860, 300, "Eight lanes add with shuffles at distances four, two and one; lane 0 ends with the sum")
  split("3 1 7 0 4 1 6 3", v, " ")
  size = 60
  x0 = 60
  for (step = 0; step <= 3; step++) {
    y = 30 + step * 72
    apart = 4 / 2 ^ step
    for (l = 0; l < 8; l++) {
      useful = step == 0 || l < 8 / 2 ^ step
      cell(x0 + l * size, y, size - 10, 28, useful ? (l == 0 && step == 3 ? 3 : 1) : 0, useful ? v[l + 1] : "")
    }
    if (step < 3) {
      for (l = 0; l < apart; l++)
        arrow(x0 + (l + apart) * size + 25, y + 30, x0 + l * size + 30, y + 69, 1)
      note(x0 + 8 * size + 10, y + 50, "start", "__shfl_down_sync(mask, x, " apart ")")
      for (l = 0; l < apart; l++)
        v[l + 1] += v[l + apart + 1]
    }
  }
  for (l = 0; l < 8; l++)
    note(x0 + l * size + 25, 22, "middle", "lane " l)
  end()
}
