# SPDX-License-Identifier: MIT
# counters.tsv of a GPU check as a Markdown table, a row for each counter: over how many kernels both have it, in how many they agree to
# 1 % and to 10 %, the geometric mean of max(ratio, 1 / ratio) and the worst kernel. Counts of 0 on both sides agree.
BEGIN {
  FS = "\t"
  print "| counter | kernels | within 1 % | within 10 % | error | worst: inspector / ncu |"
  print "| --- | --- | --- | --- | --- | --- |"
}
NR > 1 && $4 != "-" && ($3 > 0 || $4 > 0) {
  if (!($2 in kernels)) order[++counters] = $2
  kernels[$2]++
  if ($3 == 0 || $4 == 0) {
    one_sided[$2]++
    next
  }
  ratio = $4 / $3
  off = ratio > 1 ? ratio : 1 / ratio
  near[$2] += off <= 1.01
  close_to[$2] += off <= 1.1
  sum[$2] += log(off)
  if (off > worst[$2]) {
    worst[$2] = off
    where[$2] = sprintf("%.2f, `%s`", ratio, $1)
  }
}
END {
  for (i = 1; i <= counters; i++) {
    c = order[i]
    both = kernels[c] - one_sided[c]
    printf "| %s | %d%s | %d | %d | %s | %s |\n", c, kernels[c], one_sided[c] ? sprintf(" (%d on one side only)", one_sided[c]) : "", near[c],
      close_to[c], both ? sprintf("x%.2f", exp(sum[c] / both)) : "-", both ? where[c] : "-"
  }
}
