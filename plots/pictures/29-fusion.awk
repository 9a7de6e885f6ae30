# SPDX-License-Identifier: MIT
# Two kernels over device memory, and one.
BEGIN {
  begin(860, 250, "Two kernels read and write the array twice over device memory; one fused kernel reads it once and writes it once")
  side(40, "two launches: 4 times through device memory", 2)
  side(480, "fused: twice", 1)
  end()
}
function side(x, title, kernels,   k, step, w) {
  label(x, 24, "start", 13, title)
  frame(x, 60, 340, 50, 7, "device memory")
  step = 340 / (kernels + 1)
  w = 70
  for (k = 0; k <= kernels; k++)
    cell(x + 10 + k * (320 - w) / kernels, 70, w, 30, k == 0 ? 1 : k == kernels ? 3 : 2, k == 0 ? "x" : k == kernels ? "out" : "x + bias")
  for (k = 0; k < kernels; k++) {
    from = x + 10 + k * (320 - w) / kernels + w / 2
    to = x + 10 + (k + 1) * (320 - w) / kernels + w / 2
    bar((from + to) / 2 - 45, 180, 90, 30, 4, kernels == 1 ? "bias_gelu" : k == 0 ? "add_bias" : "gelu")
    arrow(from + 8, 102, (from + to) / 2 - 20, 178, 1)
    arrow((from + to) / 2 + 20, 178, to - 8, 102, 3)
  }
}
