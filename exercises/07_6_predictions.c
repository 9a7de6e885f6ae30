// Exercise 7.6: find the bug, sample by sample                                    (chapter 7, docs/07_pitfalls.md)
//
// predict gives the scores of a trained model for a data set. They are right, but on a GPU it takes as long as on the
// CPU, and hardly less when the model is made smaller: the device is idle most of the time.
//
// Mend it: the samples go through the model in batches. The device has memory for `batch` samples at a time and not for
// the whole data set, so each batch is brought when its turn comes, and its memory is given back before the next (that
// of the scores may stay).
//
//   PyTorch:  with torch.no_grad():
//                 for part in data.split(batch):
//                     scores.append(model(part.to(device)).cpu())
//                 return torch.cat(scores)
//
// Given: a model on `device`, which may be the CPU, in evaluation mode already, in which it is left; data (N, features)
// float32 on the CPU, any strides, N of 2 or more and hardly ever a multiple of the batch; classes, the model's outputs
// per sample; batch, 2 to 1024.
// Returned: the scores (N, classes), float32, on the CPU, in the order of the data. No graph is recorded, and
// afterwards autograd records as it did before.
// Counted: forward passes (as many as batches), kernels (at most eight for each batch, and eight more), memory of the
// device, and copies between host and device: one for each batch to the device, and back not more than that.
#include "ferry.h"

FyTensor *predict(FyModule *model, FyTensor *data, int64_t classes, int64_t batch, FyDevice device) {
  int64_t count = fy_size_at(data, 0);
  FyTensor *scores = fy_empty(fy_shape(count, classes));
  fy_no_grad {
    (void)batch;
    for (int64_t i = 0; i < count; i++) {
      fy_scope {
        FyTensor *sample = fy_to(fy_narrow(data, 0, i, 1), device); // (1, features)
        fy_copy_(fy_narrow(scores, 0, i, 1), fy_forward(model, sample));
      }
    }
  }
  return scores;
}
