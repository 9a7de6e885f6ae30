#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Grades a class as an array of Slurm jobs, and merges what comes out.
#
#   sbatch --array=1-8 --cpus-per-task=4 docs/grading/array.sh part CLASS RESULTS 8
#   sbatch --dependency=afterany:JOB docs/grading/array.sh merge CLASS RESULTS
#
# CLASS has a folder for each learner; RESULTS is a folder that all machines see; 8 is the number of parts. Both commands run in the repository, which is
# built before. The inputs of the tests are drawn from the text in RESULTS/secret, which the first command makes where there is none.
#SBATCH --job-name=ferry-grade
#SBATCH --time=02:00:00
set -euo pipefail
what=${1:?part or merge} class=${2:?the folder of the class} results=${3:?the folder of the results}

case $what in
part)
  mkdir -p "$results"
  if [ ! -s "$results/secret" ]; then # of several that make one, the first to link it there wins
    (umask 077 && head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$results/secret.$$")
    ln "$results/secret.$$" "$results/secret" 2>/dev/null || true
    rm -f "$results/secret.$$"
  fi
  part=${SLURM_ARRAY_TASK_ID:?a part is a task of an array: sbatch --array=1-8}
  exec ./ferry grade --class "$class" --part "$part/${4:?the number of parts}" \
    --jobs "${SLURM_CPUS_PER_TASK:-1}" --seed "$(cat "$results/secret")" \
    --json "$results/part-$part.json"
  ;;
merge)
  exec ./ferry grade --merge "$results"/part-*.json --class "$class" --json "$results/all.json" --csv "$results/all.csv" \
    --junit "$results/all.xml"
  ;;
*)
  echo "docs/grading/array.sh: part or merge, not $what" >&2
  exit 2
  ;;
esac
