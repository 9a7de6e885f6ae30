# SPDX-License-Identifier: MIT
# A race without a barrier in three orders of the threads: who finds what its neighbor has written.
BEGIN {
  begin(860, 250, "Three orders of the same threads: ascending, each thread finds the value of its predecessor; descending, none does; random, some do")
  label(30, 26, "start", 13, "thread t reads what thread t - 1 writes, without a barrier; what if they run in this order?")
  row(60, "ascending", "0 1 2 3 4 5 6 7")
  row(125, "descending", "7 6 5 4 3 2 1 0")
  row(190, "random", "3 6 0 5 1 7 2 4")
  end()
}
function row(y, name, order,   t, k, n, done) {
  label(30, y + 22, "start", 12, name)
  n = split(order, t, " ")
  delete done
  for (k = 1; k <= n; k++) {
    right = t[k] == 0 || ((t[k] - 1) in done)
    cell(140 + (k - 1) * 64, y, 56, 34, right ? 3 : 5, "t = " t[k])
    done[t[k]] = 1
    if (k < n)
      arrow(196 + (k - 1) * 64, y + 17, 203 + (k - 1) * 64, y + 17, 7)
  }
  note(670, y + 22, "start", name == "ascending" ? "all correct, by luck" : name == "descending" ? "only t = 0 correct" : "some correct")
}
