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
}

extern "C" void cross_entropy_on_device(float *loss, float *gradient, const float *logits, const int *target, int rows,
                                        int classes) {
}
