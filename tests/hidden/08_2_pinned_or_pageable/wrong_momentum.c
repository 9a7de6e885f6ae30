// mistake: optimizer state kept
#include "ferry.h"

static FyTensor *epoch_losses(FyModule *model, FyDataLoader *loader, FyDevice device, bool pinned) {
  static FyOptimizer *optimizer;
  if (!optimizer)
    optimizer = fy_sgd(fy_parameters(model), .lr = 0.125, .momentum = 0.5);
  FyTensor *losses = fy_zeros(fy_shape(fy_loader_batches(loader)), .device = device);
  fy_for_batches(batch, loader) {
    FyTensor *x = fy_to(batch.data, device, .non_blocking = pinned);
    FyTensor *y = fy_to(batch.target, device, .non_blocking = pinned);
    FyTensor *loss = fy_mse_loss(fy_forward(model, x), y);
    fy_zero_grad(optimizer);
    fy_backward(loss);
    fy_step(optimizer);
    fy_copy_(fy_select(losses, 0, batch.index), fy_detach(loss));
  }
  return losses;
}

void compare_loading(FyModule *model, FyDataset *data, int batch_size, uint64_t seed, FyDevice device,
                     Comparison *result) {
  FyTensorList *parameters = fy_parameters(model);
  FyTensor *initial[8];
  fy_no_grad {
    for (int i = 0; i < parameters->count; i++)
      initial[i] = fy_clone(parameters->items[i]);
  }
  FyDataLoader *plain = fy_data_loader(data, .batch_size = batch_size, .shuffle = true, .seed = seed);
  result->pageable = epoch_losses(model, plain, device, false);
  fy_no_grad {
    for (int i = 0; i < parameters->count; i++)
      fy_copy_(parameters->items[i], initial[i]);
  }
  FyDataLoader *pinning =
      fy_data_loader(data, .batch_size = batch_size, .shuffle = true, .seed = seed, .pin_memory = true);
  result->pinned = epoch_losses(model, pinning, device, true);
}
