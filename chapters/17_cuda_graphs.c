// Chapter 17: CUDA graphs.
//
// Captures the launches of a training step once, and replays them with one call: launch overhead, recorded addresses, private
// memory pools, warm-up, operations that cannot be captured, and graphed callables.
//
// The lesson is docs/17_cuda_graphs.md.
#include "common.h"

#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 32, FEATURES = 20, CLASSES = 5 };

// ---- an eager step -----------------------------------------------------------------------------------------------------

// [training]
typedef struct Training {
  FyModule *model;
  FyOptimizer *optimizer;
  FyTensor *x, *y; // the batch: static inputs, always in the same memory
} Training;

static Training training_new(FyDevice device) {
  Training t = {.model = fy_nn_sequential(fy_nn_linear(FEATURES, 64), fy_nn_relu(), fy_nn_dropout(0.2),
                                          fy_nn_linear(64, 64), fy_nn_relu(), fy_nn_linear(64, CLASSES))};
  fy_module_to(t.model, device);
  t.optimizer = fy_adam(fy_parameters(t.model), .lr = 0.01, .capturable = true);
  t.x = fy_zeros(fy_shape(BATCH, FEATURES), .device = device);
  t.y = fy_zeros(fy_shape(BATCH), .dtype = FY_INT64, .device = device);
  return t;
}

// Forward, backward, step. The gradients must be None.
static FyTensor *step(const Training *t) {
  FyTensor *loss = fy_cross_entropy(fy_forward(t->model, t->x), t->y);
  fy_backward(loss);
  fy_step(t->optimizer);
  return loss;
}
// [end]

// Copies a random batch to t->x and t->y. It is pinned, so that the host need not wait for the copy. rand_r draws it, because
// the library's generator belongs to the dropout layer.
static void next_batch(const Training *t, unsigned *seed) {
  fy_scope {
    FyTensor *x = fy_pin_memory(fy_zeros(fy_size(t->x))),
             *y = fy_pin_memory(fy_zeros(fy_size(t->y), .dtype = FY_INT64));
    float *values = fy_data_ptr(x);
    int64_t *labels = fy_data_ptr(y);
    for (int i = 0; i < BATCH * FEATURES; i++)
      values[i] = (float)rand_r(seed) / (float)RAND_MAX;
    for (int i = 0; i < BATCH; i++)
      labels[i] = values[i * FEATURES] < 0.5F ? 0 : 1 + rand_r(seed) % (CLASSES - 1);
    fy_copy_async_(t->x, x);
    fy_copy_async_(t->y, y);
  }
}

// [launches]
static void launches_of_a_step(FyDevice device) {
  heading("Launch overhead");
  Training t = training_new(device);
  unsigned seed = 1;
  next_batch(&t, &seed);
  fy_scope
    step(&t);
  FyCounters before = fy_counters();
  fy_scope {
    fy_zero_grad(t.optimizer);
    step(&t);
  }
  FyCounters one = fy_counters_since(before);
  printf("a training step: %lld ops, %lld launches\n", (long long)one.ops, (long long)one.launches);
}
// [end]

// ---- recorded addresses ------------------------------------------------------------------------------------------------

static void show(const char *what, FyTensor *t) {
  float values[3];
  fy_copy_to_host(t, values);
  printf("%-34s %g %g %g\n", what, (double)values[0], (double)values[1], (double)values[2]);
}

// [addresses]
static void recorded_addresses(FyDevice device) {
  heading("A capture records addresses");
  FyTensor *x = fy_ones(fy_shape(3), .device = device), *y = NULL;
  FyCudaGraph *graph = fy_cuda_graph_new(); // PyTorch: torch.cuda.CUDAGraph()
  fy_cuda_graph_capture(graph) {            // PyTorch: with torch.cuda.graph(graph):
    y = fy_mul_scalar(fy_add_scalar(x, 1), 10);
  }
  printf("recorded: %lld kernels, none of which has run\n", (long long)fy_cuda_graph_node_count(graph));
  fy_cuda_graph_replay(graph); // PyTorch: graph.replay()
  show("x = 1, replayed:", y);

  fy_copy_(x, fy_full(5, fy_shape(3), .device = device)); // other values, the same memory
  fy_cuda_graph_replay(graph);
  show("5 copied into x, replayed:", y);

  x = fy_full(7, fy_shape(3), .device = device); // other memory, which the graph does not read
  fy_cuda_graph_replay(graph);
  show("x a new tensor of 7, replayed:", y);
}
// [end]

// ---- private memory pools ------------------------------------------------------------------------------------------------

// [pool_bytes]
static size_t bytes_of_pools(FyDevice device, bool used) {
  FyMemoryBlock blocks[256];
  size_t count = fy_memory_blocks(device, blocks, 256), bytes = 0;
  for (size_t i = 0; i < count && i < 256; i++)
    if (blocks[i].pool.id[0] && (!used || blocks[i].state != FY_MEMORY_INACTIVE))
      bytes += blocks[i].size;
  return bytes;
}

static void show_pool(const char *when, FyDevice device) {
  printf("%-32s %7s in the pool, %7s of it in tensors\n", when, bytes_text((double)bytes_of_pools(device, false)),
         bytes_text((double)bytes_of_pools(device, true)));
}
// [end]

// [pool]
static void private_pool(FyDevice device) {
  heading("Private memory pools");
  FyTensor *x = fy_ones(fy_shape(1 << 20), .device = device), *y = NULL;
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_cuda_graph_capture(graph) {
    fy_scope {
      y = fy_keep(fy_sum(fy_mul_scalar(fy_add_scalar(x, 1), 10)));
    }
  }
  show_pool("captured:", device);
  fy_empty_cache();
  show_pool("after fy_empty_cache:", device);
  fy_cuda_graph_replay(graph);
  printf("replayed: %g\n", fy_item(y));
  fy_drop(y);
  fy_cuda_graph_reset(graph);
  fy_empty_cache();
  show_pool("after reset and fy_empty_cache:", device);
}
// [end]

// ---- a captured training step ------------------------------------------------------------------------------------------

enum { WARM_UP = 3, STEPS = 40 };

// [eager_step]
// Runs the step in the same way as the capture: on a side stream. None of its tensors outlives the call.
static void eager_step(const Training *t, FyStream *side, float *loss) {
  FyStream *current = fy_current_stream(fy_device_of(t->x));
  fy_stream_wait_stream(side, current);
  fy_stream_guard(side)
    fy_scope {
      fy_zero_grad(t->optimizer);
      fy_copy_to_host(step(t), loss);
    }
  fy_stream_wait_stream(current, side);
}
// [end]

// [captured]
static FyCounters train_captured(FyDevice device, float *losses) {
  fy_manual_seed(3);
  Training t = training_new(device);
  FyStream *side = fy_stream_new(device, 0);
  unsigned seed = 1;
  for (int i = 0; i < WARM_UP; i++) { // warm-up with eager steps
    next_batch(&t, &seed);
    eager_step(&t, side, &losses[i]);
  }

  FyCudaGraph *graph = fy_cuda_graph_new();
  FyTensor *loss = NULL;
  fy_zero_grad(t.optimizer); // to None: the captured backward creates the gradients, and does not add
  fy_cuda_graph_capture(graph) {
    loss = step(&t);
  }

  FyCounters before;
  for (int i = WARM_UP; i < STEPS; i++) {
    before = fy_counters();
    next_batch(&t, &seed); // copies into t.x and t.y
    fy_cuda_graph_replay(graph);
    fy_copy_to_host(loss, &losses[i]); // synchronizes
  }
  return fy_counters_since(before); // of the last step
}
// [end]

static FyCounters train_eager(FyDevice device, float *losses) {
  fy_manual_seed(3);
  Training t = training_new(device);
  FyStream *side = fy_stream_new(device, 0);
  unsigned seed = 1;
  FyCounters before = fy_counters();
  for (int i = 0; i < STEPS; i++) {
    before = fy_counters();
    next_batch(&t, &seed);
    eager_step(&t, side, &losses[i]);
  }
  return fy_counters_since(before);
}

static void count_row(const Table *table, const char *what, FyCounters c) {
  table_row(table, what, text("%lld", (long long)c.launches), text("%lld", (long long)c.graph_launches),
            text("%lld", (long long)c.graph_nodes), text("%lld", (long long)c.host_to_device));
}

// [whole_step]
static void captured_step(FyDevice device) {
  heading("Capturing a training step");
  float eager[STEPS], captured[STEPS];
  FyCounters by_call = train_eager(device, eager), by_graph = train_captured(device, captured);
  int equal = 0;
  for (int i = 0; i < STEPS; i++)
    equal += eager[i] == captured[i];
  printf("loss: %.4f at first, %.4f after %d steps\n", (double)eager[0], (double)eager[STEPS - 1], STEPS);
  printf("bit-identical losses: %d of %d\n\n", equal, STEPS);
  Table table = table_begin({"one step", 14}, {"launches", 10}, {"graph launches", 16}, {"run by graphs", 15},
                            {"copies to the device", 22});
  count_row(&table, "eager", by_call);
  count_row(&table, "replayed", by_graph);
}
// [end]

// ---- warm-up -----------------------------------------------------------------------------------------------------------

// [momentum]
// Ten steps of SGD with momentum. The gradient is always 1. The first `warm` steps run before the capture.
static double ten_steps(FyDevice device, int warm) {
  FyTensor *w = fy_zeros(fy_shape(1), .device = device, .requires_grad = true);
  FyTensorList *list = fy_tensor_list_new();
  fy_list_add(list, "w", w);
  FyOptimizer *optimizer = fy_sgd(list, .lr = 0.1, .momentum = 0.9);
  FyStream *side = fy_stream_new(device, 0);
  fy_stream_wait_stream(side, fy_current_stream(device));
  for (int i = 0; i < warm; i++)
    fy_stream_guard(side)
      fy_scope {
        fy_zero_grad(optimizer);
        fy_backward(fy_sum(w));
        fy_step(optimizer);
      }
  fy_stream_wait_stream(fy_current_stream(device), side);
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_zero_grad(optimizer);
  fy_cuda_graph_capture(graph) {
    fy_backward(fy_sum(w));
    fy_step(optimizer);
  }
  for (int i = warm; i < 10; i++)
    fy_cuda_graph_replay(graph);
  return fy_item(w);
}

static void warm_up_first(FyDevice device) {
  heading("Warm-up before the capture");
  printf("ten steps, three of them before the capture: w = %.4f\n", ten_steps(device, 3));
  printf("ten steps, none before the capture:          w = %.4f\n", ten_steps(device, 0));
}
// [end]

// ---- operations that cannot be captured ----------------------------------------------------------------------------------

typedef struct Forbidden {
  const char *what;
  void (*run)(FyDevice device, FyTensor *x);
} Forbidden;

// [forbidden]
static void read_a_value(FyDevice device, FyTensor *x) {
  (void)device;
  fy_item(fy_sum(x));
}
static void synchronize(FyDevice device, FyTensor *x) {
  (void)x;
  fy_synchronize(device);
}
static void copy_pageable_memory(FyDevice device, FyTensor *x) {
  (void)x;
  fy_to(fy_ones(fy_shape(3)), device);
}
static void fork_without_join(FyDevice device, FyTensor *x) {
  FyStream *side = fy_stream_new(device, 0);
  fy_stream_wait_stream(side, fy_current_stream(device));
  fy_stream_guard(side)
    fy_mul(x, x);
}
static void step_counted_by_host(FyDevice device, FyTensor *x) {
  (void)device;
  FyTensorList *list = fy_tensor_list_new();
  fy_list_add(list, "x", x);
  fy_step(fy_adam(list));
}
// [end]

// [errors]
static void forbidden_operations(FyDevice device) {
  heading("Operations that cannot be captured");
  static const Forbidden all[] = {
      {"fy_item", read_a_value},
      {"fy_synchronize", synchronize},
      {"a copy from pageable memory", copy_pageable_memory},
      {"a forked stream that does not join", fork_without_join},
      {"a step of Adam without .capturable", step_counted_by_host},
  };
  FyTensor *x = fy_ones(fy_shape(3), .device = device);
  FyCudaGraph *graph = fy_cuda_graph_new();
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    FyError error;
    fy_trap(error) {
      fy_cuda_graph_capture(graph) {
        all[i].run(device, x);
      }
    }
    printf("%s%s:\n", i ? "\n" : "", all[i].what);
    show_error(&error);
  }
}
// [end]

// ---- graphed callables -------------------------------------------------------------------------------------------------

// [graphed]
static void graphed_callables(FyDevice device) {
  heading("Graphed callables");
  Training t = training_new(device);
  FyTensor *sample = fy_zeros(fy_shape(BATCH, FEATURES), .device = device);
  fy_make_graphed_callables(fy_modules(t.model), fy_list(sample)); // PyTorch: torch.cuda.make_graphed_callables(...)
  unsigned seed = 1;
  for (int i = 1; i <= 2; i++)
    fy_scope {
      next_batch(&t, &seed);
      FyCounters before = fy_counters();
      fy_zero_grad(t.optimizer);
      FyTensor *output = fy_forward(t.model, t.x), *loss = fy_cross_entropy(output, t.y);
      if (fy_item(loss) < 100) // between the two graphs the host may read values and decide
        fy_backward(loss);
      fy_step(t.optimizer);
      FyCounters one = fy_counters_since(before);
      printf("step %d, grad_fn of the output %s: %lld launches, %lld graph launches\n", i, fy_grad_fn_name(output),
             (long long)one.launches, (long long)one.graph_launches);
    }
}
// [end]

// ---- the sections --------------------------------------------------------------------------------------------------------

int main(int argc, char **argv) {
  static void (*const sections[])(FyDevice device) = {launches_of_a_step, recorded_addresses, private_pool,
                                                      captured_step,      warm_up_first,      forbidden_operations,
                                                      graphed_callables};
  const Chapter chapter = chapter_begin(argc, argv, "Chapter 17: CUDA graphs",
                                        "Captures the launches of a training step, and replays them with one call.");
  if (chapter.device.type != FY_CUDA) {
    printf("\nCUDA graphs need a CUDA device, real or simulated. Use --device cuda.\n");
    return 0;
  }
  for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
    fy_scope {
      sections[i](chapter.device);
    }
  return 0;
}
