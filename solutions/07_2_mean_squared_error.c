// Exercise 7.2: Mean squared error of a data set      lesson 7 · easy · 20 min
//
// Task      Evaluate a model in batches, without synchronizing in the loop:
//               total = torch.zeros((), device=x.device)
//               with torch.no_grad():
//                   for i in range(0, len(x), batch):
//                       total += F.mse_loss(model(x[i:i + batch]),
//                                    target[i:i + batch], reduction="sum")
//               return total.item() / target.numel()
// Example   errors 1 1 1 1 3, batch = 4   ->   (1 + 1 + 1 + 1 + 9) / 5 = 2.6
// Write     evaluate.
// Inputs    x, target  (N, in) and (N, out) float32, N at least 1, any strides,
//                      on one device: a GPU or the CPU
//           model      on x's device; training mode does not change its output
//           batch      at least 1; need not divide N
// Required  - the result is the mean over all elements of target
//           - at most N / batch + 1 forward passes, of at most batch rows each
//           - computed on x's device, with at most 3 copies to the host and 3
//             synchronizations
//           - gradient recording and the mode of each module are unchanged
// Stars     ** one copy to the host and one synchronization in total
//           *** device memory for one batch only, however large N is
#include "ferry.h"

double evaluate(FyModule *model, FyTensor *x, FyTensor *target, int64_t batch) {
  // [answer]
  int64_t rows = fy_size_at(x, 0);
  FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
  fy_no_grad {
    for (int64_t i = 0; i < rows; i += batch) {
      int64_t end = i + batch < rows ? i + batch : rows;
      fy_scope { // frees this batch's tensors before the next batch
        FyTensor *y = fy_forward(model, fy_slice(x, 0, i, end, 1));
        fy_add_(total, fy_mse_loss(y, fy_slice(target, 0, i, end, 1), .reduction = FY_REDUCE_SUM));
      }
    }
  }
  return fy_item(total) / (double)fy_numel(target);
  // [stub]
  //| return 0;
  // [end]
}
