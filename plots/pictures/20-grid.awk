# SPDX-License-Identifier: MIT
# A grid of 3 blocks of 8 threads on an array of 20 elements.
BEGIN {
  begin(860, 250, "A grid of three blocks of eight threads over an array of twenty elements: the last four threads have no element")
  size = 32
  x0 = 40
  for (b = 0; b < 3; b++) {
    frame(x0 + b * 8 * size + b * 4, 50, 8 * size, 60, b + 1, "blockIdx.x = " b ", blockDim.x = 8")
    for (t = 0; t < 8; t++) {
      i = b * 8 + t
      x = x0 + b * 8 * size + b * 4 + t * size
      cell(x + 3, 58, size - 6, 44, i < 20 ? b + 1 : 0, t)
      if (i < 20)
        arrow(x + size / 2, 104, x0 + i * size + 8 + size / 2, 158, b + 1)
      else
        note(x + size / 2, 128, "middle", "-")
    }
  }
  for (i = 0; i < 20; i++)
    cell(x0 + i * size + 8, 162, size, 34, int(i / 8) + 1, i)
  label(x0 + 8, 222, "start", 12, "y[i], i = blockIdx.x * blockDim.x + threadIdx.x")
  note(x0 + 20 * size + 24, 182, "start", "n = 20: four threads")
  note(x0 + 20 * size + 24, 198, "start", "have nothing to do")
  end()
}
