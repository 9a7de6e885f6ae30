#include <cuda_runtime.h>

enum { W = 64, HEIGHT = 64, SLOTS = 8 };

static __device__ int limited(int i, int size) {
  return min(max(i, 0), size - 1);
}

// Blocks walk down strips of 64 columns. A ring of rows in shared memory holds the ones that are still needed.
static __device__ void load(float (*ring)[W + 4], const float *in, int r, int c0, int rows, int columns) {
  for (int x = threadIdx.x; x < W + 4; x += W)
    ring[(r + SLOTS) % SLOTS][x] = in[limited(r, rows) * columns + limited(c0 + x - 2, columns)];
}

__global__ void stencil(float *out, const float *in, float w0, float w1, float w2, int rows, int columns) {
  __shared__ float ring[SLOTS][W + 4];
  int c0 = blockIdx.x * W, r0 = blockIdx.y * HEIGHT, x = threadIdx.x + 2, c = c0 + threadIdx.x;
  for (int r = r0 - 2; r < r0 + 2; r++)
    load(ring, in, r, c0, rows, columns);
  for (int r = r0; r < min(r0 + HEIGHT, rows); r++) {
    load(ring, in, r + 2, c0, rows, columns); // its slot was last read three rows ago
    __syncthreads();
#define ROW(D) ring[(r + (D) + SLOTS) % SLOTS]
    float sum = w0 * ROW(0)[x] + w1 * (ROW(-1)[x] + ROW(1)[x] + ROW(0)[x - 1] + ROW(0)[x + 1]) +
                w2 * (ROW(-2)[x] + ROW(2)[x] + ROW(0)[x - 2] + ROW(0)[x + 2]);
    if (c < columns)
      out[r * columns + c] = sum;
  }
}

extern "C" void stencil_on_device(float *out, const float *in, float w0, float w1, float w2, int rows, int columns) {
  if (rows > 0 && columns > 0)
    stencil<<<dim3((columns + W - 1) / W, (rows + HEIGHT - 1) / HEIGHT), W>>>(out, in, w0, w1, w2, rows, columns);
}
