# SPDX-License-Identifier: MIT
# Whose memory is where, and what crosses between: host memory, pageable and pinned, PCIe, two devices with a memory each.
BEGIN {
  begin(860, 300, "Host memory, pageable and pinned, joined by PCIe with two devices that have a memory each")
  frame(20, 50, 300, 210, 1, "host")
  cell(40, 80, 110, 60, 1, "CPU")
  cell(190, 80, 110, 60, 0, "pageable")
  cell(190, 180, 110, 60, 2, "pinned")
  arrow(245, 142, 245, 178, 1)
  note(182, 164, "end", "staged by the driver")
  for (d = 0; d < 2; d++) {
    y = 30 + d * 130
    frame(540, y + 20, 300, 100, 3, "cuda:" d)
    cell(560, y + 45, 120, 55, 3, "memory")
    cell(710, y + 45, 110, 55, 3, "processors")
    arrow(682, y + 72, 708, y + 72, 3)
    arrow(302, 210, 556, y + 72, 2)
  }
  label(400, 150, "middle", 12, "PCIe")
  arrow(620, 134, 620, 202, 3)
  note(632, 172, "start", "peers: directly, where they can")
  note(20, 285, "start", "a tensor is in one of these memories; an operation runs where its tensors are")
  end()
}
