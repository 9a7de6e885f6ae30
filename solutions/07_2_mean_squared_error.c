// Exercise 7.2: one number at the end                                            (chapter 7, docs/07_pitfalls.md)
//
// Write evaluate: the mean squared error of a model over all of its data, in batches, as one number.
//
//   PyTorch:  total = torch.zeros((), device=x.device)
//             with torch.no_grad():
//                 for i in range(0, len(x), batch):
//                     y = model(x[i:i + batch])
//                     total += F.mse_loss(y, target[i:i + batch], reduction="sum")
//             return total.item() / target.numel()
//
// The result is the mean over all elements of target: a short last batch counts for as much as it holds.
//
// Given: a model that computes the same in training and in evaluation mode, x (N, in) and target (N, out) on one
// device; N is at least 1 and need not be a multiple of `batch`.
// Counted: copies from the device and synchronisations, one of each, whatever the number of batches; no copies to it,
// and none between devices. For data on the CPU nothing is copied. Forward passes: of `batch` rows each, the last of
// what is left; and the memory: what one batch needs, not what all of them need together. Whether autograd records, and
// the mode of each module, training or evaluation, are afterwards as they were; a child need not be in the model's
// mode, nor its own children in its.
#include "ferry.h"

double evaluate(FyModule *model, FyTensor *x, FyTensor *target, int64_t batch) {
  // [answer]
  int64_t rows = fy_size_at(x, 0);
  FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
  fy_no_grad {
    for (int64_t i = 0; i < rows; i += batch) {
      int64_t end = i + batch < rows ? i + batch : rows;
      fy_scope { // what this batch made goes before the next comes
        FyTensor *y = fy_forward(model, fy_slice(x, 0, i, end, 1));
        fy_add_(total, fy_mse_loss(y, fy_slice(target, 0, i, end, 1), .reduction = FY_REDUCE_SUM));
      }
    }
  }
  return fy_item(total) / (double)fy_numel(target);
  // [stub]
  //| (void)model;
  //| (void)x;
  //| (void)target;
  //| (void)batch;
  //| return 0;
  // [end]
}
