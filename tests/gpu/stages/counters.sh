# SPDX-License-Identifier: MIT
# What the hardware counted beside what the inspector counted, for the same launches: counters.tsv has a row for each kernel and
# counter. ncu runs once for each ladder, so that what is there when the time is over stays.
. tests/gpu/common.sh

metrics=(
  smsp__inst_executed.sum
  l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum l1tex__t_requests_pipe_lsu_mem_global_op_st.sum
  l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
  l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
  smsp__sass_thread_inst_executed_op_ffma_pred_on.sum smsp__sass_thread_inst_executed_op_fadd_pred_on.sum
  smsp__sass_thread_inst_executed_op_fmul_pred_on.sum smsp__sass_thread_inst_executed_op_fp32_pred_on.sum
  smsp__sass_thread_inst_executed_op_fp64_pred_on.sum smsp__sass_thread_inst_executed_op_integer_pred_on.sum
  smsp__sass_thread_inst_executed_op_control_pred_on.sum dram__bytes_read.sum dram__bytes_write.sum
)

some=()
[ -z "$GPU_DRY" ] || some=(--only stride)
find_tool ncu || exit 0
find_model || result counters 'the modeled GPU' skipped 0 "the table of GPUs has no $GPU_NAME; the inspector plays an H100"
run_command inspector 'ladders, every block' 60 "$GPU_BUILD/ferry" inspect --once --quiet --no-registers --gpu "${model:-h100}" \
  --json "$work/inspected.json" tests/gpu/ladders.cu -- --small ${some[@]+"${some[@]}"}
[ -s "$work/inspected.json" ] || exit 0

printf 'kernel\tcounter\tncu\tinspector\n' >"$GPU_OUT/counters.tsv"
list=$(IFS=,; echo "${metrics[*]}")
for ladder in stride offset copy bank transpose sum product histogram arithmetic; do
  run_command ncu "$ladder" 40 "$tool" --csv --page raw --print-units base --clock-control none --metrics "$list" \
    --log-file "$work/$ladder.csv" "$(ladders)" --small --only "$ladder" || cat "$work/$ladder.csv" 2>/dev/null
  [ ! -s "$work/$ladder.csv" ] || awk -f tests/gpu/inspected.awk -f tests/gpu/counters.awk "$work/inspected.json" "$work/$ladder.csv" >>"$GPU_OUT/counters.tsv"
done
column -t -s $'\t' "$GPU_OUT/counters.tsv" 2>/dev/null || cat "$GPU_OUT/counters.tsv"
exit 0
