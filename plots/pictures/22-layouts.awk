# SPDX-License-Identifier: MIT
# Pixels as an array of structures, and as three arrays.
BEGIN {
  begin(860, 210, "Pixels stored as an array of structures (red, green, blue, alpha) and as four planes; the red values are marked")
  split("r g b a", name, " ")
  label(16, 44, "start", 12, "array of structures")
  for (i = 0; i < 28; i++)
    cell(190 + i * 23, 26, 22, 28, i % 4 == 0 ? 5 : 0, name[i % 4 + 1])
  label(16, 114, "start", 12, "structure of arrays")
  for (c = 0; c < 4; c++)
    for (i = 0; i < 7; i++)
      cell(190 + (c * 7 + i) * 23, 96, 22, 28, c == 0 ? 5 : 0, name[c + 1])
  for (i = 0; i < 7; i++) {
    arrow(190 + 4 * i * 23 + 11, 70, 190 + 4 * i * 23 + 11, 56, 5)
    arrow(190 + i * 23 + 11, 142, 190 + i * 23 + 11, 126, 5)
  }
  note(190, 164, "start", "threads 0 to 6: each reads the red value of its pixel")
  end()
}
