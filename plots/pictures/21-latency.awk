# SPDX-License-Identifier: MIT
# A scheduler with one warp and with four: what is waited for.
function row(y, name, first, color,   x, k) {
  note(92, y + 15, "end", name)
  x = first
  for (k = 0; k < 2; k++) {
    bar(x, y, 30, 20, color, "")
    cell(x + 30, y, 210, 20, color, "waits for memory")
    x += 240
  }
  bar(x, y, 30, 20, color, "")
}
BEGIN {
  begin(860, 300, "A single warp leaves its scheduler idle while it waits for memory; the scheduler switches between four warps and is idle less often")
  label(100, 26, "start", 13, "one warp")
  row(40, "warp 0", 100, 1)
  note(92, 87, "end", "scheduler")
  for (k = 0; k < 3; k++)
    bar(100 + k * 240, 72, 30, 20, 1, "")
  label(100, 128, "start", 13, "four warps")
  for (w = 0; w < 4; w++)
    row(140 + w * 26, "warp " w, 100 + w * 30, w + 1)
  note(92, 263, "end", "scheduler")
  for (k = 0; k < 3; k++)
    for (w = 0; w < 4; w++)
      bar(100 + k * 240 + w * 30, 248, 30, 20, w + 1, "")
  arrow(100, 286, 800, 286, 7)
  note(806, 290, "start", "time")
  end()
}
