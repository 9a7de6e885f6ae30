// mistake: tensors of every batch kept alive
#include "ferry.h"

// The outputs of all batches are gathered first.
double evaluate(FyModule *model, FyTensor *x, FyTensor *labels, int64_t batch, double *loss) {
  bool was_training = model->training;
  int64_t count = fy_size_at(x, 0);
  double share = 0;
  fy_eval(model);
  fy_scope {
    fy_no_grad {
      FyTensor *outputs[128], *inputs[128];
      int parts = 0;
      for (int64_t i = 0; i < count; i += batch) {
        inputs[parts] = fy_clone(fy_narrow(x, 0, i, i + batch < count ? batch : count - i));
        outputs[parts] = fy_forward(model, inputs[parts]);
        parts++;
      }
      FyTensor *all = fy_cat((FyTensors){.items = outputs, .count = parts}, 0);
      *loss = fy_item(fy_cross_entropy(all, labels));
      share = fy_item(fy_mean(fy_float(fy_eq(fy_argmax_dim(all, 1, false), labels))));
    }
  }
  fy_set_training_of(model, was_training);
  return share;
}
