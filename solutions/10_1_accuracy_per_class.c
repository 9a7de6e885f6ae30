// Exercise 10.1: which classes it knows                                             (chapter 10, docs/10_cifar10.md)
//
// One accuracy for all classes hides the class that a network never recognises. Write accuracy_per_class: of the
// samples whose label is c, the share that the network labels c, for each class c. Without a loop over samples, and
// without waiting for the device in the loop over batches.
//
//   PyTorch:  right = torch.zeros(classes, device=device); all = torch.zeros(classes, device=device)
//             for data, target in loader:
//                 data, target = data.to(device), target.to(device)
//                 guess = model(data).argmax(1)
//                 own = target.unsqueeze(1) == torch.arange(classes, device=device)      # (N, classes)
//                 all += own.sum(0)
//                 right += (own & (guess == target).unsqueeze(1)).sum(0)
//             return right / all
//
// Given: a model on `device`, which may be the CPU, in training or in evaluation mode with all of its parts. It gives
// each sample `classes` scores, (N, classes). Of these, no two of them equal, the largest is its label by the network;
// they may be large (millions) or tiny (1e-12). A loader (it pins its batches) over samples (features, float32) and
// labels (int64, 0 to classes - 1), whose last batch may be smaller; classes, 1 or more, of which some may have no
// sample.
// Returned: float32 (classes) on `device`, without a graph; NaN for a class without a sample.
// Judged: the shares; that the model is evaluated in evaluation mode and left in the mode in which it came. Counted:
// copies to the device (two for each batch), and the host's waits and copies back (none). Each call stands by itself.
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
  //| (void)model;
  //| (void)loader;
  //| (void)classes;
  //| (void)device;
  //| return NULL;
  // [end]
}
