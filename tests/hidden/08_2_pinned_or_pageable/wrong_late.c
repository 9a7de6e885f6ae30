// mistake: gradients not cleared
#include "ferry.h"

static FyTensor *epoch(FyModule *model, FyDataset *data, int batch_size, uint64_t seed, FyDevice device, bool pinned) {
  FyDataLoader *loader =
      fy_data_loader(data, .batch_size = batch_size, .shuffle = true, .pin_memory = pinned, .seed = seed);
  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = 0.125, .momentum = 0.5);
  FyTensor *losses = fy_zeros(fy_shape(fy_loader_batches(loader)), .device = device);
  fy_for_batches(batch, loader) {
    FyTensor *x = fy_to(batch.data, device, .non_blocking = pinned);
    FyTensor *y = fy_to(batch.target, device, .non_blocking = pinned);
    FyTensor *loss = fy_mse_loss(fy_forward(model, x), y);
    fy_backward(loss);
    fy_step(optimizer);
    fy_zero_grad(optimizer);
    fy_copy_(fy_select(losses, 0, batch.index), fy_detach(loss));
  }
  return losses;
}

void compare_loading(FyModule *model, FyDataset *data, int batch_size, uint64_t seed, FyDevice device,
                     Comparison *result) {
  FyTensorList *live = fy_state_dict(model), *initial = fy_tensor_list_new();
  for (int i = 0; i < live->count; i++)
    fy_list_add(initial, live->names[i], fy_clone(live->items[i]));
  result->pageable = epoch(model, data, batch_size, seed, device, false);
  fy_load_state_dict(model, initial);
  result->pinned = epoch(model, data, batch_size, seed, device, true);
}
