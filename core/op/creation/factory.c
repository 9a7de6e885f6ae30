// SPDX-License-Identifier: MIT
// Making tensors: torch.tensor, zeros, randn, arange and their family.
#include "base/state.h"
#include "device/runtime.h"
#include "op/copy/convert.h"
#include "op/creation/sequence.h"
#include "op/op.h"
#include "op/ops.h"
#include "op/elementwise/pointwise.h"
#include "op/random/random.h"
#include "op/random/random_cpu.h"
#include "op/random/random_state.h"
#include <string.h>

// ---- shared ------------------------------------------------------------------------------------------------------------

static void check_requires_grad(bool requires_grad, FyDType dtype) {
  fy_check(!requires_grad || fy_dtype_is_floating(dtype), FY_RUNTIME_ERROR,
           "Only Tensors of floating point and complex dtype can require gradients");
}

// An uninitialized tensor by the options; gradients are asked for when it is filled (made).
static FyTensor *blank(const FyFactory *o, FyDType default_dtype) {
  const FyDType dtype = o->dtype ? o->dtype : default_dtype;
  fy_check(dtype > FY_DEFAULT_DTYPE && dtype < FY_DTYPE_COUNT, FY_TYPE_ERROR, "there is no dtype %d", (int)dtype);
  check_requires_grad(o->requires_grad, dtype);
  fy_check(!o->pin_memory || o->device.type == FY_CPU, FY_RUNTIME_ERROR, "Only dense CPU tensors can be pinned");
  return fy_new_tensor(dtype, o->device, o->size.ndim, o->size.dim, o->pin_memory);
}

// Filling it was no change of it: the version is 0 again.
static FyTensor *made(FyTensor *t, bool requires_grad) {
  atomic_store_explicit(&t->storage->version, 0, memory_order_relaxed);
  t->requires_grad = requires_grad;
  return t;
}

static FyFactory options_like(const FyTensor *like) {
  return (FyFactory){.size = fy_size(like), .dtype = (FyDType)like->array.dtype, .device = like->device};
}

// The number that a factory was given as an int64: whole, and neither too large nor NaN, whose conversion has no result in C.
static int64_t count_of(double number, const char *function, const char *not_negative) {
  fy_check(fy_is_whole(number), FY_TYPE_ERROR, "%s takes a whole number, but got %g", function, number);
  fy_check(number >= 0, FY_RUNTIME_ERROR, "%s, got %lld", not_negative, (long long)number);
  return (int64_t)number;
}

// ---- from data ---------------------------------------------------------------------------------------------------------

// An FyArray on the caller's row-major memory.
static FyArray wrap(const void *data, FyDType dtype, const FyArray *like) {
  FyArray a = *like;
  a.data = (void *)(uintptr_t)data;
  a.dtype = (uint8_t)dtype;
  return a;
}

FyTensor *fy_tensor_with(const void *data, FyDType data_dtype, FyFactory options) {
  FyTensor *t = blank(&options, data_dtype);
  const FyDType dtype = (FyDType)t->array.dtype;
  const FyArray from = wrap(data, data_dtype, &t->array);
  fy_check(data || !t->array.numel, FY_VALUE_ERROR, "fy_tensor got no data for %lld elements",
           (long long)t->array.numel);
  if (t->device.type == FY_CPU) {
    fy_convert(&t->array, &from);
    return made(t, options.requires_grad);
  }
  const int scope = fy_scope_open();
  if (dtype != data_dtype) {
    FyTensor *host = fy_new_tensor(dtype, FY_CPU_DEVICE, t->array.ndim, t->array.shape, false);
    fy_convert(&host->array, &from);
    data = host->array.data;
  }
  fy_copy_bytes(t->array.data, t->device.index, false, data, -1, false, (size_t)t->array.numel * fy_dtype_size(dtype),
                false);
  fy_scope_close(scope);
  return made(t, options.requires_grad);
}

static FyTensor *wrapped(const void *value, FyDType dtype) {
  FyTensor *t = fy_new_tensor(dtype, FY_CPU_DEVICE, 0, NULL, false);
  memcpy(t->array.data, value, 8);
  t->wrapped_number = true;
  return t;
}

FyTensor *fy_number(double value) {
  return wrapped(&value, FY_FLOAT64);
}
FyTensor *fy_integer(int64_t value) {
  return wrapped(&value, FY_INT64);
}

// ---- constants ---------------------------------------------------------------------------------------------------------

FyTensor *fy_empty_with(FyFactory options) {
  FyTensor *t = blank(&options, FY_FLOAT32);
  t->requires_grad = options.requires_grad;
  return t;
}

FyTensor *fy_full_with(double value, FyFactory options) {
  return made(fy_fill_(blank(&options, FY_FLOAT32), value), options.requires_grad);
}
FyTensor *fy_zeros_with(FyFactory options) {
  return fy_full_with(0, options);
}
FyTensor *fy_ones_with(FyFactory options) {
  return fy_full_with(1, options);
}

FyTensor *fy_empty_like(const FyTensor *like) {
  return fy_empty_with(options_like(like));
}
FyTensor *fy_full_like(const FyTensor *like, double value) {
  return fy_full_with(value, options_like(like));
}
FyTensor *fy_zeros_like(const FyTensor *like) {
  return fy_full_like(like, 0);
}
FyTensor *fy_ones_like(const FyTensor *like) {
  return fy_full_like(like, 1);
}

// ---- random ------------------------------------------------------------------------------------------------------------

static FyTensor *blank_floating(const FyFactory *o, const char *op) {
  fy_check(!o->dtype || fy_dtype_is_floating(o->dtype), FY_TYPE_ERROR, "\"%s\" not implemented for '%s'", op,
           fy_dtype_scalar_name(o->dtype));
  return blank(o, FY_FLOAT32);
}

FyTensor *fy_rand_with(FyFactory options) {
  return made(fy_uniform_(blank_floating(&options, "check_uniform_bounds"), 0, 1), options.requires_grad);
}
FyTensor *fy_randn_with(FyFactory options) {
  return made(fy_normal_(blank_floating(&options, "normal_kernel_cpu"), 0, 1), options.requires_grad);
}
FyTensor *fy_rand_like(const FyTensor *like) {
  return fy_rand_with(options_like(like));
}
FyTensor *fy_randn_like(const FyTensor *like) {
  return fy_randn_with(options_like(like));
}

FyTensor *fy_randint_with(int64_t low, int64_t high, FyFactory options) {
  return made(fy_random_fill(blank(&options, FY_INT64), low, high), options.requires_grad);
}

// Fisher and Yates's shuffle on the host, whose draws are those of randint: the same on every device.
static void shuffle(int64_t *x, int64_t n) {
  const FyRngState state = fy_rng_reserve(fy_random_blocks(n, true));
  FyRandom p = {.seed = state.seed, .offset = state.offset};
  FyPhilox block = {{0}};
  for (int64_t i = 0; i < n; i++)
    x[i] = i;
  for (int64_t i = 0; i < n - 1; i++) {
    if (i % 2 == 0)
      block = fy_philox(p.seed, p.offset + (uint64_t)(i / 2));
    p.low = i;
    p.range = (uint64_t)(n - i);
    const int64_t j = fy_randint_of(fy_random_word64(block, (int)(i % 2)), &p), swapped = x[i];
    x[i] = x[j];
    x[j] = swapped;
  }
}

FyTensor *fy_randperm_with(FyRange options) {
  const int64_t n = count_of(options.end, "randperm", "n must be non-negative");
  const FyDType dtype = options.dtype ? options.dtype : FY_INT64;
  const bool grad_enabled = fy_grad_enabled;
  check_requires_grad(options.requires_grad, dtype);
  const int scope = fy_scope_open();
  FyTensor *t = fy_new_tensor(FY_INT64, FY_CPU_DEVICE, 1, &n, false);
  shuffle(t->array.data, n);
  fy_grad_enabled = false;
  FyTensor *out = fy_keep(fy_to(t, options.device, .dtype = dtype));
  fy_grad_enabled = grad_enabled;
  fy_scope_close(scope);
  return made(out, options.requires_grad);
}

// ---- sequences ---------------------------------------------------------------------------------------------------------

static FyTensor *run_sequence(const FyOp *op, const FySequence *sequence, FyDType dtype, FyDevice device,
                              bool requires_grad) {
  check_requires_grad(requires_grad, dtype);
  FyTensor *t = fy_new_tensor(dtype, device, 1, &sequence->count, false);
  return made(fy_run_in_place(op, sequence, FY_INPUTS(t)), requires_grad);
}

FyTensor *fy_arange_with(FyRange options) {
  const double start = options.start, end = options.end, step = options.step != 0 ? options.step : 1;
  const bool whole = fy_is_whole(start) && fy_is_whole(end) && fy_is_whole(step);
  const FyDType dtype = options.dtype ? options.dtype : whole ? FY_INT64 : FY_FLOAT32;
  fy_check(isfinite(step), FY_RUNTIME_ERROR, "step must be finite but got %g", step);
  fy_check(isfinite(start) && isfinite(end), FY_RUNTIME_ERROR, "unsupported range: %g -> %g", start, end);
  fy_check(step > 0 ? end >= start : end <= start, FY_RUNTIME_ERROR,
           "upper bound and lower bound inconsistent with step sign");
  fy_check(whole || fy_dtype_is_floating(dtype), FY_TYPE_ERROR,
           "arange with fractional numbers needs a floating dtype, but got %s", fy_dtype_name(dtype));
  const double count = ceil((end - start) / step);
  fy_check(count < 0x1p62, FY_RUNTIME_ERROR, "invalid size, possible overflow?");
  FySequence s = {.start = start, .step = step, .end = end, .count = (int64_t)count};
  if (whole) {
    s.integer_start = (int64_t)start;
    s.integer_step = (int64_t)step;
  }
  return run_sequence(&fy_op_arange, &s, dtype, options.device, options.requires_grad);
}

FyTensor *fy_linspace_with(double start, double end, FyLinspace options) {
  const int64_t steps = options.steps;
  const FyDType dtype = options.dtype ? options.dtype : FY_FLOAT32;
  if (!fy_dtype_is_floating(dtype)) { // whole ends first, as in PyTorch
    start = trunc(start);
    end = trunc(end);
  }
  fy_check(steps >= 0, FY_RUNTIME_ERROR, "number of steps must be non-negative");
  FySequence s = {.start = start, .end = end, .count = steps};
  s.step = steps > 1 ? (end - start) / (double)(steps - 1) : 0;
  if (steps == 1)
    s.end = start; // a single step is the start, as in PyTorch
  return run_sequence(&fy_op_linspace, &s, dtype, options.device, options.requires_grad);
}

FyTensor *fy_eye_with(FyRange options) {
  const int64_t n = count_of(options.end, "eye", "n must be greater or equal to 0");
  const FyDType dtype = options.dtype ? options.dtype : FY_FLOAT32;
  check_requires_grad(options.requires_grad, dtype);
  FyTensor *t = fy_new_tensor(dtype, options.device, 2, (const int64_t[]){n, n}, false);
  return made(fy_run_in_place(&fy_op_eye, NULL, FY_INPUTS(t)), options.requires_grad);
}
