// Chapter 12: mixed precision.
//
// Numbers of 16 bits take half the memory, and tensor cores compute with them many times as fast. They also have little
// range, or few digits. Autocast chooses for each operation, and a gradient scaler keeps small gradients above zero. This
// chapter looks at the formats, counts what goes wrong without the two, and trains with them.
//
// The lesson is docs/12_mixed_precision.md.
#include "gradients.h"
#include "networks.h"
#include "training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- formats --------------------------------------------------------------------------------------------------------

// [formats]
typedef struct Format {
  const char *name;
  int exponent, fraction; // numbers of bits; one more bit is the sign
  double (*nearest)(double x);
} Format;

static double as(double x, FyDType dtype) {
  volatile double result = 0;
  fy_scope {
    result = fy_item(fy_to_dtype(fy_tensor(&x, FY_SCALAR), dtype)); // PyTorch: torch.tensor(x).to(dtype).item()
  }
  return result;
}
static double as_float32(double x) {
  return as(x, FY_FLOAT32);
}
static double as_float16(double x) {
  return as(x, FY_FLOAT16);
}
static double as_bfloat16(double x) {
  return as(x, FY_BFLOAT16);
}

// TF32 is not a tensor data type. Tensor cores round float32 inputs to it: they drop the last 13 bits of the fraction.
static double as_tf32(double x) {
  float f = (float)x;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  if (isfinite(f)) {
    bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu; // to the nearest, ties to even
  }
  memcpy(&f, &bits, sizeof f);
  return f;
}
// [end]

// [found]
// The distance from 1 to the next larger number. Halves the step until adding it no longer changes 1.
static double step_at_one(const Format *f) {
  double step = 1;
  while (f->nearest(1 + step / 2) > 1) {
    step /= 2;
  }
  return step;
}

// The smallest power of two that rounds to infinity, and the smallest that does not round to zero.
static double overflow(const Format *f) {
  double x = 1;
  while (isfinite(f->nearest(x))) {
    x *= 2;
  }
  return x;
}
static double smallest(const Format *f) {
  double x = 1;
  while (f->nearest(x / 2) > 0) {
    x /= 2;
  }
  return x;
}

static void look_at_formats(void) {
  heading("Four ways to write a number");
  const Format formats[] = {{"float32", 8, 23, as_float32},
                            {"TF32", 8, 10, as_tf32},
                            {"bfloat16", 8, 7, as_bfloat16},
                            {"float16", 5, 10, as_float16}};
  Table table = table_begin({"format", 8}, {"exponent", 8}, {"fraction", 8}, {"step at 1", 9}, {"largest", 10},
                            {"infinite from", 13}, {"smallest", 9}, {"", 6});
  for (int i = 0; i < 4; i++) {
    const Format *f = &formats[i];
    double step = step_at_one(f), infinite = overflow(f), least = smallest(f), largest = (2 - step) * (infinite / 2);
    table_row(&table, f->name, text("%d", f->exponent), text("%d", f->fraction), text("%.2g", step),
              text("%.5g", f->nearest(largest)), text("2^%g", log2(infinite)), text("%.2g", least),
              text("2^%g", log2(least)));
  }
  printf("\nfloat16:  65504 * 2 = %g, 2048 + 1 = %g, 1e-8 = %g\n", as_float16(65504.0 * 2), as_float16(2048 + 1),
         as_float16(1e-8));
  printf("bfloat16: 65504 * 2 = %g, 256 + 1 = %g, 1e-8 = %.3g\n", as_bfloat16(65504.0 * 2), as_bfloat16(256 + 1),
         as_bfloat16(1e-8));
}
// [end]

// ---- autocast -------------------------------------------------------------------------------------------------------

// [autocast]
static const char *type_of(FyTensor *t) {
  return fy_dtype_name(fy_dtype_of(t)) + strlen("torch.");
}

static void which_type_runs(FyDevice device) {
  heading("Autocast: a type for each operation");
  FyTensor *x = fy_randn(fy_shape(4, 4), .device = device);
  FyTensor *target = fy_zeros(fy_shape(4), .dtype = FY_INT64, .device = device);
  fy_autocast(device.type) { // PyTorch: with torch.autocast(device.type):
    FyTensor *product = fy_matmul(x, x);
    printf("on %s autocast takes %s; x is %s\n", fy_device_name_of(device),
           fy_dtype_name(fy_get_autocast_dtype(device.type)), type_of(x));
    printf("  x @ x              %s\n", type_of(product));
    printf("  relu(x @ x)        %s\n", type_of(fy_relu(product)));
    printf("  (x @ x) + x        %s\n", type_of(fy_add(product, x)));
    printf("  exp(x @ x)         %s\n", type_of(fy_exp(product)));
    printf("  softmax(x @ x)     %s\n", type_of(fy_softmax(product, 1)));
    printf("  (x @ x).sum()      %s\n", type_of(fy_sum(product)));
    printf("  cross_entropy      %s\n", type_of(fy_cross_entropy(product, target)));
    fy_autocast(device.type, .enabled = false) {
      printf("  switched off: x @ x %s\n", type_of(fy_matmul(x, x)));
    }
  }
  printf("afterwards:   x @ x  %s\n", type_of(fy_matmul(x, x)));
}
// [end]

// [weights]
static void weights_and_gradients(FyDevice device) {
  FyModule *model = fy_module_to(fy_nn_linear(100, 10), device);
  FyTensor *weight = fy_parameters(model)->items[0], *loss = NULL;
  FyTensor *x = fy_randn(fy_shape(8, 100), .device = device);
  fy_autocast(device.type) {
    FyTensor *output = fy_forward(model, x);
    printf("\nweight %s, output %s, ", type_of(weight), type_of(output));
    loss = fy_mse_loss(output, fy_zeros_like(output));
  }
  fy_backward(loss); // outside: each backward runs in the type that its forward chose
  printf("loss %s, gradient of the weight %s\n", type_of(loss), type_of(fy_grad(weight)));
}
// [end]

// ---- the scaler -----------------------------------------------------------------------------------------------------

// [loop]
// A training loop whose initial scale is too large on purpose.
static void small_training(FyDevice device) {
  heading("A training loop with a scaler");
  FyModule *model = fy_module_to(fy_nn_linear(100, 10), device);
  FyOptimizer *optimizer = fy_adam(fy_parameters(model), .lr = 0.001);
  FyGradScaler *scaler = fy_grad_scaler(device.type, .init_scale = 0x1p24, .growth_interval = 4);
  FyTensor *inputs = fy_randn(fy_shape(64, 100), .device = device);
  FyTensor *targets = fy_randint(0, 10, fy_shape(64), .device = device);
  Table table = table_begin({"step", 4}, {"scale", 9}, {"loss", 8}, {"gradient", 9}, {"taken", 6});
  for (int step = 1; step <= 16; step++) {
    FyTensor *loss = NULL;
    double scale = fy_scaler_get_scale(scaler);
    fy_zero_grad(optimizer);
    fy_autocast(device.type, .dtype = FY_FLOAT16) { // PyTorch: with autocast(device.type, dtype=torch.float16):
      loss = fy_cross_entropy(fy_forward(model, inputs), targets);
    }
    fy_backward(fy_scaler_scale(scaler, loss)); // PyTorch: scaler.scale(loss).backward()
    FyTensor *largest = fy_max(fy_abs(fy_grad(fy_parameters(model)->items[0])));
    bool taken = fy_scaler_step(scaler, optimizer); // PyTorch: scaler.step(optimizer)
    fy_scaler_update(scaler);                       // PyTorch: scaler.update()
    table_row(&table, text("%d", step), text("%.0f", scale), text("%.4f", fy_item(loss)),
              text("%.3g", fy_item(largest)), truth(taken));
  }
}
// [end]

// [waits]
static void what_waits(FyDevice device) {
  heading("Who waits for the device");
  if (device.type != FY_CUDA) {
    printf("On the CPU nothing is waited for. FERRY_CUDA=sim shows this section.\n");
    return;
  }
  FyModule *model = fy_module_to(fy_nn_linear(100, 10), device);
  FyTensorList *parameters = fy_parameters(model);
  FyOptimizer *optimizer = fy_adam(parameters, .lr = 0.001);
  FyGradScaler *scaler = fy_grad_scaler(device.type);
  fy_scaler_scale(scaler, fy_ones(FY_SCALAR, .device = device)); // the scale is made with the first loss
  FyTensor *x = fy_randn(fy_shape(64, 100), .device = device), *loss = NULL;
  Table table = table_begin({"call", 46}, {"kernels", 8}, {"waits", 6});
#define COUNTED(call)                                                                                                  \
  do {                                                                                                                 \
    FyCounters before = fy_counters();                                                                                 \
    call;                                                                                                              \
    FyCounters done = fy_counters_since(before);                                                                       \
    table_row(&table, #call, text("%lld", (long long)done.launches), text("%lld", (long long)done.synchronizations));  \
  } while (0)
  fy_autocast(device.type) {
    loss = fy_mse_loss(fy_forward(model, x), fy_zeros(fy_shape(64, 10), .device = device));
  }
  COUNTED(fy_backward(fy_scaler_scale(scaler, loss)));
  COUNTED(fy_scaler_unscale_(scaler, optimizer));
  COUNTED(fy_clip_grad_norm_(parameters, 1));
  COUNTED(fy_scaler_step(scaler, optimizer));
  COUNTED(fy_scaler_update(scaler));
}
// [end]

// ---- model.half() ---------------------------------------------------------------------------------------------------

// [half]
static void the_whole_model_in_half(FyDevice device) {
  heading("model.half() instead");
  FyModule *model = fy_module_half(fy_module_to(fy_nn_linear(100, 10), device)); // PyTorch: model.half().to(device)
  FyError error;
  printf("model(input), and the input is float32\n  ");
  fy_trap(error) {
    fy_forward(model, fy_randn(fy_shape(8, 100), .device = device));
  }
  show_error(&error);

  // One step. The weights are at most 0.1. A change of less than half the spacing of float16 is lost.
  for (int half = 0; half < 2; half++) {
    fy_manual_seed(1);
    FyModule *net = fy_module_to(fy_nn_linear(100, 10), device);
    FyTensor *x = fy_randn(fy_shape(64, 100), .device = device), *y = fy_randint(0, 10, fy_shape(64), .device = device);
    FyTensor *weight = fy_parameters(half ? fy_module_half(net) : net)->items[0], *before = fy_clone(fy_detach(weight));
    FyOptimizer *sgd = fy_sgd(fy_parameters(net), .lr = 1e-3);
    fy_backward(fy_cross_entropy(fy_forward(net, half ? fy_half(x) : x), y));
    fy_step(sgd);
    printf("one step of SGD, weights in %s: %lld of %lld have changed\n", type_of(weight),
           (long long)fy_item_int64(fy_sum(fy_ne(fy_detach(weight), before))), (long long)fy_numel(weight));
  }
}

static void batch_norm_in_half(FyDevice device) {
  FyTensor *x = fy_mul_scalar(fy_randn(fy_shape(256, 4), .device = device), 1000); // a variance of about a million
  for (int half = 0; half < 2; half++) {
    FyModule *norm = fy_module_to(fy_nn_batch_norm1d(4), device);
    FyTensor *input = half ? fy_half(x) : x;
    if (half) {
      fy_module_half(norm);
    }
    fy_forward(norm, input); // training: the running variance moves a tenth of the way
    fy_eval(norm);
    FyTensor *output = fy_forward(norm, input);
    printf("BatchNorm in %s: running_var %g, output of the first row in eval %g\n", type_of(input),
           fy_item(fy_select(fy_list_get(fy_state_dict(norm), "running_var"), 0, 0)),
           fy_item(fy_select(fy_select(fy_detach(output), 0, 0), 0, 0)));
  }
}
// [end]

// ---- training -------------------------------------------------------------------------------------------------------

// [mixed_step]
typedef struct Mixed {
  FyModule *model;
  FyOptimizer *optimizer;
  FyGradScaler *scaler; // for float16 only; a disabled scaler changes nothing
  FyDevice device;
  FyDType dtype; // FY_FLOAT32: without autocast
} Mixed;

static Mixed mixed_of(FyModule *model, FyDevice device, FyDType dtype, double lr) {
  fy_module_to(model, device);
  return (Mixed){.model = model,
                 .optimizer = fy_adam(fy_parameters(model), .lr = lr),
                 .scaler = fy_grad_scaler(device.type, .enabled = dtype == FY_FLOAT16),
                 .device = device,
                 .dtype = dtype};
}

// Trains on one batch. Returns the loss as a 0-dim tensor on the device.
static FyTensor *mixed_step(Mixed *m, FyTensor *inputs, FyTensor *labels) {
  FyTensor *loss = NULL;
  fy_zero_grad(m->optimizer);
  fy_autocast(m->device.type, .dtype = m->dtype, .enabled = m->dtype != FY_FLOAT32) {
    loss = fy_cross_entropy(fy_forward(m->model, inputs), labels);
  }
  fy_backward(fy_scaler_scale(m->scaler, loss));
  fy_scaler_step(m->scaler, m->optimizer);
  fy_scaler_update(m->scaler);
  return fy_detach(loss);
}
// [end]

// [epoch]
// One pass over the data; prints the mean loss of every `every` batches (0: none). Returns the seconds.
static double mixed_epoch(Mixed *m, FyDataLoader *loader, int epoch, int every) {
  double start = seconds_now(m->device);
  fy_scope {
    FyTensor *running = fy_zeros(FY_SCALAR, .device = m->device);
    fy_train(m->model);
    fy_for_batches(batch, loader) {
      FyTensor *inputs = fy_to(batch.data, m->device, .non_blocking = true); // from pinned memory: the CPU goes on
      FyTensor *labels = fy_to(batch.target, m->device, .non_blocking = true);
      fy_add_(running, mixed_step(m, inputs, labels));
      if (every && (batch.index + 1) % every == 0) {
        printf("Epoch %d, Batch %lld: Loss: %.3f\n", epoch, (long long)batch.index + 1, fy_item(running) / every);
        fy_zero_(running);
      }
    }
    fy_synchronize(m->device);
  }
  return seconds_now(m->device) - start;
}
// [end]

static FyDataLoader *loader_of(FyDataset *dataset, const TrainingOptions *o, bool shuffle, FyDevice device) {
  return fy_data_loader(dataset, .batch_size = o->batch_size, .shuffle = shuffle, .num_workers = o->workers,
                        .pin_memory = device.type == FY_CUDA, .seed = o->seed + 1);
}

static FyDType half_for(FyDevice device) {
  return device.type == FY_CUDA ? FY_FLOAT16 : FY_BFLOAT16;
}

// [cifar]
static void train_cifar(const Chapter *chapter, FyDevice device, const TrainingOptions *options) {
  heading("CIFAR-10 with all of it");
  Data data = load_cifar10(options->data);
  int64_t count = size_for(chapter, 4, 30, 391) * options->batch_size;
  FyDataset *part = options->full ? data.train : fy_subset(data.train, 0, count);
  FyDataLoader *loader = loader_of(part, options, true, device);
  Mixed mixed = mixed_of(new_cifar_cnn(options->seed), device, half_for(device), options->lr);
  char description[160];
  printf("%s, %lld of them, batches of %d, in %s on %s\n",
         fy_dataset_describe(data.train, description, sizeof description), (long long)part->count, options->batch_size,
         fy_dtype_name(mixed.dtype), fy_device_name_of(device));
  double start = seconds_now(device);
  for (int epoch = 1; epoch <= options->epochs; epoch++) {
    fy_loader_set_epoch(loader, epoch - 1);
    double seconds = mixed_epoch(&mixed, loader, epoch, options->full ? 100 : 10);
    printf("Epoch %d completed in %s\n", epoch, time_text(device, seconds));
  }
  printf("Training completed in %s\n", time_text(device, seconds_now(device) - start));
  const char *weights = options->save ? options->save : temporary_file("optimized_cnn.safetensors");
  fy_safetensors_save(weights, fy_state_dict(mixed.model), NULL); // float32: the weights never were anything else
  printf("weights saved: %s of %s\n", bytes_text(4.0 * (double)parameter_count(mixed.model)),
         type_of(fy_parameters(mixed.model)->items[0]));
}
// [end]

// [compare]
// Chapter 9's network from the same seed, on the same batches, in two types: accuracy, time and memory.
static double accuracy_in(FyDType dtype, FyDataset *train_set, FyDataset *test_set, FyDevice device,
                          const TrainingOptions *options, const Table *table) {
  volatile double accuracy = 0;
  fy_scope {
    Mixed mixed = mixed_of(new_fashion_cnn(options->seed), device, dtype, options->lr);
    FyDataLoader *loader = loader_of(train_set, options, true, device);
    double seconds = 0;
    size_t before = fy_memory_allocated(device);
    fy_reset_peak_memory_stats(device);
    for (int epoch = 1; epoch <= options->epochs; epoch++) {
      fy_loader_set_epoch(loader, epoch - 1);
      seconds += mixed_epoch(&mixed, loader, epoch, 0);
    }
    size_t peak = fy_max_memory_allocated(device) - before;
    accuracy = evaluate(mixed.model, loader_of(test_set, options, false, device), device).accuracy;
    table_row(table, type_of(fy_zeros(FY_SCALAR, .dtype = dtype)), text("%.2f %%", 100 * accuracy),
              time_text(device, seconds), bytes_text((double)peak));
  }
  return accuracy;
}

static void compare_types(const Chapter *chapter, FyDevice device, const TrainingOptions *options) {
  heading(text("Does it learn as well? On %s", fy_device_name_of(device)));
  Data data = load_fashion_mnist(NULL);
  bool simulated = device.type == FY_CUDA && fy_cuda_is_simulated(), whole = options->full && !simulated;
  int64_t count = simulated ? size_for(chapter, 1, 2, 2) * 128 : size_for(chapter, 4, 20, 20) * 256;
  FyDataset *train_set = whole ? data.train : fy_subset(data.train, 0, count);
  FyDataset *test_set = whole ? data.test : fy_subset(data.test, 0, simulated ? 200 : 2000);
  printf("%lld pictures, %d epochs, tested on %lld\n", (long long)train_set->count, options->epochs,
         (long long)test_set->count);
  Table table = table_begin({"type", 9}, {"accuracy", 9}, {"training", 20}, {"memory", 10});
  double full = accuracy_in(FY_FLOAT32, train_set, test_set, device, options, &table);
  double half = accuracy_in(half_for(device), train_set, test_set, device, options, &table);
  printf("difference: %.2f points\n", 100 * fabs(full - half));
}
// [end]

int main(int argc, char **argv) {
  TrainingOptions options = {.batch_size = 128, .lr = 1e-3, .workers = 2, .accumulate = 1};
  const char *gradients = NULL;
  const ChapterOption own = {"--gradients", "write section 5's counts there, for make plots", "FILE", &gradients, 0, 0};
  Chapter chapter =
      training_begin_with(argc, argv, "Chapter 12: mixed precision",
                          "Half the bits where they suffice: formats, autocast, a gradient scaler.", &options, &own);
  // A simulated device is slow, so it trains on a few batches only. The CPU runs the longer training.
  FyDevice device = chapter.simulated ? FY_CPU_DEVICE : chapter.device;
  fy_scope {
    look_at_formats();
    which_type_runs(chapter.device);
    weights_and_gradients(chapter.device);
    small_training(chapter.device);
    what_waits(chapter.device);
  }
  fy_scope {
    look_at_gradients(&chapter, device, gradients);
  }
  fy_scope {
    the_whole_model_in_half(chapter.device);
    batch_norm_in_half(chapter.device);
  }
  fy_scope {
    train_cifar(&chapter, device, &options);
  }
  fy_scope {
    compare_types(&chapter, device, &options);
  }
  if (chapter.simulated) {
    fy_scope {
      compare_types(&chapter, chapter.device, &options);
    }
  }
  return 0;
}
