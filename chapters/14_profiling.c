// Chapter 14: profiling.
//
// Where the time of a program goes: a table of its calls, self time and total time, why the first steps are left out, a trace,
// synchronization in a profile, and a training loop that is several times too slow, for three reasons.
//
// The lesson is docs/14_profiling.md.
#include "training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- what is profiled -----------------------------------------------------------------------------------------------

// [model]
static FyModule *model_new(FyDevice device) {
  FyModule *model =
      fy_nn_sequential(fy_nn_conv2d(1, 8, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2), fy_nn_flatten(),
                       fy_nn_linear(8 * 14 * 14, 64), fy_nn_relu(), fy_nn_linear(64, 10));
  return fy_module_to(model, device);
}

static FyTensor *example_input(FyDevice device, int64_t batch) {
  return fy_randn(fy_shape(batch, 1, 28, 28), .device = device);
}
// [end]

// [device_times]
// The column that tells which calls are dear: on a device the time they take there, on the CPU the time they take.
static const char *total_time(FyDevice device) {
  return device.type == FY_CUDA && fy_cuda_is_simulated() ? "cuda_time_total" : "cpu_time_total";
}
// [end]

static const FyAverage *row_named(const FyKeyAverages *averages, const char *key) {
  for (int i = 0; i < averages->count; i++)
    if (strcmp(averages->rows[i].key, key) == 0)
      return &averages->rows[i];
  return NULL;
}

// ---- a training step -------------------------------------------------------------------------------------------------

typedef struct Loop {
  FyModule *model;
  FyOptimizer *optimizer;
  FyTensor *inputs, *labels; // of all samples
  FyDevice device;
} Loop;

static Loop loop_new(FyDevice device, int64_t samples) {
  Loop loop = {.model = model_new(device), .device = device};
  loop.optimizer = fy_sgd(fy_parameters(loop.model), 0.01);
  loop.inputs = example_input(device, samples);
  loop.labels = fy_randint(0, 10, fy_shape(samples), .device = device);
  return loop;
}

// [ranges]
static void step_in_ranges(const Loop *loop) {
  fy_record_function("step") {
    FyTensor *loss = NULL;
    fy_record_function("forward") {
      loss = fy_cross_entropy(fy_forward(loop->model, loop->inputs), loop->labels);
    }
    fy_record_function("backward and update") {
      fy_zero_grad(loop->optimizer);
      fy_backward(loss);
      fy_step(loop->optimizer);
    }
  }
}
// [end]

// ---- the first steps ------------------------------------------------------------------------------------------------

// [first]
static void the_first_steps(FyDevice device) {
  heading("The first steps");
  const Loop loop = loop_new(device, 32);
  for (int i = 0; i < 4; i++) {
    FyProfile *prof;
    fy_profile(prof, FY_PROFILE_CPU) {
      fy_record_function("all of it") {
        fy_scope {
          step_in_ranges(&loop);
          fy_synchronize(device);
        }
      }
    }
    printf("step %d: %s\n", i + 1, host_time_text(device, fy_key_averages(prof)->self_cpu_time_total * 1e-6));
  }
}
// [end]

// ---- a first profile ------------------------------------------------------------------------------------------------

// [basic]
static void a_first_profile(FyDevice device) {
  heading("A first profile");
  FyModule *model = model_new(device);
  FyTensor *input = example_input(device, 32);
  fy_forward(model, input); // warm-up
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU | FY_PROFILE_CUDA) {
    fy_forward(model, input);
  }
  // PyTorch: print(prof.key_averages().table(sort_by="cuda_time_total", row_limit=10))
  printf("%s", fy_key_averages_table(fy_key_averages(prof), .sort_by = total_time(device), .row_limit = 10));
}
// [end]

// ---- self and total -------------------------------------------------------------------------------------------------

static void print_row(const Table *table, const FyKeyAverages *averages, const char *key) {
  const FyAverage *row = row_named(averages, key);
  if (row)
    table_row(table, key, text("%lld", (long long)row->count), text("%.1f us", row->self_cpu_time_total),
              text("%.1f us", row->cpu_time_total));
}

static void self_and_total(FyDevice device) {
  heading("Self and total");
  const Loop loop = loop_new(device, 32);
  FyProfile *prof;
  fy_scope {
    step_in_ranges(&loop);
  }
  fy_profile(prof, FY_PROFILE_CPU | FY_PROFILE_CUDA) {
    fy_scope {
      step_in_ranges(&loop);
    }
  }
  const FyKeyAverages *averages = fy_key_averages(prof);
  const Table table = table_begin({"range", 20}, {"calls", 8}, {"self CPU", 14}, {"CPU total", 14});
  static const char *const keys[] = {"step",     "forward",        "backward and update",
                                     "backward", "AddmmBackward0", "fy::linear"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    print_row(&table, averages, keys[i]);
  double sum = 0;
  int rows = 0;
  for (int i = 0; i < averages->count; i++) {
    if (strcmp(averages->rows[i].key, "cudaDeviceSynchronize") != 0) { // the profiler's own wait, after the step
      sum += averages->rows[i].self_cpu_time_total;
      rows++;
    }
  }
  printf("self times of all %d rows, added up: %.1f us\n", rows, sum);
}

// ---- a schedule -----------------------------------------------------------------------------------------------------

// [schedule]
typedef struct Report {
  const char *trace, *sort_by;
} Report;

static void trace_handler(FyProfile *p, void *context) {
  const Report *report = context;
  printf("%s", fy_key_averages_table(fy_key_averages(p), .sort_by = report->sort_by, .row_limit = 10));
  fy_export_chrome_trace(p, report->trace); // PyTorch: p.export_chrome_trace("trace.json")
}

static void a_schedule(FyDevice device, const char *trace) {
  heading("A schedule");
  FyModule *model = model_new(device);
  FyDataset *dataset = fy_tensor_dataset(example_input(FY_CPU_DEVICE, 400), fy_randint(0, 10, fy_shape(400)));
  FyDataLoader *trainloader = fy_data_loader(dataset, .batch_size = 32, .shuffle = true);
  Report report = {.trace = trace, .sort_by = total_time(device)};
  FyProfile *p;
  fy_profile(p, FY_PROFILE_CPU | FY_PROFILE_CUDA, .schedule = {.wait = 1, .warmup = 1, .active = 2},
             .on_trace_ready = trace_handler, .context = &report) {
    fy_for_batches(batch, trainloader) {
      if (batch.index >= 4) {
        break;
      }
      FyTensor *inputs = fy_to(batch.data, device);
      fy_record_function("model_inference") {
        fy_forward(model, inputs);
      }
      fy_profile_step(p);
    }
  }
  printf("the trace: %s\n", trace);
}
// [end]

// ---- a wait ---------------------------------------------------------------------------------------------------------

// [wait]
static double eight_products(FyTensor *a) {
  double sum = 0;
  fy_scope {
    FyTensor *product = a;
    for (int i = 0; i < 8; i++) {
      product = fy_matmul(product, a);
    }
    sum = fy_item(fy_sum(product));
  }
  return sum;
}

static void what_a_wait_looks_like(const Chapter *chapter) {
  heading("What a wait looks like");
  if (chapter->device.type == FY_CPU) {
    printf("The CPU waits for nobody: run with --device cuda (simulated, without a GPU).\n");
    return;
  }
  const int64_t n = size_for(chapter, 256, 512, 4096);
  FyTensor *a = fy_randn(fy_shape(n, n), .device = chapter->device);
  eight_products(a); // warm-up: allocates the memory
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU | FY_PROFILE_CUDA) {
    eight_products(a);
  }
  printf("%s", fy_key_averages_table(fy_key_averages(prof), .sort_by = "self_cpu_time_total", .row_limit = 5));
}
// [end]

// ---- a loop that is too slow ----------------------------------------------------------------------------------------

// [faults]
enum { BATCH = 32 };

typedef struct Faults {
  bool one_by_one;   // a forward pass for each sample, not for the batch
  bool copies_all;   // all samples are copied in each step, "to be safe"
  bool reads_losses; // fetches each loss, to add them up
} Faults;

static FyTensor *forward(const Loop *loop, FyTensor *inputs, bool one_by_one) {
  if (!one_by_one) {
    return fy_forward(loop->model, inputs);
  }
  FyTensor *outputs[BATCH];
  for (int i = 0; i < BATCH; i++) {
    outputs[i] = fy_forward(loop->model, fy_narrow(inputs, 0, i, 1));
  }
  return fy_cat((FyTensors){.items = outputs, .count = BATCH}, 0);
}

// Returns the sum of the losses.
static double epoch(const Loop *loop, Faults faults) {
  const int64_t samples = fy_size_at(loop->inputs, 0);
  double sum = 0;
  FyTensor *losses = fy_zeros(fy_shape(1), .device = loop->device);
  for (int64_t at = 0; at + BATCH <= samples; at += BATCH) {
    fy_scope {
      FyTensor *all = faults.copies_all ? fy_clone(loop->inputs) : loop->inputs;
      FyTensor *output = forward(loop, fy_narrow(all, 0, at, BATCH), faults.one_by_one);
      FyTensor *loss = fy_cross_entropy(output, fy_narrow(loop->labels, 0, at, BATCH));
      fy_zero_grad(loop->optimizer);
      fy_backward(loss);
      fy_step(loop->optimizer);
      if (faults.reads_losses) {
        sum += fy_item(loss);
      } else {
        fy_no_grad {
          fy_add_(losses, loss);
        }
      }
    }
  }
  return faults.reads_losses ? sum : fy_item(losses);
}
// [end]

// [costliest]
static int64_t calls_of(const FyKeyAverages *averages, const char *key) {
  const FyAverage *row = row_named(averages, key);
  return row ? row->count : 0;
}

static FyProfile *profile_once(const Loop *loop, Faults faults) {
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU | FY_PROFILE_CUDA) {
    fy_record_function("epoch") {
      epoch(loop, faults);
      fy_synchronize(loop->device);
    }
  }
  return prof;
}

static double seconds_in(const FyKeyAverages *averages) {
  return row_named(averages, "epoch")->cpu_time_total * 1e-6;
}

// Profiles the versions in turn, and keeps the fastest profile of each: other programs on the machine only slow it down.
static void profile_all(const Loop *loop, const Faults *versions, int count, const FyKeyAverages **best) {
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < count; i++) {
      const FyKeyAverages *averages = fy_key_averages(profile_once(loop, versions[i]));
      if (round == 1 || (round > 1 && seconds_in(averages) < seconds_in(best[i]))) {
        best[i] = averages; // round 0 is the warm-up
      }
    }
  }
}
// [end]

static void a_slow_loop(const Chapter *chapter) {
  heading("A loop that is too slow");
  enum { VERSIONS = 4 };
  static const Faults versions[VERSIONS] = {
      {.one_by_one = true, .copies_all = true, .reads_losses = true},
      {.copies_all = true, .reads_losses = true},
      {.reads_losses = true},
      {0},
  };
  static const char *const names[VERSIONS] = {"as it was", "batches as a whole", "and no copy of all",
                                              "and one item at the end"};
  const Loop loop = loop_new(chapter->device, size_for(chapter, 128, 1280, 4096));
  const FyKeyAverages *best[VERSIONS];
  profile_all(&loop, versions, VERSIONS, best);
  for (int i = 0; i < 3; i++) {
    printf("%s:\n%s\n", names[i], fy_key_averages_table(best[i], .sort_by = "self_cpu_time_total", .row_limit = 3));
  }
  const Table table = table_begin({"epoch", 24}, {"time", 22}, {"fy::linear", 12}, {"fy::copy", 10}, {"item", 6});
  for (int i = 0; i < VERSIONS; i++) {
    table_row(&table, names[i], host_time_text(chapter->device, seconds_in(best[i])),
              text("%lld", (long long)calls_of(best[i], "fy::linear")),
              text("%lld", (long long)calls_of(best[i], "fy::copy")),
              text("%lld", (long long)calls_of(best[i], "item")));
  }
}

// ---- what it costs --------------------------------------------------------------------------------------------------

// [cost]
static double best_step(const Loop *loop, double best) {
  for (int i = 0; i < 5; i++) {
    double start = seconds_now(loop->device);
    fy_scope {
      step_in_ranges(loop);
      fy_synchronize(loop->device);
    }
    double seconds = seconds_now(loop->device) - start;
    best = seconds < best ? seconds : best;
  }
  return best;
}

static void what_it_costs(const Chapter *chapter) {
  heading("What the profiler costs");
  const Loop loop = loop_new(chapter->device, 64);
  double without = 1e9, with = 1e9;
  for (int round = 0; round < size_for(chapter, 3, 20, 50); round++) { // in turn: disturbances affect both
    FyProfile *prof;
    without = best_step(&loop, without);
    fy_profile(prof, FY_PROFILE_CPU | FY_PROFILE_CUDA) {
      with = best_step(&loop, with);
    }
  }
  printf("the fastest step without a profiler: %s\n", time_text(chapter->device, without));
  printf("the fastest step with one:           %s\n", time_text(chapter->device, with));
}
// [end]

int main(int argc, char **argv) {
  const char *trace = NULL;
  const ChapterOption option = {
      .name = "--trace", .help = "where the trace goes (a temporary file)", .value = "FILE", .text = &trace};
  Chapter chapter = chapter_begin_with(argc, argv, "Chapter 14: profiling",
                                       "Where the time goes: tables, schedules, traces.", 1, &option);
  fy_scope {
    the_first_steps(chapter.device);
  }
  fy_scope {
    a_first_profile(chapter.device);
  }
  fy_scope {
    self_and_total(chapter.device);
  }
  fy_scope {
    a_schedule(chapter.device, trace ? trace : temporary_file("trace.json"));
  }
  fy_scope {
    what_a_wait_looks_like(&chapter);
  }
  fy_scope {
    a_slow_loop(&chapter);
  }
  fy_scope {
    what_it_costs(&chapter);
  }
  return 0;
}
