# SPDX-License-Identifier: MIT
# One table in Markdown from a file of make bench-ranks.   awk -v part=training|all_reduce -f tables_ranks.awk FILE
BEGIN {
  FS = "\t"
  if (part == "training") {
    says["efficiency"] = "Ferry, %s ranks together against one alone"
    says["apart"] = "Ferry, %s ranks that exchange nothing against one alone"
    says["torch-efficiency"] = "PyTorch DDP over gloo, %s ranks together against one alone"
    says["torch-apart"] = "PyTorch, %s ranks that exchange nothing against one alone"
    says["over-torch"] = "%s ranks of Ferry against of PyTorch's DDP over gloo"
  } else {
    says["over-mpi"] = "Ferry against MPI_Allreduce itself"
    says["over-gloo"] = "Ferry against PyTorch over gloo"
  }
  print "| " (part == "training" ? "step of | samples a rank" : "call | size") " | compared | first | second | ratio | middle half | target | |"
  print "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |"
}
function time_text(s) {
  if (s < 1e-3) return sprintf("%.3g us", s * 1e6)
  if (s < 1) return sprintf("%.3g ms", s * 1e3)
  return sprintf("%.3g s", s)
}
function size_text(b) {
  if (part == "training") return b
  return b < 1048576 ? sprintf("%d KiB", b / 1024) : sprintf("%d MiB", b / 1048576)
}
/^# others: / { others = substr($0, 11) + 0 }
/^# ranks: / { ranks = substr($0, 10) }
/^#/ || !($1 in says) { next }
{
  text = says[$1]
  sub(/%s/, ranks, text)
  printf "| %s | %s | %s | %s | %s | %.2f | %.2f .. %.2f | %s | %s |\n", $2, size_text($3), text, time_text($5), time_text($6),
    $7, $8, $9, ($11 == "-") ? "" : $11, ($12 == "-") ? "" : $12
}
END {
  if (others > 0.1) printf "| (not an idle machine: other programs kept %.1f cores busy meanwhile) | | | | | | | | |\n", others
}
