// Exercise 10.1: Accuracy per class                lesson 10 · medium · 30 min
//
// Task      Compute the accuracy for each class (recall): of the samples with
//           label c, the share that the model predicts as c. In PyTorch:
//               guess = model(data).argmax(1)          # for each batch
//               own = target.unsqueeze(1) == torch.arange(classes)
//               all += own.sum(0)
//               right += (own & (guess == target).unsqueeze(1)).sum(0)
// Example   labels 0 0 1 1, predictions 0 1 1 1  ->  0.5, 1; NaN for class 2
// Write     accuracy_per_class. It returns float32 (classes) on `device`.
// Inputs    model     returns scores (N, classes), all different within a row;
//                     the largest is the prediction; in training or eval mode
//           loader    pinned batches: data float32, target int64 (N), labels 0
//                     to classes - 1; the last batch may be smaller
//           classes   1 or more; a class without samples has the result NaN
//           device    the model's device: a GPU or the CPU
// Required  - the model runs in eval mode, and its mode is restored afterward
//           - no copy back to the host in the loop over batches
// Stars     ** no host wait for the copies to the device
//           *** no autograd graph, two copies to the device per batch
#include "ferry.h"

FyTensor *accuracy_per_class(FyModule *model, FyDataLoader *loader, int64_t classes, FyDevice device) {
  // [answer]
  bool was_training = model->training;
  FyTensor *right = fy_zeros(fy_shape(classes), .device = device), *all = fy_zeros(fy_shape(classes), .device = device);
  FyTensor *numbers = fy_arange((double)classes, .dtype = FY_INT64, .device = device); // (classes)
  fy_eval(model);
  fy_no_grad {
    fy_for_prefetched_batches(batch, loader, device) {
      FyTensor *guess = fy_argmax_dim(fy_forward(model, batch.data), 1, false); // (N)
      FyTensor *own = fy_eq(fy_unsqueeze(batch.target, 1), numbers);            // (N, classes), one true in each row
      FyTensor *hit = fy_unsqueeze(fy_eq(guess, batch.target), 1);              // (N, 1)
      fy_add_(all, fy_sum_dim(own, 0, false));
      fy_add_(right, fy_sum_dim(fy_mul(own, hit), 0, false));
    }
  }
  fy_set_training_of(model, was_training);
  return fy_div(right, all); // 0 / 0 is NaN
  // [stub]
  //| return NULL;
  // [end]
}
