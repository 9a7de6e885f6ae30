#include "ferry.h"

// Every tensor is dropped by hand, and the labels are compared on the host.
static int64_t matches(FyTensor *output, const int64_t *labels) {
  FyTensor *best = fy_argmax_dim(output, 1, false);
  int64_t right = 0, n = fy_numel(best);
  FyTensor *here = fy_cpu(best);
  const int64_t *found = fy_data_ptr(here);
  for (int64_t i = 0; i < n; i++) {
    right += found[i] == labels[i];
  }
  if (here != best) {
    fy_drop(here);
  }
  fy_drop(best);
  return right;
}

double evaluate(FyModule *model, FyTensor *x, FyTensor *labels, int64_t batch, double *loss) {
  bool was = model->training;
  int64_t count = fy_size_at(x, 0), right = 0;
  double sum = 0;
  if (was) {
    fy_eval(model);
  }
  fy_no_grad {
    FyTensor *host = fy_clone(fy_cpu(labels));
    for (int64_t i = 0, n; i < count; i += n) {
      n = count - i < batch ? count - i : batch;
      FyTensor *input = fy_narrow(x, 0, i, n), *wanted = fy_narrow(labels, 0, i, n);
      FyTensor *output = fy_forward(model, input), *mean = fy_cross_entropy(output, wanted);
      sum += (double)n * fy_item(mean);
      right += matches(output, (const int64_t *)fy_data_ptr(host) + i);
      fy_drop(mean);
      fy_drop(output);
      fy_drop(wanted);
      fy_drop(input);
    }
  }
  if (was) {
    fy_train(model);
  }
  *loss = sum / (double)count;
  return (double)right / (double)count;
}
