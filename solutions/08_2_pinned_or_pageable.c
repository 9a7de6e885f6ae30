// Exercise 8.2: Pinned or pageable memory           lesson 8 · medium · 40 min
//
// Task      Train the same epoch twice, from pageable and from pinned memory.
//           Everything else must be equal, so that you can compare the times:
//               for pinned in (False, True):
//                   model.load_state_dict(initial)
//                   optimizer = SGD(model.parameters(), lr=0.125, momentum=0.5)
//                   loader = DataLoader(..., shuffle=True, pin_memory=pinned)
//                   for x, y in loader:   # .to(device, non_blocking=pinned)
//                       loss = F.mse_loss(model(x), y); ...
// Example   21 samples, batch_size = 5   ->   5 losses per row, equal rows
// Write     compare_loading. It stores two rows of losses, (batches) float32.
// Inputs    model    on `device`, a GPU; at most 8 parameters, which may have
//                    gradients; no buffers and no dropout
//           data     N >= 1 samples, float32; batch_size need not divide N
// Required  - both rows are correct, on `device`: same weights, new optimizer,
//             same shuffled order, which depends only on `seed`
//           - on return, the model has the weights that epoch 2 trained
//           - 2 copies to the device per batch: from pageable memory, then in
//             epoch 2 from pinned memory, where the host waits at most twice
// Stars     ** no copy to the host, and losses without graphs
//           *** the process's random generator is unchanged
#include "ferry.h"

#ifndef ANSWER_H // for your editor: the tests include a header that declares this
typedef struct Comparison {
  FyTensor *pageable, *pinned; // (batches) each
} Comparison;
#endif

// [answer]
static FyTensor *epoch_losses(FyModule *model, FyDataLoader *loader, FyDevice device, bool pinned) {
  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = 0.125, .momentum = 0.5);
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

// [stub]
// [end]
void compare_loading(FyModule *model, FyDataset *data, int batch_size, uint64_t seed, FyDevice device,
                     Comparison *result) {
  // [answer]
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
  // [stub]
  // [end]
}
