// The step by hand, with a momentum of one's own, so that there is no optimizer to be made anew; a loop over the two ways.
#include "ferry.h"

void compare_loading(FyModule *model, FyDataset *data, int batch_size, uint64_t seed, FyDevice device,
                     Comparison *result) {
  FyTensorList *p = fy_parameters(model);
  FyTensor *begun[8], *speed[8], *losses[2];
  for (int i = 0; i < p->count; i++)
    begun[i] = fy_clone(fy_detach(p->items[i]));
  for (int way = 0; way < 2; way++) {
    FyDataLoader *loader =
        fy_data_loader(data, .batch_size = batch_size, .shuffle = true, .seed = seed, .pin_memory = way == 1);
    losses[way] = fy_zeros(fy_shape(fy_loader_batches(loader)), .device = device);
    for (int i = 0; i < p->count; i++) {
      fy_copy_(fy_detach(p->items[i]), begun[i]);
      speed[i] = fy_mul_scalar(begun[i], 0);
    }
    fy_for_batches(batch, loader) {
      FyTensor *x = fy_to(batch.data, device, .non_blocking = true),
               *y = fy_to(batch.target, device, .non_blocking = true);
      FyTensor *loss = fy_mse_loss(fy_forward(model, x), y);
      fy_module_zero_grad(model);
      fy_backward(loss);
      fy_no_grad {
        for (int i = 0; i < p->count; i++) {
          fy_add_(fy_mul_scalar_(speed[i], 0.5), fy_grad(p->items[i]));
          fy_sub_(p->items[i], fy_mul_scalar(speed[i], 0.125));
        }
        fy_copy_(fy_select(losses[way], 0, batch.index), loss);
      }
    }
  }
  *result = (Comparison){.pageable = losses[0], .pinned = losses[1]};
}
