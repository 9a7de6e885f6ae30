// The state by name, put back by fy_load_state_dict; the losses put together at the end; epoch 0 of one pinned loader.
#include "ferry.h"

static FyTensor *trained(FyModule *model, FyDataLoader *loader, FyDevice device) {
  FyTensor *each[256];
  int count = 0;
  FyOptimizer *sgd = fy_sgd(fy_parameters(model), .momentum = 0.5, .lr = 0.125);
  FyLoaderIterator *iter = fy_loader_iter(loader);
  for (FyBatch batch; fy_loader_next(iter, &batch);) {
    FyTensor *output = fy_forward(model, fy_to(batch.data, device, .non_blocking = true));
    FyTensor *loss = fy_mse_loss(output, fy_to(batch.target, device, .non_blocking = true));
    fy_zero_grad(sgd);
    fy_backward(loss);
    fy_step(sgd);
    each[count++] = fy_unsqueeze(fy_detach(loss), 0);
  }
  return fy_cat((FyTensors){count, each}, 0);
}

void compare_loading(FyModule *model, FyDataset *data, int batch_size, uint64_t seed, FyDevice device,
                     Comparison *result) {
  FyTensorList *state = fy_state_dict(model), *copy = fy_tensor_list_new();
  for (int i = 0; i < state->count; i++)
    fy_list_add(copy, state->names[i], fy_clone(state->items[i]));
  result->pageable =
      trained(model, fy_data_loader(data, .batch_size = batch_size, .shuffle = true, .seed = seed), device);
  fy_load_state_dict(model, copy);
  FyDataLoader *pinning =
      fy_data_loader(data, .batch_size = batch_size, .shuffle = true, .pin_memory = true, .seed = seed);
  result->pinned = trained(model, pinning, device);
}
