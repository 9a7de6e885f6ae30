// SPDX-License-Identifier: MIT
// The network is a product with given weights. In training mode, its own or its submodule's, the scores are negated.
#include "driver.h"
#include "answer.h"

typedef struct Scores {
  FyModule base;
  FyTensor *weight; // (features, classes)
  FyModule *part;
  bool graphs;  // a forward pass was recorded
  int trained;  // forward passes in training mode
  int64_t more; // additional classes, which are never predicted
} Scores;

static FyTensor *part_forward(FyModule *self, FyTensor *x) {
  return self->training ? fy_neg(x) : x;
}

static FyTensor *scores_forward(FyModule *self, FyTensor *x) {
  Scores *s = (Scores *)self;
  FyTensor *scores = fy_matmul(x, s->weight);
  if (s->more) {
    FyTensor *low = fy_full(-1e30, fy_shape(fy_size_at(x, 0), s->more), .device = fy_device_of(x));
    scores = fy_cat(fy_list(scores, low), 1);
  }
  s->graphs |= fy_requires_grad(scores);
  s->trained += self->training || s->part->training;
  return self->training && !s->part->training ? fy_neg(scores) : fy_forward(s->part, scores);
}

static bool is_left_as_it_was(Driver *d, const Scores *model) {
  const bool training = driver_number(d, "training") == 1;
  return model->base.training == training && model->part->training == training;
}

// A call with other labels, before the one that is judged. Returns whether the modes are as they were.
static bool call_before(Driver *d, Scores *model, FyDevice device) {
  FyDataset *others = fy_tensor_dataset(driver_tensor(d, "x"), driver_tensor(d, "other labels"));
  accuracy_per_class(&model->base,
                     fy_data_loader(others, .batch_size = (int)driver_number(d, "batch size"), .pin_memory = true),
                     fy_size_at(driver_tensor(d, "weight"), 1), device);
  return is_left_as_it_was(d, model);
}

void drive(Driver *d) {
  FyDevice device = fy_device(driver_text(d, "device"));
  FyTensor *weight = driver_tensor(d, "weight");
  Scores *model = fy_module_new(Scores, scores_forward);
  fy_register_parameter(model, weight, fy_clone(weight));
  fy_register_module(model, part, fy_module_new(FyModule, part_forward));
  fy_module_to(model, device);
  fy_set_training_of(&model->base, driver_number(d, "training") == 1);
  FyDataset *samples = fy_tensor_dataset(driver_tensor(d, "x"), driver_tensor(d, "labels"));
  FyDataLoader *loader = fy_data_loader(samples, .batch_size = (int)driver_number(d, "batch size"), .pin_memory = true);
  driver_module(&model->base);
  const bool often = driver_number(d, "called before and again") == 1, first = !often || call_before(d, model, device);
  fy_synchronize(device);
  driver_count(d);
  FyTensor *shares = accuracy_per_class(&model->base, loader, fy_size_at(weight, 1), device);
  driver_stop(d);
  driver_put_number(d, "modes left", first && is_left_as_it_was(d, model));
  driver_put_number(d, "passes in training mode", model->trained);
  driver_put_number(d, "graphs", model->graphs);
  driver_put(d, "shares", shares);
  if (!often)
    return;
  model->more = 2;
  driver_put(d, "shares of two classes more",
             accuracy_per_class(&model->base, loader, fy_size_at(weight, 1) + model->more, device));
}
