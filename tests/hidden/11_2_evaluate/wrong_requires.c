// mistake: frozen parameter unfrozen
#include "ferry.h"

double evaluate(FyModule *model, FyTensor *x, FyTensor *labels, int64_t batch, double *loss) {
  int64_t count = fy_size_at(x, 0);
  bool was_training = model->training;
  double sum = 0, right = 0;
  fy_eval(model);
  fy_module_requires_grad_(model, false);
  fy_no_grad {
    for (int64_t at = 0; at < count; at += batch) {
      fy_scope {
        int64_t here = count - at < batch ? count - at : batch;
        FyTensor *wanted = fy_narrow(labels, 0, at, here);
        FyTensor *output = fy_forward(model, fy_narrow(x, 0, at, here));
        sum += fy_item(fy_cross_entropy(output, wanted)) * (double)here;
        right += fy_item(fy_sum(fy_eq(fy_argmax_dim(output, 1, false), wanted)));
      }
    }
  }
  fy_module_requires_grad_(model, true);
  fy_set_training_of(model, was_training);
  *loss = sum / (double)count;
  return right / (double)count;
}
