// SPDX-License-Identifier: MIT
// Every op against PyTorch's own values and against central differences: on each device, in each dtype, for contiguous
// and other layouts, forward, backward, checkpointed and in place, with the errors. The last test holds the ops.def table to it.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=descending -- cuda
#include "autograd/autograd.h"
#include "autograd/checkpoint.h"
#include "op/op.h"
#include "op/ops.h"
#include "support/cases.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char *const files[] = {"pointwise", "reduce", "matmul", "image", "index", "view", "dtypes", "amp"};
static const FyDType floats[] = {FY_FLOAT32, FY_FLOAT64, FY_FLOAT16, FY_BFLOAT16};
enum { FILES = sizeof files / sizeof *files };

static GoldenCase *golden[FILES];
static int golden_count[FILES];
static FyDevice device;
static int failures;
static bool first_alone;
static bool op_ran[FY_OP_COUNT];

// One way of running a case.
typedef struct Way {
  const GoldenCase *c;
  FyDType dtype;
  bool strided;
} Way;

static void fail_case(const Way *way, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail_case(const Way *way, const char *format, ...) {
  va_list arguments;
  if (++failures > 12)
    return;
  print_error("  %s %s, %s on %s, %s: ", way->c->op, way->c->id, fy_dtype_name(way->dtype), fy_device_name_of(device),
              way->strided ? "strided" : "contiguous");
  char text[1024];
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  print_error("%s\n", text);
}

// ---- inputs ------------------------------------------------------------------------------------------------------------

// The same values in memory that is not row-major.
static FyTensor *with_gaps(FyTensor *t) {
  if (fy_dim(t) == 0 || fy_numel(t) == 0)
    return t;
  if (fy_dim(t) == 1)
    return fy_select(fy_stack(fy_list(t, t), 1), 1, 0);
  return fy_transpose(fy_contiguous(fy_transpose(t, 0, -1)), 0, -1);
}

static FyTensor *make_input(const GoldenTensor *g, const Way *way, double nudge) {
  FyDType dtype = g->dtype ? g->dtype : way->dtype;
  FyTensor *result = NULL;
  fy_no_grad {
    FyTensor *values = fy_tensor(g->values, g->shape, .dtype = FY_FLOAT64);
    if (nudge != 0 && fy_dtype_is_floating(dtype)) // off the kinks that exact values sit on
      for (int64_t i = 0; i < g->numel; i++)
        ((double *)fy_data_ptr(values))[i] += nudge * (1 + (double)(i % 7));
    FyTensor *t = fy_to(values, device, .dtype = dtype);
    result = fy_detach(way->strided ? with_gaps(t) : t);
  }
  return g->grad ? fy_set_requires_grad(result, true) : result;
}

// ---- comparing ---------------------------------------------------------------------------------------------------------

static double relative_tolerance(FyDType dtype) {
  switch (dtype) {
  case FY_FLOAT64:
    return 1e-7;
  case FY_FLOAT32:
    return 1.3e-6;
  case FY_FLOAT16:
    return 2e-3;
  case FY_BFLOAT16:
    return 1.6e-2;
  default:
    return 0;
  }
}

// The expected value as the dtype would hold it.
static double rounded(double value, FyDType dtype) {
  double biggest = dtype == FY_FLOAT16 ? 65504 : 3.4e38;
  return dtype != FY_FLOAT64 && isfinite(value) && fabs(value) > biggest * 1.0001 ? copysign((double)INFINITY, value)
                                                                                  : value;
}

// Gradients take several steps, each rounded to the half type: what cancels between terms of order 1 remains.
static bool is_close(double got, double want, double scale, FyDType dtype, bool gradient) {
  double rtol = relative_tolerance(dtype), atol = dtype == FY_FLOAT64 ? 1e-7 : 1e-5;
  if (gradient && fy_dtype_size(dtype) == 2)
    atol = rtol;
  if (!fy_dtype_is_floating(dtype))
    return got == want;
  if (isnan(want) || isnan(got))
    return isnan(want) && isnan(got);
  want = rounded(want, dtype);
  if (isinf(want) || isinf(got))
    return want == got;
  return fabs(got - want) <= atol + rtol * fmax(fabs(want), dtype == FY_FLOAT64 ? 0 : scale);
}

static double scale_of(const GoldenTensor *g) {
  double scale = 0;
  for (int64_t i = 0; i < g->numel; i++)
    if (isfinite(g->values[i]) && fabs(g->values[i]) > scale)
      scale = fabs(g->values[i]);
  return scale;
}

static void compare(const Way *way, const char *what, const FyTensor *t, const GoldenTensor *g, FyDType dtype) {
  if (!t) {
    fail_case(way, "%s: there is none", what);
    return;
  }
  if (fy_dtype_of(t) != dtype)
    fail_case(way, "%s: dtype %s, expected %s", what, fy_dtype_name(fy_dtype_of(t)), fy_dtype_name(dtype));
  FySize shape = fy_size(t);
  bool same =
      shape.ndim == g->shape.ndim && memcmp(shape.dim, g->shape.dim, (size_t)shape.ndim * sizeof *shape.dim) == 0;
  if (!same) {
    fail_case(way, "%s: shape %s is not PyTorch's", what, fy_shape_string(t));
    return;
  }
  if (!fy_device_equal(fy_device_of(t), device))
    fail_case(way, "%s: on %s", what, fy_device_name_of(fy_device_of(t)));
  double *values = calloc((size_t)g->numel + 1, sizeof *values), scale = scale_of(g);
  fy_copy_to_host(fy_to_dtype(fy_detach(t), FY_FLOAT64), values);
  for (int64_t i = 0; i < g->numel; i++) {
    if (is_close(values[i], g->values[i], scale, dtype, strncmp(what, "gradient", 8) == 0))
      continue;
    fail_case(way, "%s: element %lld is %.9g, PyTorch has %.9g", what, (long long)i, values[i], g->values[i]);
    break;
  }
  free(values);
}

// ---- one way of one case -----------------------------------------------------------------------------------------------

static FyDType expected_dtype(const Way *way, const GoldenTensor *g) {
  return g->dtype ? g->dtype : way->dtype;
}

static void compare_outputs(const Way *way, FyTensor *const *out, int n) {
  if (n != way->c->n_out)
    fail_case(way, "%d outputs, expected %d", n, way->c->n_out);
  for (int i = 0; i < n && i < way->c->n_out; i++)
    compare(way, "output", out[i], &way->c->out[i], expected_dtype(way, &way->c->out[i]));
}

static void compare_grads(const Way *way, FyTensor *out, FyTensor *const *in) {
  const GoldenCase *c = way->c;
  if (!c->grad_output.present)
    return;
  Way contiguous = {c, way->dtype, false};
  fy_backward(out, .gradient = make_input(&c->grad_output, &contiguous, 0));
  for (int i = 0; i < c->n_in; i++) {
    char what[32];
    snprintf(what, sizeof what, "gradient of input %d", i);
    if (c->grad[i].present)
      compare(way, what, fy_grad(in[i]), &c->grad[i], way->dtype);
  }
}

static void run_way(const Way *way, const CaseAdapter *adapter) {
  FyTensor *in[GOLDEN_INPUTS], *out[GOLDEN_OUTPUTS];
  for (int i = 0; i < way->c->n_in; i++)
    in[i] = make_input(&way->c->in[i], way, 0);
  int n = adapter->run(way->c, in, out);
  compare_outputs(way, out, n);
  compare_grads(way, out[0], in);
}

// The first output of a case, as gradcheck and a checkpoint call for it.
typedef struct Differentiated {
  const GoldenCase *c;
  const CaseAdapter *adapter;
} Differentiated;

static FyTensor *differentiated(FyTensor *const *in, void *context) {
  const Differentiated *d = context;
  FyTensor *out[GOLDEN_OUTPUTS];
  d->adapter->run(d->c, in, out);
  return out[0];
}

static FyTensor *checkpointed(void *context, FyTensor *const *in) {
  return differentiated(in, context);
}

// What backward needs is computed again by a second run, for every op alike. batch_norm changes its statistics, and so must
// not have them as inputs of a checkpoint.
static void run_checkpointed(const Way *way, const CaseAdapter *adapter) {
  FyTensor *in[GOLDEN_INPUTS];
  Differentiated d = {way->c, adapter};
  if (!way->c->grad_output.present || strcmp(way->c->op, "batch_norm") == 0)
    return;
  for (int i = 0; i < way->c->n_in; i++)
    in[i] = make_input(&way->c->in[i], way, 0);
  FyTensors inputs = {.count = way->c->n_in, .items = in};
  compare_grads(way, fy_checkpoint_with(fy_checkpoint_options(checkpointed, &d), inputs), in);
}

static bool same_shape(const GoldenTensor *a, const GoldenTensor *b) {
  return a->shape.ndim == b->shape.ndim &&
         memcmp(a->shape.dim, b->shape.dim, (size_t)a->shape.ndim * sizeof(int64_t)) == 0;
}

static void run_in_place(const Way *way, const CaseAdapter *adapter) {
  const GoldenCase *c = way->c;
  bool fits = same_shape(&c->out[0], &c->in[0]) && expected_dtype(way, &c->out[0]) == way->dtype;
  if (!adapter->in_place || !fits)
    return;
  FyTensor *in[GOLDEN_INPUTS], *leaves[GOLDEN_INPUTS];
  for (int i = 0; i < c->n_in; i++)
    in[i] = leaves[i] = make_input(&c->in[i], way, 0);
  // Not a leaf: a copy of it, or a strided view of a copy.
  in[0] = fy_clone(leaves[0]);
  if (way->strided)
    in[0] = with_gaps(in[0]);
  uint32_t version = fy_version_of(in[0]);
  FyTensor *result = adapter->in_place(c, in);
  if (result != in[0])
    fail_case(way, "in place: the result is another tensor");
  if (fy_version_of(result) <= version)
    fail_case(way, "in place: the version counter did not rise");
  compare(way, "in place", result, &c->out[0], way->dtype);
  compare_grads(way, result, leaves);
}

// A part of the text that every 2.x and every device has: 2.15 says which product it was ("mm: "), older ones do not; CUDA
// kernels have names of their own.
static const char *expected_text(const GoldenCase *c) {
  const char *shapes = strstr(c->raises, "mat1 and mat2 shapes cannot be multiplied");
  if (shapes || device.type == FY_CPU)
    return shapes ? shapes : c->raises;
  if (strstr(c->raises, "Expected tensor for argument"))
    return "Expected tensor for argument"; // goes on with the tensor's type
  const char *name_passed = strstr(c->raises, "not implemented for");
  return name_passed ? name_passed : c->raises;
}

// Errors that a GPU finds while it runs are device-side asserts: test_assert.c has those.
static bool is_found_at_run_time(const GoldenCase *c) {
  static const char *const texts[] = {"out of bounds", "out of range in self", "out of DATA bounds",
                                      "axis dim should be positive"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (strstr(c->raises, texts[i]))
      return true;
  return false;
}

static void run_raising(const Way *way, const CaseAdapter *adapter) {
  FyTensor *out[GOLDEN_OUTPUTS];
  FyError error;
  if (device.type == FY_CUDA && is_found_at_run_time(way->c))
    return;
  fy_trap(error) {
    FyTensor *in[GOLDEN_INPUTS];
    for (int i = 0; i < way->c->n_in; i++)
      in[i] = make_input(&way->c->in[i], way, 0);
    adapter->run(way->c, in, out);
    fy_synchronize(device);
  }
  if (error.kind == FY_NO_ERROR)
    fail_case(way, "should raise: %s", expected_text(way->c));
  else if (!strstr(error.message, expected_text(way->c)) || strcmp(fy_error_name(error.kind), way->c->error) != 0)
    fail_case(way, "raises %s \"%s\", PyTorch: %s \"%s\"", fy_error_name(error.kind), error.message, way->c->error,
              expected_text(way->c));
}

// There are no integer matrix products on CUDA, as in PyTorch, and biases of integers are not added to empty ones either.
static bool raises_on_cuda(const Way *way) {
  const GoldenCase *c = way->c;
  bool linear = strcmp(c->op, "linear") == 0, empty = c->in[0].numel == 0 || c->in[1].numel == 0;
  bool computes = linear ? c->out[0].numel > 0 : strcmp(c->op, "matmul") == 0 && !empty;
  return device.type == FY_CUDA && computes && !fy_dtype_is_floating(way->dtype);
}

static void try_way(const Way *way, const CaseAdapter *adapter) {
  FyError error;
  fy_trap(error) {
    fy_scope {
      run_way(way, adapter);
    }
    fy_scope {
      run_checkpointed(way, adapter);
    }
    fy_scope {
      run_in_place(way, adapter);
    }
  }
  if (raises_on_cuda(way)) {
    if (error.kind != FY_NOT_IMPLEMENTED_ERROR)
      fail_case(way, "should raise not implemented, but: %s", error.kind ? error.message : "no error");
  } else if (error.kind) {
    fail_case(way, "raised %s: %s", fy_error_name(error.kind), error.message);
  }
}

// ---- gradcheck ---------------------------------------------------------------------------------------------------------

static void check_gradients(const GoldenCase *c, const CaseAdapter *adapter, int64_t limit) {
  Way way = {c, FY_FLOAT64, false};
  Differentiated d = {c, adapter};
  char message[512];
  int64_t work = 0;
  for (int i = 0; i < c->n_in; i++)
    work += c->in[i].grad ? c->in[i].numel : 0;
  if (!c->grad_output.present || work == 0 || work > limit || c->out[0].numel > limit || strcmp(c->id, "ties") == 0 ||
      strcmp(c->id, "crossed") == 0 || strcmp(c->id, "ignored") == 0 || strncmp(c->id, "special", 7) == 0)
    return;
  fy_scope {
    FyTensor *in[GOLDEN_INPUTS];
    for (int i = 0; i < c->n_in; i++)
      in[i] = make_input(&c->in[i], &way, 0.00137);
    if (!fy_gradcheck(differentiated, &d, (FyTensors){c->n_in, in}, message, sizeof message))
      fail_case(&way, "gradcheck: %s", message);
  }
}

// ---- the tests ---------------------------------------------------------------------------------------------------------

static void observe(FyOpHooks *hooks, const FyOpCall *call) {
  (void)hooks;
  op_ran[call->op->id] = true;
}

static FyOpHooks observe_hooks = {.kernel = observe};

static void for_each_case(const char *op, void (*body)(const GoldenCase *, const CaseAdapter *)) {
  const CaseAdapter *adapter = case_adapter(op);
  for (int f = 0; f < FILES; f++)
    for (int i = 0; i < golden_count[f]; i++)
      if (strcmp(golden[f][i].op, op) == 0)
        body(&golden[f][i], adapter);
}

static void values_of_case(const GoldenCase *c, const CaseAdapter *adapter) {
  int dtypes = c->dtype ? 1 : 4;
  for (int d = 0; d < dtypes; d++) {
    for (int strided = 0; strided < 2; strided++) {
      Way way = {c, c->dtype ? c->dtype : floats[d], strided};
      if (c->raises[0])
        fy_scope {
          run_raising(&way, adapter);
        }
      else
        try_way(&way, adapter);
    }
  }
}

// The op's first case in each dtype: what a GPU is asked first.
static void first_values(const char *op) {
  bool seen[FY_DTYPE_COUNT] = {false};
  for (int f = 0; f < FILES; f++) {
    for (int i = 0; i < golden_count[f]; i++) {
      const GoldenCase *c = &golden[f][i];
      if (strcmp(c->op, op) != 0 || c->raises[0])
        continue;
      for (int d = 0; d < (c->dtype ? 1 : 4); d++) {
        Way way = {c, c->dtype ? c->dtype : floats[d], false};
        if (!seen[way.dtype])
          try_way(&way, case_adapter(op));
        seen[way.dtype] = true;
      }
    }
  }
}

static void test_values(void **state) {
  failures = 0;
  if (first_alone)
    first_values(*state);
  else
    for_each_case(*state, values_of_case);
  assert_int_equal(failures, 0);
}

static void gradients_of_case(const GoldenCase *c, const CaseAdapter *adapter) {
  if (c->dtype == FY_DEFAULT_DTYPE && !c->raises[0])
    check_gradients(c, adapter, device.type == FY_CPU ? 300 : 40);
}

static void test_gradients(void **state) {
  failures = 0;
  for_each_case(*state, gradients_of_case);
  assert_int_equal(failures, 0);
}

static void test_every_case_has_an_adapter(void **state) {
  (void)state;
  for (int f = 0; f < FILES; f++)
    for (int i = 0; i < golden_count[f]; i++)
      if (!case_adapter(golden[f][i].op))
        fail_msg("no adapter computes %s", golden[f][i].op);
}

// Ops whose results are random, or that only factories, optimizers and traced modules use, have tests of their own.
static bool tested_elsewhere(int id) {
  const int others[] = {FY_OP_ID_uniform,      FY_OP_ID_normal,         FY_OP_ID_randint,
                        FY_OP_ID_dropout,      FY_OP_ID_arange,         FY_OP_ID_linspace,
                        FY_OP_ID_eye,          FY_OP_ID_sgd_step,       FY_OP_ID_adam_step,
                        FY_OP_ID_adam_advance, FY_OP_ID_pointwise_chain};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i] == id)
      return true;
  return false;
}

static void test_every_op_ran(void **state) {
  (void)state;
  int missing = 0;
  for (int id = 0; id < FY_OP_COUNT; id++) {
    if (op_ran[id] || tested_elsewhere(id))
      continue;
    print_error("  no case runs %s\n", fy_ops[id]->name);
    missing++;
  }
  assert_int_equal(missing, 0);
}

static struct CMUnitTest named(const char *op, const char *what, void (*function)(void **)) {
  char name[96];
  snprintf(name, sizeof name, "%s: %s on %s", op, what, fy_device_name_of(device));
  return (struct CMUnitTest){.name = strdup(name), .test_func = function, .initial_state = (void *)(intptr_t)op};
}

static bool is_one_of(const char *op, char **ops) {
  for (; *ops; ops++)
    if (strcmp(*ops, op) == 0)
      return true;
  return false;
}

int main(int argc, char **argv) {
  struct CMUnitTest tests[256];
  int n = 0;
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  if (device.type == FY_CUDA)
    device = fy_cuda_device(fy_cuda_current_device());
  for (int f = 0; f < FILES; f++)
    golden[f] = golden_read(files[f], &golden_count[f]);
  fy_op_hooks_add(&observe_hooks);
  tests[n++] = named("golden files", "every case has an adapter", test_every_case_has_an_adapter);
  first_alone = argc > 2 && strcmp(argv[2], "--first") == 0;
  char **ops = argv + 2 + first_alone;
  for (int i = 0; i < case_adapter_count; i++) {
    if (argc > 2 + first_alone && !is_one_of(case_adapters[i].op, ops))
      continue;
    tests[n++] = named(case_adapters[i].op, "PyTorch's values", test_values);
    if (!first_alone)
      tests[n++] = named(case_adapters[i].op, "gradcheck", test_gradients);
  }
  if (argc <= 2)
    tests[n++] = named("ops.def", "every op ran", test_every_op_ran);
  int failed = _cmocka_run_group_tests("golden", tests, (size_t)n, NULL, NULL);
  for (int f = 0; f < FILES; f++)
    golden_free(golden[f], golden_count[f]);
  for (int i = 0; i < n; i++)
    free((void *)(intptr_t)tests[i].name);
  return failed;
}
