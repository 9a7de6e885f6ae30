// Chapter 18: benchmark mode.
//
// Times the algorithms of a convolution and keeps the fastest one: the search for one layer, the searches in the first steps of
// a training, and the cost of input shapes that change.
//
// The lesson is docs/18_benchmark_mode.md.
#include "common.h"

#include <math.h>
#include <stdio.h>

// ---- one convolution ------------------------------------------------------------------------------------------------------

// [layer]
typedef struct Layer {
  FyTensor *x, *weight; // (1, 128, 40, 40) and (128, 128, 3, 3)
} Layer;

static Layer layer_new(FyDevice device) {
  return (Layer){fy_randn(fy_shape(1, 128, 40, 40), .device = device),
                 fy_randn(fy_shape(128, 128, 3, 3), .device = device)};
}

static double seconds_of_call(FyDevice device, const Layer *layer) {
  double seconds = 0;
  fy_scope {
    timed(seconds, device) {
      fy_conv2d(layer->x, layer->weight, NULL, .padding = 1);
    }
  }
  return seconds;
}

static double best_of_calls(FyDevice device, const Layer *layer) {
  double best = INFINITY;
  for (int i = 0; i < 12; i++) {
    best = fmin(best, seconds_of_call(device, layer));
  }
  return best;
}
// [end]

// [choose]
static void timing_every_algorithm(FyDevice device) {
  heading("Timing every algorithm");
  Layer layer = layer_new(device);
  best_of_calls(device, &layer); // warm-up
  FyTensor *by_heuristic = fy_conv2d(layer.x, layer.weight, NULL, .padding = 1);
  double heuristic = best_of_calls(device, &layer);

  fy_backends_set_benchmark(true); // PyTorch: torch.backends.cudnn.benchmark = True
  double first = seconds_of_call(device, &layer);
  double later = best_of_calls(device, &layer);
  printf("heuristic:       %s\n", time_text(device, heuristic));
  printf("the first call:  %s\n", time_text(device, first));
  printf("later calls:     %s\n", time_text(device, later));
  printf("%s", fy_backends_benchmark_report());

  FyTensor *chosen = fy_conv2d(layer.x, layer.weight, NULL, .padding = 1);
  double difference = fy_item(fy_max(fy_abs(fy_sub(chosen, by_heuristic))));
  double largest = fy_item(fy_max(fy_abs(by_heuristic)));
  printf("bit-identical results: %s; largest difference / largest value: %.0e\n", truth(fy_equal(chosen, by_heuristic)),
         difference / largest);
  fy_backends_set_benchmark(false);
}
// [end]

// ---- the first step -----------------------------------------------------------------------------------------------------------

// [steps]
static FyModule *cnn_new(FyDevice device) {
  FyModule *model = fy_nn_sequential(fy_nn_conv2d(3, 32, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2),
                                     fy_nn_conv2d(32, 64, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2),
                                     fy_nn_flatten(), fy_nn_linear(64 * 8 * 8, 10));
  return fy_module_to(model, device);
}

// A training step with a batch of this size. Returns its seconds.
static double step(FyModule *model, FyOptimizer *optimizer, FyDevice device, int64_t batch) {
  double seconds = 0;
  fy_scope {
    FyTensor *x = fy_randn(fy_shape(batch, 3, 32, 32), .device = device);
    FyTensor *y = fy_randint(0, 10, fy_shape(batch), .device = device);
    timed(seconds, device) {
      fy_zero_grad(optimizer);
      fy_backward(fy_cross_entropy(fy_forward(model, x), y));
      fy_step(optimizer);
    }
  }
  return seconds;
}

static void the_first_step(FyDevice device) {
  heading("The first step");
  FyModule *model = cnn_new(device);
  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), 0.01);
  fy_backends_benchmark_clear();
  fy_backends_set_benchmark(true);
  for (int i = 1; i <= 4; i++) {
    int64_t before = fy_backends_benchmark_counts().searches;
    double seconds = step(model, optimizer, device, 16);
    printf("step %d: %s, %lld searches\n", i, time_text(device, seconds),
           (long long)(fy_backends_benchmark_counts().searches - before));
  }
  fy_backends_set_benchmark(false);
}
// [end]

// ---- changing shapes --------------------------------------------------------------------------------------------------------

// [changing]
// Trains `steps` steps. Each batch has `batch` samples or, if `changing`, one sample less than the batch before it.
static double epoch(FyDevice device, int64_t batch, int steps, bool changing, int64_t *searches) {
  FyModule *model = cnn_new(device);
  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), 0.01);
  double seconds = 0;
  int64_t before = fy_backends_benchmark_counts().searches;
  fy_backends_benchmark_clear();
  for (int i = 0; i < steps; i++) {
    seconds += step(model, optimizer, device, changing ? batch - i : batch);
  }
  *searches = fy_backends_benchmark_counts().searches - before;
  return seconds;
}

static void changing_shapes(FyDevice device, int steps) {
  heading("Changing shapes");
  const int64_t batch = 16;
  Table table = table_begin({"batches", 26}, {"benchmark mode", 16}, {"searches", 10}, {"time", 22});
  for (int changing = 0; changing < 2; changing++) {
    for (int mode = 0; mode < 2; mode++) {
      int64_t searches;
      fy_backends_set_benchmark(mode);
      double seconds = epoch(device, batch, steps, changing, &searches);
      table_row(&table, changing ? "each smaller by one" : "all of the same size", mode ? "on" : "off",
                text("%lld", (long long)searches), time_text(device, seconds));
    }
  }
  fy_backends_set_benchmark(false);
}
// [end]

int main(int argc, char **argv) {
  const Chapter chapter =
      chapter_begin(argc, argv, "Chapter 18: benchmark mode",
                    "Times the algorithms of a convolution, and keeps the fastest one for each shape.");
  FyDevice device = chapter.device;
  if (chapter.simulated) {
    printf("\nA simulated device's time says nothing about a GPU: what follows is timed on the CPU.\n");
    device = FY_CPU_DEVICE;
  }
  fy_scope {
    timing_every_algorithm(device);
  }
  fy_scope {
    the_first_step(device);
  }
  fy_scope {
    changing_shapes(device, 8);
  }
  return 0;
}
