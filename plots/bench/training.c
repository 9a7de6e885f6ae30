// SPDX-License-Identifier: MIT
// Benchmarks of whole training steps: the lessons' models, several devices, the loader, memory over a step.
#include "bench.h"
#include "base/threads.h"
#include "device/runtime.h"

#include <stdio.h>
#include <unistd.h>

// ---- steps --------------------------------------------------------------------------------------------------------------

static void set_up_step(Run *run, Model model, int64_t batch) {
  run->model = fy_module_to(model_new(model), run->device);
  run->optimizer = fy_adam(fy_parameters(run->model), .lr = 1e-3);
  run->a = fy_to(fy_randn_with((FyFactory){.size = model_input(model, batch)}), run->device);
  run->b = fy_randint(0, 10, fy_shape(batch), .device = run->device);
  run->flops = model_flops(model) * (double)batch;
  run->items = (double)batch;
}

// A batch of `size` samples: zero_grad, forward, backward, Adam.
void setup_training(Run *run) {
  set_up_step(run, (Model)run->bench->variant, run->size);
}

void body_training(Run *run) {
  training_step(run->model, run->optimizer, run->a, run->b);
}

void setup_benchmark_training(Run *run) {
  setup_training(run);
  fy_backends_set_benchmark(true);
}

// The same with the forward in an autocast region of bfloat16, as a training in mixed precision is written.
void setup_autocast(Run *run) {
  setup_training(run);
}

void body_autocast(Run *run) {
  FyTensor *loss = NULL;
  fy_zero_grad(run->optimizer);
  fy_autocast(run->device.type, .dtype = FY_BFLOAT16) {
    loss = fy_cross_entropy(fy_forward(run->model, run->a), run->b);
  }
  fy_backward(loss);
  fy_step(run->optimizer);
}

// The step as a CUDA graph: the body is one replay. The row's remark says what the host launches in its stead, which is the same
// on a simulated device, where the time says nothing.
void setup_graph(Run *run) {
  setup_training(run);
  run->optimizer = fy_adam(fy_parameters(run->model), .lr = 1e-3, .capturable = true);
  FyStream *current = fy_current_stream(run->device), *side = fy_stream_new(run->device, 0);
  fy_stream_wait_stream(side, current);
  FyCounters before = fy_counters();
  fy_stream_guard(side) {
    for (int i = 0; i < 3; i++)
      fy_scope {
        before = fy_counters();
        training_step(run->model, run->optimizer, run->a, run->b);
      }
  }
  const long long launches = (long long)(fy_counters().launches - before.launches);
  fy_stream_wait_stream(current, side);
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_cuda_graph_capture(graph) {
    training_step(run->model, run->optimizer, run->a, run->b);
  }
  run->memory[0] = graph;
  snprintf(run->label, sizeof run->label, "1 graph launch for %lld launches", launches);
}

void body_graph(Run *run) {
  fy_cuda_graph_replay(run->memory[0]);
}

// The step of 001's CNN at batch 128 by `size` CPU threads.
void setup_threads(Run *run) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  run->threads = fy_get_num_threads();
  if (run->size > cores) {
    skip_run(run, "there are %ld cores", cores);
    return;
  }
  fy_set_num_threads((int)run->size);
  set_up_step(run, CNN_001, 128);
}

void finish_threads(Run *run) {
  fy_set_num_threads(run->threads);
}

// ---- several devices ----------------------------------------------------------------------------------------------------

// 001's CNN on `size` devices, 256 samples for each.
void setup_data_parallel(Run *run) {
  int devices = fy_cuda_device_count();
  int64_t each = fy_cuda_is_simulated() ? 2 : 256;
  if (run->size > devices) {
    skip_run(run, "there are %d CUDA devices", devices);
    return;
  }
  int ids[64];
  for (int i = 0; i < run->size && i < 64; i++) {
    ids[i] = i;
  }
  run->device = fy_cuda_device(0);
  fy_cuda_set_device(0);
  set_up_step(run, CNN_001, each * run->size);
  run->model = fy_nn_data_parallel(run->model, ids, (int)run->size);
}

// ---- the loader ---------------------------------------------------------------------------------------------------------

enum { LOADER_BATCH = 256, LOADER_BATCHES = 20, LOADER_BATCHES_SIMULATED = 2 };

static FyTransform *to_numbers(void) {
  return fy_compose(fy_to_tensor(), fy_normalize(1, fy_floats(0.5f), fy_floats(0.5f)));
}

static FyDataset *pictures(Run *run, int64_t count) {
  bool real = fy_fashion_mnist_available(NULL);
  snprintf(run->label, sizeof run->label, "%s", real ? "Fashion-MNIST" : "synthetic pictures");
  return fy_subset(real ? fy_fashion_mnist_dataset(NULL, true, to_numbers())
                        : fy_synthetic_dataset(count, 1, 0, to_numbers()),
                   0, count);
}

// Twenty batches of 256 pictures, shuffled and normalized, brought to the device; `size` workers.
void setup_loader(Run *run) {
  bool cuda = run->device.type == FY_CUDA;
  int batches = cuda && fy_cuda_is_simulated() ? LOADER_BATCHES_SIMULATED : LOADER_BATCHES;
  FyDataset *dataset = pictures(run, (int64_t)LOADER_BATCH * batches);
  run->loader = fy_data_loader(dataset, .batch_size = LOADER_BATCH, .shuffle = true, .num_workers = (int)run->size,
                               .pin_memory = cuda, .seed = 1);
  run->items = (double)fy_loader_samples(run->loader);
}

void body_loader(Run *run) {
  fy_for_prefetched_batches(batch, run->loader, run->device) {
    (void)batch;
  }
}

// `size` steps of 001's CNN at batch 256 on Fashion-MNIST, loading included. On the CPU the loader has no workers: the
// cores are the step's.
void setup_fashion(Run *run) {
  if (!fy_fashion_mnist_available(NULL)) {
    skip_run(run, "Fashion-MNIST is not here (Debian's dataset-fashion-mnist, or set FERRY_DATA)");
    return;
  }
  bool cuda = run->device.type == FY_CUDA;
  set_up_step(run, CNN_001, 256);
  run->loader = fy_data_loader(pictures(run, 256 * run->size), .batch_size = 256, .shuffle = true,
                               .num_workers = cuda ? 2 : 0, .pin_memory = cuda, .seed = 1);
  run->flops *= (double)run->size;
  run->items = 256 * (double)run->size;
}

void body_fashion(Run *run) {
  fy_for_prefetched_batches(batch, run->loader, run->device) {
    training_step(run->model, run->optimizer, batch.data, batch.target);
  }
}

// ---- memory over a step -------------------------------------------------------------------------------------------------

enum { MOST_MOMENTS = 64 };

// The layers of 001's CNN as its Sequentials run them: neighbors that are one op come together.
static const struct {
  const char *label;
  int layers;
} groups[] = {{"conv1 relu pool", 3}, {"conv2 relu pool", 3}, {"flatten", 1},
              {"fc1 relu", 2},        {"dropout", 1},         {"fc2", 1}};
enum { GROUPS = sizeof groups / sizeof *groups };

// What was in use at which moment; rows are made of it only afterwards, so that noting takes no memory.
static struct {
  size_t bytes[MOST_MOMENTS];
  char label[MOST_MOMENTS][32];
  int count;
  FyDevice device;
} moments;

static void note(const char *label, const char *suffix) {
  if (moments.count < MOST_MOMENTS) {
    moments.bytes[moments.count] = fy_memory_allocated(moments.device);
    snprintf(moments.label[moments.count], sizeof moments.label[0], "%s%s", label, suffix);
    moments.count++;
  }
}

// Hooks run when the gradient of a layer's output has arrived: what is behind it in the graph has been freed by then.
static FyTensor *note_gradient(FyTensor *grad, void *context) {
  (void)grad;
  note(context, " grad");
  return NULL;
}

static FyTensor *noted_forward(FyModule *model, FyTensor *x, bool noting) {
  for (int i = 0, next = 0; i < GROUPS; i++) {
    FyModule *layers[4] = {NULL};
    for (int k = 0; k < groups[i].layers; k++) {
      layers[k] = fy_sequential_at(model, next++);
    }
    FyTensor *out = fy_forward_each_with(x, layers);
    if (i > 0 && out != x) {
      fy_drop(x);
    }
    x = out;
    if (noting) {
      note(groups[i].label, "");
      fy_register_hook(x, note_gradient, (void *)groups[i].label, NULL);
    }
  }
  return x;
}

static void noted_step(Run *run, bool noting) {
  fy_scope {
    moments.count = 0;
    note("start", "");
    FyTensor *out = noted_forward(run->model, run->a, noting);
    FyTensor *loss = fy_cross_entropy(out, run->b);
    fy_drop(out);
    note("loss", "");
    fy_backward(loss);
    note("backward", "");
    fy_step(run->optimizer);
    note("Adam", "");
    fy_zero_grad(run->optimizer);
    note("zero_grad", "");
  }
}

// The CNN of 001 at batch `size`: bytes in tensors after each layer of the step. The second step is noted: the first makes
// the optimizer's state.
void setup_memory_step(Run *run) {
  set_up_step(run, CNN_001, run->size);
}

void trace_memory_step(Run *run) {
  moments.device = run->device;
  noted_step(run, false);
  noted_step(run, true);
  for (int i = 0; i < moments.count; i++) {
    trace_row(run, i, (double)moments.bytes[i], moments.label[i]);
  }
}

// ---- memory over the events of a step ---------------------------------------------------------------------------------

enum { MOST_EVENTS = 4096 };

// How many events of a device there are.
static size_t events_now(FyDevice device) {
  return fy_memory_history(device, NULL, 0);
}

// The step of setup_memory_step once more, as the recorder saw it: bytes in use after every block that came or went.
void trace_memory_timeline(Run *run) {
  static FyMemoryEvent events[MOST_EVENTS];
  static const char *const phases[] = {"forward", "backward", "Adam"};
  size_t ends[3];
  noted_step(run, false);
  fy_record_memory_history(true, .max_entries = MOST_EVENTS, .clear_history = true);
  fy_scope {
    FyTensor *loss = fy_cross_entropy(fy_forward(run->model, run->a), run->b);
    ends[0] = events_now(run->device);
    fy_backward(loss);
    ends[1] = events_now(run->device);
    fy_step(run->optimizer);
    fy_zero_grad(run->optimizer);
  }
  ends[2] = events_now(run->device);
  fy_memory_history(run->device, events, MOST_EVENTS);
  fy_record_memory_history(false);
  for (int i = 0, row = 0, phase = 0; i < (int)ends[2] && i < MOST_EVENTS; i++) {
    phase += phase < 2 && i >= (int)ends[phase];
    if (events[i].action == FY_MEMORY_ALLOC || events[i].action == FY_MEMORY_FREE_REQUESTED)
      trace_row(run, row++, (double)events[i].allocated, phases[phase]);
  }
}
