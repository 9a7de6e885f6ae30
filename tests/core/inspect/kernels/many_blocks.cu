// A program that has launched more than 2^32 blocks so far: the inspector is told of a launch of almost as many, none of which runs. What has
// to be found is said as in wrong.cu.
#include <cuda_runtime.h>

#include "sim/base/plugin.h"

// expect race-grid sum u0
__global__ void sum(int *out) {
  if (threadIdx.x == 0)
    *out += 1; //@u0
}

static void never_runs(const void *) {
}

int main() {
  int *out;
  cudasim_launch_request many = {};
  many.inspected = never_runs;
  many.name = "many";
  many.grid = many.block = {1, 1, 1};
  cudaMalloc(&out, sizeof(int));
  cudaMemset(out, 0, sizeof(int));
  sim_inspector->launch_end(sim_inspector->launch_begin(&many, 4294967295u - 16));
  sum<<<64, 32>>>(out);
  cudaFree(out);
}
