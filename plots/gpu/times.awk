# SPDX-License-Identifier: MIT
# times.tsv of a GPU check as a Markdown table, and how far the model is off: the geometric mean of max(ratio, 1 / ratio).
BEGIN {
  FS = "\t"
  print "| kernel | elements | measured | modeled | modeled / measured | limited by (modeled) |"
  print "| --- | --- | --- | --- | --- | --- |"
}
NR > 1 && $3 > 0 {
  ratio = $5 > 0 ? $5 / $3 : 0
  printf "| `%s` | %s | %.1f us | %s | %s | %s |\n", $1, $2, $3, ratio ? sprintf("%.1f us", $5) : "-", ratio ? sprintf("%.2f", ratio) : "-", $6
  if (ratio) {
    sum += log(ratio > 1 ? ratio : 1 / ratio)
    bias += log(ratio)
    n++
  }
}
END {
  if (n) printf "\nError x%.2f over %d kernels; modeled / measured x%.2f.\n", exp(sum / n), n, exp(bias / n)
}
