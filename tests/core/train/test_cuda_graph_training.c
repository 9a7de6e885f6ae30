// SPDX-License-Identifier: MIT
// A whole training step as a CUDA graph: forward, loss, backward, clipping, gradient scaling, the optimizer. Over many steps
// with new data each, parameters, gradients and losses are those of the same steps run one call at a time, to the bit.
//
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads FERRY_SIM_THREADS=4
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=sync
// tsan
#include "core/device/expect.h"
#include "ferry.h"
#include <math.h>
#include <stdlib.h>

enum { STEPS = 12, WARM_UP = 3, BATCH = 8, MAX_PARAMETERS = 24 };

static FyDevice device;

typedef enum Kind { SGD, ADAM, ADAMW, ADAM_OF_THE_HOST } Kind;

// How a step is made, drawn from a seed.
typedef struct Setup {
  unsigned seed;
  Kind kind;
  bool images, dropout, norm, clip, autocast, scaler;
  int layers, width;
  double momentum, decay;
} Setup;

typedef struct Trained {
  float losses[STEPS];
  int count;
  float *parameters[MAX_PARAMETERS], *gradients[MAX_PARAMETERS];
  int64_t sizes[MAX_PARAMETERS];
  FyRngState random;
  FyCounters counted; // by the last step
} Trained;

static FyModule *dense(const Setup *s) {
  FyModule *layers[24];
  int n = 0, in = 12;
  if (s->images) {
    layers[n++] = fy_nn_conv2d(1, 4, 3, .padding = 1);
    if (s->norm)
      layers[n++] = fy_nn_batch_norm2d(4);
    layers[n++] = fy_nn_relu();
    layers[n++] = fy_nn_max_pool2d(2);
    layers[n++] = fy_nn_flatten();
    in = 4 * 3 * 3;
  }
  for (int i = 0; i < s->layers; i++) {
    layers[n++] = fy_nn_linear(in, s->width);
    layers[n++] = i % 2 ? fy_nn_gelu() : fy_nn_relu();
    if (s->dropout)
      layers[n++] = fy_nn_dropout(0.25);
    in = s->width;
  }
  layers[n++] = fy_nn_linear(in, 5);
  layers[n] = NULL;
  return fy_nn_sequential_with(layers);
}

static FyOptimizer *optimizer_of(const Setup *s, FyTensorList *parameters) {
  if (s->kind == SGD)
    return fy_sgd(parameters, .lr = 0.05, .momentum = s->momentum, .weight_decay = s->decay);
  if (s->kind == ADAMW)
    return fy_adamw(parameters, .lr = 0.01, .capturable = true);
  return fy_adam(parameters, .lr = 0.01, .weight_decay = s->decay, .capturable = s->kind == ADAM);
}

typedef struct Training {
  const Setup *setup;
  FyModule *model;
  FyTensorList *parameters;
  FyOptimizer *optimizer;
  FyGradScaler *scaler;
  FyTensor *x, *y; // static
} Training;

// Without fy_zero_grad. Returns the loss.
static FyTensor *step(Training *t) {
  const Setup *s = t->setup;
  FyTensor *loss = NULL;
  fy_autocast(FY_CUDA, .dtype = FY_FLOAT16, .enabled = s->autocast) {
    loss = fy_cross_entropy(fy_forward(t->model, t->x), t->y);
  }
  fy_backward(s->scaler ? fy_scaler_scale(t->scaler, loss) : loss);
  if (s->scaler && s->clip)
    fy_scaler_unscale_(t->scaler, t->optimizer);
  if (s->clip)
    fy_clip_grad_norm_(t->parameters, 0.5);
  if (s->scaler) {
    fy_scaler_step(t->scaler, t->optimizer);
    fy_scaler_update(t->scaler);
  } else {
    fy_step(t->optimizer);
  }
  return loss;
}

static FySize input_shape(const Setup *s) {
  return s->images ? fy_shape(BATCH, 1, 6, 6) : fy_shape(BATCH, 12);
}

// The batch of a step: drawn on the CPU by rand_r, so that the generator of the process is the network's alone.
static void next_batch(Training *t, unsigned *seed) {
  FyTensor *x = fy_zeros(input_shape(t->setup)), *y = fy_zeros(fy_shape(BATCH), .dtype = FY_INT64);
  float *values = fy_data_ptr(x);
  int64_t *targets = fy_data_ptr(y);
  for (int64_t i = 0; i < fy_numel(x); i++)
    values[i] = (float)rand_r(seed) / (float)RAND_MAX - 0.5f;
  for (int i = 0; i < BATCH; i++)
    targets[i] = rand_r(seed) % 5;
  fy_copy_(t->x, x);
  fy_copy_(t->y, y);
}

static float *values_of(FyTensor *t) {
  float *values = malloc((size_t)fy_numel(t) * sizeof *values);
  fy_copy_to_host(t, values);
  return values;
}

static void note(Training *t, Trained *out) {
  out->count = t->parameters->count;
  assert_true(out->count <= MAX_PARAMETERS);
  for (int i = 0; i < out->count; i++) {
    out->sizes[i] = fy_numel(t->parameters->items[i]);
    out->parameters[i] = values_of(t->parameters->items[i]);
    out->gradients[i] = values_of(fy_grad(t->parameters->items[i]));
  }
  out->random = fy_get_rng_state();
}

static FyCounters since(FyCounters before) {
  FyCounters now = fy_counters();
  now.launches -= before.launches;
  now.graph_launches -= before.graph_launches;
  now.synchronizations -= before.synchronizations;
  now.host_to_device -= before.host_to_device;
  return now;
}

static void train(const Setup *s, bool captured, Trained *out) {
  unsigned seed = s->seed;
  *out = (Trained){0};
  fy_manual_seed(s->seed);
  fy_scope {
    Training t = {.setup = s, .model = dense(s)};
    fy_module_to(t.model, device);
    t.parameters = fy_parameters(t.model);
    t.optimizer = optimizer_of(s, t.parameters);
    if (s->scaler)
      t.scaler = fy_grad_scaler(FY_CUDA, .init_scale = 1024, .growth_interval = 4);
    t.x = fy_zeros(input_shape(s), .device = device);
    t.y = fy_zeros(fy_shape(BATCH), .dtype = FY_INT64, .device = device);
    FyCudaGraph *graph = fy_cuda_graph_new();
    FyStream *side = fy_stream_new(device, 0);
    FyTensor *loss = NULL;
    for (int i = 0; i < STEPS; i++) {
      next_batch(&t, &seed);
      FyCounters before = fy_counters();
      if (captured && i == WARM_UP) {
        FyRngState random = fy_get_rng_state();
        fy_zero_grad(t.optimizer);
        fy_cuda_graph_capture(graph) loss = step(&t);
        assert_true(fy_get_rng_state().offset == random.offset);
        before = fy_counters();
      }
      if (captured && i >= WARM_UP) {
        fy_cuda_graph_replay(graph);
        out->counted = since(before);
        fy_copy_to_host(loss, &out->losses[i]);
        continue;
      }
      fy_stream_wait_stream(side, fy_current_stream(device));
      fy_stream_guard(side)
        fy_scope {
          fy_zero_grad(t.optimizer);
          FyTensor *own = step(&t);
          out->counted = since(before);
          fy_copy_to_host(own, &out->losses[i]);
        }
      fy_stream_wait_stream(fy_current_stream(device), side);
    }
    note(&t, out);
  }
}

static void forget(Trained *t) {
  for (int i = 0; i < t->count; i++) {
    free(t->parameters[i]);
    free(t->gradients[i]);
  }
}

static void check_same(const Setup *s, const Trained *a, const Trained *b) {
  for (int i = 0; i < STEPS; i++)
    if (memcmp(&a->losses[i], &b->losses[i], sizeof(float)) != 0)
      fail_msg("seed %u: step %d has loss %.9g and %.9g", s->seed, i, (double)a->losses[i], (double)b->losses[i]);
  for (int i = 0; i < a->count; i++) {
    if (memcmp(a->parameters[i], b->parameters[i], (size_t)a->sizes[i] * sizeof(float)) != 0)
      fail_msg("seed %u: parameter %d differs", s->seed, i);
    if (memcmp(a->gradients[i], b->gradients[i], (size_t)a->sizes[i] * sizeof(float)) != 0)
      fail_msg("seed %u: gradient %d differs", s->seed, i);
  }
  assert_true(a->random.seed == b->random.seed && a->random.offset == b->random.offset);
}

static void check(const Setup *s) {
  Trained eager, replayed;
  train(s, false, &eager);
  train(s, true, &replayed);
  check_same(s, &eager, &replayed);
  assert_true(eager.counted.launches > 10);
  assert_int_equal(replayed.counted.launches, 0);
  assert_int_equal(replayed.counted.graph_launches, 1);
  assert_int_equal(replayed.counted.synchronizations, 0);
  assert_int_equal(replayed.counted.host_to_device, s->dropout);
  forget(&eager);
  forget(&replayed);
}

// ---- tests -----------------------------------------------------------------------------------------------------------

static void sgd_with_momentum(void **state) {
  (void)state;
  check(&(Setup){.seed = 1, .kind = SGD, .layers = 2, .width = 16, .momentum = 0.9, .decay = 1e-3});
}

static void adam(void **state) {
  (void)state;
  check(&(Setup){.seed = 2, .kind = ADAM, .layers = 2, .width = 16});
}

static void clipping(void **state) {
  (void)state;
  check(&(Setup){.seed = 3, .kind = ADAMW, .layers = 2, .width = 16, .clip = true});
}

static void dropout_and_batch_norm(void **state) {
  (void)state;
  check(&(Setup){.seed = 4, .kind = ADAM, .layers = 1, .width = 16, .images = true, .norm = true, .dropout = true});
}

static void autocast_and_a_gradient_scaler(void **state) {
  (void)state;
  check(&(Setup){.seed = 5,
                 .kind = ADAM,
                 .layers = 2,
                 .width = 16,
                 .autocast = true,
                 .scaler = true,
                 .clip = true,
                 .dropout = true});
}

static void random_networks(void **state) {
  (void)state;
  for (unsigned seed = 100; seed < 124; seed++) {
    unsigned bits = seed * 2654435761u;
    Setup s = {.seed = seed,
               .kind = (Kind)(bits >> 8 & 1   ? ADAM
                              : bits >> 9 & 1 ? ADAMW
                                              : SGD),
               .images = bits >> 10 & 1,
               .dropout = bits >> 11 & 1,
               .norm = bits >> 12 & 1,
               .clip = bits >> 13 & 1,
               .autocast = bits >> 14 & 1,
               .layers = 1 + (int)(bits >> 16 & 3),
               .width = 4 + (int)(bits >> 18 & 31),
               .momentum = bits >> 23 & 1 ? 0.9 : 0,
               .decay = bits >> 24 & 1 ? 1e-2 : 0};
    s.scaler = s.autocast && s.kind != SGD;
    check(&s);
  }
}

// Counting on the device changes no bit of a step.
static void adam_as_the_host_counts_it(void **state) {
  (void)state;
  Setup s = {.seed = 6, .kind = ADAM, .layers = 2, .width = 16, .decay = 1e-2};
  Trained counted, host;
  train(&s, false, &counted);
  s.kind = ADAM_OF_THE_HOST;
  train(&s, false, &host);
  check_same(&s, &counted, &host);
  forget(&counted);
  forget(&host);
}

static void adam_that_is_not_capturable(void **state) {
  (void)state;
  FyTensor *w = fy_ones(fy_shape(3), .device = device, .requires_grad = true);
  FyTensorList *list = fy_tensor_list_new();
  fy_list_add(list, "w", w);
  FyCudaGraph *graph = fy_cuda_graph_new();
  FyOptimizer *optimizer = fy_adam(list);
  expect_error(
      FY_RUNTIME_ERROR,
      "Attempting CUDA graph capture of step() for an instance of Adam but param_groups' capturable is False.",
      fy_cuda_graph_capture(graph) {
        fy_backward(fy_sum(fy_mul(w, w)));
        fy_step(optimizer);
      });
  fy_zero_grad(optimizer);
  fy_backward(fy_sum(w));
  fy_step(optimizer);
  FyTensor *host = fy_ones(fy_shape(3), .requires_grad = true);
  FyTensorList *hosts = fy_tensor_list_new();
  fy_list_add(hosts, "w", host);
  fy_backward(fy_sum(host));
  FyOptimizer *on_host = fy_adamw(hosts, .capturable = true);
  expect_error(FY_RUNTIME_ERROR, "If capturable=True, params and state_steps must be on supported devices: ['cuda'].",
               fy_step(on_host));
}

static void capturable_state_goes_through_a_state_dict(void **state) {
  (void)state;
  FyTensor *w = fy_ones(fy_shape(3), .device = device, .requires_grad = true);
  FyTensorList *list = fy_tensor_list_new();
  fy_list_add(list, "w", w);
  FyOptimizer *a = fy_adam(list, .lr = 0.1, .capturable = true), *b = fy_adam(list, .lr = 0.1, .capturable = true);
  FyOptimizer *c = fy_adam(list, .lr = 0.1);
  fy_backward(fy_sum(fy_mul(w, w)));
  for (int i = 0; i < 5; i++)
    fy_step(a);
  FyTensorList *saved = fy_optimizer_state_dict(a);
  FyTensor *count = fy_list_get(saved, "state.0.step");
  assert_true(fy_item(count) == 5);
  assert_int_equal(fy_dtype_of(count), FY_FLOAT32);
  assert_int_equal(fy_device_of(count).type, FY_CUDA);
  fy_optimizer_load_state_dict(b, saved);
  fy_optimizer_load_state_dict(c, saved);
  float start[3], by[3][3];
  FyOptimizer *all[] = {a, b, c};
  fy_copy_to_host(w, start);
  for (int k = 0; k < 3; k++) {
    fy_no_grad
      fy_copy_(w, fy_tensor(start, fy_shape(3)));
    fy_step(all[k]);
    fy_copy_to_host(w, by[k]);
  }
  assert_memory_equal(by[0], by[1], sizeof by[0]);
  assert_memory_equal(by[0], by[2], sizeof by[0]);
  assert_true(fy_item(fy_list_get(fy_optimizer_state_dict(c), "state.0.step")) == 6);
}

// A gradient that is not finite: the step is left out and not counted, without anybody waiting.
static void an_overflow_skips_a_captured_step(void **state) {
  (void)state;
  FyTensor *w = fy_ones(fy_shape(3), .device = device, .requires_grad = true),
           *x = fy_ones(fy_shape(3), .device = device);
  FyTensorList *list = fy_tensor_list_new();
  fy_list_add(list, "w", w);
  FyOptimizer *optimizer = fy_adam(list, .lr = 0.5, .capturable = true);
  FyGradScaler *scaler = fy_grad_scaler(FY_CUDA, .init_scale = 4);
  FyCudaGraph *graph = fy_cuda_graph_new();
  FyStream *side = fy_stream_new(device, 0);
  fy_stream_wait_stream(side, fy_current_stream(device));
  fy_stream_guard(side)
    fy_scope {
      fy_backward(fy_scaler_scale(scaler, fy_sum(fy_mul(w, x))));
      fy_scaler_step(scaler, optimizer);
      fy_scaler_update(scaler);
    }
  fy_stream_wait_stream(fy_current_stream(device), side);
  fy_zero_grad(optimizer);
  fy_cuda_graph_capture(graph) {
    fy_backward(fy_scaler_scale(scaler, fy_sum(fy_mul(w, x))));
    fy_scaler_step(scaler, optimizer);
    fy_scaler_update(scaler);
  }
  double before = fy_item(fy_sum(w));
  fy_fill_(x, INFINITY);
  fy_cuda_graph_replay(graph);
  assert_true(fy_item(fy_sum(w)) == before);
  assert_true(fy_scaler_get_scale(scaler) == 2);
  fy_fill_(x, 1);
  fy_cuda_graph_replay(graph);
  assert_true(fy_item(fy_sum(w)) < before);
  assert_true(fy_scaler_get_scale(scaler) == 2);
  assert_true(fy_item(fy_list_get(fy_optimizer_state_dict(optimizer), "state.0.step")) == 2);
}

static void a_stale_default_stream_is_named(void **state) {
  (void)state;
  FyTensor *w = fy_ones(fy_shape(3), .device = device, .requires_grad = true);
  FyCudaGraph *graph = fy_cuda_graph_new();
  FyTensor *loss = NULL; // while it lives, w's accumulator does, and remembers the default stream
  fy_scope
    loss = fy_keep(fy_sum(fy_mul(w, w)));
  expect_error(FY_RUNTIME_ERROR, "autograd node 'AccumulateGrad' has a stale reference to the default stream",
               fy_scope fy_cuda_graph_capture(graph) fy_backward(fy_sum(w)););
  expect_error(FY_RUNTIME_ERROR, "autograd node 'SumBackward0' has a stale reference to the default stream",
               fy_cuda_graph_capture(graph) fy_backward(loss););
  fy_drop(loss);
  fy_cuda_graph_capture(graph) fy_backward(fy_sum(w));
  fy_cuda_graph_replay(graph);
  assert_true(fy_item(fy_sum(fy_grad(w))) == 3);
}

static int set_up(void **state) {
  (void)state;
  device = fy_cuda_device(0);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sgd_with_momentum),
      cmocka_unit_test(adam),
      cmocka_unit_test(clipping),
      cmocka_unit_test(dropout_and_batch_norm),
      cmocka_unit_test(autocast_and_a_gradient_scaler),
      cmocka_unit_test(random_networks),
      cmocka_unit_test(adam_as_the_host_counts_it),
      cmocka_unit_test(adam_that_is_not_capturable),
      cmocka_unit_test(capturable_state_goes_through_a_state_dict),
      cmocka_unit_test(an_overflow_skips_a_captured_step),
      cmocka_unit_test(a_stale_default_stream_is_named),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
