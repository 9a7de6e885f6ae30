// SPDX-License-Identifier: MIT
// Every op traced: each golden case as a module of each of its inputs in turn, in each dtype and on each device, compared with the
// same calls made one by one, for the values of the case and for others. In place too. The last test holds the ops.def table to it.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
#include "autograd/autograd.h"
#include "op/op.h"
#include "op/ops.h"
#include "support/cases.h"
#include "trace/plan.h"
#include "trace/trace.h"
#include "trace/traced.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char *const files[] = {"pointwise", "reduce", "matmul", "image", "index", "view", "dtypes"};
static const FyDType floats[] = {FY_FLOAT32, FY_FLOAT64, FY_FLOAT16, FY_BFLOAT16};
enum { FILES = sizeof files / sizeof *files };

static FyDevice device;
static int failures, compared, in_place, refused;
static bool op_traced[FY_OP_COUNT];

// A golden case as a module: its input is the case's input `of`, its output the case's output `wanted`.
typedef struct CaseModule {
  FyModule base;
  const GoldenCase *c;
  FyTensor *in[GOLDEN_INPUTS];
  int of, wanted;
  bool in_place;
} CaseModule;

static FyTensor *case_forward(FyModule *self, FyTensor *x) {
  const CaseModule *m = (CaseModule *)self;
  const CaseAdapter *adapter = case_adapter(m->c->op);
  FyTensor *in[GOLDEN_INPUTS], *out[GOLDEN_OUTPUTS];
  memcpy(in, m->in, sizeof in);
  in[m->of] = m->in_place ? fy_clone(x) : x;
  if (m->in_place)
    return adapter->in_place(m->c, in);
  adapter->run(m->c, in, out);
  return out[m->wanted];
}

static FyTensor *make_input(const GoldenTensor *g, FyDType dtype) {
  FyTensor *values = fy_tensor(g->values, g->shape, .dtype = FY_FLOAT64);
  return g->present ? fy_to(values, device, .dtype = g->dtype ? g->dtype : dtype) : NULL;
}

static void fail_case(const CaseModule *m, FyDType dtype, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void fail_case(const CaseModule *m, FyDType dtype, const char *format, ...) {
  va_list arguments;
  char text[1700];
  if (++failures > 25)
    return;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  print_error("  %s %s, input %d, output %d%s, %s on %s: %s\n", m->c->op, m->c->id, m->of, m->wanted,
              m->in_place ? ", in place" : "", fy_dtype_name(dtype), fy_device_name_of(device), text);
}

static const void *bytes_of(FyTensor *t) {
  return fy_data_ptr(fy_contiguous(fy_to_dtype(fy_cpu(t), FY_FLOAT64)));
}

// Fused sums are in another order: float32 ones may differ in the last bits.
static bool same(FyTensor *a, FyTensor *b) {
  FySize x = fy_size(a), y = fy_size(b);
  bool same_kind = x.ndim == y.ndim && memcmp(x.dim, y.dim, (size_t)x.ndim * sizeof *x.dim) == 0 &&
                   fy_dtype_of(a) == fy_dtype_of(b) && fy_device_equal(fy_device_of(a), fy_device_of(b));
  if (!same_kind)
    return false;
  const double *u = bytes_of(a), *v = bytes_of(b);
  double scale = 0;
  for (int64_t i = 0; i < fy_numel(a); i++)
    scale = isfinite(v[i]) && fabs(v[i]) > scale ? fabs(v[i]) : scale;
  for (int64_t i = 0; i < fy_numel(a); i++)
    if (!(u[i] == v[i] || (isnan(u[i]) && isnan(v[i])) ||
          (fy_dtype_of(a) == FY_FLOAT32 && fabs(u[i] - v[i]) <= 1e-6 * scale)))
      return false;
  return true;
}

static void compare(CaseModule *m, FyModule *traced, FyTensor *x, FyDType dtype, const char *what) {
  FyError eager_error, traced_error;
  FyTensor *volatile eager = NULL, *volatile got = NULL;
  fy_no_grad {
    fy_trap(eager_error) {
      eager = fy_forward(m, x);
    }
    fy_trap(traced_error) {
      got = fy_forward(traced, x);
    }
  }
  if (eager_error.kind != traced_error.kind)
    fail_case(m, dtype, "%s: eager: %s, traced: %s", what, eager_error.message, traced_error.message);
  else if (!eager_error.kind && !same(got, eager))
    fail_case(m, dtype, "%s: the results differ", what);
  compared++;
}

static void note_ops(const FyProgram *program) {
  for (int i = 0; i < program->step_count; i++)
    op_traced[program->steps[i].op->id] = true;
}

static void try_module(CaseModule *m, FyDType dtype) {
  FyTensor *x = m->in[m->of];
  FyError eager_error, error;
  FyModule *volatile traced = NULL;
  fy_no_grad {
    fy_trap(eager_error) {
      fy_forward(m, x);
    }
  }
  fy_trap(error) {
    traced = fy_trace(m, x, .no_check = true);
  }
  if (!eager_error.kind && strcmp(m->c->op, "batch_norm") == 0 &&
      golden_number(m->c, "training", 0) != 0) { // it changes its statistics
    if (error.kind != FY_RUNTIME_ERROR || !strstr(error.message, "fy_eval(model)"))
      fail_case(m, dtype, "training mode: %s", error.message);
    return;
  }
  if (error.kind != eager_error.kind || strcmp(error.message, eager_error.message) != 0) {
    fail_case(m, dtype, "eager: %s, the trace: %s", eager_error.message, error.message);
    return;
  }
  if (error.kind) {
    refused++;
    return;
  }
  note_ops(fy_traced_program(traced));
  compare(m, traced, x, dtype, "the example");
  if (!fy_plan_is_sound(fy_traced_plan(traced)))
    fail_case(m, dtype, "values share memory that are needed at the same time");
  if (fy_dtype_is_floating(fy_dtype_of(x)))
    compare(m, traced, fy_add_scalar(fy_mul_scalar(x, 0.75), 0.125), dtype, "other values");
  compare(m, traced, x, dtype, "once more");
}

static void run_case(const GoldenCase *c, FyDType dtype) {
  const CaseAdapter *adapter = case_adapter(c->op);
  // A value out of range is found by the device while it runs, and ends its use: no case for a comparison.
  const bool ends_device = strstr(c->raises, "out of bounds") || strstr(c->raises, "out of range") ||
                           strstr(c->raises, "out of DATA bounds") || strstr(c->raises, "axis dim should be positive");
  if (device.type == FY_CUDA && ends_device)
    return;
  if (!adapter) // a case of fused optimizers or of what has no adapter: the golden test fails for these
    return;
  for (int of = 0; of < c->n_in; of++) {
    if (!c->in[of].present)
      continue;
    for (int wanted = 0; wanted < (c->n_out ? c->n_out : 1); wanted++) {
      fy_scope {
        CaseModule *m = fy_module_new(CaseModule, case_forward);
        m->c = c;
        m->of = of;
        m->wanted = wanted;
        for (int i = 0; i < c->n_in; i++)
          m->in[i] = make_input(&c->in[i], dtype);
        try_module(m, dtype);
        if (of == 0 && wanted == 0 && adapter->in_place) {
          m->in_place = true;
          in_place++;
          try_module(m, dtype);
        }
      }
    }
  }
}

static void test_golden_cases(void **state) {
  (void)state;
  for (int f = 0; f < FILES; f++) {
    int count;
    GoldenCase *cases = golden_read(files[f], &count);
    for (int i = 0; i < count; i++)
      for (size_t d = 0; d < (cases[i].dtype ? 1 : sizeof floats / sizeof *floats); d++)
        run_case(&cases[i], cases[i].dtype ? cases[i].dtype : floats[d]);
    golden_free(cases, count);
  }
  print_message("[          ] %d results compared, %d traces refused as the calls are\n", compared, refused);
  assert_int_equal(failures, 0);
  assert_true(compared > 3000 && in_place > 100 && refused > 10);
}

// What backward alone calls, what changes state, and what is recorded as the ops that it consists of.
static bool may_be_missing(int id) {
  static const int missing[] = {
      FY_OP_ID_fill,
      FY_OP_ID_uniform,
      FY_OP_ID_normal,
      FY_OP_ID_randint,
      FY_OP_ID_dropout,
      FY_OP_ID_arange,
      FY_OP_ID_linspace,
      FY_OP_ID_eye,
      FY_OP_ID_sgd_step,
      FY_OP_ID_adam_step,
      FY_OP_ID_adam_advance,
      FY_OP_ID_amp_update_scale,
      FY_OP_ID_amp_non_finite_check_and_unscale,
      FY_OP_ID_conv2d_relu_max_pool2d,
      FY_OP_ID_index_add,
      FY_OP_ID_batch_norm,
      FY_OP_ID_pointwise_chain,
      FY_OP_ID_slice,
      FY_OP_ID_split,
  };
  for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
    if (missing[i] == id)
      return true;
  return strstr(fy_ops[id]->name, "backward") != NULL;
}

static void test_every_op_was_traced(void **state) {
  (void)state;
  failures = 0;
  for (int id = 0; id < FY_OP_COUNT; id++)
    if (!op_traced[id] && !may_be_missing(id)) {
      print_error("  no trace has %s\n", fy_ops[id]->name);
      failures++;
    }
  assert_int_equal(failures, 0);
}

int main(int argc, char **argv) {
  device = argc > 1 && strcmp(argv[1], "cuda") == 0 ? fy_resolve_device(fy_cuda_device(0)) : FY_CPU_DEVICE;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_golden_cases),
      cmocka_unit_test(test_every_op_was_traced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
