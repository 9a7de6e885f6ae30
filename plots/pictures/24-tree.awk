# SPDX-License-Identifier: MIT
# Which threads add, step by step, in a block of 16: neighbors first, and halves.
function steps(x0, title, sequential,  s, t, y, active, n) {
  label(x0, 28, "start", 12, title)
  for (t = 0; t < 16; t++)
    note(x0 + t * size + size / 2, 48, "middle", t)
  for (s = 0; s < 4; s++) {
    y = 60 + s * 46
    n = 0
    for (t = 0; t < 16; t++) {
      active = sequential ? t < 8 / 2 ^ s : t % (2 ^ (s + 1)) == 0
      n += active
      cell(x0 + t * size, y, size - 2, 26, active ? (sequential ? 3 : 5) : 0, active ? "+" (sequential ? t + 8 / 2 ^ s : t + 2 ^ s) : "")
    }
  }
}
BEGIN {
  begin(860, 280, "Sixteen threads add in four steps. With interleaved addressing every second, fourth, eighth thread adds; with sequential addressing the first eight, four, two, one")
  size = 25
  steps(20, "if (t % (2 * step) == 0): spread over all warps", 0)
  steps(440, "if (t < half): the first threads, whole warps", 1)
  note(20, 262, "start", "a cell: this thread adds element +k to its own; empty: it waits at the barrier")
  end()
}
