// SPDX-License-Identifier: MIT
// Who waits for blocks on other threads takes no processor time meanwhile.
// run check: FERRY_SIM_MODE=threads FERRY_SIM_THREADS=2
// sim only: on a GPU blocks do not sleep
#include <time.h>
#include <unistd.h>

#include <cuda_runtime.h>

#include "check.h"

enum { BLOCKS = 16, THREADS = 1024, ROUNDS = 6, LONG = 200000, SHORT = 1000 }; // microseconds

// The others are long enough for two threads to share them; whichever of these does not run the last waits for it.
__global__ void sleep_in_the_last_block(int *ran) {
  if (threadIdx.x == 0)
    ::usleep(blockIdx.x == gridDim.x - 1 ? LONG : SHORT);
  if (threadIdx.x == blockDim.x - 1)
    atomicAdd(ran, 1);
}

static double processor_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void a_launch_waits_for_its_last_block_asleep(void **state) {
  (void)state;
  int ran = 0, *device = (int *)device_copy(&ran, sizeof ran);
  sleep_in_the_last_block<<<BLOCKS, THREADS>>>(device);
  check_cuda(cudaDeviceSynchronize());
  const double begin = processor_seconds();
  for (int round = 1; round < ROUNDS; round++) {
    sleep_in_the_last_block<<<BLOCKS, THREADS>>>(device);
    check_cuda(cudaDeviceSynchronize());
  }
  const double seconds = processor_seconds() - begin;
  to_host(&ran, device, sizeof ran);
  assert_int_equal(ran, ROUNDS * BLOCKS);
  if (seconds > 0.1)
    fail_msg("%g s of processor time", seconds);
  check_cuda(cudaFree(device));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_launch_waits_for_its_last_block_asleep),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
