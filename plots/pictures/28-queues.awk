# SPDX-License-Identifier: MIT
# The default stream between two others: with blocking streams, and with non-blocking ones.
function draw(x0, title, blocking) {
  label(x0 + 70, 24, "start", 12, title)
  note(x0 + 64, 54, "end", "stream a")
  note(x0 + 64, 84, "end", "default")
  note(x0 + 64, 114, "end", "stream b")
  cell(x0 + 70, 38, 96, 24, 1, "first")
  cell(x0 + 70 + (blocking ? 100 : 0), 68, 96, 24, 2, "second")
  cell(x0 + 70 + (blocking ? 200 : 0), 98, 96, 24, 3, "third")
  if (blocking) {
    arrow(x0 + 168, 52, x0 + 176, 68, 5)
    arrow(x0 + 268, 84, x0 + 276, 98, 5)
  }
}
BEGIN {
  begin(860, 150, "Three launches, the second into the default stream: with blocking streams they run one after the other, with non-blocking streams side by side")
  draw(10, "a and b are blocking streams", 1)
  draw(470, "a and b are non-blocking streams", 0)
  end()
}
