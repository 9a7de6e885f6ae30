#include "ferry.h"
#include <stdlib.h>

// Without fy_no_grad: nothing requires a gradient while the model is evaluated.
double evaluate(FyModule *model, FyTensor *x, FyTensor *labels, int64_t batch, double *loss) {
  bool training = model->training;
  int64_t count = fy_size_at(x, 0);
  double right = 0, sum = 0;
  FyTensorList *parameters = fy_parameters(model);
  bool *learns = malloc((size_t)parameters->count * sizeof *learns);
  for (int i = 0; i < parameters->count; i++)
    learns[i] = fy_requires_grad(parameters->items[i]);
  fy_module_requires_grad_(model, false);
  fy_eval(model);
  for (int64_t i = 0; i < count; i += batch) {
    fy_scope {
      int64_t n = i + batch > count ? count - i : batch;
      FyTensor *output = fy_forward(model, fy_narrow(x, 0, i, n)), *wanted = fy_narrow(labels, 0, i, n);
      sum += fy_item(fy_cross_entropy(output, wanted)) * (double)n;
      right += fy_item(fy_sum(fy_eq(fy_argmax_dim(output, 1, false), wanted)));
    }
  }
  fy_set_training_of(model, training);
  for (int i = 0; i < parameters->count; i++)
    fy_set_requires_grad(parameters->items[i], learns[i]);
  free(learns);
  *loss = sum / (double)count;
  return right / (double)count;
}
