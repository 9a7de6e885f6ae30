// SPDX-License-Identifier: MIT
// Autocast: the thread's settings, what a record's rule makes of the inputs, and the cache of cast parameters.
//
// The settings are a part of the thread's state (base/state.h): a trap restores them, and an error that leaves the outermost
// region drops the cache with it.
#include "op/autocast.h"
#include "base/state.h"
#include "op/op.h"
#include "op/ops.h"
#include <stdlib.h>
#include <string.h>

enum { TYPES = FY_CUDA + 1 };

typedef struct Cached {
  FyTensor *weight, *cast; // both counted
} Cached;

typedef struct Cache {
  Cached *items;
  int count, capacity;
} Cache;

typedef struct Settings {
  bool enabled[TYPES], cache_enabled;
  uint8_t dtype[TYPES];
  int regions;        // that are open in the thread
  const Cache *cache; // the thread's: tells whose settings these are
} Settings;

static _Thread_local Cache cache;
static _Thread_local Settings settings = {.dtype = {[FY_CPU] = FY_BFLOAT16, [FY_CUDA] = FY_FLOAT16},
                                          .cache_enabled = true};
_Thread_local bool fy_autocast_on;

// ---- casts -------------------------------------------------------------------------------------------------------------

// PyTorch's: of a parameter, to the region's own dtype.
static bool is_worth_caching(const FyTensor *t, FyDType dtype) {
  return settings.regions > 0 && settings.cache_enabled && dtype == settings.dtype[t->device.type] &&
         t->array.dtype == FY_FLOAT32 && fy_has_gradient(t) && fy_history_is_leaf(t) && !t->base;
}

static FyTensor *find(const FyTensor *weight, FyDType dtype) {
  for (int i = 0; i < cache.count; i++) {
    FyTensor *cast = cache.items[i].cast;
    if (cache.items[i].weight == weight && cast->array.dtype == dtype && fy_device_equal(cast->device, weight->device))
      return cast;
  }
  return NULL;
}

// Without memory for it there is a cast more, and nothing else.
static void remember(FyTensor *weight, FyTensor *cast) {
  if (cache.count == cache.capacity) {
    const int capacity = cache.capacity ? 2 * cache.capacity : 32;
    Cached *items = realloc(cache.items, (size_t)capacity * sizeof *items);
    if (!items)
      return;
    cache.items = items;
    cache.capacity = capacity;
  }
  cache.items[cache.count++] = (Cached){fy_retain(weight), fy_retain(cast)};
}

// With grad mode on, so that a cast first made for an evaluation serves a training step too.
static FyTensor *cached_cast(FyTensor *weight, FyDType dtype) {
  FyTensor *cast = find(weight, dtype);
  if (cast)
    return cast;
  const bool grad_enabled = fy_grad_enabled;
  fy_grad_enabled = true;
  cast = fy_to_dtype(weight, dtype);
  fy_grad_enabled = grad_enabled;
  remember(weight, cast);
  return cast;
}

void fy_clear_autocast_cache(void) {
  while (cache.count > 0) {
    const Cached last = cache.items[--cache.count];
    fy_release(last.cast);
    fy_release(last.weight);
  }
  free(cache.items);
  cache = (Cache){0};
}

// ---- rules -------------------------------------------------------------------------------------------------------------

// What autocast does with t as an input of `op`.
static FyAutocastRule rule_of(const FyOp *op, const FyTensor *t) {
  const int type = t->device.type;
  if (!settings.enabled[type] || !fy_dtype_is_floating(t->array.dtype) || t->array.dtype == FY_FLOAT64)
    return FY_AUTOCAST_NONE;
  return (FyAutocastRule)op->autocast[type];
}

FyDType fy_autocast_widest(int type, int n, FyTensor *const *tensors) {
  if (!settings.enabled[type])
    return FY_DEFAULT_DTYPE;
  const FyDType lower = (FyDType)settings.dtype[type];
  FyDType widest = lower;
  for (int i = 0; i < n; i++) {
    const FyDType dtype = (FyDType)tensors[i]->array.dtype;
    if (tensors[i]->device.type != type || !fy_dtype_is_floating(dtype) || dtype == FY_FLOAT64)
      continue;
    if (widest == FY_FLOAT32 || dtype == FY_FLOAT32)
      widest = FY_FLOAT32;
    else
      fy_check(dtype == lower, FY_RUNTIME_ERROR, "Unexpected floating ScalarType in at::autocast::prioritize");
  }
  return widest;
}

FyDType fy_autocast_dtype_of(const FyOp *op, const FyTensor *t) {
  const FyAutocastRule rule = fy_autocast_on ? rule_of(op, t) : FY_AUTOCAST_NONE;
  return rule == FY_AUTOCAST_LOWER                                           ? (FyDType)settings.dtype[t->device.type]
         : rule == FY_AUTOCAST_FLOAT32 || rule == FY_AUTOCAST_FLOAT32_INSIDE ? FY_FLOAT32
                                                                             : (FyDType)t->array.dtype;
}

// t as the op is to get it: itself where it is so already.
static FyTensor *cast_input(const FyOp *op, FyTensor *t, FyDType widest) {
  const FyAutocastRule rule = t ? rule_of(op, t) : FY_AUTOCAST_NONE;
  if (rule == FY_AUTOCAST_NONE)
    return t;
  const FyDType dtype = rule == FY_AUTOCAST_WIDEST ? widest : fy_autocast_dtype_of(op, t);
  if (t->array.dtype == dtype)
    return t;
  return is_worth_caching(t, dtype) ? cached_cast(t, dtype) : fy_to_dtype(t, dtype);
}

FyTensor *const *fy_autocast_inputs(const FyOp *op, int n_in, FyTensor *const *in, FyTensor **cast, bool *recorded) {
  FyDType widest = FY_DEFAULT_DTYPE;
  *recorded = true;
  if (!op->autocast[FY_CPU] && !op->autocast[FY_CUDA])
    return in;
  if (rule_of(op, in[0]) == FY_AUTOCAST_FLOAT32_INSIDE) {
    if (in[0]->array.dtype == FY_FLOAT32)
      return in;
    *recorded = false;
    memcpy(cast, in, (size_t)n_in * sizeof *in);
    cast[0] = fy_copy_of(in[0], FY_FLOAT32);
    return cast;
  }
  if (op->autocast[in[0]->device.type] == FY_AUTOCAST_WIDEST)
    widest = fy_autocast_widest(in[0]->device.type, n_in, in);
  for (int i = 0; i < n_in; i++)
    cast[i] = cast_input(op, in[i], widest);
  return cast;
}

// ---- regions -------------------------------------------------------------------------------------------------------------

static void check_type(int type) {
  fy_check(fy_is_autocast_available(type), FY_RUNTIME_ERROR, "User specified an unsupported autocast device_type '%s'",
           type == FY_MPS ? "mps" : "unknown");
}

bool fy_is_autocast_available(int type) {
  return type == FY_CPU || type == FY_CUDA;
}
bool fy_is_autocast_enabled(int type) {
  check_type(type);
  return settings.enabled[type];
}
FyDType fy_get_autocast_dtype(int type) {
  check_type(type);
  return (FyDType)settings.dtype[type];
}
bool fy_is_autocast_cache_enabled(void) {
  return settings.cache_enabled;
}

static bool is_supported(int type, FyDType dtype) {
  return dtype == FY_FLOAT16 || dtype == FY_BFLOAT16 || (type == FY_CUDA && fy_dtype_is_floating(dtype));
}

// Whether autocast can be on; warns otherwise.
static bool can_enable(int type, FyDType dtype) {
  static bool no_cuda, no_dtype[TYPES];
  if (type == FY_CUDA && !fy_cuda_is_available()) {
    fy_warn_once(&no_cuda, "CUDA is not available. Disabling autocast.");
    return false;
  }
  if (!is_supported(type, dtype))
    fy_warn_once(&no_dtype[type],
                 "In %s autocast, but the target dtype is not supported. Disabling autocast.\n"
                 "%s Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                 type == FY_CPU ? "CPU" : "CUDA", type == FY_CPU ? "CPU" : "CUDA");
  return is_supported(type, dtype);
}

static void settings_changed(void) {
  fy_autocast_on = settings.enabled[FY_CPU] || settings.enabled[FY_CUDA];
  if (settings.regions == 0 && cache.items)
    fy_clear_autocast_cache();
}

FyAutocastGuard fy_autocast_guard_open(FyAutocast options) {
  const int type = options.device_type;
  check_type(type);
  const FyDType dtype = options.dtype ? options.dtype : (FyDType)settings.dtype[type];
  const bool enabled = fy_option_or_true(options.named, "enabled", options.enabled);
  FyAutocastGuard guard = {.device_type = type,
                           .dtype = (FyDType)settings.dtype[type],
                           .enabled = settings.enabled[type],
                           .cache_enabled = settings.cache_enabled,
                           .open = true};
  settings.enabled[type] = enabled && can_enable(type, dtype);
  settings.dtype[type] = (uint8_t)dtype;
  if (fy_option_is_named(options.named, "cache_enabled"))
    settings.cache_enabled = options.cache_enabled;
  settings.regions++;
  settings_changed();
  return guard;
}

void fy_autocast_guard_close(FyAutocastGuard *guard) {
  if (!guard->open)
    return;
  settings.regions--;
  settings.enabled[guard->device_type] = guard->enabled;
  settings.dtype[guard->device_type] = (uint8_t)guard->dtype;
  settings.cache_enabled = guard->cache_enabled;
  settings_changed();
  guard->open = false;
}

// ---- the thread's state ----------------------------------------------------------------------------------------------------

static void save(void *saved) {
  settings.cache = &cache;
  *(Settings *)saved = settings;
}

// Another thread's regions are not this one's: what it casts it keeps only in regions of its own.
static void restore(const void *saved) {
  const int regions = settings.regions;
  settings = *(const Settings *)saved;
  if (settings.cache != &cache)
    settings.regions = regions;
  settings_changed();
}

__attribute__((constructor)) static void register_part(void) {
  static const FyThreadPart part = {.room = "op",
                                    .height = 3,
                                    .bytes = sizeof(Settings),
                                    .save = save,
                                    .restore = restore,
                                    .shut_down = fy_clear_autocast_cache};
  fy_thread_part_register(&part);
}
