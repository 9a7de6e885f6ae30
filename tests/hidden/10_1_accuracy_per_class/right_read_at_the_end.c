// Labels and predictions stay on the device during the loop. They are read once at the end, and counted on the host.
#include "ferry.h"
#include <stdlib.h>

FyTensor *accuracy_per_class(FyModule *model, FyDataLoader *loader, int64_t classes, FyDevice device) {
  const bool mode = model->training;
  const int batches = (int)fy_loader_batches(loader);
  FyTensor **guesses = malloc((size_t)batches * sizeof *guesses), **labels = malloc((size_t)batches * sizeof *labels);
  int n = 0;
  fy_eval(model);
  fy_no_grad {
    fy_for_prefetched_batches(batch, loader, device) {
      guesses[n] = fy_keep(fy_argmax_dim(fy_forward(model, batch.data), 1, false));
      labels[n++] = fy_keep(fy_clone(batch.target));
    }
  }
  fy_set_training_of(model, mode);
  FyTensor *guess = fy_cpu(fy_cat((FyTensors){n, guesses}, 0)), *label = fy_cpu(fy_cat((FyTensors){n, labels}, 0));
  FyTensor *shares = fy_zeros(fy_shape(classes));
  int64_t *all = calloc((size_t)classes, sizeof *all);
  float *share = fy_data_ptr(shares);
  const int64_t *g = fy_data_ptr(guess), *l = fy_data_ptr(label);
  for (int64_t i = 0; i < fy_numel(label); i++) {
    all[l[i]]++;
    share[l[i]] += (float)(g[i] == l[i]);
  }
  for (int64_t k = 0; k < classes; k++)
    share[k] /= (float)all[k];
  free(all);
  free(guesses);
  free(labels);
  return fy_to(shares, device);
}
