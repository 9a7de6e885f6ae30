// A loop over the classes within each batch, guesses and labels of all batches kept on the device until the end.
#include "ferry.h"

FyTensor *accuracy_per_class(FyModule *model, FyDataLoader *loader, int64_t classes, FyDevice device) {
  bool mode = model->training;
  int64_t samples = fy_loader_samples(loader), at = 0;
  FyTensor *guesses = fy_zeros(fy_shape(samples), .dtype = FY_INT64, .device = device);
  FyTensor *labels = fy_zeros(fy_shape(samples), .dtype = FY_INT64, .device = device);
  FyTensor *shares = fy_zeros(fy_shape(classes), .device = device);
  fy_eval(model);
  fy_no_grad {
    fy_for_prefetched_batches(batch, loader, device) {
      fy_copy_(fy_narrow(guesses, 0, at, batch.size), fy_argmax_dim(fy_forward(model, batch.data), 1, false));
      fy_copy_(fy_narrow(labels, 0, at, batch.size), batch.target);
      at += batch.size;
    }
    FyTensor *hits = fy_float(fy_eq(guesses, labels));
    for (int64_t k = 0; k < classes; k++) {
      FyTensor *own = fy_float(fy_eq(labels, fy_full((double)k, FY_SCALAR, .dtype = FY_INT64, .device = device)));
      fy_copy_(fy_select(shares, 0, k), fy_div(fy_sum(fy_mul(own, hits)), fy_sum(own)));
    }
  }
  fy_set_training_of(model, mode);
  return shares;
}
