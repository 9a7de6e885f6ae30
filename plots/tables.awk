# SPDX-License-Identifier: MIT
# One table in Markdown from a file of ./ferry bench. Each operation is held against the ceilings of the same file: how long
# its arithmetic, or the bytes it must move, would take at best; the longer of the two limits it.
#   awk -v table=ceilings|operations|training -f tables.awk FILE
BEGIN { FS = "\t" }
/^#/ { next }
!columns {
  for (i = 1; i <= NF; i++) at[$i] = i
  columns = NF
  next
}
$at["simulated"] != "no" || $at["dtype"] != "float32" || $at["unit"] != "s" { next }
{
  n++
  name[n] = $at["bench"]
  size[n] = $at["size"]
  median[n] = $at["median"]
  flops[n] = $at["flops"]
  bytes[n] = $at["bytes"]
  rate[n] = $at["rate"]
  unit[n] = $at["rate_unit"]
  best = rate[n] * median[n] / $at["min"]
  if (name[n] == "ceiling_fma" && best > arithmetic) arithmetic = best
  kind = name[n] ~ /^ceiling_(copy|triad)/ ? "write" : name[n] == "ceiling_update" ? "update" : name[n] == "ceiling_read" ? "read" : ""
  if (kind && best > bandwidth[kind, size[n]]) bandwidth[kind, size[n]] = best
  if (kind) sizes[size[n]] = kind
  if (name[n] == "small_add") overhead = median[n]
}

function time_text(s) {
  if (s < 1e-6) return sprintf("%.0f ns", s * 1e9)
  if (s < 1e-3) return sprintf("%.3g us", s * 1e6)
  if (s < 1) return sprintf("%.3g ms", s * 1e3)
  return sprintf("%.3g s", s)
}

function size_text(b) {
  if (b < 1048576) return sprintf("%d KiB", b / 1024)
  return sprintf("%d MiB", b / 1048576)
}

function rate_text(r) {
  if (r >= 1e5) return sprintf("%.0f k", r / 1e3)
  return sprintf(r < 10 ? "%.2f" : r < 100 ? "%.1f" : "%.0f", r)
}

# GB/s of the ceiling that is like operation i: only reading, changing in place, or writing something new, where it took about
# as much memory. Bytes that are read and then written again count twice in `bytes`, once as memory.
function bandwidth_for(i,   kind, arrays, memory, s, far, fit, nearest) {
  kind = name[i] ~ /^(sum|max|argmax)/ ? "read" : name[i] ~ /^(add_$|adam)/ ? "update" : "write"
  arrays = kind == "write" ? 2.5 : 1
  memory = bytes[i] * (name[i] ~ /^adam/ ? 4 / 7 : name[i] == "add_" ? 2 / 3 : 1)
  for (s in sizes) {
    far = log(memory / (arrays * s))
    far = far < 0 ? -far : far
    if (kind == "update" && s + 0 > memory * 1.001 && s + 0 > 65536) continue # a larger one would be out of the last cache
    if (!fit || far < nearest) {
      nearest = far
      fit = s
    }
  }
  return bandwidth[kind, fit]
}

# Sets `limit` and `share`: what keeps the row from being faster, and how much of that it reaches.
function find_limit(i,   by_arithmetic, by_bytes) {
  by_arithmetic = arithmetic ? flops[i] / arithmetic / 1e9 : 0
  by_bytes = bytes[i] ? bytes[i] / bandwidth_for(i) / 1e9 : 0
  limit = by_arithmetic > by_bytes ? "arithmetic" : "bandwidth"
  share = (by_arithmetic > by_bytes ? by_arithmetic : by_bytes) / median[i]
  if (overhead > by_arithmetic + by_bytes) {
    limit = "overhead"
    share = 0
  }
}

function ceilings(   i) {
  print "| ceiling | size | time | rate |"
  print "| --- | ---: | ---: | ---: |"
  for (i = 1; i <= n; i++)
    if (name[i] ~ /^ceiling_/)
      printf "| %s | %s | %s | %s %s |\n", substr(name[i], 9), name[i] == "ceiling_fma" ? size[i] " threads" : size_text(size[i]),
        time_text(median[i]), rate_text(rate[i]), unit[i]
}

function operations(   i) {
  print "| operation | size | time | rate | limited by | reaches |"
  print "| --- | ---: | ---: | ---: | --- | ---: |"
  for (i = 1; i <= n; i++)
    if (name[i] !~ /^(ceiling|train|autocast|loader)/) {
      find_limit(i)
      printf "| %s | %s | %s | %s %s | %s | %s |\n", name[i], size[i], time_text(median[i]), rate_text(rate[i]), unit[i], limit,
        share ? sprintf("%.0f %%", 100 * share) : ""
    }
}

# Of mixed precision there is no share: the ceiling is float32's.
function step_text(name) {
  return name ~ /^train/ ? substr(name, 7) : substr(name, 10) " in bfloat16"
}

function training(   i) {
  print "| step | batch | time | samples/s | GFLOP/s | of the arithmetic |"
  print "| --- | ---: | ---: | ---: | ---: | ---: |"
  for (i = 1; i <= n; i++)
    if (name[i] ~ /^(train|autocast)/ && name[i] != "train_threads")
      printf "| %s | %s | %s | %s | %.0f | %s |\n", step_text(name[i]), size[i], time_text(median[i]), rate_text(rate[i]),
        flops[i] / median[i] / 1e9, name[i] ~ /^train/ && arithmetic ? sprintf("%.0f %%", 100 * flops[i] / median[i] / 1e9 / arithmetic) : ""
}

END {
  if (table == "ceilings") ceilings()
  if (table == "operations") operations()
  if (table == "training") training()
}
