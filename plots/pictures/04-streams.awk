# SPDX-License-Identifier: MIT
# Two streams of a device and an event between them: the copy and the product overlap, and one waits for the other.
BEGIN {
  begin(860, 230, "Two streams: a copy in one, products in the other, an event that the second waits for")
  label(20, 62, "start", 12, "host")
  label(20, 112, "start", 12, "stream copying")
  label(20, 162, "start", 12, "stream computing")
  for (i = 0; i < 5; i++)
    cell(150 + i * 26, 44, 22, 28, 1, i + 1)
  cell(180, 94, 250, 30, 2, "copy of the next batch")
  cell(210, 144, 190, 30, 3, "product, this batch")
  cell(436, 144, 190, 30, 3, "product, next batch")
  arrow(430, 124, 436, 142, 2)
  note(440, 112, "start", "event: recorded in one stream, waited for by the other")
  note(150, 200, "start", "the host queues five things and goes on: (1) copy, (2) product, (3) record, (4) wait, (5) product")
  arrow(150, 215, 640, 215, 0)
  note(646, 219, "start", "time")
  end()
}
