# SPDX-License-Identifier: MIT
# Eight threads over twenty elements: three passes.
BEGIN {
  begin(860, 220, "A grid-stride loop: eight threads process twenty elements in three iterations; each thread advances by a stride of eight")
  size = 36
  x0 = 60
  for (t = 0; t < 8; t++)
    cell(x0 + t * size, 30, size, 30, int(t / 4) + 1, t)
  note(x0 + 8 * size + 12, 50, "start", "2 blocks of 4 threads: gridDim.x * blockDim.x = 8")
  for (i = 0; i < 20; i++)
    cell(x0 + i * size, 130, size, 34, int((i % 8) / 4) + 1, i)
  for (p = 0; p < 3; p++)
    arrow(x0 + 1 * size + size / 2 + p * 2, 62, x0 + (1 + 8 * p) * size + size / 2, 126, 1)
  for (p = 0; p < 3; p++) {
    w = (p < 2 ? 8 : 4) * size
    line(x0 + p * 8 * size + 4, 172, x0 + p * 8 * size + w - 4, 172, 7)
    note(x0 + p * 8 * size + w / 2, 188, "middle", "iteration " p + 1)
  }
  note(x0, 210, "start", "thread 1 processes elements 1, 9 and 17")
  end()
}
