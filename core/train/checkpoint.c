// SPDX-License-Identifier: MIT
// Checkpoints: one safetensors file whose names begin with "model.", "optimizer." or "scaler.", and whose metadata has the numbers.
#include "train/checkpoint.h"
#include "amp/impl.h"
#include "base/c_locale.h"
#include "optim/impl.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char model_prefix[] = "model.", optimizer_prefix[] = "optimizer.", scaler_prefix[] = "scaler.";

bool fy_checkpoint_exists(const char *path) {
  return path && access(path, F_OK) == 0;
}

static bool has_scaler(const FyCheckpoint *c) {
  return c->scaler && fy_scaler_is_enabled(c->scaler);
}

// ---- saving ------------------------------------------------------------------------------------------------------------

static void add_all(FyTensorList *to, const char *prefix, const FyTensorList *from) {
  for (int i = 0; i < from->count; i++) {
    size_t bytes = strlen(prefix) + strlen(from->names[i]) + 1;
    fy_scope {
      FyTensor *memory = fy_empty(fy_shape((int64_t)bytes), .dtype = FY_UINT8);
      snprintf(fy_data_ptr(memory), bytes, "%s%s", prefix, from->names[i]);
      fy_list_add(to, fy_data_ptr(memory), from->items[i]);
    }
  }
}

static FyMetadata *metadata_of(const FyCheckpoint *c) {
  FyMetadata *m = fy_metadata_new();
  FyRngState random = fy_get_rng_state();
  for (int i = 0; c->extra && i < c->extra->count; i++)
    fy_metadata_set(m, c->extra->keys[i], "%s", c->extra->values[i]);
  fy_metadata_set(m, "ferry.checkpoint", "1");
  fy_metadata_set(m, "ferry.epoch", "%lld", (long long)c->epoch);
  fy_metadata_set(m, "ferry.step", "%lld", (long long)c->step);
  fy_metadata_set(m, "ferry.seed", "%llu", (unsigned long long)c->seed);
  fy_metadata_set(m, "ferry.best", "%.17g", c->best);
  fy_metadata_set(m, "ferry.rng.seed", "%llu", (unsigned long long)random.seed);
  fy_metadata_set(m, "ferry.rng.offset", "%llu", (unsigned long long)random.offset);
  fy_metadata_set(m, "ferry.model", "%d", c->model != NULL);
  fy_metadata_set(m, "ferry.optimizer", "%d", c->optimizer != NULL);
  fy_metadata_set(m, "ferry.scheduler", "%d", c->scheduler != NULL);
  fy_metadata_set(m, "ferry.scaler", "%d", has_scaler(c));
  if (c->scheduler) {
    FySchedulerState state = fy_scheduler_state(c->scheduler);
    fy_metadata_set(m, "ferry.scheduler.last_epoch", "%lld", (long long)state.last_epoch);
    fy_metadata_set(m, "ferry.scheduler.base_lr", "%.17g", state.base_lr);
  }
  return m;
}

void fy_checkpoint_save(const char *path, const FyCheckpoint *checkpoint) {
  fy_check(path && checkpoint, FY_TYPE_ERROR, "fy_checkpoint_save: the path or the checkpoint is NULL");
  fy_scope {
    FyTensorList *all = fy_tensor_list_new();
    if (checkpoint->model)
      add_all(all, model_prefix, fy_state_dict(checkpoint->model));
    if (checkpoint->optimizer)
      add_all(all, optimizer_prefix, fy_optimizer_state_dict(checkpoint->optimizer));
    if (has_scaler(checkpoint))
      add_all(all, scaler_prefix, fy_scaler_state_dict(checkpoint->scaler));
    fy_safetensors_save(path, all, metadata_of(checkpoint));
  }
}

// ---- loading -----------------------------------------------------------------------------------------------------------

typedef struct Loaded {
  const char *path;
  FyTensorList *tensors;
  FyMetadata *metadata;
} Loaded;

static const char *text_of(const Loaded *l, const char *key) {
  const char *text = fy_metadata_get(l->metadata, key);
  fy_check(text, FY_VALUE_ERROR, "%s: is no checkpoint: its __metadata__ has no \"%s\"", l->path, key);
  return text;
}

static _Noreturn void no_number(const Loaded *l, const char *key, const char *text) {
  fy_raise(FY_VALUE_ERROR, "%s: is no checkpoint: expected a number as \"%s\", but got \"%.40s\"", l->path, key, text);
}

static uint64_t unsigned_of(const Loaded *l, const char *key) {
  const char *text = text_of(l, key);
  uint64_t value = 0;
  for (const char *at = text; *at || at == text; at++)
    if (*at < '0' || *at > '9' || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
        __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
      no_number(l, key, text);
  return value;
}

static int64_t integer_of(const Loaded *l, const char *key) {
  uint64_t value = unsigned_of(l, key);
  if (value > INT64_MAX)
    no_number(l, key, text_of(l, key));
  return (int64_t)value;
}

static double real_of(const Loaded *l, const char *key) {
  const char *text = text_of(l, key);
  char *end;
  double value = fy_strtod(text, &end);
  if (end == text || *end)
    no_number(l, key, text);
  return value;
}

static void check_part(const Loaded *l, bool wanted, const char *key) {
  fy_check(!wanted || unsigned_of(l, key) == 1, FY_VALUE_ERROR, "%s: has no state for the %s", l->path,
           key + strlen("ferry."));
}

// The tensors under a prefix, by their names without it.
static FyTensorList *part(const Loaded *l, const char *prefix) {
  FyTensorList *list = fy_tensor_list_new();
  for (int i = 0; i < l->tensors->count; i++)
    if (strncmp(l->tensors->names[i], prefix, strlen(prefix)) == 0)
      fy_list_add(list, l->tensors->names[i] + strlen(prefix), l->tensors->items[i]);
  return list;
}

// The numbers; with all of them read, nothing has been changed yet.
static FyCheckpoint numbers_of(const Loaded *l, const FyCheckpoint *c, FySchedulerState *scheduler,
                               FyRngState *random) {
  FyCheckpoint numbers = *c;
  fy_check(unsigned_of(l, "ferry.checkpoint") == 1, FY_VALUE_ERROR, "%s: is a checkpoint of version %s, but this is 1",
           l->path, text_of(l, "ferry.checkpoint"));
  check_part(l, c->model != NULL, "ferry.model");
  check_part(l, c->optimizer != NULL, "ferry.optimizer");
  check_part(l, c->scheduler != NULL, "ferry.scheduler");
  if (has_scaler(c) && fy_metadata_get(l->metadata, "ferry.scaler") == NULL) // of a time without scalers
    fy_raise(FY_VALUE_ERROR, "%s: has no state for the scaler", l->path);
  check_part(l, has_scaler(c), "ferry.scaler");
  numbers.epoch = integer_of(l, "ferry.epoch");
  numbers.step = integer_of(l, "ferry.step");
  numbers.seed = unsigned_of(l, "ferry.seed");
  numbers.best = real_of(l, "ferry.best");
  *random = (FyRngState){unsigned_of(l, "ferry.rng.seed"), unsigned_of(l, "ferry.rng.offset")};
  if (c->scheduler) {
    scheduler->last_epoch = integer_of(l, "ferry.scheduler.last_epoch");
    scheduler->base_lr = real_of(l, "ferry.scheduler.base_lr");
    fy_check(scheduler->base_lr >= 0, FY_VALUE_ERROR, "%s: is no checkpoint: the rate %g is negative", l->path,
             scheduler->base_lr);
  }
  return numbers;
}

void fy_checkpoint_load(const char *path, FyCheckpoint *checkpoint) {
  fy_check(path && checkpoint, FY_TYPE_ERROR, "fy_checkpoint_load: the path or the checkpoint is NULL");
  int scope = fy_scope_open();
  FySchedulerState scheduler;
  FyRngState random;
  Loaded loaded = {.path = path};
  loaded.tensors = fy_safetensors_load(path, &loaded.metadata);
  FyCheckpoint numbers = numbers_of(&loaded, checkpoint, &scheduler, &random);
  FyTensorList *state = part(&loaded, optimizer_prefix), *scaler = part(&loaded, scaler_prefix);
  if (checkpoint->optimizer)
    fy_optimizer_check_state(checkpoint->optimizer, state);
  if (has_scaler(checkpoint))
    fy_scaler_check_state(checkpoint->scaler, scaler);
  if (checkpoint->model)
    fy_load_state_dict(checkpoint->model, part(&loaded, model_prefix)); // checks all before it copies
  if (checkpoint->optimizer)
    fy_optimizer_load_state_dict(checkpoint->optimizer, state);
  if (has_scaler(checkpoint))
    fy_scaler_load_state_dict(checkpoint->scaler, scaler);
  if (checkpoint->scheduler)
    fy_scheduler_load_state(checkpoint->scheduler, scheduler);
  fy_set_rng_state(random);
  *checkpoint = numbers;
  checkpoint->extra = fy_keep(loaded.metadata);
  fy_scope_close(scope);
}
