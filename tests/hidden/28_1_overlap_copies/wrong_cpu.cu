// mistake: no kernel was launched
#include <cuda_runtime.h>

extern "C" void pipeline_on_device(float *out, const float *in, float *room, int n, cudaStream_t *streams, int count) {
  (void)room;
  (void)streams;
  (void)count;
  for (int i = 0; i < n; i++)
    out[i] = in[i] * in[i] + 1;
}
