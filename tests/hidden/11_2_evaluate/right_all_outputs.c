// The outputs of all batches are kept, and judged together at the end.
#include "ferry.h"
#include <stdlib.h>

double evaluate(FyModule *model, FyTensor *x, FyTensor *labels, int64_t batch, double *loss) {
  int64_t count = fy_size_at(x, 0);
  int batches = (int)((count - 1) / batch + 1);
  FyTensor **outputs = malloc((size_t)batches * sizeof *outputs);
  bool training = model->training;
  double share = 0;
  fy_eval(model);
  fy_scope {
    fy_no_grad {
      for (int b = 0; b < batches; b++) {
        fy_scope {
          int64_t start = b * batch, end = start + batch < count ? start + batch : count;
          outputs[b] = fy_keep(fy_forward(model, fy_slice(x, 0, start, end, 1)));
        }
      }
      FyTensor *all = fy_cat((FyTensors){batches, outputs}, 0); // (N, classes)
      *loss = fy_item(fy_cross_entropy(all, labels));
      share = fy_item(fy_mean(fy_float(fy_eq(fy_argmax_dim(all, 1, false), labels))));
    }
  }
  fy_set_training_of(model, training);
  free(outputs);
  return share;
}
