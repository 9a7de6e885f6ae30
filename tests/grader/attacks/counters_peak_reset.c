// status: compile error
#include "ferry.h"

static void attack(void) {
  fy_reset_peak_memory_stats(fy_cuda_device(0));
}
