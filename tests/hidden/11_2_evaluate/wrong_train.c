// mistake: model switched to training mode
#include "ferry.h"

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
        FyTensor *output = fy_forward(model, fy_narrow(x, 0, i, n));
        *loss += fy_item(fy_cross_entropy(output, wanted)) * (double)n;
        right += fy_item(fy_sum(fy_eq(fy_argmax_dim(output, 1, false), wanted)));
      }
    }
  }
  (void)was_training;
  fy_train(model);
  *loss /= (double)count;
  return right / (double)count;
}
