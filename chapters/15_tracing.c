// Chapter 15: tracing and ONNX export.
//
// Records the ops of a forward pass once, so that later runs are cheaper and other programs can run them: control flow and
// shapes of a trace, its execution plan, a benchmark of model and trace, and ONNX files (onnx_file.c).
//
// The lesson is docs/15_tracing.md.
#include "base/threads.h" // fy_get_num_threads
#include "networks.h"
#include "onnx_file.h"

#include <stdio.h>

// ---- tracing ----------------------------------------------------------------------------------------------------------

// [cnn]
static FyModule *cnn_new(FyDevice device) {
  FyModule *model =
      fy_nn_sequential(fy_nn_conv2d(1, 32, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2),
                       fy_nn_conv2d(32, 64, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2), fy_nn_flatten(),
                       fy_nn_linear(64 * 7 * 7, 256), fy_nn_relu(), fy_nn_dropout(0.5), fy_nn_linear(256, 10));
  return fy_module_to(model, device);
}
// [end]

static bool same_outputs(FyModule *a, FyModule *b, FyTensor *x) {
  bool same = false;
  fy_no_grad {
    same = fy_allclose(fy_forward(a, x), fy_forward(b, x), 1e-5, 1e-5);
  }
  return same;
}

// [trace]
static void a_trace(FyDevice device) {
  heading("A trace");
  FyModule *model = cnn_new(device);
  fy_eval(model);
  FyTensor *example = fy_rand(fy_shape(1, 1, 28, 28), .device = device);
  FyModule *traced = fy_trace(model, example); // PyTorch: torch.jit.trace(model, example)
  fy_traced_print_graph(traced);               // PyTorch: print(traced.graph)

  FyTensor *images = fy_rand(fy_shape(16, 1, 28, 28), .device = device);
  printf("the same for 16 other images: %s\n", truth(same_outputs(model, traced, images)));
}
// [end]

// [branch]
// Doubles x if its sum is positive. Otherwise adds 1.
static FyTensor *branch_forward(FyModule *self, FyTensor *x) {
  (void)self;
  return fy_item(fy_sum(x)) > 0 ? fy_mul_scalar(x, 2) : fy_add_scalar(x, 1);
}

static void a_frozen_branch(FyDevice device) {
  heading("A frozen branch");
  FyModule *model = fy_module_new_with(sizeof(FyModule), "Branch", branch_forward);
  FyTensor *positive = fy_ones(fy_shape(3), .device = device), *negative = fy_neg(positive);
  FyModule *traced = fy_trace(model, positive);
  printf("for the example: %s\n", truth(fy_equal(fy_forward(model, positive), fy_forward(traced, positive))));
  printf("for another:     %s\n", truth(fy_equal(fy_forward(model, negative), fy_forward(traced, negative))));
  FyError error;
  fy_trap(error) {
    fy_traced_check(traced, model, negative);
  }
  show_error(&error);
}
// [end]

// [chosen]
// The same choice as an op: computes both results, then selects one of them.
static FyTensor *chosen_forward(FyModule *self, FyTensor *x) {
  (void)self;
  return fy_where(fy_gt(fy_sum(x), fy_number(0)), fy_mul_scalar(x, 2), fy_add_scalar(x, 1));
}
// [end]

static void a_choice_in_the_trace(FyDevice device) {
  heading("A choice as an op");
  FyModule *model = fy_module_new_with(sizeof(FyModule), "Chosen", chosen_forward);
  FyTensor *positive = fy_ones(fy_shape(3), .device = device), *negative = fy_neg(positive);
  FyModule *traced = fy_trace(model, positive);
  fy_traced_check(traced, model, positive, negative);
  fy_traced_print_graph(traced);
  printf("for another: %s\n", truth(fy_equal(fy_forward(model, negative), fy_forward(traced, negative))));
}

// [shapes]
static void other_shapes(FyDevice device) {
  heading("Other shapes");
  FyModule *model = cnn_new(device);
  fy_eval(model);
  FyModule *traced = fy_trace(model, fy_rand(fy_shape(1, 1, 28, 28), .device = device));
  for (int64_t batch = 1; batch <= 64; batch *= 4) {
    FyTensor *images = fy_rand(fy_shape(batch, 1, 28, 28), .device = device);
    printf("a batch of %2d: %s\n", (int)batch, truth(same_outputs(model, traced, images)));
  }
  FyError error;
  fy_trap(error) {
    fy_forward(traced, fy_rand(fy_shape(1, 1, 32, 32), .device = device));
  }
  show_error(&error);
  fy_trap(error) {
    fy_forward(traced, fy_rand(fy_shape(1, 28, 28), .device = device));
  }
  show_error(&error);
}
// [end]

// [training]
static void training_mode(FyDevice device) {
  heading("In training mode");
  FyModule *model = fy_nn_sequential(fy_nn_linear(8, 16), fy_nn_batch_norm1d(16), fy_nn_relu());
  fy_module_to(model, device);
  FyTensor *example = fy_rand(fy_shape(4, 8), .device = device);
  FyError error;
  fy_trap(error) {
    fy_trace(model, example); // a new model is in training mode
  }
  show_error(&error);
  fy_eval(model);
  FyModule *traced = fy_trace(model, example);
  printf("after fy_eval: %s\n", truth(same_outputs(model, traced, example)));
}
// [end]

// ---- execution plan and parameters -------------------------------------------------------------------------------------

// [plan]
static void a_plan(FyDevice device) {
  heading("The plan");
  FyModule *model = cnn_new(device);
  fy_eval(model);
  FyModule *traced = fy_trace(model, fy_rand(fy_shape(1, 1, 28, 28), .device = device));
  fy_traced_print_plan(traced);

  FyTensor *image = fy_rand(fy_shape(1, 1, 28, 28), .device = device);
  FyModule *modules[] = {model, traced};
  for (int i = 0; i < 2; i++) {
    fy_no_grad {
      fy_forward(modules[i], image); // warm-up: the first run makes the plan
      const int64_t before = fy_memory_stats(device).allocations;
      fy_forward(modules[i], image);
      printf("%s allocates %d times\n", i ? "the trace" : "the model",
             (int)(fy_memory_stats(device).allocations - before));
    }
  }
}
// [end]

// [state]
static void shared_state(FyDevice device) {
  heading("Shared parameters");
  FyModule *model = fy_nn_sequential(fy_nn_linear(8, 16), fy_nn_relu(), fy_nn_linear(16, 4));
  fy_module_to(model, device);
  FyTensor *x = fy_rand(fy_shape(4, 8), .device = device);
  FyModule *traced = fy_trace(model, x);
  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), 0.1);
  for (int i = 0; i < 3; i++) {
    fy_zero_grad(optimizer);
    fy_backward(fy_sum(fy_forward(model, x)));
    fy_step(optimizer);
  }
  printf("after three steps of training: %s\n", truth(same_outputs(model, traced, x)));
  FyTensorList *a = fy_state_dict(model), *b = fy_state_dict(traced);
  printf("both use the same storage for %s: %s\n", b->names[0], truth(fy_shares_storage(a->items[0], b->items[0])));
  printf("a result of the trace requires a gradient: %s\n", truth(fy_requires_grad(fy_forward(traced, x))));
}
// [end]

// ---- benchmarks ------------------------------------------------------------------------------------------------------

// [article]
// Times the runs of one model, the first one included. Synchronizes only before it stops the clock.
static double benchmark_model(FyModule *model, FyTensor *input, int iterations) {
  const double start = seconds_now(fy_device_of(input));
  for (int i = 0; i < iterations; i++) {
    fy_scope {
      fy_forward(model, input);
    }
  }
  fy_synchronize(fy_device_of(input)); // PyTorch: torch.cuda.synchronize()
  return seconds_now(fy_device_of(input)) - start;
}
// [end]

// [turns]
enum { MODULES = 3 }; // the model as it is, without gradients, and its trace

static double run_some(FyModule *module, FyTensor *input, int runs, bool gradients) {
  double seconds = 0;
  fy_grad_mode(gradients) {
    timed(seconds, fy_device_of(input)) {
      for (int i = 0; i < runs; i++) {
        fy_scope {
          fy_forward(module, input);
        }
      }
    }
  }
  return seconds / runs;
}

// Times the versions in turn, round by round, and keeps the fastest time of each. Round 0 is the warm-up.
static void take_turns(FyModule *model, FyModule *traced, FyTensor *input, int runs, double best[MODULES]) {
  enum { ROUNDS = 10 };
  for (int round = 0; round <= ROUNDS; round++) {
    for (int i = 0; i < MODULES; i++) {
      const double seconds = run_some(i < 2 ? model : traced, input, runs, i == 0);
      best[i] = round <= 1 || seconds < best[i] ? seconds : best[i];
    }
  }
}
// [end]

static void as_an_article_measures(const Chapter *chapter) {
  heading("A misleading benchmark");
  FyModule *model = fy_module_to(fy_nn_linear(100, 10), chapter->device);
  FyTensor *input = fy_rand(fy_shape(32, 100), .device = chapter->device);
  const int iterations = (int)size_for(chapter, 20, 1000, 1000);
  FyModule *traced = fy_trace(model, input);
  const double regular = benchmark_model(model, input, iterations);
  const double jit = benchmark_model(traced, input, iterations);
  printf("regular: %s\n", time_text(chapter->device, regular));
  printf("traced:  %s\n", time_text(chapter->device, jit));
  printf("regular / traced: %.2f\n", regular / jit);
  printf("in the opposite order, the trace first:\n");
  FyModule *other = fy_module_to(fy_nn_linear(100, 10), chapter->device), *other_traced = fy_trace(other, input);
  const double jit_first = benchmark_model(other_traced, input, iterations);
  printf("regular / traced: %.2f\n", benchmark_model(other, input, iterations) / jit_first);
}

typedef struct Measured {
  const char *name;
  FyModule *model;
  FySize shape;
  int runs;
} Measured;

static FyModule *mlp_new(FyDevice device) {
  FyModule *model = fy_nn_sequential(fy_nn_linear(784, 256), fy_nn_relu(), fy_nn_linear(256, 128), fy_nn_relu(),
                                     fy_nn_linear(128, 10));
  return fy_module_to(model, device);
}

static void how_fast(const Chapter *chapter) {
  heading("A fair benchmark");
  const FyDevice device = chapter->device;
  const bool quick = chapter->quick || chapter->simulated;
  FyModule *cifar = fy_module_to(new_cifar_cnn(1), device);
  const int64_t many = quick ? 2 : 128;
  const Measured cases[] = {
      {"linear, batch of 32", fy_module_to(fy_nn_linear(100, 10), device), fy_shape(32, 100), quick ? 2 : 500},
      {"MLP, one sample", mlp_new(device), fy_shape(1, 784), quick ? 2 : 200},
      {"CNN, one image", cnn_new(device), fy_shape(1, 1, 28, 28), quick ? 1 : 50},
      {"CIFAR CNN, one image", cifar, fy_shape(1, 3, 32, 32), quick ? 1 : 20},
      {"CIFAR CNN, many images", cifar, fy_shape(many, 3, 32, 32), 1},
  };
  printf("CPU threads: %d\n", fy_get_num_threads());
  const Table table =
      table_begin({"", 24}, {"as it is", 12}, {"no gradients", 14}, {"traced", 12}, {"no gradients / traced", 22});
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fy_scope {
      double best[MODULES];
      fy_eval(cases[i].model);
      FySize one = cases[i].shape;
      one.dim[0] = 1;
      FyModule *traced = fy_trace(cases[i].model, fy_rand_with((FyFactory){.size = one, .device = device}));
      FyTensor *input = fy_rand_with((FyFactory){.size = cases[i].shape, .device = device});
      take_turns(cases[i].model, traced, input, cases[i].runs, best);
      table_row(&table, cases[i].name, time_text(device, best[0]), time_text(device, best[1]),
                time_text(device, best[2]), text("%.1f", best[1] / best[2]));
    }
  }
}

int main(int argc, char **argv) {
  const char *file = NULL;
  const ChapterOption option = {"--onnx", "write the ONNX network to this file and keep it", "FILE", &file, 0, 0};
  Chapter chapter = chapter_begin_with(
      argc, argv, "Chapter 15: tracing and ONNX export",
      "Records the ops of a forward pass, optimizes them, and writes them to a file that other programs run.", 1,
      &option);
  // Tracing
  fy_scope {
    a_trace(chapter.device);
  }
  fy_scope {
    a_frozen_branch(chapter.device);
  }
  fy_scope {
    a_choice_in_the_trace(chapter.device);
  }
  fy_scope {
    other_shapes(chapter.device);
  }
  fy_scope {
    training_mode(chapter.device);
  }
  fy_scope {
    a_plan(chapter.device);
  }
  fy_scope {
    shared_state(chapter.device);
  }
  fy_scope {
    as_an_article_measures(&chapter);
  }
  fy_scope {
    how_fast(&chapter);
  }
  // ONNX
  onnx_file_sections(chapter.device, file);
  return 0;
}
