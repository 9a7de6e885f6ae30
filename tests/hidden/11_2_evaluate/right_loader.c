// missing star: global random generator used
#include "ferry.h"

double evaluate(FyModule *model, FyTensor *x, FyTensor *labels, int64_t batch, double *loss) {
  const int64_t n = fy_size_at(x, 0);
  const bool was_training = model->training;
  double sum = 0;
  int64_t right = 0;
  fy_eval(model);
  fy_no_grad {
    fy_scope {
      FyDataset *data = fy_tensor_dataset(fy_cpu(x), fy_cpu(labels));
      FyDataLoader *loader = fy_data_loader(data, .batch_size = (int)(batch < n ? batch : n));
      fy_for_batches(b, loader) {
        FyTensor *ys = fy_to(b.target, fy_device_of(labels));
        FyTensor *output = fy_forward(model, fy_to(b.data, fy_device_of(x)));
        sum += fy_item(fy_cross_entropy(output, ys)) * (double)b.size;
        right += fy_item_int64(fy_sum(fy_eq(fy_argmax_dim(output, 1, false), ys)));
      }
    }
  }
  fy_set_training_of(model, was_training);
  *loss = sum / (double)n;
  return (double)right / (double)n;
}
