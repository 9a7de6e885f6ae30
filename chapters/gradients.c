// The gradients of one step in three ways, sorted by powers of two.
#include "gradients.h"

#include "networks.h"
#include "training.h"

#include <math.h>
#include <stdio.h>

enum { LOWEST = -48, POWERS = 56 }; // bins of 2^LOWEST and up

typedef struct Gradients {
  FyTensor *values;      // (all parameters in a row), float32 on the CPU
  int64_t count[POWERS]; // by the power of two below their size
  int64_t zero, infinite;
} Gradients;

// [sort]
// Sorts the gradients by size: those from 2^k to 2^(k + 1) are counted together.
static void sort_gradients(Gradients *g) {
  const float *values = fy_numpy(g->values);
  for (int64_t i = 0; i < fy_numel(g->values); i++) {
    if (values[i] == 0) {
      g->zero++;
    } else if (!isfinite(values[i])) {
      g->infinite++;
    } else {
      int bin = ilogbf(values[i]) - LOWEST;
      g->count[bin < 0 ? 0 : bin < POWERS ? bin : POWERS - 1]++;
    }
  }
}
// [end]

// [gradients]
// The gradients of a batch, in float32 or under autocast in float16. Multiplies the loss by `scale`, and divides the
// gradients by it.
static Gradients gradients_of(FyModule *model, const FyBatch *batch, FyDevice device, bool half, double scale) {
  FyTensor *row[16], *loss = NULL;
  FyTensorList *parameters = fy_parameters(model);
  FyTensor *inputs = fy_to(batch->data, device), *labels = fy_to(batch->target, device);
  fy_eval(model); // without dropout: the same features take part each time
  fy_autocast(device.type, .dtype = FY_FLOAT16, .enabled = half) {
    loss = fy_cross_entropy(fy_forward(model, inputs), labels);
  }
  fy_backward(fy_mul_scalar(loss, scale));
  for (int i = 0; i < parameters->count; i++) {
    row[i] = fy_reshape(fy_grad(parameters->items[i]), fy_shape(-1));
  }
  Gradients g = {.values = fy_cpu(fy_div_scalar(fy_cat((FyTensors){parameters->count, row}, 0), scale))};
  for (int i = 0; i < parameters->count; i++) {
    fy_set_grad(parameters->items[i], NULL);
  }
  sort_gradients(&g);
  return g;
}
// [end]

// A network that has begun to learn: at first everything is large.
static FyModule *trained_a_little(FyDataLoader *loader, FyDevice device, int steps) {
  FyModule *model = fy_module_to(new_fashion_cnn(0), device);
  FyOptimizer *adam = fy_adam(fy_parameters(model), .lr = 1e-3);
  fy_for_prefetched_batches(batch, loader, device) {
    fy_zero_grad(adam);
    fy_backward(fy_cross_entropy(fy_forward(model, batch.data), batch.target));
    fy_step(adam);
    if (batch.index == steps) {
      break;
    }
  }
  fy_zero_grad(adam);
  return model;
}

// Those that are not zero in float32 and are in `g`.
static int64_t lost(const Gradients *exact, const Gradients *g) {
  const float *a = fy_numpy(exact->values), *b = fy_numpy(g->values);
  int64_t count = 0;
  for (int64_t i = 0; i < fy_numel(exact->values); i++) {
    count += a[i] != 0 && b[i] == 0;
  }
  return count;
}

static void print_histogram(const Gradients *g) {
  int64_t most = 1;
  for (int i = 0; i < POWERS; i++) {
    most = g[0].count[i] > most ? g[0].count[i] : most;
  }
  Table table = table_begin({"size from", 9}, {"float32", 8}, {"float16", 8}, {"scaled", 8}, {"", 1});
  for (int i = 0; i < POWERS; i += 2) { // two powers to a row
    char bar[3 * 32 + 1] = "";
    int64_t n[3], length = 0;
    for (int k = 0; k < 3; k++) {
      n[k] = g[k].count[i] + g[k].count[i + 1];
    }
    for (int64_t b = 0; b < n[0] * 16 / most; b++) {
      length += snprintf(bar + length, sizeof bar - (size_t)length, "█");
    }
    if (n[0] + n[1] + n[2] > 0) {
      table_row(&table, text("2^%d%s", LOWEST + i, LOWEST + i == -24 ? " *" : ""), text("%lld", (long long)n[0]),
                text("%lld", (long long)n[1]), text("%lld", (long long)n[2]), bar);
    }
  }
  printf("* 2^-24 is the smallest number that float16 has\n");
}

static void write_histogram(const char *path, const Gradients *g, const char *about) {
  FILE *file = fopen(path, "w");
  if (!file) {
    refuse("--gradients %s: cannot write there", path);
  }
  fprintf(file, "# gradients: %s\n", about);
  fprintf(file, "# zero: %lld in float32, %lld in float16, %lld in float16 with a scale of 65536, of %lld\n",
          (long long)g[0].zero, (long long)g[1].zero, (long long)g[2].zero, (long long)fy_numel(g[0].values));
  fprintf(file, "power\tfloat32\tfloat16\tscaled\n");
  for (int i = 0; i < POWERS; i++) {
    fprintf(file, "%d\t%lld\t%lld\t%lld\n", LOWEST + i, (long long)g[0].count[i], (long long)g[1].count[i],
            (long long)g[2].count[i]);
  }
  fclose(file);
}

// [counted]
void look_at_gradients(const Chapter *chapter, FyDevice device, const char *path) {
  heading("Gradients that become zero");
  Data data = load_fashion_mnist(NULL);
  const int size = (int)size_for(chapter, 32, 128, 128), steps = (int)size_for(chapter, 2, 60, 200);
  FyDataLoader *loader = fy_data_loader(data.train, .batch_size = size, .shuffle = true, .seed = 1);
  FyModule *model = trained_a_little(loader, device, steps);
  FyBatch batch;
  fy_loader_next(fy_loader_iter(loader), &batch);
  Gradients g[3];
  for (int k = 0; k < 3; k++) {
    g[k] = gradients_of(model, &batch, device, k > 0, k == 2 ? 65536 : 1);
  }
  char description[160], about[256];
  snprintf(about, sizeof about, "chapter 9's network after %d steps, one batch of %d, %s", steps, size,
           fy_dataset_describe(data.train, description, sizeof description));
  printf("%s\n\n", about);
  print_histogram(g);
  int64_t small = 0; // below 2^-14 float16 has fewer digits the smaller the number
  for (int i = 0; i < -14 - LOWEST; i++) {
    small += g[0].count[i];
  }
  printf("\nof %lld gradients that are not zero in float32 %lld are below 2^-14:\n",
         (long long)(fy_numel(g[0].values) - g[0].zero), (long long)small);
  printf("  float16, as they come:     %7lld are zero, %lld infinite\n", (long long)lost(&g[0], &g[1]),
         (long long)g[1].infinite);
  printf("  float16, scaled by 65536:  %7lld are zero, %lld infinite\n", (long long)lost(&g[0], &g[2]),
         (long long)g[2].infinite);
  if (path) {
    write_histogram(path, g, about);
  }
}
// [end]
