// Chapter 8: the data pipeline.
//
// A training step loads a batch, copies it to the device and computes. Only the third part trains the model. This
// chapter shortens the first two and overlaps the rest with the computation: batches, worker threads, pinned memory,
// one transfer instead of many, and a prefetcher with its own stream. Each section compares the two versions.
//
// The lesson is docs/08_data_pipeline.md.
#include "marks.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

// ---- data and model -------------------------------------------------------------------------------------------------

// [data]
// The real images if they are installed, otherwise synthetic ones, which say so.
static FyDataset *pictures(FyTransform *transform) {
  return fy_fashion_mnist_available(NULL) ? fy_fashion_mnist_dataset(NULL, true, transform)
                                          : fy_synthetic_dataset(60000, 1, 0, transform);
}

// PyTorch: transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
static FyTransform *to_numbers(void) {
  return fy_compose(fy_to_tensor(), fy_normalize(1, fy_floats(0.5), fy_floats(0.5)));
}
// [end]

static FyModule *small_model(FyDevice device) {
  fy_manual_seed(0);
  FyModule *model = fy_nn_sequential(fy_nn_flatten(), fy_nn_linear(784, 256), fy_nn_relu(), fy_nn_linear(256, 10));
  return fy_module_to(model, device);
}

// [batches]
static void from_samples_to_batches(FyDataset *data) {
  heading("From samples to batches");
  char description[160];
  printf("%s\n", fy_dataset_describe(data, description, sizeof description));
  FyBatch sample = fy_dataset_get(data, 0); // PyTorch: data, target = dataset[0]
  printf("one sample: %s and class %lld\n", fy_shape_string(sample.data), (long long)fy_item_int64(sample.target));

  FyDataLoader *loader = fy_data_loader(data, .batch_size = 64, .shuffle = true); // PyTorch: DataLoader(dataset, ...)
  printf("%lld batches in an epoch\n", (long long)fy_loader_batches(loader));     // PyTorch: len(loader)
  fy_for_batches(batch, loader) {                                                 // for data, target in loader:
    printf("batch %lld: %s and %s\n", (long long)batch.index, fy_shape_string(batch.data),
           fy_shape_string(batch.target));
    if (batch.index == 1) {
      break; // allowed: the loop macro cleans up
    }
  }
}
// [end]

// [order]
// Prints the classes of the first eight images of an epoch.
static void print_first(FyDataset *data, int workers, uint64_t seed, int64_t epoch) {
  FyDataLoader *loader = fy_data_loader(data, .batch_size = 8, .shuffle = true, .num_workers = workers, .seed = seed);
  fy_loader_set_epoch(loader, epoch);
  fy_for_batches(batch, loader) {
    const int64_t *classes = fy_numpy(batch.target);
    printf("seed %llu, epoch %lld, %d workers:", (unsigned long long)seed, (long long)epoch, workers);
    for (int i = 0; i < 8; i++) {
      printf(" %lld", (long long)classes[i]);
    }
    printf("\n");
    break;
  }
}

static void order_of_an_epoch(FyDataset *data) {
  heading("The order of an epoch");
  print_first(data, 0, 1, 0);
  print_first(data, 4, 1, 0);
  print_first(data, 4, 1, 1);
  print_first(data, 4, 2, 0);
}
// [end]

// ---- batch processing -----------------------------------------------------------------------------------------------

// [batching]
// Runs all samples through the model in batches. Returns the seconds, and stores the number of copies and launches.
static double classify(FyModule *model, FyDataset *data, int batch_size, FyDevice device, FyCounters *used) {
  FyDataLoader *loader = fy_data_loader(data, .batch_size = batch_size);
  double seconds = 0;
  FyCounters before = fy_counters();
  timed(seconds, device) {
    fy_no_grad {
      fy_for_batches(batch, loader) {
        fy_cpu(fy_forward(model, fy_to(batch.data, device))); // (batch_size, 10)
      }
    }
  }
  *used = fy_counters_since(before);
  return seconds;
}

static void one_by_one_or_in_batches(const Chapter *chapter, FyDataset *data) {
  heading("One by one, or in batches");
  static const int sizes[] = {1, 8, 64, 256};
  int64_t count = size_for(chapter, 256, 1024, 8192);
  FyDataset *part = fy_subset(data, 0, count);
  FyModule *model = small_model(chapter->device);
  FyCounters used;
  classify(model, part, 256, chapter->device, &used); // warm-up
  printf("%lld pictures through a small network:\n", (long long)count);
  Table table = table_begin({"batch size", 10}, {"time", 22}, {"copies there", 12}, {"kernels", 8}, {"waits", 6});
  for (int i = 0; i < 4; i++) {
    double seconds = INFINITY;
    for (int run = 0; run < 3; run++) { // the best of three: disturbances only make a run longer
      seconds = fmin(seconds, classify(model, part, sizes[i], chapter->device, &used));
    }
    table_row(&table, text("%d", sizes[i]), time_text(chapter->device, seconds),
              text("%lld", (long long)used.host_to_device), text("%lld", (long long)used.launches),
              text("%lld", (long long)used.synchronizations));
  }
}
// [end]

// ---- worker threads -------------------------------------------------------------------------------------------------

// [slow_disk]
// A custom dataset: it returns the samples of another dataset after a delay, as if they came over a network.
// PyTorch: class SlowDisk(Dataset) with __len__ and __getitem__
typedef struct SlowDisk {
  FyDataset base;
  FyDataset *inner;
} SlowDisk;

static void slow_disk_get(FyDataset *self, int64_t index, uint64_t seed, void *input, void *target) {
  FyDataset *inner = ((SlowDisk *)self)->inner;
  nanosleep(&(struct timespec){.tv_nsec = 100 * 1000}, NULL);
  inner->type->get(inner, index, seed, input, target);
}

static void slow_disk_destroy(FyDataset *self) {
  fy_release(((SlowDisk *)self)->inner);
}

static FyDataset *slow_disk(FyDataset *inner, FyTransform *transform) {
  static const FyDatasetClass type = {.name = "SlowDisk", .get = slow_disk_get, .destroy = slow_disk_destroy};
  SlowDisk *self = fy_dataset_new(sizeof *self, &type);
  self->inner = fy_retain(inner);
  self->base.count = inner->count;
  self->base.input_size = inner->input_size;
  self->base.target_size = inner->target_size;
  self->base.input_dtype = inner->input_dtype;
  self->base.target_dtype = inner->target_dtype;
  return fy_dataset_transform(&self->base, transform);
}
// [end]

// [workers]
// Samples per second in one epoch. If `model` is given, the gradients of each batch are computed too.
static double load_rate(FyDataset *data, int workers, FyModule *model) {
  FyDataLoader *loader = fy_data_loader(data, .batch_size = 64, .num_workers = workers);
  volatile double seconds = 0;
  timed(seconds, FY_CPU_DEVICE) {
    fy_for_batches(batch, loader) {
      if (model) {
        fy_backward(fy_cross_entropy(fy_forward(model, batch.data), batch.target));
      }
    }
  }
  return (double)fy_loader_samples(loader) / seconds;
}

static void worker_threads(const Chapter *chapter) {
  heading("Worker threads");
  FyTransform *transform = fy_compose(fy_random_crop(28, 4), fy_random_horizontal_flip(0.5), to_numbers());
  FyDataset *memory = fy_subset(pictures(transform), 0, size_for(chapter, 2048, 30000, 60000));
  FyDataset *disk = fy_subset(slow_disk(pictures(NULL), transform), 0, size_for(chapter, 256, 4096, 8192));
  FyModule *model = small_model(FY_CPU_DEVICE);
  printf("samples per second on %d cores:\n", (int)sysconf(_SC_NPROCESSORS_ONLN));
  Table table = table_begin({"workers", 8}, {"from memory", 13}, {"from a slow disk", 17}, {"the same, training", 18});
  static const int workers[] = {0, 1, 2, 4};
  for (int i = 0; i < 4; i++) {
    table_row(&table, text("%d", workers[i]), text("%.0f", load_rate(memory, workers[i], NULL)),
              text("%.0f", load_rate(disk, workers[i], NULL)), text("%.0f", load_rate(disk, workers[i], model)));
  }
}
// [end]

// ---- pinned memory --------------------------------------------------------------------------------------------------

// [pinned]
// Measures when the call returns and when the copy is complete, and counts the host's waits for the device.
static void copy_and_watch(FyTensor *from, bool non_blocking, FyDevice device, const Table *table, const char *name) {
  double returned = INFINITY, arrived = INFINITY; // the best of five
  int64_t waits = 0;
  for (int run = -1; run < 5; run++) { // -1 is the warm-up
    fy_scope {
      fy_synchronize(device);
      FyCounters before = fy_counters();
      double start = seconds_now(device);
      fy_to(from, device, .non_blocking = non_blocking);
      double back = seconds_now(device) - start;
      waits = fy_counters_since(before).synchronizations;
      fy_synchronize(device);
      double done = seconds_now(device) - start;
      returned = run < 0 ? returned : fmin(returned, back);
      arrived = run < 0 ? arrived : fmin(arrived, done);
    }
  }
  table_row(table, name, time_text(device, returned), time_text(device, arrived), text("%lld", (long long)waits));
}

static void pinned_against_pageable(const Chapter *chapter, FyDataset *data) {
  heading("Pinned against pageable memory");
  FyDevice device = chapter->device;
  if (device.type != FY_CUDA) {
    printf("On the CPU nothing has to be moved. FERRY_CUDA=sim shows this section.\n");
    return;
  }
  int64_t n = size_for(chapter, 256, 1024, 4096);
  FyTensor *pageable = fy_randn(fy_shape(n, n));
  FyTensor *pinned = fy_pin_memory(pageable); // PyTorch: pageable.pin_memory()
  printf("%s to %s:\n", bytes_text((double)fy_nbytes(pageable)), fy_device_name_of(device));
  Table table = table_begin({"from", 24}, {"call returned", 22}, {"copy arrived", 22}, {"waits", 5});
  copy_and_watch(pageable, false, device, &table, "pageable");
  copy_and_watch(pageable, true, device, &table, "pageable, non_blocking");
  copy_and_watch(pinned, false, device, &table, "pinned");
  copy_and_watch(pinned, true, device, &table, "pinned, non_blocking");

  FyDataLoader *loader = fy_data_loader(data, .batch_size = 64, .pin_memory = true); // PyTorch: pin_memory=True
  FyBatch batch;
  fy_loader_next(fy_loader_iter(loader), &batch);
  printf("a batch of a loader with pin_memory is pinned: %s\n", truth(fy_is_pinned(batch.data)));
}
// [end]

// ---- one transfer ---------------------------------------------------------------------------------------------------

// [transfers]
enum { COUNT = 256 };

typedef struct Cargo {
  FyTensor *samples[COUNT]; // (1, 28, 28) each
  FyTensor *batch, *bytes;  // (256, 1, 28, 28) float32; (256, 28, 28) uint8
  FyDevice device;
} Cargo;

static void send_samples(void *context) {
  Cargo *cargo = context;
  for (int i = 0; i < COUNT; i++) {
    fy_to(cargo->samples[i], cargo->device);
  }
}

static void send_batch(void *context) {
  Cargo *cargo = context;
  fy_to(cargo->batch, cargo->device);
}

// Copies a quarter of the bytes, and converts them to floats on the device.
static FyTensor *numbers_from_bytes(const Cargo *cargo) {
  FyTensor *there = fy_to(cargo->bytes, cargo->device);
  return fy_div_scalar(fy_sub_scalar(fy_div_scalar(fy_float(there), 255), 0.5), 0.5);
}

static void send_bytes(void *context) {
  numbers_from_bytes(context);
}
// [end]

static void print_transfers(const char *name, void (*work)(void *), Cargo *cargo) {
  FyCounters before = fy_counters();
  fy_scope {
    work(cargo);
  }
  FyCounters sent = fy_counters_since(before);
  printf("%-20s %4lld copies, %9s in %s\n", name, (long long)sent.host_to_device,
         bytes_text((double)sent.host_to_device_bytes),
         time_text(cargo->device, seconds_of(cargo->device, 5, work, cargo).best));
}

static void one_transfer(const Chapter *chapter) {
  heading("One transfer instead of many");
  if (chapter->device.type != FY_CUDA) {
    printf("On the CPU nothing has to be moved. FERRY_CUDA=sim shows this section.\n");
    return;
  }
  FyDataset *bytes = pictures(NULL), *numbers = pictures(to_numbers());
  FyBatch batch, raw;
  fy_loader_next(fy_loader_iter(fy_data_loader(numbers, .batch_size = COUNT)), &batch);
  fy_loader_next(fy_loader_iter(fy_data_loader(bytes, .batch_size = COUNT)), &raw);
  Cargo cargo = {.batch = batch.data, .bytes = raw.data, .device = chapter->device};
  for (int i = 0; i < COUNT; i++) {
    cargo.samples[i] = fy_select(batch.data, 0, i);
  }
  print_transfers("sample by sample", send_samples, &cargo);
  print_transfers("the batch", send_batch, &cargo);
  print_transfers("the batch as bytes", send_bytes, &cargo);
  FyTensor *there = numbers_from_bytes(&cargo);
  printf("the same numbers: %s\n", truth(fy_allclose(fy_view_as(fy_cpu(there), batch.data), batch.data, 1e-6, 1e-6)));
}

// ---- prefetcher -----------------------------------------------------------------------------------------------------

// [waiting_loop]
static double compute(FyModule *model, FyTensor *data, FyTensor *target, FyOptimizer *optimizer, Marks *marks, int step,
                      bool wait) {
  FyDevice device = fy_device_of(data);
  mark(&marks->step_begin[step], device);
  FyTensor *loss = fy_cross_entropy(fy_forward(model, data), target);
  fy_zero_grad(optimizer);
  fy_backward(loss);
  fy_step(optimizer);
  mark(&marks->step_end[step], device);
  return wait ? fy_item(loss) : 0; // reading the loss in every step makes the host wait for the device
}

// Copy, compute, wait; copy, compute, wait.
static void train_waiting(FyDataLoader *loader, FyModule *model, FyOptimizer *optimizer, FyDevice device,
                          Marks *marks) {
  FyLoaderIterator *batches = fy_loader_iter(loader);
  FyBatch batch;
  while (fy_loader_next(batches, &batch)) {
    int k = (int)batch.index;
    mark(&marks->copy_begin[k], device);
    FyTensor *data = fy_to(batch.data, device);
    FyTensor *target = fy_to(batch.target, device);
    mark(&marks->copy_end[k], device);
    compute(model, data, target, optimizer, marks, k, true);
  }
}
// [end]

// [prefetcher]
// PyTorch: class DataPrefetcher, with self.loader, self.stream, self.next_input and self.next_target
typedef struct Prefetcher {
  FyLoaderIterator *batches;
  FyDevice device;
  FyStream *stream; // for the copies; the model computes on another stream
  FyBatch next;     // being copied
  bool more;
} Prefetcher;

static void preload(Prefetcher *self, Marks *marks) {
  FyBatch batch; // in pinned memory
  self->more = fy_loader_next(self->batches, &batch);
  if (!self->more) {
    return;
  }
  fy_stream_guard(self->stream) { // PyTorch: with torch.cuda.stream(self.stream):
    mark(&marks->copy_begin[batch.index], self->device);
    self->next = batch;
    self->next.data = fy_to(batch.data, self->device, .non_blocking = true);
    self->next.target = fy_to(batch.target, self->device, .non_blocking = true);
    mark(&marks->copy_end[batch.index], self->device);
  }
}

static bool next_batch(Prefetcher *self, FyBatch *batch, Marks *marks) {
  if (!self->more) {
    return false;
  }
  FyStream *current = fy_current_stream(self->device);
  fy_stream_wait_stream(current, self->stream); // one stream waits for the other; the host does not wait
  *batch = self->next;
  fy_record_stream(batch->data, current); // made on one stream, used on another: free after both
  fy_record_stream(batch->target, current);
  preload(self, marks); // the copy of the next batch starts before the step on this one
  return true;
}

static void train_prefetching(FyDataLoader *loader, FyModule *model, FyOptimizer *optimizer, FyDevice device,
                              Marks *marks) {
  Prefetcher prefetcher = {fy_loader_iter(loader), device, fy_stream_new(device, 0), .more = false};
  preload(&prefetcher, marks);
  FyBatch batch;
  while (next_batch(&prefetcher, &batch, marks)) {
    compute(model, batch.data, batch.target, optimizer, marks, (int)batch.index, false);
  }
}
// [end]

// [order_of_events]
static void observe(FyDataset *data, FyDevice device, int batch_size,
                    void (*loop)(FyDataLoader *, FyModule *, FyOptimizer *, FyDevice, Marks *)) {
  FyModule *model = small_model(device);
  FyOptimizer *optimizer = fy_adam(fy_parameters(model));
  FyDataLoader *loader =
      fy_data_loader(fy_subset(data, 0, (int64_t)STEPS * batch_size), .batch_size = batch_size, .pin_memory = true);
  Marks warm_up = {0}, marks = {0};
  loop(loader, model, optimizer, device, &warm_up);
  fy_synchronize(device);
  mark(&marks.origin, device);
  loop(loader, model, optimizer, device, &marks);
  print_order(&marks, device);
}

static void order_of_events(const Chapter *chapter, FyDataset *data) {
  heading("Waiting against prefetching");
  if (chapter->device.type != FY_CUDA) {
    printf("The CPU has one queue: its own program. FERRY_CUDA=sim shows this section.\n");
    return;
  }
  int batch_size = (int)size_for(chapter, 32, 256, 4096);
  printf("The numbers are batches; the columns are the order of events, not their times.\n\nwaiting\n");
  observe(data, chapter->device, batch_size, train_waiting);
  printf("\nprefetching\n");
  observe(data, chapter->device, batch_size, train_prefetching);
}
// [end]

// Writes a profile of a loop as a trace (chapter 14). The lesson's timelines are drawn from it.
static void write_trace(FyDataset *data, FyDevice device, const char *folder, const char *name,
                        void (*loop)(FyDataLoader *, FyModule *, FyOptimizer *, FyDevice, Marks *)) {
  enum { BATCH_SIZE = 4096 };
  FyModule *model = fy_module_to(fy_nn_sequential(fy_nn_flatten(), fy_nn_linear(784, 10)), device);
  FyOptimizer *optimizer = fy_adam(fy_parameters(model));
  FyDataLoader *loader =
      fy_data_loader(fy_subset(data, 0, (int64_t)STEPS * BATCH_SIZE), .batch_size = BATCH_SIZE, .pin_memory = true);
  Marks marks = {0};
  FyProfile *profile;
  fy_scope {
    loop(loader, model, optimizer, device, &marks); // warm-up
    fy_synchronize(device);
  }
  fy_profile(profile, FY_PROFILE_CPU | FY_PROFILE_CUDA) {
    loop(loader, model, optimizer, device, &marks);
  }
  fy_export_chrome_trace(profile, text("%s/%s.json", folder, name));
}

// ---- where the time goes --------------------------------------------------------------------------------------------

// [stages]
typedef struct Stages {
  double load, move, compute; // seconds per step
} Stages;

static void train_step(FyModule *model, FyOptimizer *optimizer, FyTensor *data, FyTensor *target) {
  fy_zero_grad(optimizer);
  fy_backward(fy_cross_entropy(fy_forward(model, data), target));
  fy_step(optimizer);
}

// Times each stage separately. The host waits after each, so that only the workers overlap with other work.
static Stages stage_by_stage(FyDataLoader *loader, FyModule *model, FyOptimizer *optimizer, FyDevice device) {
  Stages sum = {0};
  FyLoaderIterator *batches = fy_loader_iter(loader);
  for (bool more = true; more;) {
    fy_scope {
      FyBatch batch;
      double start = seconds_now(FY_CPU_DEVICE); // loading runs on the CPU
      more = fy_loader_next(batches, &batch);
      sum.load += more ? seconds_now(FY_CPU_DEVICE) - start : 0;
      if (more) {
        double loaded = seconds_now(device);
        FyTensor *data = fy_to(batch.data, device), *target = fy_to(batch.target, device);
        fy_synchronize(device);
        double moved = seconds_now(device);
        train_step(model, optimizer, data, target);
        fy_synchronize(device);
        sum.move += moved - loaded;
        sum.compute += seconds_now(device) - moved;
      }
    }
  }
  double steps = (double)fy_loader_batches(loader);
  return (Stages){sum.load / steps, sum.move / steps, sum.compute / steps};
}

// The same steps without waits in between: seconds per step.
static double with_prefetcher(FyDataLoader *loader, FyModule *model, FyOptimizer *optimizer, FyDevice device) {
  volatile double seconds = 0;
  timed(seconds, device) {
    fy_for_prefetched_batches(batch, loader, device) {
      train_step(model, optimizer, batch.data, batch.target);
    }
  }
  return seconds / (double)fy_loader_batches(loader);
}
// [end]

// [where_time_goes]
static void where_the_time_goes(const Chapter *chapter) {
  heading("Where the time of a step goes");
  FyDevice device = chapter->device;
  FyModule *model = small_model(device);
  FyOptimizer *optimizer = fy_adam(fy_parameters(model));
  FyDataset *data = fy_subset(slow_disk(pictures(NULL), to_numbers()), 0, size_for(chapter, 640, 2560, 12800));
  bool pin = device.type == FY_CUDA;
  printf("per step of 64 pictures from the slow disk, on %s:\n", fy_device_name_of(device));
  if (chapter->modeled) {
    printf("(loading is measured on this CPU; moving and computing are %s)\n", fy_cuda_model());
  } else if (chapter->simulated) {
    printf("(simulated: on a GPU moving and computing take other times, and loading the same)\n");
  }
  Table table = table_begin({"", 26}, {"loading", 10}, {"moving", 10}, {"computing", 10}, {"step", 10});
  for (int workers = 0; workers <= 4; workers += 2) {
    FyDataLoader *loader = fy_data_loader(data, .batch_size = 64, .num_workers = workers, .pin_memory = pin);
    Stages stages = stage_by_stage(loader, model, optimizer, device);
    double all = stages.load + stages.move + stages.compute;
    table_row(&table, text("%d workers", workers), text("%.2f ms", 1e3 * stages.load),
              text("%.2f ms", 1e3 * stages.move), text("%.2f ms", 1e3 * stages.compute), text("%.2f ms", 1e3 * all));
  }
  FyDataLoader *loader = fy_data_loader(data, .batch_size = 64, .num_workers = 4, .pin_memory = pin);
  if (chapter->modeled) { // two clocks that nothing ties together
    table_row(&table, "4 workers and prefetcher", "", "", "", "not modeled");
    return;
  }
  double all = with_prefetcher(loader, model, optimizer, device);
  table_row(&table, "4 workers and prefetcher", "", "", "", text("%.2f ms", 1e3 * all));
}
// [end]

int main(int argc, char **argv) {
  const char *traces = NULL;
  const ChapterOption option = {.name = "--traces",
                                .help = "traces of the waiting and the prefetching loop go into this folder",
                                .value = "FOLDER",
                                .text = &traces};
  Chapter chapter = chapter_begin_with(argc, argv, "Chapter 8: the data pipeline",
                                       "From samples on a disk to batches on the device, in time.", 1, &option);
  fy_scope {
    FyDataset *data = pictures(to_numbers());
    from_samples_to_batches(data);
    order_of_an_epoch(data);
    one_by_one_or_in_batches(&chapter, data);
    worker_threads(&chapter);
    pinned_against_pageable(&chapter, data);
    one_transfer(&chapter);
    order_of_events(&chapter, data);
    where_the_time_goes(&chapter);
    if (traces) {
      write_trace(data, chapter.device, traces, "waiting", train_waiting);
      write_trace(data, chapter.device, traces, "prefetching", train_prefetching);
    }
  }
  return 0;
}
