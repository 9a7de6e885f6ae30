// Exercise 12.2: find the bug, what was kept in half                 (chapter 12, docs/12_mixed_precision.md)
//
// mean_squared_error evaluates a model under autocast in float16: the mean of the squared errors over all batches. With
// small errors on a little data the result is right. With more data it comes out wrong, and with large errors it is
// infinite.
//
// Mend it. The model goes on running under autocast in float16; float16 ends at 65504, and has three digits.
//
//   PyTorch:  total = torch.zeros((), device=x.device)
//             with torch.no_grad(), torch.autocast(x.device.type, dtype=torch.float16):
//                 for i in range(batches):
//                     total += F.mse_loss(model(x[i]), y[i], reduction="sum")
//             return total / y.numel()
//
// Given: a model; x (batches, rows, in) and y (batches, rows, out), float32 on the model's device, which may be the
// CPU. There is at least one batch, and the targets may be as large as float32 allows to square and to add up: the sum
// of all squares is below its largest number.
// Returned: the mean, a float32 tensor of no dimensions on that device, without a graph.
// Judged: the mean; that the model runs once per batch, under autocast in float16; that x and y are as they were.
// Counted: copies between host and device (none is needed), and waits.
#include "ferry.h"

FyTensor *mean_squared_error(FyModule *model, FyTensor *x, FyTensor *y) {
  int64_t batches = fy_size_at(x, 0);
  FyTensor *total = fy_zeros(FY_SCALAR, .dtype = FY_FLOAT16, .device = fy_device_of(x));
  fy_no_grad {
    fy_autocast(fy_device_of(x).type, .dtype = FY_FLOAT16) {
      for (int64_t i = 0; i < batches; i++) {
        fy_scope {
          FyTensor *output = fy_forward(model, fy_select(x, 0, i));
          FyTensor *error = fy_sub(output, fy_half(fy_select(y, 0, i)));
          fy_add_(total, fy_sum(fy_mul(error, error)));
        }
      }
    }
  }
  return fy_div_scalar(total, (double)fy_numel(y));
}
