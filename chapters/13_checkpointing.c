// Chapter 13: activation checkpointing.
//
// The graph of a deep model keeps all activations until backward. A checkpoint keeps only the inputs of a segment, and
// runs it again. Shows the best number of segments, the cost, the exact gradients, and side effects that run twice.
//
// The lesson is docs/13_checkpointing.md.
#include "common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- a deep model ---------------------------------------------------------------------------------------------------

// [block]
// x + relu(linear(x)). Backward needs two tensors: the input, and the output of relu.
typedef struct Block {
  FyModule module;
  FyModule *linear;
} Block;

static int64_t block_runs; // of all blocks, since the program began

static FyTensor *block_forward(FyModule *self, FyTensor *x) {
  block_runs++;
  return fy_add(x, fy_relu(fy_forward(((Block *)self)->linear, x)));
}

static FyModule *block_new(int features) {
  Block *self = fy_module_new(Block, block_forward);
  fy_register_module(self, linear, fy_nn_linear(features, features));
  return &self->module;
}
// [end]

enum { DEPTH = 32 };

// [model]
typedef struct Deep {
  FyModule *model; // nn.Sequential of DEPTH blocks
  FyTensor *x, *target;
  FyDevice device;
} Deep;

static Deep deep_new(const Chapter *chapter) {
  int features = (int)size_for(chapter, 64, 128, 1024);
  int64_t batch = size_for(chapter, 1024, 1024, 4096);
  FyModule *blocks[DEPTH + 1] = {NULL};
  for (int i = 0; i < DEPTH; i++) {
    blocks[i] = block_new(features);
  }
  Deep deep = {.model = fy_nn_sequential_with(blocks), .device = chapter->device};
  fy_module_to(deep.model, deep.device);
  deep.x = fy_randn(fy_shape(batch, features), .device = deep.device);
  deep.target = fy_randn(fy_shape(batch, features), .device = deep.device);
  return deep;
}
// [end]

// ---- what a step takes ----------------------------------------------------------------------------------------------

// [step]
typedef FyTensor *Forward(FyModule *model, FyTensor *x, int segments);

typedef struct Cost {
  size_t graph;   // bytes in use between forward and backward, above those in use before
  size_t peak;    // the largest number of bytes in use, above those in use before
  int64_t runs;   // of all blocks
  double seconds; // of forward and backward
} Cost;

static Cost cost_of(const Deep *deep, Forward *forward, int segments) {
  Cost cost = {0};
  fy_module_zero_grad(deep->model);
  fy_synchronize(deep->device);
  size_t before = fy_memory_allocated(deep->device);
  int64_t runs = block_runs;
  fy_reset_peak_memory_stats(deep->device);
  timed(cost.seconds, deep->device) {
    fy_scope {
      FyTensor *loss = fy_mse_loss(forward(deep->model, deep->x, segments), deep->target);
      cost.graph = fy_memory_allocated(deep->device) - before;
      fy_backward(loss);
    }
  }
  cost.peak = fy_max_memory_allocated(deep->device) - before;
  cost.runs = block_runs - runs;
  return cost;
}
// [end]

// [ways]
static FyTensor *plain(FyModule *model, FyTensor *x, int segments) {
  (void)segments;
  return fy_forward(model, x);
}

// PyTorch: def custom_forward(x): return model(x)
static FyTensor *custom_forward(void *context, FyTensor *const *inputs) {
  return fy_forward((FyModule *)context, inputs[0]);
}

// PyTorch: checkpoint(custom_forward, x, use_reentrant=False)
static FyTensor *whole_model(FyModule *model, FyTensor *x, int segments) {
  (void)segments;
  return fy_checkpoint(custom_forward, model, x);
}

// PyTorch: checkpoint_sequential(model, segments, x, use_reentrant=False)
static FyTensor *in_segments(FyModule *model, FyTensor *x, int segments) {
  return fy_checkpoint_sequential(model, segments, x);
}
// [end]

// The table shows the median time of three steps. Memory and runs are the same in each.
static Cost typical_cost(const Deep *deep, Forward *forward, int segments) {
  Cost c[3];
  for (int i = 0; i < 3; i++) {
    c[i] = cost_of(deep, forward, segments);
  }
  double a = c[0].seconds, b = c[1].seconds, d = c[2].seconds;
  c[0].seconds = fmax(fmin(a, b), fmin(fmax(a, b), d));
  return c[0];
}

static void cost_row(const Table *table, const char *name, const Deep *deep, Cost cost, Cost without) {
  bool times = deep->device.type == FY_CPU || !fy_cuda_is_simulated();
  table_row(table, name, bytes_text((double)cost.graph), bytes_text((double)cost.peak),
            text("%.0f %%", 100 * (double)cost.peak / (double)without.peak), text("%lld", (long long)cost.runs),
            times ? text("%.2f", cost.seconds / without.seconds) : "-");
}

static Table cost_table(const char *first) {
  return table_begin({first, 18}, {"graph", 10}, {"peak", 10}, {"of it", 7}, {"block runs", 11}, {"time", 6});
}

static void the_whole_model(const Deep *deep) {
  heading("The whole model in one checkpoint");
  Cost without = typical_cost(deep, plain, 0);
  Table table = cost_table("");
  cost_row(&table, "no checkpoint", deep, without, without);
  cost_row(&table, "the whole model", deep, typical_cost(deep, whole_model, 0), without);
}

static void segments_and_memory(const Deep *deep) {
  heading("In segments");
  Cost without = typical_cost(deep, plain, 0);
  Table table = cost_table("segments");
  for (int segments = 1; segments <= DEPTH; segments *= 2) {
    cost_row(&table, text("%d", segments), deep, typical_cost(deep, in_segments, segments), without);
  }
  printf("the square root of %d is %.1f\n", DEPTH, sqrt(DEPTH));
}

// ---- the same gradients ---------------------------------------------------------------------------------------------

// [same]
static FyModule *with_dropout(int features) {
  fy_manual_seed(5);
  return fy_nn_sequential(fy_nn_linear(features, features), fy_nn_relu(), fy_nn_dropout(0.5),
                          fy_nn_linear(features, features), fy_nn_relu(), fy_nn_dropout(0.5),
                          fy_nn_linear(features, features), fy_nn_relu(), fy_nn_dropout(0.5),
                          fy_nn_linear(features, 10));
}

// Do the gradients of all parameters have the same bits?
static bool same_gradients(FyModule *a, FyModule *b) {
  FyTensorList *of_a = fy_parameters(a), *of_b = fy_parameters(b);
  bool same = true;
  for (int i = 0; i < of_a->count; i++) {
    same &= fy_equal(fy_grad(of_a->items[i]), fy_grad(of_b->items[i]));
  }
  return same;
}

static void dropout_again(FyDevice device) {
  heading("The same gradients, dropout and all");
  FyModule *a = with_dropout(64), *b = with_dropout(64); // equal weights: the same seed
  fy_module_to(a, device);
  fy_module_to(b, device);
  FyTensor *x = fy_randn(fy_shape(32, 64), .device = device);
  fy_manual_seed(6);
  fy_backward(fy_sum(fy_forward(a, x)));
  fy_manual_seed(6);
  fy_backward(fy_sum(fy_checkpoint_sequential(b, 3, x)));
  printf("all gradients equal to the bit: %s\n", truth(same_gradients(a, b)));
}
// [end]

// [twice]
static void what_happens_twice(FyDevice device) {
  heading("What happens twice");
  FyModule *norm = fy_nn_batch_norm1d(4), *again = fy_nn_batch_norm1d(4);
  fy_module_to(norm, device);
  fy_module_to(again, device);
  FyTensor *x = fy_add_scalar(fy_randn(fy_shape(256, 4), .device = device), 1);
  FyTensor *running = fy_list_get(fy_state_dict(norm), "running_mean");
  FyTensor *running_again = fy_list_get(fy_state_dict(again), "running_mean");
  fy_backward(fy_sum(fy_forward(norm, x)));
  printf("running mean after one batch:     %.4f\n", fy_item(fy_select(running, 0, 0)));
  FyTensor *y = fy_checkpoint(custom_forward, again, x);
  fy_backward(fy_sum(fy_mul(y, y)));
  printf("with the batch norm checkpointed: %.4f\n", fy_item(fy_select(running_again, 0, 0)));
}
// [end]

// ---- by hand --------------------------------------------------------------------------------------------------------

// [by_hand]
// A function with small inputs and outputs, and large intermediate results.
typedef struct Wide {
  FyTensor *up, *down; // (features, wide), (wide, features)
} Wide;

static FyTensor *wide_inside(void *context, FyTensor *const *inputs) {
  const Wide *w = context;
  FyTensor *h = fy_gelu(fy_matmul(inputs[0], w->up)); // (batch, wide)
  return fy_matmul(fy_mul(h, h), w->down);            // (batch, features)
}

static void by_hand(const Chapter *chapter) {
  heading("A function of your own");
  FyDevice device = chapter->device;
  int64_t batch = size_for(chapter, 64, 512, 4096), features = 64, wide = 1024;
  Wide w = {.up = fy_randn(fy_shape(features, wide), .device = device, .requires_grad = true),
            .down = fy_randn(fy_shape(wide, features), .device = device, .requires_grad = true)};
  FyTensor *x = fy_randn(fy_shape(batch, features), .device = device);
  for (int checkpointed = 0; checkpointed < 2; checkpointed++) {
    fy_scope {
      size_t before = fy_memory_allocated(device);
      FyTensor *y = NULL;
      if (checkpointed) {
        y = fy_checkpoint(wide_inside, &w, x);
      } else {
        fy_scope {
          y = fy_keep(wide_inside(&w, &x));
        }
      }
      printf("%-22s %s in use after the forward\n", checkpointed ? "fy_checkpoint:" : "called as it is:",
             bytes_text((double)(fy_memory_allocated(device) - before)));
      fy_backward(fy_sum(y));
    }
  }
}
// [end]

// [differs]
// A function whose first run differs from all others.
static FyTensor *forgetful(void *context, FyTensor *const *inputs) {
  int *calls = context;
  FyTensor *y = fy_sigmoid(inputs[0]);
  return ++*calls == 1 ? fy_tanh(y) : y;
}

static void another_second_run(FyDevice device) {
  heading("Another second run");
  int calls = 0;
  FyTensor *x = fy_randn(fy_shape(3, 3), .device = device, .requires_grad = true);
  FyTensor *y = fy_checkpoint(forgetful, &calls, x);
  FyError error;
  fy_trap(error) {
    fy_backward(fy_sum(y));
  }
  show_error(&error);
}
// [end]

// ---- a batch that does not fit --------------------------------------------------------------------------------------

// [fits]
// Tries one step, and prints whether it runs out of memory.
static void try_step(const Deep *deep, Forward *forward, int segments, const char *name) {
  FyError error;
  fy_trap(error) {
    cost_of(deep, forward, segments);
  }
  printf("%s: %s\n", name, error.kind ? "out of memory" : "a step done");
  fy_empty_cache();
}

static void a_batch_that_does_not_fit(const Deep *deep) {
  size_t unused, total;
  heading("A step that fits now");
  if (deep->device.type == FY_CPU) {
    printf("The CPU's memory has no limit to set: run with --device cuda (simulated, without a GPU).\n");
    return;
  }
  Cost without = cost_of(deep, plain, 0);
  fy_empty_cache();
  fy_mem_get_info(deep->device, &unused, &total);
  double room = (double)fy_memory_reserved(deep->device) + 0.6 * (double)without.peak;
  printf("room for %s, where the step wants %s\n", bytes_text(0.6 * (double)without.peak),
         bytes_text((double)without.peak));
  fy_set_per_process_memory_fraction(room / (double)total, deep->device);
  try_step(deep, plain, 0, "no checkpoint");
  try_step(deep, in_segments, 6, "in 6 segments");
  fy_set_per_process_memory_fraction(1, deep->device);
}
// [end]

int main(int argc, char **argv) {
  Chapter chapter = chapter_begin(argc, argv, "Chapter 13: recompute instead of remember",
                                  "Gradient checkpointing: less memory for more work.");
  fy_scope {
    Deep deep = deep_new(&chapter);
    the_whole_model(&deep);
    segments_and_memory(&deep);
    a_batch_that_does_not_fit(&deep);
  }
  fy_scope {
    dropout_again(chapter.device);
    what_happens_twice(chapter.device);
  }
  fy_scope {
    by_hand(&chapter);
    another_second_run(chapter.device);
  }
  return 0;
}
