# SPDX-License-Identifier: MIT
# Splits the TSV of one run of ./ferry bench into a file per benchmark and dtype, for gnuplot, and prints what is known
# about the run as gnuplot assignments. Rows of simulated devices are dropped here: nothing after this sees them.
# With -v kind=modeled those of devices that model a GPU are kept, and no others.
#   awk -v out=DIRECTORY -v name=cpu -f prepare.awk FILE
# Files: DIRECTORY/BENCH-DTYPE.dat, tabs between size, median, q1, q3, rate, flops, bytes, label, rate of the best run.
BEGIN {
  FS = OFS = "\t"
  if (kind == "") kind = "no"
}
/^# / {
  key = $0
  sub(/^# /, "", key)
  value = key
  sub(/:.*/, "", key)
  sub(/^[^:]*: */, "", value)
  gsub(/["\\]/, "", value)
  header[key] = value
  next
}
!columns {
  for (i = 1; i <= NF; i++) at[$i] = i
  columns = NF
  for (i = split("bench simulated dtype size median min q1 q3 unit rate flops bytes label", wanted, " "); i > 0; i--) {
    if (!(wanted[i] in at)) {
      printf "%s: there is no column %s; is it a file of ./ferry bench?\n", FILENAME, wanted[i] >"/dev/stderr"
      failed = 1
      exit 1
    }
  }
  next
}
NF != columns {
  printf "%s:%d: %d columns in place of %d\n", FILENAME, FNR, NF, columns >"/dev/stderr"
  failed = 1
  exit 1
}
$at["simulated"] == kind && header["simulated"] == kind {
  file = out "/" $at["bench"] "-" $at["dtype"] ".dat"
  print $at["size"], $at["median"], $at["q1"], $at["q3"], $at["rate"], $at["flops"], $at["bytes"], $at["label"],
    ($at["rate"] != "-" ? $at["rate"] * $at["median"] / $at["min"] : "-") >file
  kept++
}
END {
  if (failed) exit 1
  if (!columns) {
    printf "%s: it has no rows\n", FILENAME >"/dev/stderr"
    exit 1
  }
  printf "%s_rows = %d\n", name, kept
  split("machine cpu cores threads device device_name simulated driver version commit date others model", keys, " ")
  for (i in keys) printf "%s_%s = \"%s\"\n", name, keys[i], header[keys[i]]
}
