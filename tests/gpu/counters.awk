# SPDX-License-Identifier: MIT
# awk -f inspected.awk -f counters.awk INSPECTED.json NCU.csv: a row for each kernel and counter: kernel, counter, what ncu read, what the
# inspector counted. ncu's raw page has a column for each metric and a row of units after the header; a metric that this GPU lacks
# has no row.
BEGIN {
  FS = "\n"
  OFS = "\t"
  n = split("smsp__inst_executed.sum|warp instructions|;" \
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum|global load requests|requests_sectors_load;" \
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum|global store requests|requests_sectors_store;" \
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum|global load sectors|sectors_load;" \
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum|global store sectors|sectors_store;" \
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum|shared load wavefronts|wavefronts_load;" \
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum|shared store wavefronts|wavefronts_store;" \
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum|float32 multiply-adds|fma;" \
    "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum|float32 thread instructions|fp32;" \
    "smsp__sass_thread_inst_executed_op_fp64_pred_on.sum|float64 thread instructions|fp64;" \
    "smsp__sass_thread_inst_executed_op_integer_pred_on.sum|integer thread instructions|integer;" \
    "smsp__sass_thread_inst_executed_op_control_pred_on.sum|control thread instructions|;" \
    "dram__bytes_read.sum|device memory bytes read|;dram__bytes_write.sum|device memory bytes written|", counters, ";")
}

# ---- the inspector's counts, summed over lines ------------------------------------------------------------------------------------

FNR == NR && /"type": "kernel"/ {
  kernel = field($0, "kernel")
  known[kernel] = 1
  split("fma fp32 fp64 integer", names, " ")
  for (i in names) counted[kernel, names[i]] += field($0, names[i])
}
FNR == NR && /"type": "line"/ {
  kernel = field($0, "kernel")
  split("sectors_load sectors_store wavefronts_load wavefronts_store", names, " ")
  for (i in names) {
    requests = field($0, "requests_" names[i])
    counted[kernel, "requests_" names[i]] += requests
    counted[kernel, names[i]] += requests * field($0, names[i])
  }
}
FNR == NR { next }

# ---- ncu's CSV ------------------------------------------------------------------------------------------------------------------------

# "void stride<(int)2>(int, const float *, float *)": "stride<2>"
function plain(name) {
  gsub(/\(int\)|^void /, "", name)
  sub(/\(.*/, "", name)
  return name
}

!/^"/ { next }
{
  line = substr($0, 2, length($0) - 2)
  fields = split(line, value, "\",\"")
}
/^"ID"/ {
  for (i = 1; i <= fields; i++) column[value[i]] = i
  next
}
value[1] == "" { next } # units
{
  kernel = plain(value[column["Kernel Name"]])
  for (i = 1; i <= n; i++) {
    split(counters[i], part, "|")
    if (!(part[1] in column)) continue
    hardware = value[column[part[1]]]
    gsub(/,/, "", hardware)
    print kernel, part[2], hardware, part[3] == "" || !known[kernel] ? "-" : sprintf("%.0f", counted[kernel, part[3]])
  }
}
