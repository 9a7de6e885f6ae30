// Exercise 3.2: one product, two devices                                         (chapter 3, docs/03_tensor_moves.md)
//
// Does a device calculate what the CPU does? Write two functions.
//
// largest_difference: the largest |x - y| of all elements, as a number; 0 for tensors that have none. x is on the CPU,
// y on any device, both float32 of one shape with any number of dimensions, and not always contiguous. All values and
// differences are finite; they may be tiny or huge.
//
//   PyTorch:  (x - y.cpu()).abs().max().item()
//
// compare_products: the matrix product of a (m, k) and b (k, n), calculated on the CPU and calculated on `device`.
// Store both results, each where it was calculated, and return their largest difference.
//
//   PyTorch:  on_cpu = a @ b
//             on_device = a.to(device) @ b.to(device)
//
// Given: a and b on the CPU, float32, not always contiguous, m, k and n at least 1; a device: any GPU, or the CPU.
// None of a, b, x and y may be changed.
// Counted: copies. compare_products needs two to the device and one back; largest_difference one back, and none to the
// device.
#include "ferry.h"

double largest_difference(FyTensor *x, FyTensor *y) {
  // [answer]
  if (fy_numel(x) == 0)
    return 0;
  return fy_item(fy_max(fy_abs(fy_sub(x, fy_cpu(y)))));
  // [stub]
  //| (void)x;
  //| (void)y;
  //| return -1;
  // [end]
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  // [answer]
  *on_cpu = fy_matmul(a, b);
  *on_device = fy_matmul(fy_to(a, device), fy_to(b, device));
  return largest_difference(*on_cpu, *on_device);
  // [stub]
  //| (void)a;
  //| (void)b;
  //| (void)device;
  //| *on_cpu = NULL;
  //| *on_device = NULL;
  //| return -1;
  // [end]
}
