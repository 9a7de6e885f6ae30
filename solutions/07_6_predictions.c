// Exercise 7.6: Find the bug: model predictions     lesson 7 · medium · 20 min
//
// Task      predict computes the scores of a trained model for a data set. The
//           device has memory for only `batch` samples at a time. The scores
//           are correct, but predict is no faster on a GPU than on the CPU, and
//           hardly faster with a smaller model.
// Example   N = 10, 3 classes   ->   scores (10, 3); row i belongs to sample i
// Fix       predict. It returns the scores (N, classes), float32, on the CPU.
// Inputs    data     (N, features) float32 on the CPU, any strides; N > 1
//           classes  outputs of the model per sample
//           batch    2 to 1024; need not divide N
//           model    on `device`, in evaluation mode
//           device   the CPU or a GPU
// Required  - the scores are correct, and computed on `device`
//           - at most N / batch + 1 forward passes, of at most batch samples
//           - at most 2 copies to the device and 2 to the host per batch
//           - gradient recording and the model's mode and device are unchanged
// Stars     ** device memory for at most two batches, however large N is
#include "ferry.h"

FyTensor *predict(FyModule *model, FyTensor *data, int64_t classes, int64_t batch, FyDevice device) {
  int64_t count = fy_size_at(data, 0);
  FyTensor *scores = fy_empty(fy_shape(count, classes));
  fy_no_grad {
    // [answer]
    for (int64_t i = 0; i < count; i += batch) {
      fy_scope {
        int64_t rows = i + batch < count ? batch : count - i;
        FyTensor *part = fy_to(fy_narrow(data, 0, i, rows), device); // (rows, features)
        fy_copy_(fy_narrow(scores, 0, i, rows), fy_forward(model, part));
      }
    }
    // [stub]
    //| for (int64_t i = 0; i < count; i++) {
    //|   fy_scope {
    //|     FyTensor *sample = fy_to(fy_narrow(data, 0, i, 1), device); // (1, features)
    //|     fy_copy_(fy_narrow(scores, 0, i, 1), fy_forward(model, sample));
    //|   }
    //| }
    // [end]
  }
  return scores;
}
