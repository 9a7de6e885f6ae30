#include "ferry.h"

// Sums stay on the device until the end; recording is put back by hand.
double evaluate(FyModule *model, FyTensor *x, FyTensor *labels, int64_t batch, double *loss) {
  bool training = model->training, recording = fy_is_grad_enabled();
  int64_t count = fy_size_at(x, 0);
  double share = 0;
  fy_set_grad_enabled(false);
  fy_set_training_of(model, false);
  fy_scope {
    FyTensor *losses = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
    FyTensor *right = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
    for (int64_t i = 0; i < count; i += batch) {
      fy_scope {
        int64_t end = i + batch < count ? i + batch : count;
        FyTensor *ys = fy_slice(labels, 0, i, end, 1);
        FyTensor *output = fy_forward(model, fy_slice(x, 0, i, end, 1));
        fy_add_(losses, fy_mul_scalar(fy_cross_entropy(output, ys), (double)(end - i)));
        fy_add_(right, fy_float(fy_sum(fy_eq(fy_argmax_dim(output, 1, false), ys))));
      }
    }
    *loss = fy_item(losses) / (double)count;
    share = fy_item(right) / (double)count;
  }
  fy_set_training_of(model, training);
  fy_set_grad_enabled(recording);
  return share;
}
