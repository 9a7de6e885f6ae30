// Exercise 12.2: Find the bug: float16 evaluation  lesson 12 · medium · 20 min
//
// Task      mean_squared_error evaluates a model under float16 autocast. It
//           computes the mean of the squared errors over all batches:
//               with torch.no_grad(), torch.autocast(type, torch.float16):
//                   for i in range(batches):
//                       total += F.mse_loss(model(x[i]), y[i], reduction="sum")
//               return total / y.numel()
//           With small errors and few batches, the result is correct. With many
//           batches, it is wrong, and with large errors, it is infinite.
// Example   errors 1, 2, 3 and 4  ->  7.5
// Fix       mean_squared_error. The model must run under float16 autocast.
// Inputs    model     float32 parameters, on a GPU or the CPU
//           x, y      float32 (batches, rows, in), (batches, rows, out) on the
//                     model's device; 1 batch and 1 row or more; y may be above
//                     65504, but the sum of all squares fits into a float32
// Required  - the mean, with a relative error of at most 0.2 %, as a 0-dim
//             float32 tensor on the model's device that requires no gradient
//           - the model runs under float16 autocast
// Stars     ** at most one forward pass per batch
//           *** no copies, no host synchronization
#include "ferry.h"

FyTensor *mean_squared_error(FyModule *model, FyTensor *x, FyTensor *y) {
  int64_t batches = fy_size_at(x, 0);
  // [answer]
  FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x)); // float32, since it grows with every batch
  // [stub]
  //| FyTensor *total = fy_zeros(FY_SCALAR, .dtype = FY_FLOAT16, .device = fy_device_of(x));
  // [end]
  fy_no_grad {
    fy_autocast(fy_device_of(x).type, .dtype = FY_FLOAT16) {
      for (int64_t i = 0; i < batches; i++) {
        fy_scope {
          FyTensor *output = fy_forward(model, fy_select(x, 0, i));
          // [answer]
          FyTensor *error = fy_sub(fy_float(output), fy_select(y, 0, i));
          // [stub]
          //| FyTensor *error = fy_sub(output, fy_half(fy_select(y, 0, i)));
          // [end]
          fy_add_(total, fy_sum(fy_mul(error, error)));
        }
      }
    }
  }
  // [answer]
  return fy_div_scalar(total, (double)fy_numel(y));
  // [stub]
  //| return fy_float(fy_div_scalar(total, (double)fy_numel(y)));
  // [end]
}
