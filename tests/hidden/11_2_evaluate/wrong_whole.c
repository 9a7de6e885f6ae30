// mistake: batch size exceeded
#include "ferry.h"

double evaluate(FyModule *model, FyTensor *x, FyTensor *labels, int64_t batch, double *loss) {
  (void)batch;
  bool was_training = model->training;
  double share = 0;
  fy_eval(model);
  fy_scope {
    fy_no_grad {
      FyTensor *output = fy_forward(model, x);
      *loss = fy_item(fy_cross_entropy(output, labels));
      share = fy_item(fy_mean(fy_float(fy_eq(fy_argmax_dim(output, 1, false), labels))));
    }
  }
  fy_set_training_of(model, was_training);
  return share;
}
