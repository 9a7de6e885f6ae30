// mistake: state kept between calls
#include "ferry.h"

#ifndef ANSWER_H // the tests declare it all before they compile your file; here it is for you and your editor
typedef struct Comparison {
  FyTensor *pageable, *pinned; // (batches) each
} Comparison;
#endif

typedef struct Epoch {
  FyModule *model;
  FyOptimizer *optimizer;
  FyDevice device;
  bool pinned;
} Epoch;

static FyTensorList *copy_of(const FyTensorList *state) {
  FyTensorList *copy = fy_tensor_list_new();
  for (int i = 0; i < state->count; i++)
    fy_list_add(copy, state->names[i], fy_clone(state->items[i]));
  return copy;
}

static FyTensor *move(const Epoch *epoch, FyTensor *host) {
  if (!epoch->pinned)
    return fy_to(host, epoch->device);
  return fy_to(fy_pin_memory(host), epoch->device, .non_blocking = true);
}

// Learns from a batch and writes its loss to place.
static void step(const Epoch *epoch, const FyBatch *batch, FyTensor *place) {
  FyTensor *output = fy_forward(epoch->model, move(epoch, batch->data));
  FyTensor *loss = fy_loss(fy_nn_mse_loss(), output, move(epoch, batch->target));
  fy_backward(loss);
  fy_step(epoch->optimizer);
  fy_zero_grad(epoch->optimizer);
  fy_no_grad {
    fy_copy_(place, loss);
  }
}

static FyTensor *run(FyModule *model, FyDataset *data, int batch_size, uint64_t seed, FyDevice device, bool pinned) {
  FyTensor *losses = NULL;
  fy_scope {
    Epoch epoch = {model, fy_sgd(fy_parameters(model), .lr = 0.125, .momentum = 0.5), device, pinned};
    FySampler *order = fy_random_sampler(data->count);
    FyDataLoader *loader = fy_data_loader(data, .batch_size = batch_size, .sampler = order, .seed = seed);
    FyLoaderIterator *batches = fy_loader_iter(loader);
    losses = fy_keep(fy_zeros(fy_shape(fy_loader_batches(loader)), .device = device));
    fy_module_zero_grad(model);
    for (bool more = true; more;) {
      fy_scope {
        FyBatch batch;
        more = fy_loader_next(batches, &batch);
        if (more) {
          FyTensor *place = NULL;
          fy_no_grad {
            place = fy_select(losses, 0, batch.index);
          }
          step(&epoch, &batch, place);
        }
      }
    }
  }
  return losses;
}

void compare_loading(FyModule *model, FyDataset *data, int batch_size, uint64_t seed, FyDevice device,
                     Comparison *result) {
  fy_scope {
    static FyTensorList *initial;
    if (!initial)
      initial = fy_retain(copy_of(fy_state_dict(model)));
    for (int pinned = 0; pinned < 2; pinned++) {
      fy_load_state_dict(model, initial);
      FyTensor *losses = fy_keep(run(model, data, batch_size, seed, device, pinned));
      *(pinned ? &result->pinned : &result->pageable) = losses;
    }
  }
}
