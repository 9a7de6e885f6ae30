# SPDX-License-Identifier: MIT
# A block's time with one pair of tiles and with two.
function step(x, y, w, color, text) { cell(x, y, w, 26, color, text) }
BEGIN {
  begin(860, 200, "With one pair of tiles a block loads, waits, computes and waits again. With double buffering it loads the next tiles while it computes with the current ones")
  label(20, 34, "start", 12, "one pair of tiles")
  for (i = 0; i < 4; i++) {
    step(20 + i * 200, 46, 96, 1, "load " i + 1)
    step(118 + i * 200, 46, 96, 3, "compute " i + 1)
  }
  label(20, 114, "start", 12, "two pairs: double buffering")
  step(20, 126, 96, 1, "load 1")
  for (i = 0; i < 4; i++) {
    step(118 + i * 104, 156, 100, 3, "compute " i + 1)
    if (i < 3)
      step(118 + i * 104, 126, 96, 1, "load " i + 2)
  }
  note(540, 174, "start", "the same work, without waiting for memory")
  end()
}
