#include "driver.h"
#include "answer.h"
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

static void drive_loader(Driver *d) {
  FyTensor *pictures = driver_tensor(d, "pictures"), *labels = driver_tensor(d, "labels");
  int batch_size = (int)driver_number(d, "batch size");
  uint64_t seed = (uint64_t)driver_number(d, "seed");
  static Epoch first, second, again, other;
  FyDataLoader *loader = training_loader(pictures, labels, batch_size, seed);
  if (!loader) {
    driver_put_text(d, "loader", "NULL");
    return;
  }
  fy_manual_seed(seed + 7); // the process's generator is not the loader's
  walk(&first, loader);
  walk(&second, loader);
  loader = training_loader(pictures, labels, batch_size, seed);
  fy_manual_seed(seed + 8);
  walk(&again, loader);
  loader = training_loader(pictures, labels, batch_size, seed + 1);
  fy_manual_seed(seed + 7);
  walk(&other, loader);
  put_order(d, "order", &first);
  put_order(d, "order of the next epoch", &second);
  put_order(d, "order of the same seed", &again);
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

static Watched *watched(Driver *d) {
  static const FyDatasetClass type = {.name = "Watched", .get = watched_get};
  Watched *w = fy_dataset_new(sizeof *w, &type);
  w->data = driver_array(d, "data");
  w->target = driver_array(d, "target");
  w->batch_size = (int64_t)driver_number(d, "batch size");
  w->base.count = w->data->shape.size[0];
  w->base.input_size = fy_shape(w->data->shape.size[1]);
  w->base.target_size = (FySize){0};
  w->base.input_dtype = FY_FLOAT32;
  w->base.target_dtype = FY_FLOAT32;
  return w;
}

static void drive_loop(Driver *d) {
  FyTensor *weight = driver_tensor(d, "weight");
  Watched *samples = watched(d);
  FyDataLoader *loader =
      fy_data_loader(&samples->base, .batch_size = (int)samples->batch_size, .pin_memory = true, .seed = 1);
  FyDevice device = fy_device_of(weight);
  fy_synchronize(device);
  driver_count(d);
  FyTensor *sums = epoch_sums(loader, weight, device);
  driver_stop(d);
  driver_copies_first(d);
  driver_put(d, "sums", sums);
}

void drive(Driver *d) {
  if (driver_has(d, "pictures"))
    drive_loader(d);
  else
    drive_loop(d);
}
