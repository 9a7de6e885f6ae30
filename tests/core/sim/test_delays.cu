// SPDX-License-Identifier: MIT
// FERRY_SIM_DELAYS: operations that are ready begin late now and then, so that streams that do not wait for each other overtake
// each other.
// sim only: it asks the simulator for what a GPU leaves open
// run check: FERRY_SIM_MODE=threads FERRY_SIM_DELAYS=5
// run: FERRY_SIM_MODE=threads FERRY_SIM_DELAYS=6
#include <cuda_runtime.h>

#include "check.h"

enum { PAIRS = 64, AT_LEAST = 10 };

__global__ void note_turn(int *turn, int *mine) {
  *mine = atomicAdd(turn, 1);
}

// How often what was queued second, on the other stream, ran first.
static int overtaken(bool ordered) {
  cudaStream_t first, second;
  cudaEvent_t done;
  int *turn, mine[2], count = 0;
  check_cuda(cudaMalloc(&turn, 3 * sizeof *turn));
  check_cuda(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  check_cuda(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  check_cuda(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  for (int i = 0; i < PAIRS; i++) {
    check_cuda(cudaMemset(turn, 0, sizeof *turn));
    check_cuda(cudaDeviceSynchronize());
    note_turn<<<1, 1, 0, first>>>(turn, turn + 1);
    check_cuda(cudaEventRecord(done, first));
    if (ordered)
      check_cuda(cudaStreamWaitEvent(second, done, 0));
    note_turn<<<1, 1, 0, second>>>(turn, turn + 2);
    check_cuda(cudaDeviceSynchronize());
    check_cuda(cudaMemcpy(mine, turn + 1, sizeof mine, cudaMemcpyDeviceToHost));
    count += mine[1] < mine[0];
  }
  check_cuda(cudaFree(turn));
  check_cuda(cudaEventDestroy(done));
  check_cuda(cudaStreamDestroy(first));
  check_cuda(cudaStreamDestroy(second));
  return count;
}

static void streams_overtake_each_other(void **state) {
  (void)state;
  assert_in_range(overtaken(false), AT_LEAST, PAIRS - AT_LEAST);
}

static void streams_that_wait_do_not(void **state) {
  (void)state;
  assert_int_equal(overtaken(true), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_overtake_each_other),
      cmocka_unit_test(streams_that_wait_do_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
