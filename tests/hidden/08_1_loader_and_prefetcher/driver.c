// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include "data/loader_impl.h" // a loader's epoch
#include "device/runtime.h"
#include <stdlib.h>
#include <string.h>

// ---- the loader that the answer makes --------------------------------------------------------------------------------

enum { MAX_SAMPLES = 4096, MAX_BATCHES = 512 };

typedef struct Epoch {
  int64_t labels[MAX_SAMPLES], sizes[MAX_BATCHES], samples, batches;
  FySize sample; // of the data, without the batch's dimension
  FyDType dtype;
  unsigned char *data;
  size_t bytes;
  bool pinned;
} Epoch;

static void add_batch(Epoch *e, FyBatch batch) {
  size_t bytes = fy_nbytes(batch.data);
  if (e->samples + batch.size > MAX_SAMPLES || e->batches == MAX_BATCHES)
    return;
  e->data = realloc(e->data, e->bytes + bytes + 1);
  if (!e->data)
    abort();
  fy_copy_to_host(batch.data, e->data + e->bytes);
  fy_copy_to_host(batch.target, e->labels + e->samples);
  e->bytes += bytes;
  e->sample = fy_size(batch.data);
  e->dtype = fy_dtype_of(batch.data);
  e->pinned = (e->batches == 0 || e->pinned) && fy_is_pinned(batch.data) && fy_is_pinned(batch.target);
  e->samples += batch.size;
  e->sizes[e->batches++] = batch.size;
}

static void walk(Epoch *e, FyDataLoader *loader) {
  *e = (Epoch){0};
  fy_for_batches(batch, loader) {
    add_batch(e, batch);
  }
}

static void put_order(Driver *d, const char *name, const Epoch *e) {
  driver_put_array(d, name, FY_INT64, shape(e->samples), e->labels);
}

// The order of a loader that is used before another one exists. The seed of the process's generator must not matter.
static void put_alone(Driver *d, const char *name, uint64_t seed, uint64_t process_seed) {
  static Epoch epoch;
  FyDataLoader *loader = training_loader(driver_tensor(d, "pictures"), driver_tensor(d, "labels"),
                                         (int)driver_number(d, "batch size"), seed);
  fy_manual_seed(process_seed);
  walk(&epoch, loader);
  put_order(d, name, &epoch);
}

static void drive_loader(Driver *d) {
  FyTensor *pictures = driver_tensor(d, "pictures"), *labels = driver_tensor(d, "labels");
  int batch_size = (int)driver_number(d, "batch size");
  uint64_t seed = (uint64_t)driver_number(d, "seed");
  static Epoch first, second, again, second_again, other;
  FyDataLoader *loader = training_loader(pictures, labels, batch_size, seed);
  if (!loader) {
    driver_put_text(d, "loader", "NULL");
    return;
  }
  // The loaders exist before the first is used, and two are used alternately: each has its own orders.
  FyDataLoader *same = training_loader(pictures, labels, batch_size, seed),
               *next = training_loader(pictures, labels, batch_size, seed + 1);
  walk(&first, loader);
  walk(&again, same);
  walk(&second, loader);
  walk(&second_again, same);
  walk(&other, next);
  put_alone(d, "order alone", seed, 7);
  put_alone(d, "order alone again", seed, 7);
  put_alone(d, "order alone, seeded otherwise", seed, 8);
  put_order(d, "order", &first);
  put_order(d, "order of the next epoch", &second);
  put_order(d, "order of the same seed", &again);
  put_order(d, "next order of the same seed", &second_again);
  put_order(d, "order of another seed", &other);
  driver_put_array(d, "sizes", FY_INT64, shape(first.batches), first.sizes);
  driver_put_number(d, "pinned", first.pinned);
  Shape all = {.rank = first.sample.ndim};
  for (int i = 0; i < all.rank; i++)
    all.size[i] = i == 0 ? first.samples : first.sample.dim[i];
  driver_put_array(d, "data", first.dtype, all, first.data);
}

// ---- the loop over batches -------------------------------------------------------------------------------------------

// Samples from an array.
typedef struct Watched {
  FyDataset base;
  const Array *data, *target;
  int64_t batch_size;
} Watched;

static void watched_get(FyDataset *self, int64_t index, uint64_t seed, void *input, void *target) {
  Watched *w = (Watched *)self;
  int64_t features = w->data->shape.size[1];
  (void)seed;
  memcpy(input, w->data->f32 + index * features, (size_t)features * sizeof(float));
  memcpy(target, w->target->f32 + index, sizeof(float));
}

static Watched *watched(Driver *d, const char *data, const char *target) {
  static const FyDatasetClass type = {.name = "Watched", .get = watched_get};
  Watched *w = fy_dataset_new(sizeof *w, &type);
  w->data = driver_array(d, data);
  w->target = driver_array(d, target);
  w->batch_size = (int64_t)driver_number(d, "batch size");
  w->base.count = w->data->shape.size[0];
  w->base.input_size = fy_shape(w->data->shape.size[1]);
  w->base.target_size = (FySize){0};
  w->base.input_dtype = FY_FLOAT32;
  w->base.target_dtype = FY_FLOAT32;
  return w;
}

static FyDataLoader *loader_of(Driver *d, const char *data, const char *target) {
  Watched *samples = watched(d, data, target);
  return fy_data_loader(&samples->base, .batch_size = (int)samples->batch_size, .pin_memory = true, .seed = 1);
}

// With twice the weight, and on another device if there is one.
static FyTensor *earlier_call(Driver *d, FyTensor *weight) {
  FyDevice other = driver_other_gpu(weight);
  FyTensor *twice = fy_to(fy_add(weight, weight), other);
  fy_synchronize(other);
  FyTensor *sums = epoch_sums(loader_of(d, "data", "target"), twice, other);
  fy_synchronize(other);
  return sums;
}

static void drive_loop(Driver *d) {
  FyTensor *weight = driver_tensor(d, "weight");
  FyDevice device = fy_device_of(weight);
  FyTensor *earlier = earlier_call(d, weight);
  FyStream *computing = driver_has(d, "stream") ? fy_stream_new(device, 0) : fy_current_stream(device);
  FyDataLoader *loader = loader_of(d, "data", "target");
  int current = fy_cuda_current_device();
  fy_synchronize(device);
  fy_set_stream(computing);
  fy_cuda_set_device(current);
  driver_put_number(d, "computing", (double)driver_stream(computing));
  fy_loader_set_epoch(loader, 3);
  driver_count(d);
  FyTensor *sums = epoch_sums(loader, weight, device);
  driver_stop(d);
  driver_copies_first(d);
  driver_put_number(d, "epochs", (double)(loader->epoch - 3));
  driver_put(d, "sums", sums);
  driver_put(d, "earlier sums", earlier);
}

// There is no wait between the two epochs, and the scope frees the batches of the first one. If a copy of the second epoch
// overwrites them before they have been read, the first sums show it.
static void drive_two_epochs(Driver *d) {
  FyTensor *weight = driver_tensor(d, "weight"), *first = NULL, *second = NULL;
  FyDevice device = fy_device_of(weight);
  FyDataLoader *loaders[] = {loader_of(d, "first data", "first target"), loader_of(d, "data", "target")};
  fy_synchronize(device);
  driver_count(d);
  fy_scope {
    first = fy_keep(epoch_sums(loaders[0], weight, device));
  }
  fy_scope {
    second = fy_keep(epoch_sums(loaders[1], weight, device));
  }
  driver_stop(d);
  driver_copies_first(d);
  driver_put_number(d, "one result", first && second && fy_data_ptr(first) == fy_data_ptr(second));
  driver_put(d, "first sums", first);
  driver_put(d, "sums", second);
}

void drive(Driver *d) {
  if (driver_has(d, "pictures"))
    drive_loader(d);
  else if (driver_has(d, "first data"))
    drive_two_epochs(d);
  else
    drive_loop(d);
}
