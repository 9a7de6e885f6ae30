# SPDX-License-Identifier: MIT
# A scan over three blocks: pieces, their sums, what stands before each.
BEGIN {
  begin(860, 290, "A scan over blocks: each block scans its chunk, the chunk totals are scanned, and each chunk adds its offset")
  n = split("3 1 7 0 4 1 6 3 2 2 5 1", v, " ")
  size = 48
  x0 = 130
  note(20, 58, "start", "x")
  note(20, 128, "start", "scan of chunks")
  note(20, 198, "start", "offsets")
  note(20, 268, "start", "out")
  for (i = 0; i < n; i++) {
    b = int(i / 4)
    x = x0 + i * size + b * 30
    sum = i % 4 ? sum + v[i + 1] : v[i + 1]
    all += v[i + 1]
    cell(x, 40, size - 8, 28, b + 1, v[i + 1])
    cell(x, 110, size - 8, 28, b + 1, sum)
    cell(x, 250, size - 8, 28, b + 1, all)
    arrow(x + 20, 70, x + 20, 107, b + 1)
    if (i % 4 == 0) {
      bar(x + 72, 180, 56, 28, b + 1, all - v[i + 1])
      arrow(x + 100, 210, x + 100, 246, b + 1)
    }
    if (i % 4 == 3 && b < 2)
      arrow(x + 20, 140, x0 + (i + 1) * size + (b + 1) * 30 + 96, 177, b + 1)
  }
  end()
}
