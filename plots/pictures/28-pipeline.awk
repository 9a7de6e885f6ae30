# SPDX-License-Identifier: MIT
# Copy in, kernel, copy out: of the whole, and in four chunks.
function row(y, name) { note(88, y + 17, "end", name) }
function stage(x, y, w, color, text) { cell(x, y, w - 2, 24, color, text) }
BEGIN {
  begin(860, 250, "One chunk: copy in, kernel and copy out follow one another. Four chunks in four streams: while one is computed, the next is copied in and the previous one is copied out")
  names[0] = "copy in"; names[1] = "kernel"; names[2] = "copy out"
  label(96, 24, "start", 12, "one chunk")
  for (s = 0; s < 3; s++) {
    row(34 + s * 26, names[s])
    stage(96 + s * 240, 34 + s * 26, 240, s + 1, "all of it")
  }
  label(96, 142, "start", 12, "four chunks in four streams")
  for (s = 0; s < 3; s++) {
    row(152 + s * 26, names[s])
    for (i = 0; i < 4; i++)
      stage(96 + (s + i) * 60, 152 + s * 26, 60, s + 1, i + 1)
  }
  line(456, 146, 456, 236, 5)
  line(816, 28, 816, 236, 5)
  note(636, 196, "middle", "time saved")
  arrow(700, 206, 460, 206, 5)
  end()
}
