// SPDX-License-Identifier: MIT
// The data set records the order in which its samples are read.
#include "driver.h"
#include "answer.h"
#include <string.h>

enum { MOST = 512 };

typedef struct Watched {
  FyDataset base;
  const Array *data, *target;
  int64_t asked[MOST], count;
} Watched;

static void watched_get(FyDataset *self, int64_t index, uint64_t seed, void *input, void *target) {
  Watched *w = (Watched *)self;
  int64_t in = w->data->shape.size[1], out = w->target->shape.size[1];
  (void)seed;
  memcpy(input, w->data->f32 + index * in, (size_t)in * sizeof(float));
  memcpy(target, w->target->f32 + index * out, (size_t)out * sizeof(float));
  if (w->count < MOST)
    w->asked[w->count++] = index;
}

void drive(Driver *d) {
  static const FyDatasetClass type = {.name = "Watched", .get = watched_get};
  Watched *w = fy_dataset_new(sizeof *w, &type);
  w->data = driver_array(d, "data");
  w->target = driver_array(d, "target");
  w->base.count = w->data->shape.size[0];
  w->base.input_size = fy_shape(w->data->shape.size[1]);
  w->base.target_size = fy_shape(w->target->shape.size[1]);
  w->base.input_dtype = w->base.target_dtype = FY_FLOAT32;
  FyTensor *weight = driver_tensor(d, "weight");
  FyModule *model = fy_nn_linear((int)fy_size_at(weight, 1), (int)fy_size_at(weight, 0));
  FyTensorList *state = fy_state_dict(model);
  fy_copy_(state->items[0], weight);
  fy_copy_(state->items[1], driver_tensor(d, "bias"));
  FyDevice device = fy_device(driver_text(d, "device"));
  fy_module_to(model, device);
  if (driver_has(d, "left")) {
    FyTensorList *parameters = fy_parameters(model);
    for (int i = 0; i < parameters->count; i++)
      fy_set_grad(parameters->items[i],
                  fy_full(driver_number(d, "left"), fy_size(parameters->items[i]), .device = device));
  }
  fy_manual_seed(12);
  driver_put(d, "drawn without it", fy_randn(fy_shape(4)));
  fy_manual_seed(12);
  fy_synchronize(device);
  Comparison c = {NULL, NULL};
  driver_module(model);
  driver_count(d);
  compare_loading(model, &w->base, (int)driver_number(d, "batch size"), (uint64_t)driver_number(d, "seed"), device, &c);
  driver_stop(d);
  driver_put(d, "drawn after it", fy_randn(fy_shape(4)));
  driver_put_array(d, "order", FY_INT64, shape(w->count), w->asked);
  driver_put(d, "pageable", c.pageable);
  driver_put(d, "pinned", c.pinned);
  driver_put(d, "weight after", fy_detach(fy_state_dict(model)->items[0]));
  driver_put(d, "bias after", fy_detach(fy_state_dict(model)->items[1]));
  Comparison other = {NULL, NULL}; // with the next seed
  w->count = 0;
  compare_loading(model, &w->base, (int)driver_number(d, "batch size"), (uint64_t)driver_number(d, "seed") + 1, device,
                  &other);
  driver_put(d, "second pageable", other.pageable);
  driver_put(d, "second pinned", other.pinned);
  driver_put_array(d, "order by another seed", FY_INT64, shape(w->count), w->asked);
}
