# SPDX-License-Identifier: MIT
# awk -f inspected.awk -f times.awk INSPECTED.json MEASURED: a row for each kernel that `ladders --times` measured, with the model's time
# of a launch, "-" where no GPU is modeled.
BEGIN { FS = OFS = "\t" }
FNR == NR && /"type": "kernel"/ {
  kernel = field($0, "kernel")
  modeled[kernel] = field($0, "modeled_us")
  limit[kernel] = field($0, "limit")
}
# An empty first file has no lines: then FNR equals NR in the second one.
/^\{/ { next }
{ print $1, $2, $3, $4, modeled[$1] == "" ? "-" : modeled[$1], limit[$1] == "" ? "-" : limit[$1] }
