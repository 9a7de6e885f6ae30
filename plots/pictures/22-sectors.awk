# SPDX-License-Identifier: MIT
# A warp's request for 32 floats on sectors of 32 bytes: beside each other, misaligned, with stride 2, with stride 8.
function sectors(y, first, count, used,   s, w) {
  w = 640 / count
  for (s = 0; s < count; s++)
    cell(190 + s * w, y + 30, w - 1, 20, (s >= first && s < first + used) ? 1 : 0, count <= 8 ? "32 bytes" : "")
}
function threads(y, from, step,   t) {
  for (t = 0; t < 32; t++)
    bar(from + t * step, y, step > 10 ? step - 2 : step - 1, 14, 2, "")
}
function title(y, text, cost) {
  label(16, y + 14, "start", 12, text)
  note(16, y + 44, "start", cost)
}
BEGIN {
  begin(860, 380, "The sectors that hold a warp's 32 floats: 4 if adjacent and aligned, 5 if misaligned, 8 with stride 2, 32 with stride 8")
  title(20, "x[i]", "4 sectors")
  threads(20, 190, 10); sectors(20, 0, 8, 4)
  title(105, "x[i + 1]", "5 sectors")
  threads(105, 200, 10); sectors(105, 0, 8, 5)
  title(190, "x[2 * i]", "8 sectors")
  for (t = 0; t < 32; t++)
    bar(190 + t * 20, 190, 9, 14, 2, "")
  sectors(190, 0, 8, 8)
  title(275, "x[8 * i]", "32 sectors")
  for (t = 0; t < 32; t++)
    bar(190 + t * 20, 275, 3, 14, 2, "")
  sectors(275, 0, 32, 32)
  note(190, 350, "start", "orange: requested by a thread; blue: sectors fetched. The last row is drawn at a quarter of the scale.")
  end()
}
