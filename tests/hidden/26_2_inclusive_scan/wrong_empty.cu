// mistake: no kernel was launched
#include <cuda_runtime.h>

extern "C" void scan_on_device(int *out, const int *x, int *room, int n) {
  (void)out;
  (void)x;
  (void)room;
  (void)n;
}
