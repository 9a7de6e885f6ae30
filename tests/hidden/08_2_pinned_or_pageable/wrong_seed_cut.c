// mistake: the seed cut to 32 bits
#include "ferry.h"

#ifndef ANSWER_H
typedef struct Comparison {
  FyTensor *pageable, *pinned; // (batches) each
} Comparison;
#endif

static FyTensor *epoch(FyModule *model, FyDataset *data, int batch_size, unsigned seed, FyDevice device, bool pinned) {
  FyTensor *losses = NULL;
  fy_scope {
    FyDataLoader *loader =
        fy_data_loader(data, .batch_size = batch_size, .shuffle = true, .pin_memory = pinned, .seed = seed);
    losses = fy_empty(fy_shape(fy_loader_batches(loader)), .device = device);
    FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = 0.125, .momentum = 0.5);
    fy_for_batches(batch, loader) {
      FyTensor *x = fy_to(batch.data, device, .non_blocking = pinned);
      FyTensor *y = fy_to(batch.target, device, .non_blocking = pinned);
      FyTensor *loss = fy_mse_loss(fy_forward(model, x), y);
      fy_zero_grad(optimizer);
      fy_backward(loss);
      fy_step(optimizer);
      fy_copy_(fy_select(losses, 0, batch.index), fy_detach(loss));
    }
    fy_keep(losses);
  }
  return losses;
}

void compare_loading(FyModule *model, FyDataset *data, int batch_size, uint64_t seed, FyDevice device,
                     Comparison *result) {
  FyTensorList *parameters = fy_parameters(model);
  FyTensor *initial[8];
  for (int i = 0; i < parameters->count; i++)
    initial[i] = fy_clone(fy_detach(parameters->items[i]));
  result->pageable = epoch(model, data, batch_size, (unsigned)seed, device, false);
  fy_no_grad {
    for (int i = 0; i < parameters->count; i++)
      fy_copy_(parameters->items[i], initial[i]);
  }
  result->pinned = epoch(model, data, batch_size, (unsigned)seed, device, true);
}
