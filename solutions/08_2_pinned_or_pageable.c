// Exercise 8.2: an epoch with pinned memory, and without                           (chapter 8, docs/08_data_pipeline.md)
//
// Does pinned memory change anything but the time? Write compare_loading: it trains a model twice for the same epoch,
// first with batches in ordinary (pageable) memory and plain copies, then with batches in pinned memory and copies that
// the host does not wait for. A comparison is worth something only where all else is equal: the weights at the
// beginning, an optimizer that has not taken a step yet, and the order of the samples.
//
//   PyTorch:  for pinned in (False, True):
//                 model.load_state_dict(initial)
//                 optimizer = torch.optim.SGD(model.parameters(), lr=0.125, momentum=0.5)
//                 loader = DataLoader(data, batch_size, shuffle=True, pin_memory=pinned, generator=seeded)
//                 for x, y in loader:
//                     x, y = x.to(device, non_blocking=pinned), y.to(device, non_blocking=pinned)
//                     loss = F.mse_loss(model(x), y); ...
//
// Given: a model on `device`, a GPU, whose parameters (eight at most) all require gradients and may have those of an
// earlier step, and which has no buffers and draws no random numbers; data, of float32 inputs and targets; batch_size;
// seed (1 or more, all 64 bits of it) for the loaders' order. The last batch may be smaller. The process's generator is
// the caller's: it is neither seeded nor drawn from. A second call, with the model as the first has left it, begins
// from there.
// Filled in: typedef struct Comparison { FyTensor *pageable, *pinned; }: the loss of each batch of the one epoch and of
// the other, float32 (batches) on `device`, without graphs. The model is left as the second epoch has trained it.
// Judged: both rows of losses, the order of the samples, and what the copies came from. Counted: copies to the device
// (two for each batch), copies back (none), and in the pinned epoch the host's waits between copies (none: pinning by
// hand is no wait, and the loader pins by itself). Pinned memory may be given up while its copy is under way.
#include "ferry.h"

#ifndef ANSWER_H // the tests declare it all before they compile your file; here it is for you and your editor
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
  //| (void)model;
  //| (void)data;
  //| (void)batch_size;
  //| (void)seed;
  //| (void)device;
  //| (void)result;
  // [end]
}
