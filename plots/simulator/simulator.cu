// SPDX-License-Identifier: MIT
// The kernels on Ferry's simulator. argv[1]: the name to report.
#include <cuda_runtime.h>

#define SHUFFLE_DOWN(value, delta) __shfl_down_sync(0xffffffffu, value, delta)
#define LAUNCH(kernel, grid, block, ...) kernel<<<grid, block>>>(__VA_ARGS__)

#include "simulator.cuh"

int main(int argc, char **argv) {
  return run_all(argc > 1 ? argv[1] : "ferry");
}
