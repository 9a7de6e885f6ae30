# SPDX-License-Identifier: MIT
# One table in Markdown from a file of make bench-torch.   awk -v row=default|two|tuned|onnx|busy|slow-down|memory -f tables_torch.awk FILE
BEGIN {
  FS = "\t"
  other = row == "onnx" ? "onnxruntime" : "PyTorch"
  print "| case | size | Ferry | " other " | ratio | middle half | target | |"
  print "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
}
function value_text(v, unit) {
  if (unit == "x") return sprintf("%.2f times", v)
  if (unit == "B") return sprintf("%.0f MiB", v / 1048576)
  if (v < 1e-6) return sprintf("%.0f ns", v * 1e9)
  if (v < 1e-3) return sprintf("%.3g us", v * 1e6)
  if (v < 1) return sprintf("%.3g ms", v * 1e3)
  return sprintf("%.3g s", v)
}
/^#/ || $1 == "row" || $1 != row { next }
{
  printf "| %s | %s | %s | %s | %.2f | %s | %s | %s |\n", $2, $3, value_text($5, $4), value_text($6, $4), $7,
    ($10 > 1) ? sprintf("%.2f .. %.2f", $8, $9) : "", ($11 == "-") ? "" : $11, ($12 == "-") ? "" : $12
}
