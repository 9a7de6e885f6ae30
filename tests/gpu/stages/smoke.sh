# SPDX-License-Identifier: MIT
# The least that has to work: tests/gpu/smoke.c.
. tests/gpu/common.sh

run_tests smoke 15 "$GPU_BUILD/tests/gpu/smoke"
run_command ladders 'kernels by nvcc alone' 15 "$(ladders)" --small
exit 0
