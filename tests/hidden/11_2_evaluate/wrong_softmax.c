// mistake: log of a softmax that underflows
#include "ferry.h"
#include <math.h>

// The mean of -log(p) over the rows.
static double minus_log(FyTensor *p, FyTensor *labels) {
  int64_t n = fy_size_at(p, 0), classes = fy_size_at(p, 1);
  const float *probability = fy_data_ptr(fy_cpu(p));
  const int64_t *label = fy_data_ptr(fy_cpu(fy_contiguous(labels)));
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    sum -= log((double)probability[i * classes + label[i]]);
  }
  return sum / (double)n;
}

double evaluate(FyModule *model, FyTensor *x, FyTensor *labels, int64_t batch, double *loss) {
  bool was_training = model->training;
  int64_t count = fy_size_at(x, 0);
  double right = 0;
  *loss = 0;
  fy_eval(model);
  fy_no_grad {
    for (int64_t i = 0; i < count; i += batch) {
      fy_scope {
        int64_t n = i + batch < count ? batch : count - i;
        FyTensor *wanted = fy_narrow(labels, 0, i, n);
        FyTensor *output = fy_forward(model, fy_narrow(x, 0, i, n)); // (n, classes)
        *loss += minus_log(fy_softmax(output, 1), wanted) * (double)n;
        right += fy_item(fy_sum(fy_eq(fy_argmax_dim(output, 1, false), wanted)));
      }
    }
  }
  fy_set_training_of(model, was_training);
  *loss /= (double)count;
  return right / (double)count;
}
