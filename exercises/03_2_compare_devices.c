// Exercise 3.2: Compare two devices                   lesson 3 · easy · 15 min
//
// Task      Check that a device and the CPU compute the same result. Multiply
//           two matrices on both, and find the largest difference:
//               on_cpu = a @ b
//               on_device = a.to(device) @ b.to(device)
//               (on_cpu - on_device.cpu()).abs().max().item()
// Example   largest_difference of 1 2 3 and 1 4 2.5   ->   2
// Write     largest_difference and compare_products
// Inputs    x         float32 on the CPU, any shape, may be empty or a view
//           y         float32 of the same shape on any device
//           a, b      float32 on the CPU, (m, k) and (k, n), sizes at least 1,
//                     may be views
//           device    the CPU or any CUDA device
// Required  - largest_difference returns the largest |x - y|, 0 if x is empty
//           - compare_products returns the largest difference of the products
//           - *on_cpu is computed on the CPU and stays there; *on_device is
//             computed on `device` and stays there
//           - the inputs are unchanged
// Stars     ** few copies: at most 3 to the device and 2 back per call
#include "ferry.h"

double largest_difference(FyTensor *x, FyTensor *y) {
  return -1;
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  *on_cpu = NULL;
  *on_device = NULL;
  return -1;
}
