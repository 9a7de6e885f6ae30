// Exercise 34.1: Cross-entropy and its gradient    lesson 34 · medium · 45 min
//
// Task      Compute the loss of each row of logits, and the gradient of their
//           mean, in one kernel. p is the softmax of row r, and t = target[r]:
//               loss[r] = -log(p[t])
//               gradient[r][c] = (p[c] - (c == t ? 1 : 0)) / rows
//           PyTorch: loss = F.cross_entropy(logits, target, reduction="none")
//                    loss.mean().backward()
// Example   one row of logits 2 1 0, target 1: p = 0.665 0.245 0.090
//           loss = 1.408, gradient = 0.665 -0.755 0.090
// Write     cross_entropy_on_device and the kernels that it launches.
// Inputs    logits, gradient  device arrays, rows x classes floats, row-major,
//                             16-byte aligned; logits from -1000 to 1000
//           loss, target      device arrays, rows floats and rows ints
//           rows              0 to 65,535
//           classes           1 to 10,000
// Required  - correct losses and gradients, also where p[t] is 0 as a float;
//             no data races, out-of-bounds accesses or copies to the host
// Stars     ** coalesced: at most 1.5 x the ideal sectors per request
//           *** one launch, and logits are loaded at most 2.75 times
#include <cuda_runtime.h>
#include <math.h>

enum { THREADS = 128, WARP = 32 };

__global__ void cross_entropy(float *loss, float *gradient, const float *logits, const int *target, int classes) {
  // [answer]
  __shared__ float maxima[THREADS / WARP], sums[THREADS / WARP];
  const float *row = logits + (size_t)blockIdx.x * classes;
  float *out = gradient + (size_t)blockIdx.x * classes;
  float max = -INFINITY, sum = 0;
  for (int c = threadIdx.x; c < classes; c += THREADS) { // online softmax, as in lesson 29
    float larger = fmaxf(max, row[c]);
    sum = sum * expf(max - larger) + expf(row[c] - larger);
    max = larger;
  }
  for (int distance = WARP / 2; distance > 0; distance /= 2) {
    float other_max = __shfl_xor_sync(0xffffffffu, max, distance);
    float other_sum = __shfl_xor_sync(0xffffffffu, sum, distance);
    float larger = fmaxf(max, other_max);
    if (larger > -INFINITY) // at least one of the two has an element
      sum = sum * expf(max - larger) + other_sum * expf(other_max - larger);
    max = larger;
  }
  if (threadIdx.x % WARP == 0) {
    maxima[threadIdx.x / WARP] = max;
    sums[threadIdx.x / WARP] = sum;
  }
  __syncthreads();
  max = -INFINITY;
  sum = 0;
  for (int warp = 0; warp < THREADS / WARP; warp++)
    max = fmaxf(max, maxima[warp]);
  for (int warp = 0; warp < THREADS / WARP; warp++)
    sum += sums[warp] * expf(maxima[warp] - max);
  int t = target[blockIdx.x];
  for (int c = threadIdx.x; c < classes; c += THREADS)
    out[c] = (expf(row[c] - max) / sum - (c == t ? 1.0f : 0.0f)) / gridDim.x;
  if (threadIdx.x == 0)
    loss[blockIdx.x] = logf(sum) - (row[t] - max); // -log(p[t]), even if p[t] is too small for a float
  // [stub]
  // [end]
}

extern "C" void cross_entropy_on_device(float *loss, float *gradient, const float *logits, const int *target, int rows,
                                        int classes) {
  // [answer]
  if (rows > 0)
    cross_entropy<<<rows, THREADS>>>(loss, gradient, logits, target, classes);
  // [stub]
  // [end]
}
