// Exercise 11.3: gradient accumulation                                             (chapter 11, docs/11_memory.md)
//
// A batch whose graph does not fit into memory goes through the model in groups, and the gradients of the groups add up
// to those of the whole batch. Write accumulate: it leaves in each parameter's .grad what backward of the whole batch's
// mean squared error would, and returns that error. The last group may be shorter than the others.
//
//   PyTorch:  for xs, ts in zip(x.split(rows), target.split(rows)):
//                 loss = F.mse_loss(model(xs), ts) * (len(xs) / len(x))
//                 loss.backward()
//                 total += loss.detach()
//             return total
//
// Given: a model; x (N, in) and target (N, out), float32 on the model's device, which may be the CPU; rows, the most
// that go through the model at a time, at most 2^31; N is 1 or more. Where a parameter has a .grad already, the new
// gradient is added to it, as backward does. Each parameter requires a gradient and is used.
// Returned: the mean squared error over all N * out elements, one number (a 0-dim tensor) on that device, without a
// graph.
// Judged: the gradients and the error, to rounding; that the parameters are what they were. The groups in order, as few
// as there can be: each has `rows` rows but the last, and each goes through the model once. Memory: from the second
// group on, what is in use on the device when a group's forward pass begins grows by at most 1 KiB per group.
#include "ferry.h"

FyTensor *accumulate(FyModule *model, FyTensor *x, FyTensor *target, int64_t rows) {
  // [answer]
  int64_t count = fy_size_at(x, 0);
  FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
  for (int64_t i = 0; i < count; i += rows) {
    fy_scope { // the graph of a group ends with it
      int64_t n = i + rows < count ? rows : count - i;
      FyTensor *loss = fy_mse_loss(fy_forward(model, fy_narrow(x, 0, i, n)), fy_narrow(target, 0, i, n));
      loss = fy_mul_scalar(loss, (double)n / (double)count); // by the group's share of the samples
      fy_backward(loss);
      fy_add_(total, fy_detach(loss));
    }
  }
  return total;
  // [stub]
  //| (void)model;
  //| (void)x;
  //| (void)target;
  //| (void)rows;
  //| return NULL; // the error goes here
  // [end]
}
