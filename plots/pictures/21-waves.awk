# SPDX-License-Identifier: MIT
# Blocks on multiprocessors, in waves: 8 places, 20 blocks.
BEGIN {
  begin(860, 250, "Twenty equal blocks on eight block slots run in three waves; the last wave fills half of the slots")
  for (place = 0; place < 8; place++)
    note(92, 44 + place * 22, "end", "slot " place)
  for (b = 0; b < 20; b++)
    cell(100 + int(b / 8) * 220, 30 + (b % 8) * 22, 216, 19, int(b / 8) + 1, "block " b)
  frame(540, 30 + 4 * 22, 216, 4 * 22 - 3, 5, "")
  note(648, 30 + 6 * 22, "middle", "idle: the tail")
  for (w = 0; w < 3; w++)
    note(100 + w * 220 + 108, 226, "middle", "wave " w + 1)
  end()
}
