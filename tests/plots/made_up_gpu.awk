# SPDX-License-Identifier: MIT
# A result file as ./ferry bench would write it on a machine with GPUs, of numbers made up by formulas: to test what the
# plots do with one. Its names say so; it is never to be put into plots/recorded.
#   awk -v simulated=no -f made_up_gpu.awk
function row(bench, dtype, size, seconds, rate, unit, flops, bytes) {
  print bench, "cuda:0", simulated, dtype, size, 9, seconds, seconds * 0.97, seconds * 0.98, seconds * 1.05,
    "s", rate, unit, flops + 0, bytes + 0, "-"
}
BEGIN {
  OFS = "\t"
  print "# Ferry benchmarks: numbers made up for a test\n# machine: Made-up machine, 16 cores\n# cpu: Made-up CPU\n# cores: 16"
  print "# threads: 16\n# device: cuda:0\n# device_name: Made-up GPU (a test's numbers)\n# simulated: " simulated
  print "# driver: 0.0, runtime 0.0\n# version: 0.0.0\n# commit: none\n# date: 2000-01-01"
  print "bench\tdevice\tsimulated\tdtype\tsize\trepeat\tmedian\tmin\tq1\tq3\tunit\trate\trate_unit\tflops\tbytes\tlabel"
  for (i = split("64 128 256 512 1000 2048 4096 8192", n, " "); i > 0; i--) {
    s = 6e-6 + 2 * n[i] ^ 3 / 5e13
    row("matmul", "float32", n[i], s, 2 * n[i] ^ 3 / s / 1e9, "GFLOP/s", 2 * n[i] ^ 3, 12 * n[i] ^ 2)
    s = 6e-6 + 2 * n[i] ^ 3 / 7e14
    row("matmul", "bfloat16", n[i], s, 2 * n[i] ^ 3 / s / 1e9, "GFLOP/s")
  }
  split("copy_h2d copy_h2d_pinned copy_d2h copy_d2h_pinned copy_d2d", copy, " ")
  split("9e9 5.2e10 7e9 4.8e10 4.1e12", bandwidth, " ")
  for (c = 1; c <= 5; c++)
    for (i = split("4096 65536 1048576 16777216 268435456", n, " "); i > 0; i--) {
      s = 8e-6 + n[i] / bandwidth[c]
      row(copy[c], "float32", n[i], s, n[i] / s / 1e9, "GB/s")
    }
  for (i = split("add relu tanh sum softmax", op, " "); i > 0; i--) {
    s = 5e-6 + 8e8 / 3.5e12
    row(op[i], "float32", 100000000, s, 800 / s / 1e9, "GB/s", i * 1e8, 8e8)
  }
  split("train_100_50_10 train_784_256_128_10 train_cnn_001 train_cnn_002", model, " ")
  split("8e-8 1.2e-7 2e-6 3e-6", each, " ")
  for (m = 1; m <= 4; m++)
    for (i = split("64 256 1024 4096", n, " "); i > 0; i--) {
      s = 1.5e-4 + n[i] * each[m]
      row(model[m], "float32", n[i], s, n[i] / s, "samples/s")
    }
  for (d = 1; d <= 8; d *= 2) {
    s = 0.9e-3 + 1e-4 * (d - 1)
    row("data_parallel", "float32", d, s, 256 * d / s, "samples/s")
  }
}
