// SPDX-License-Identifier: MIT
// Three runs: one without interruption; one that is saved twice and goes on; and a new one that resumes from the first Saved.
// The driver compares with its own copies.
#include "driver.h"
#include "answer.h"
#include <string.h>

typedef struct State {
  FyTensorList *parameters, *gradients, *buffers, *moments;
  double lr, first_lr, best;
  int64_t steps, epoch;
  FyRngState random;
} State;

typedef struct Task {
  FyTensor *x, *y;
  FyDevice device;
  int hidden;
  bool adam, each_batch; // the schedule counts batches
} Task;

static Run new_run(const Task *t, uint64_t seed, double lr) {
  fy_manual_seed(seed);
  FyModule *model = fy_nn_sequential(fy_nn_linear((int)fy_size_at(t->x, 1), t->hidden), fy_nn_batch_norm1d(t->hidden),
                                     fy_nn_relu(), fy_nn_dropout(0.5), fy_nn_linear(t->hidden, 2));
  fy_module_to(model, t->device);
  FyTensorList *parameters = fy_parameters(model);
  FyOptimizer *optimizer = t->adam ? fy_adam(parameters, .lr = lr) : fy_sgd(parameters, .lr = lr, .momentum = 0.9);
  driver_module(model);
  return (Run){model, optimizer, fy_step_lr(optimizer, t->each_batch ? 7 : 2, 0.5), 0, 1e30};
}

// Trains until `epochs` epochs are finished.
static void train(Run *run, const Task *t, int64_t epochs) {
  FyDataLoader *loader = fy_data_loader(fy_tensor_dataset(t->x, t->y), .batch_size = 4, .shuffle = true, .seed = 5);
  while (run->epoch < epochs) {
    double loss = 0;
    fy_loader_set_epoch(loader, run->epoch);
    fy_for_batches(batch, loader) {
      FyTensor *output = fy_forward(run->model, fy_to(batch.data, t->device));
      FyTensor *error = fy_mse_loss(output, fy_to(batch.target, t->device));
      fy_zero_grad(run->optimizer);
      fy_backward(error);
      fy_step(run->optimizer);
      loss += fy_item(error);
      if (t->each_batch)
        fy_scheduler_step(run->scheduler);
    }
    if (!t->each_batch)
      fy_scheduler_step(run->scheduler);
    run->best = loss < run->best ? loss : run->best;
    run->epoch++;
  }
}

static FyTensorList *copies(const FyTensorList *list) {
  FyTensorList *all = fy_tensor_list_new();
  for (int i = 0; i < list->count; i++)
    fy_list_add(all, list->names[i], fy_to(fy_clone(fy_detach(list->items[i])), FY_CPU_DEVICE));
  return all;
}

static FyTensorList *gradients_of(const Run *run) {
  FyTensorList *parameters = fy_parameters(run->model), *all = fy_tensor_list_new();
  for (int i = 0; i < parameters->count; i++)
    if (fy_grad(parameters->items[i]))
      fy_list_add(all, parameters->names[i], fy_grad(parameters->items[i]));
  return copies(all);
}

static State state_of(const Run *run) {
  return (State){.parameters = copies(fy_parameters(run->model)),
                 .gradients = gradients_of(run),
                 .buffers = copies(fy_buffers(run->model)),
                 .moments = copies(fy_optimizer_state_dict(run->optimizer)),
                 .lr = fy_learning_rate(run->optimizer),
                 .first_lr = fy_scheduler_state(run->scheduler).base_lr,
                 .best = run->best,
                 .steps = fy_scheduler_last_epoch(run->scheduler),
                 .epoch = run->epoch,
                 .random = fy_get_rng_state()};
}

// Compares all but the learning rate, which has its own result.
static bool same(const FyTensorList *a, const FyTensorList *b) {
  bool equal = a->count == b->count;
  for (int i = 0; i < a->count && equal; i++) {
    FyTensor *other = fy_list_find(b, a->names[i]);
    equal = strstr(a->names[i], "lr") || (other && fy_equal(a->items[i], other));
  }
  return equal;
}

// A tensor of `now` has its later value, and not the one of `then`.
static bool has_later(const FyTensorList *now, const FyTensorList *then, const FyTensorList *later) {
  for (int i = 0; i < now->count; i++) {
    FyTensor *was = fy_list_find(then, now->names[i]), *became = fy_list_find(later, now->names[i]);
    if (fy_numel(now->items[i]) > 1 && was && became && !fy_equal(now->items[i], was) &&
        fy_equal(now->items[i], became))
      return true;
  }
  return false;
}

static void put_same(Driver *d, const State *now, const State *then) {
  driver_put_number(d, "parameters", same(now->parameters, then->parameters));
  driver_put_number(d, "buffers", same(now->buffers, then->buffers));
  driver_put_number(d, "moments", same(now->moments, then->moments));
  driver_put_number(d, "learning rate", now->lr == then->lr);
  driver_put_number(d, "schedule", now->steps == then->steps);
  driver_put_number(d, "initial rate of the schedule", now->first_lr == then->first_lr);
  driver_put_number(d, "random", memcmp(&now->random, &then->random, sizeof now->random) == 0);
  driver_put_number(d, "epoch", (double)now->epoch);
  driver_put_number(d, "best", now->best == then->best);
}

// The part of the run that saving changed; "": none.
static const char *changed(const State *now, const State *then) {
  return !same(now->parameters, then->parameters)                       ? "parameters"
         : !same(now->buffers, then->buffers)                           ? "buffers"
         : !same(now->gradients, then->gradients)                       ? "gradients"
         : !same(now->moments, then->moments) || now->lr != then->lr    ? "optimizer"
         : now->steps != then->steps || now->first_lr != then->first_lr ? "schedule"
         : memcmp(&now->random, &then->random, sizeof now->random) != 0 ? "generator"
                                                                        : "";
}

static FyTensor *weights(const Run *run) {
  FyTensorList *all = fy_parameters(run->model);
  FyTensor *rows[8];
  for (int i = 0; i < all->count; i++)
    rows[i] = fy_reshape(fy_detach(all->items[i]), fy_shape(-1));
  return fy_to(fy_cat((FyTensors){all->count, rows}, 0), FY_CPU_DEVICE);
}

void drive(Driver *d) {
  Task task = {.x = driver_tensor(d, "x"),
               .y = driver_tensor(d, "y"),
               .device = fy_device(driver_text(d, "device")),
               .hidden = (int)driver_number(d, "hidden"),
               .adam = driver_number(d, "adam") == 1,
               .each_batch = driver_has(d, "a step of the schedule for each batch")};
  int64_t first = (int64_t)driver_number(d, "saved after"), second = first + 2, all = first + 3;
  uint64_t seed = (uint64_t)driver_number(d, "seed");
  Run straight = new_run(&task, seed, 0.02);
  train(&straight, &task, all);

  Run run = new_run(&task, seed, 0.02);
  train(&run, &task, first);
  State before = state_of(&run);
  Saved *saved = save_run(&run);
  driver_put_number(d, "saved", saved != NULL);
  if (!saved)
    return;
  State after = state_of(&run);
  driver_put_text(d, "changed by saving", changed(&after, &before));
  train(&run, &task, second);
  State again = state_of(&run);
  save_run(&run);
  train(&run, &task, all);
  State end = state_of(&run);

  Run other = new_run(&task, seed + 1, 0.07);
  if (driver_has(d, "best of the new run")) // it must not matter
    other.best = driver_number(d, "best of the new run");
  double best = other.best;
  resume_run(&other, saved);
  State resumed = state_of(&other);
  put_same(d, &resumed, &before);
  driver_put_number(d, "schedule as the epochs", resumed.steps == before.epoch && before.steps != before.epoch);
  driver_put_number(d, "best of the new run kept", resumed.best == best);
  driver_put_number(d, "as saved again", same(resumed.parameters, again.parameters));
  driver_put_number(d, "moments as they went on", has_later(resumed.moments, before.moments, end.moments));
  driver_put_number(d, "best rounded", (float)before.best == (float)resumed.best);
  driver_put_number(d, "same place of another generator",
                    resumed.random.offset == before.random.offset && resumed.random.seed != before.random.seed);
  driver_put_number(d, "as it went on", first < all && same(resumed.parameters, copies(fy_parameters(run.model))));
  if (other.epoch >= 0 && other.epoch <= all)
    train(&other, &task, all);
  driver_put(d, "straight", weights(&straight));
  driver_put(d, "resumed", weights(&other));
}
