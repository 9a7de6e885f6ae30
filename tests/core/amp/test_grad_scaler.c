// SPDX-License-Identifier: MIT
// The gradient scaler against PyTorch's traces (tests/golden/make_golden_scaler.py), its errors, devices, waits and state.
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
// run check: FERRY_CUDA=off
#include "../nn/check.h"
#include "device/runtime.h"
#include "support/golden.h"
#include <unistd.h>

enum { MOST = 4 };

static FyTensor *named(const char *trace, const char *part) {
  char key[64];
  snprintf(key, sizeof key, "%s.%s", trace, part);
  return golden_tensor("scaler", key);
}

static FyGradScaler *scaler_of(FyDevice device) {
  return fy_grad_scaler(device.type, .init_scale = 8, .growth_interval = 2);
}

static FyTensor *parameter_on(FyDevice device) {
  return fy_ones(fy_shape(3), .device = device, .requires_grad = true);
}

static FyOptimizer *optimizer_of(FyTensor *p) {
  FyTensorList *list = fy_tensor_list_new();
  fy_list_add(list, "p", p);
  return fy_sgd(list, .lr = 0.125, .momentum = 0.5);
}

// ---- PyTorch's traces ----------------------------------------------------------------------------------------------------

typedef struct Trace {
  const char *name;
  FyTensor *x, *p, *scales, *trackers;
  double options[6]; // init_scale, growth_factor, backoff_factor, growth_interval, max_norm, passes
  FyDevice devices[2];
  FyTensor *parameters[MOST];
  FyOptimizer *optimizers[MOST];
  FyGradScaler *scaler;
  int count;
} Trace;

static FyTensor *at(FyTensor *t, int step, int k) {
  return fy_select(fy_select(t, 0, step), 0, k);
}

static Trace trace_of(const char *name, const FyDevice *devices) {
  Trace t = {.name = name, .devices = {devices[0], devices[1]}};
  t.x = named(name, "x");
  t.p = named(name, "p");
  t.scales = named(name, "scale");
  t.trackers = named(name, "tracker");
  fy_copy_to_host(named(name, "options"), t.options);
  t.count = (int)fy_size_at(t.x, 1);
  for (int k = 0; k < t.count; k++) {
    t.parameters[k] = fy_ones(fy_shape(fy_size_at(t.x, 2)), .device = devices[k % 2], .requires_grad = true);
    t.optimizers[k] = optimizer_of(t.parameters[k]);
  }
  t.scaler = fy_grad_scaler(devices[0].type, .init_scale = t.options[0], .growth_factor = t.options[1],
                            .backoff_factor = t.options[2], .growth_interval = (int64_t)t.options[3]);
  return t;
}

// Losses on several devices are scaled one by one, where PyTorch adds them up first: the gradients are the same.
static void backward_of(const Trace *t, int step) {
  for (int pass = 0; pass < (int)t->options[5]; pass++)
    for (int k = 0; k < t->count; k++) {
      FyTensor *x = fy_div_scalar(fy_to(at(t->x, step, k), t->devices[k % 2]), t->options[5]);
      fy_backward(fy_scaler_scale(t->scaler, fy_sum(fy_mul(t->parameters[k], x))));
    }
}

static void train_step(const Trace *t, int step) {
  for (int k = 0; k < t->count; k++)
    fy_zero_grad(t->optimizers[k]);
  backward_of(t, step);
  for (int k = 0; k < t->count; k++) {
    FyTensorList *list = fy_tensor_list_new();
    fy_list_add(list, "p", t->parameters[k]);
    if (t->options[4] != 0) {
      fy_scaler_unscale_(t->scaler, t->optimizers[k]);
      fy_clip_grad_norm_(list, t->options[4]);
    }
    fy_scaler_step(t->scaler, t->optimizers[k]);
  }
  fy_scaler_update(t->scaler);
}

static void check_step(const Trace *t, int step) {
  const double scale = fy_item(fy_select(t->scales, 0, step));
  const double tracker = fy_item(fy_list_get(fy_scaler_state_dict(t->scaler), "_growth_tracker"));
  if (fy_scaler_get_scale(t->scaler) != scale || tracker != fy_item(fy_select(t->trackers, 0, step)))
    fail_msg("%s, step %d: scale %.9g and tracker %g, PyTorch has %.9g and %g", t->name, step,
             fy_scaler_get_scale(t->scaler), tracker, scale, fy_item(fy_select(t->trackers, 0, step)));
  for (int k = 0; k < t->count; k++)
    if (!fy_allclose(fy_cpu(fy_detach(t->parameters[k])), at(t->p, step, k), 1e-6, 1e-7))
      fail_msg("%s, step %d: parameter %d is %s, PyTorch has %s", t->name, step, k, fy_repr(t->parameters[k]),
               fy_repr(at(t->p, step, k)));
}

static void check_traces(const FyDevice *devices) {
  static const char *const names[] = {"clean", "growing", "nan",         "each",   "overflow",
                                      "two",   "clipped", "accumulated", "largest"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    fy_scope {
      Trace t = trace_of(names[i], devices);
      for (int step = 0; step < (int)fy_size_at(t.x, 0); step++)
        fy_scope {
          train_step(&t, step);
          check_step(&t, step);
        }
    }
}

static void on_the_cpu(void **state) {
  (void)state;
  check_traces((FyDevice[]){FY_CPU_DEVICE, FY_CPU_DEVICE});
}

static void on_a_device(void **state) {
  (void)state;
  if (!fy_cuda_is_available()) {
    print_message("needs CUDA, real or simulated, and there is none\n");
    skip();
  }
  check_traces((FyDevice[]){fy_cuda_device(0), fy_cuda_device(0)});
}

static void on_two_devices(void **state) {
  (void)state;
  if (fy_cuda_device_count() < 2) {
    print_message("needs two CUDA devices\n");
    skip();
  }
  check_traces((FyDevice[]){fy_cuda_device(1), fy_cuda_device(0)});
}

// ---- one optimizer, parameters everywhere -----------------------------------------------------------------------------------

static void one_gradient_on_another_device(void **state) {
  (void)state;
  if (fy_cuda_device_count() < 2) {
    print_message("needs two CUDA devices\n");
    skip();
  }
  FyDevice devices[] = {fy_cuda_device(0), fy_cuda_device(1), FY_CPU_DEVICE};
  for (int wrong = 0; wrong < 3; wrong++) {
    FyTensorList *list = fy_tensor_list_new();
    for (int i = 0; i < 3; i++)
      fy_list_add(list, "p", parameter_on(devices[i]));
    FyOptimizer *sgd = fy_sgd(list, .lr = 1);
    FyGradScaler *scaler = scaler_of(devices[0]);
    fy_scaler_scale(scaler, fy_ones(FY_SCALAR, .device = devices[0]));
    for (int i = 0; i < 3; i++)
      fy_set_grad(list->items[i], fy_full(i == wrong ? NAN : 8, fy_shape(3), .device = devices[i]));
    assert_false(fy_scaler_step(scaler, sgd));
    fy_scaler_update(scaler);
    assert_true(fy_scaler_get_scale(scaler) == 4);
    for (int i = 0; i < 3; i++)
      assert_true(fy_item(fy_max(list->items[i])) == 1);
    for (int i = 0; i < 3; i++)
      fy_set_grad(list->items[i], fy_full(8, fy_shape(3), .device = devices[i]));
    assert_true(fy_scaler_step(scaler, sgd));
    for (int i = 0; i < 3; i++)
      assert_true(fy_item(fy_max(list->items[i])) == -1); // 1 - 8 / 4
  }
}

// ---- waiting --------------------------------------------------------------------------------------------------------------

static int64_t waits(void) {
  return fy_counters().synchronizations;
}

static void only_step_waits(void **state) {
  (void)state;
  if (!fy_cuda_is_available()) {
    print_message("needs CUDA, real or simulated, and there is none\n");
    skip();
  }
  FyDevice device = fy_cuda_device(0);
  FyTensor *p = parameter_on(device);
  FyOptimizer *sgd = optimizer_of(p);
  FyGradScaler *scaler = scaler_of(device);
  for (int i = 0; i < 2; i++) {
    int64_t before = waits();
    fy_zero_grad(sgd);
    fy_backward(fy_scaler_scale(scaler, fy_sum(p)));
    fy_scaler_unscale_(scaler, sgd);
    assert_int_equal(waits(), before);
    fy_scaler_step(scaler, sgd);
    assert_true(waits() > before);
    before = waits();
    fy_scaler_update(scaler);
    assert_int_equal(waits(), before);
  }
  assert_true(fy_scaler_get_scale(scaler) == 16);
}

// ---- the wrong order, and the wrong gradients ---------------------------------------------------------------------------------

static void the_order_is_checked(void **state) {
  (void)state;
  FyTensor *p = parameter_on(FY_CPU_DEVICE);
  FyOptimizer *sgd = optimizer_of(p);
  FyGradScaler *scaler = scaler_of(FY_CPU_DEVICE);
  const char *early =
      "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration.";
  assert_raises_about(FY_RUNTIME_ERROR, "Attempted step but _scale is None.", fy_scaler_step(scaler, sgd));
  assert_raises_about(FY_RUNTIME_ERROR, "Attempted unscale_ but _scale is None.", fy_scaler_unscale_(scaler, sgd));
  assert_raises_about(FY_RUNTIME_ERROR, "Attempted update but _scale is None.", fy_scaler_update(scaler));
  assert_raises_about(FY_RUNTIME_ERROR, early, fy_scaler_update_to(scaler, 2));
  assert_true(fy_scaler_get_scale(scaler) == 8);
  fy_backward(fy_scaler_scale(scaler, fy_sum(p)));
  assert_raises(FY_RUNTIME_ERROR, "No inf checks were recorded prior to update.", fy_scaler_update(scaler));
  fy_scaler_unscale_(scaler, sgd);
  assert_values(fy_grad(p), (double[]){1, 1, 1}, 3, 0);
  assert_raises(FY_RUNTIME_ERROR, "unscale_() has already been called on this optimizer since the last update().",
                fy_scaler_unscale_(scaler, sgd));
  assert_values(fy_grad(p), (double[]){1, 1, 1}, 3, 0);
  assert_true(fy_scaler_step(scaler, sgd));
  assert_raises(FY_RUNTIME_ERROR, "step() has already been called since the last update().",
                fy_scaler_step(scaler, sgd));
  assert_raises(FY_RUNTIME_ERROR, "unscale_() is being called after step().", fy_scaler_unscale_(scaler, sgd));
  fy_scaler_update(scaler);
  assert_raises(FY_RUNTIME_ERROR, "No inf checks were recorded prior to update.", fy_scaler_update(scaler));
  fy_scaler_unscale_(scaler, sgd); // begins anew
  fy_scaler_update_to(scaler, 32);
  assert_true(fy_scaler_get_scale(scaler) == 32);
  fy_scaler_unscale_(scaler, sgd); // and again: update_to forgets too
}

static void an_optimizer_without_gradients(void **state) {
  (void)state;
  FyOptimizer *sgd = optimizer_of(parameter_on(FY_CPU_DEVICE));
  FyGradScaler *scaler = scaler_of(FY_CPU_DEVICE);
  fy_scaler_scale(scaler, fy_ones(FY_SCALAR));
  assert_raises(FY_RUNTIME_ERROR, "No inf checks were recorded for this optimizer.", fy_scaler_step(scaler, sgd));
}

static void gradients_of_half_types(void **state) {
  (void)state;
  const FyDType types[] = {FY_FLOAT16, FY_BFLOAT16, FY_FLOAT64};
  for (int i = 0; i < 3; i++) {
    FyTensor *p = fy_ones(fy_shape(3), .dtype = types[i], .requires_grad = true);
    FyOptimizer *sgd = optimizer_of(p);
    FyGradScaler *scaler = scaler_of(FY_CPU_DEVICE);
    fy_backward(fy_scaler_scale(scaler, fy_sum(p)));
    if (types[i] == FY_FLOAT16) {
      assert_raises(FY_VALUE_ERROR, "Attempting to unscale FP16 gradients.", fy_scaler_unscale_(scaler, sgd));
      assert_raises(FY_VALUE_ERROR, "Attempting to unscale FP16 gradients.", fy_scaler_step(scaler, sgd));
      assert_values(fy_grad(p), (double[]){8, 8, 8}, 3, 0);
    } else {
      assert_true(fy_scaler_step(scaler, sgd));
      assert_values(p, (double[]){0.875, 0.875, 0.875}, 3, 0);
    }
  }
}

static void options_are_checked(void **state) {
  (void)state;
  assert_raises(FY_VALUE_ERROR, "The growth factor must be > 1.0.", fy_grad_scaler(FY_CPU, .growth_factor = 1));
  assert_raises(FY_VALUE_ERROR, "The backoff factor must be < 1.0.", fy_grad_scaler(FY_CPU, .backoff_factor = 1));
  fy_grad_scaler(FY_CPU, .growth_factor = 1, .enabled = false);
  assert_raises_about(FY_RUNTIME_ERROR, "FY_CPU or FY_CUDA", fy_grad_scaler(FY_MPS));
  FyGradScaler *scaler = fy_grad_scaler(FY_CPU);
  assert_true(fy_scaler_is_enabled(scaler));
  assert_true(fy_scaler_get_scale(scaler) == 65536);
  assert_true(fy_scaler_get_growth_factor(scaler) == 2 && fy_scaler_get_backoff_factor(scaler) == 0.5);
  assert_int_equal(fy_scaler_get_growth_interval(scaler), 2000);
  assert_int_equal(fy_scaler_is_enabled(fy_grad_scaler(FY_CUDA)), fy_cuda_is_available());
  scaler = fy_grad_scaler(FY_CPU, .backoff_factor = 0, .growth_interval = 0); // zeros that are named are zero
  assert_true(fy_scaler_get_growth_factor(scaler) == 2 && fy_scaler_get_backoff_factor(scaler) == 0);
  assert_int_equal(fy_scaler_get_growth_interval(scaler), 0);
  assert_raises(FY_VALUE_ERROR, "The growth factor must be > 1.0.", fy_grad_scaler(FY_CPU, .growth_factor = 0));
}

static void one_that_is_off_passes_through(void **state) {
  (void)state;
  FyTensor *p = parameter_on(FY_CPU_DEVICE);
  FyOptimizer *sgd = optimizer_of(p);
  bool use = false;
  FyGradScaler *scaler = fy_grad_scaler(FY_CPU, .enabled = use);
  FyTensor *loss = fy_sum(p);
  assert_false(fy_scaler_is_enabled(scaler));
  assert_ptr_equal(fy_scaler_scale(scaler, loss), loss);
  fy_backward(loss);
  fy_scaler_unscale_(scaler, sgd);
  fy_scaler_unscale_(scaler, sgd);
  assert_true(fy_scaler_step(scaler, sgd));
  fy_scaler_update(scaler);
  assert_values(p, (double[]){0.875, 0.875, 0.875}, 3, 0);
  assert_true(fy_scaler_get_scale(scaler) == 1);
  assert_int_equal(fy_scaler_state_dict(scaler)->count, 0);
  fy_scaler_load_state_dict(scaler, fy_tensor_list_new());
}

// ---- state ---------------------------------------------------------------------------------------------------------------------

static void trained(FyGradScaler *scaler, int steps) {
  FyTensor *p = parameter_on(FY_CPU_DEVICE);
  FyOptimizer *sgd = optimizer_of(p);
  for (int i = 0; i < steps; i++) {
    fy_zero_grad(sgd);
    fy_backward(fy_scaler_scale(scaler, fy_sum(p)));
    fy_scaler_step(scaler, sgd);
    fy_scaler_update(scaler);
  }
}

static void state_goes_over(void **state) {
  (void)state;
  FyGradScaler *first =
      fy_grad_scaler(FY_CPU, .init_scale = 3, .growth_factor = 1.5, .backoff_factor = 0.25, .growth_interval = 4);
  trained(first, 7); // has grown once, and three clean ones since
  for (int started = 0; started < 2; started++) {
    FyGradScaler *second = fy_grad_scaler(FY_CPU);
    if (started)
      trained(second, 1);
    fy_scaler_load_state_dict(second, fy_scaler_state_dict(first));
    assert_true(fy_scaler_get_scale(second) == 4.5);
    assert_true(fy_scaler_get_growth_factor(second) == 1.5 && fy_scaler_get_backoff_factor(second) == 0.25);
    assert_int_equal(fy_scaler_get_growth_interval(second), 4);
    trained(second, 1);
    assert_true(fy_scaler_get_scale(second) == 6.75);
  }
}

static void state_is_checked(void **state) {
  (void)state;
  FyGradScaler *scaler = fy_grad_scaler(FY_CPU, .init_scale = 2);
  FyTensorList *list = fy_tensor_list_new();
  assert_raises(FY_RUNTIME_ERROR,
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.",
                fy_scaler_load_state_dict(scaler, list));
  fy_list_add(list, "scale", fy_full(64, FY_SCALAR));
  assert_raises_about(FY_KEY_ERROR, "growth_factor", fy_scaler_load_state_dict(scaler, list));
  list = fy_scaler_state_dict(fy_grad_scaler(FY_CPU));
  FyTensorList *wrong = fy_tensor_list_new();
  for (int i = 0; i < list->count; i++)
    fy_list_add(wrong, list->names[i], i == 4 ? fy_full(NAN, FY_SCALAR) : list->items[i]);
  assert_raises_about(FY_VALUE_ERROR, "nan as \"_growth_tracker\"", fy_scaler_load_state_dict(scaler, wrong));
  assert_true(fy_scaler_get_scale(scaler) == 2);
}

static void in_a_checkpoint(void **state) {
  char path[] = "/tmp/ferry-scaler-XXXXXX";
  int file = mkstemp(path);
  (void)state;
  assert_true(file >= 0);
  close(file);
  FyGradScaler *first = scaler_of(FY_CPU_DEVICE), *second = fy_grad_scaler(FY_CPU);
  trained(first, 3);
  fy_checkpoint_save(path, &(FyCheckpoint){.scaler = first});
  fy_checkpoint_load(path, &(FyCheckpoint){.scaler = second});
  assert_true(fy_scaler_get_scale(second) == 16);
  assert_int_equal(fy_scaler_get_growth_interval(second), 2);
  fy_checkpoint_load(path, &(FyCheckpoint){.scaler = fy_grad_scaler(FY_CPU, .enabled = false)});
  fy_checkpoint_save(path, &(FyCheckpoint){.scaler = fy_grad_scaler(FY_CPU, .enabled = false)});
  assert_raises_about(FY_VALUE_ERROR, "has no state for the scaler",
                      fy_checkpoint_load(path, &(FyCheckpoint){.scaler = second}));
  fy_checkpoint_load(path, &(FyCheckpoint){0});
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_the_cpu),
      cmocka_unit_test(on_a_device),
      cmocka_unit_test(on_two_devices),
      cmocka_unit_test(one_gradient_on_another_device),
      cmocka_unit_test(only_step_waits),
      cmocka_unit_test(the_order_is_checked),
      cmocka_unit_test(an_optimizer_without_gradients),
      cmocka_unit_test(gradients_of_half_types),
      cmocka_unit_test(options_are_checked),
      cmocka_unit_test(one_that_is_off_passes_through),
      cmocka_unit_test(state_goes_over),
      cmocka_unit_test(state_is_checked),
      cmocka_unit_test(in_a_checkpoint),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
