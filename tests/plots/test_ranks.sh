#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The comparison of several processes: its arguments, a run of Ferry alone, and the tables made of its file.
# run:
# timeout: 120
# shellcheck source=tests/plots/common.sh
. "$(dirname "$0")/common.sh"
command -v python3 >/dev/null 2>&1 || skip_all 'python3 is not installed'

ranks() {
  PYTHONDONTWRITEBYTECODE=1 "$(command -v python3)" plots/torch/ranks.py --bench "$bench" --out "$work/ranks.tsv" --quick "$@"
}
says 'help' 0 'scaling efficiency' ranks --help
says 'one rank' 2 'at least 2' ranks --ranks 1
says 'more ranks than cores' 2 'share one have no efficiency' ranks --ranks 5000
says 'no mpirun' 1 'there is no mpirun: install Open MPI' python3 -B -c 'import os, runpy, sys
os.environ["PATH"] = "/none"
sys.argv = ["ranks.py"]
sys.path.insert(0, "plots/torch")
runpy.run_path("plots/torch/ranks.py", run_name="__main__")'

if ! command -v mpirun >/dev/null || ! [ -e build/libferry-mpi.so ] || [ "$(nproc)" -lt 2 ]; then
  skip 'a run' 'it needs Open MPI and two cores'
else
  says 'a run without PyTorch' 0 'PyTorch: left out' ranks
  rows=$(awk -F '\t' '!/^#/ && NF == 12 && $5 > 0 && $6 > 0 && $8 <= $7 && $7 <= $9 { print $1, $2, $3 }' "$work/ranks.tsv")
  [ "$rows" = "efficiency train_cnn_001 128
apart train_cnn_001 128
efficiency train_784_256_128_10 128
apart train_784_256_128_10 128
over-mpi all_reduce 4096
over-mpi all_reduce 1048576
over-mpi all_reduce 16777216" ]
  result $? 'its rows' "$(cat "$work/ranks.tsv")"
  says 'a table of trainings' 0 '| train_cnn_001 | 128 | Ferry, 2 ranks together' plots/tables.sh ranks-training "$work/ranks.tsv"
  says 'a table of all-reduce' 0 '| all_reduce | 16 MiB | Ferry' plots/tables.sh ranks-all_reduce "$work/ranks.tsv"
  says 'what is wrong is said' 1 'no training' sh -c "echo 'case matmul 64' | OMP_NUM_THREADS=1 mpirun --allow-run-as-root \
    --oversubscribe --bind-to none -n 2 $bench --ranks"
fi
finish
