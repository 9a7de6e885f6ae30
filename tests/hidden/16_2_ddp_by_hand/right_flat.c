#include "ferry.h"
#include <string.h>

// All gradients in one tensor: one call, as a bucket has it.
void ddp_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, int parts, int ranks,
              void (*all_reduce)(FyTensor *t)) {
  const int64_t rows = fy_size_at(x, 0) / parts;
  FyTensorList *parameters = fy_parameters(model);
  int64_t count = 0, at = 0;
  fy_zero_grad(optimizer);
  for (int part = 0; part < parts; part++) {
    FyTensor *output = fy_forward(model, fy_narrow(x, 0, part * rows, rows));
    fy_backward(fy_mse_loss(output, fy_narrow(target, 0, part * rows, rows)));
  }
  for (int i = 0; i < parameters->count; i++)
    count += fy_numel(parameters->items[i]);
  FyTensor *bucket = fy_empty(fy_shape(count));
  float *numbers = fy_data_ptr(bucket);
  for (int i = 0; i < parameters->count; at += fy_numel(parameters->items[i++]))
    memcpy(numbers + at, fy_data_ptr(fy_grad(parameters->items[i])), fy_nbytes(parameters->items[i]));
  all_reduce(bucket);
  at = 0;
  for (int i = 0; i < parameters->count; at += fy_numel(parameters->items[i++])) {
    float *grad = fy_data_ptr(fy_grad(parameters->items[i]));
    for (int64_t k = 0; k < fy_numel(parameters->items[i]); k++)
      grad[k] = numbers[at + k] / (float)(parts * ranks);
  }
  fy_step(optimizer);
}
