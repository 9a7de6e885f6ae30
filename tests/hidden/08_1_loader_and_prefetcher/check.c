// SPDX-License-Identifier: MIT
// Exercise 8.1: a loader, checked by the order and the values of its batches, and a loop over prefetched batches, checked
// by its sums, its copies, and the order of copies and kernels.
#include "exercise.h"
#include <math.h>
#include <string.h>

enum { MAX_BATCHES = 512 };

#define ORDER "docs/08_data_pipeline.md#shuffling-and-seeds"
#define SAMPLES "docs/08_data_pipeline.md#datasets-transforms-and-data-loaders"
#define PREFETCH "docs/08_data_pipeline.md#prefetching-batches"

static const Mistake NOT_SHUFFLED = {
    "missing shuffle",
    "The samples come in the order of the data set. Set .shuffle = true, so that each epoch has a different order.",
    ORDER};
static const Mistake NO_SEED = {
    "seed not used",
    "The order depends on the process's random generator, so a run cannot be repeated. Set .seed = seed.", ORDER};
static const Mistake SEED_FIXED = {
    "hard-coded seed", "Loaders with different seeds had the same order. Pass the parameter `seed` to the loader.",
    ORDER};
static const Mistake EPOCH_RESET = {
    "loader reset to an earlier epoch",
    "Each call of epoch_sums must run the loader's next epoch. Do not set the loader's epoch yourself.", ORDER};
static const Mistake NOT_REPRODUCIBLE = {
    "order not reproducible",
    "Two loaders with the same seed had different orders. Each loader needs its own generator: set .seed, and keep "
    "nothing static.",
    ORDER};
static const Mistake DROPPED = {"last batch dropped",
                                "Samples are missing. Leave .drop_last unset: the last batch may be smaller.", SAMPLES};
static const Mistake BATCH_SIZE = {"wrong batch size", "Every batch except the last must have batch_size samples.",
                                   "docs/08_data_pipeline.md#batch-size-and-fixed-costs"};
static const Mistake NOT_NORMALIZED = {"missing normalization",
                                       "The pixels are between 0 and 1. Use fy_normalize with mean 0.5 and standard "
                                       "deviation 0.5, which maps them to -1 to 1.",
                                       SAMPLES};
static const Mistake BYTES = {"missing conversion to float",
                              "The pixels still have values from 0 to 255, or are not float32. As the transform, use "
                              "fy_to_tensor followed by fy_normalize.",
                              SAMPLES};
static const Mistake PAGEABLE = {"pageable memory",
                                 "The host waits for a copy from pageable memory. Set .pin_memory = true.",
                                 "docs/08_data_pipeline.md#pinned-and-pageable-memory"};
static const Mistake NOT_AHEAD = {
    "missing prefetch",
    "You queued the copy of the next batch only after the computation with the current batch. Queue the copy first.",
    PREFETCH};
static const Mistake ONE_STREAM = {
    "copy on the compute stream",
    "Work on one stream runs in order, so the copies cannot overlap with the computation. Copy on a second stream.",
    PREFETCH};
static const Mistake USED_AGAIN = {"memory reused too early",
                                   "A batch's memory was reused for a later copy while a kernel still had to read it. "
                                   "Call fy_record_stream for tensors that a second stream uses.",
                                   PREFETCH};
static const Mistake HOST_WAITS = {
    "host synchronization in the loop",
    "The host waited for the device in each batch. Copy with .non_blocking = true, and leave the sums on the device.",
    PREFETCH};
static const Mistake FEW_WAITS = {
    "host synchronization",
    "The host waited for the device. Let one stream wait for the other instead, which does not block the host.",
    PREFETCH};
static const Mistake NO_WAIT = {"missing stream dependency",
                                "The compute stream does not wait for the copies. Call fy_stream_wait_stream before "
                                "you use a batch.",
                                PREFETCH};
static const Mistake WRONG_WAIT = {"wait on the wrong stream",
                                   "A stream waits for the copies, but it is not the compute stream. The compute "
                                   "stream is fy_current_stream(device), which need not be the default stream.",
                                   "docs/04_benchmarks.md#several-streams"};
static const Mistake NOT_JOINED = {"missing wait of the caller's stream",
                                   "You compute on a stream other than the current one. Before you return, make the "
                                   "current stream wait for it with fy_stream_wait_stream.",
                                   "docs/04_benchmarks.md#several-streams"};
static const Mistake LEFT_BEHIND = {"target left on the CPU",
                                    "A batch consists of data and target. Copy both to the device.",
                                    "docs/07_pitfalls.md#mismatched-devices"};
static const Mistake ON_CPU = {"computed on the CPU",
                               "Copy the batches to the device, compute there, and leave the sums on the device.",
                               "docs/03_tensor_moves.md#copying-with-todevice"};
static const Mistake SAMPLE_BY_SAMPLE = {"many small transfers",
                                         "Each batch needs only two copies: one for its data and one for its target.",
                                         "docs/08_data_pipeline.md#fewer-and-smaller-transfers"};
static const Mistake FULL_BATCH = {"wrong size of the last batch",
                                   "You multiplied the last batch's mean by the size of a full batch. Multiply by "
                                   "batch.size, or compute the sum directly.",
                                   SAMPLES};
static const Mistake LAST_SUM = {"last batch left out",
                                 "Compute a sum for the last batch as well, even if it is smaller.", SAMPLES};
static const Mistake NO_TARGET = {"target not used", "Multiply each product by the sample's target.", SAMPLES};

// ---- the loader --------------------------------------------------------------------------------------------------------

// The labels are the samples' indices, so that they show the order.
static void ask_loader(Case *c, int64_t samples, int64_t batch_size) {
  Array *labels = new_array(c, FY_INT64, shape(samples));
  for (int64_t i = 0; i < samples; i++)
    labels->i64[i] = i;
  give_array(c, "pictures", draw_array(c, FY_UINT8, shape(samples, draw_odd(c, 3, 5), draw_int(c, 6, 8)), 0, 255),
             (Give){0});
  give_array(c, "labels", labels, (Give){0});
  give_number(c, "batch size", (double)batch_size);
  give_number(c, "seed", (double)draw_odd(c, 3, 1 << 20));
}
static void ask_uneven(Case *c) {
  ask_loader(c, 8 * draw_int(c, 10, 14) + 3, 8);
}
static void ask_even(Case *c) {
  ask_loader(c, 12 * draw_int(c, 10, 14), 12);
}
static void ask_one_batch(Case *c) {
  ask_loader(c, draw_odd(c, 41, 59), 64);
}

static int64_t size_of(const Case *c, const char *name) {
  return (int64_t)given_number(c, name);
}

static bool is_permutation(const Array *order, int64_t count) {
  bool seen[4096] = {false};
  if (!order || order->count != count)
    return false;
  for (int64_t i = 0; i < count; i++) {
    int64_t at = order->i64[i];
    if (at < 0 || at >= count || seen[at])
      return false;
    seen[at] = true;
  }
  return true;
}

static bool same_order(const Case *c, const char *a, const char *b) {
  const Array *x = got(c, a), *y = got(c, b);
  return x && y && x->count == y->count && memcmp(x->i64, y->i64, (size_t)x->count * sizeof(int64_t)) == 0;
}

static bool in_sequence(const Array *order) {
  for (int64_t i = 0; order && i < order->count; i++)
    if (order->i64[i] != i)
      return false;
  return order != NULL;
}

// The images in the order of the labels: byte / 255, then (x - mean) / deviation.
static Array *pictures_in_order(Case *c, double mean, double deviation) {
  const Array *pictures = given(c, "pictures"), *order = got(c, "order");
  int64_t height = pictures->shape.size[1], width = pictures->shape.size[2], one = height * width;
  Array *want = new_array(c, FY_FLOAT32, shape(pictures->shape.size[0], 1, height, width));
  for (int64_t i = 0; i < want->count; i++)
    want->f32[i] = (float)((pictures->u8[order->i64[i / one] * one + i % one] / 255.0 - mean) / deviation);
  return want;
}

static void judge_sizes(Case *c) {
  int64_t samples = given(c, "labels")->count, batch_size = size_of(c, "batch size");
  const Array *sizes = got(c, "sizes");
  int64_t batches = (samples + batch_size - 1) / batch_size;
  expect_exactly(c, "batches of an epoch", sizes ? sizes->count : 0, batches, &BATCH_SIZE);
  for (int64_t i = 0; sizes && sizes->count == batches && i < batches; i++)
    expect_exactly(c, "samples in a batch", sizes->i64[i],
                   i < batches - 1 ? batch_size : samples - (batches - 1) * batch_size, &BATCH_SIZE);
}

static void judge_loader(Case *c) {
  const Array *order = got(c, "order"), *data = got(c, "data");
  int64_t samples = given(c, "labels")->count, batch_size = size_of(c, "batch size");
  if (!expect_that(c, order && data, NULL, "training_loader returned NULL, or a loader without batches"))
    return;
  bool dropped = order->count < samples && order->count == samples / batch_size * batch_size;
  if (!expect_exactly(c, "samples of an epoch", order->count, samples, dropped ? &DROPPED : NULL) ||
      !expect_that(c, is_permutation(order, samples), NULL, "an epoch must have each sample once"))
    return;
  judge_sizes(c);
  expect_that(c, !in_sequence(order), &NOT_SHUFFLED, "the order is 0, 1, 2, ...");
  if (!expect_that(c, same_order(c, "order alone", "order alone again"), &NOT_REPRODUCIBLE,
                   "a second loader with the same seed has a different order") ||
      !expect_that(c, same_order(c, "order alone", "order alone, seeded otherwise"), &NO_SEED,
                   "the order depends on the process's random generator"))
    return;
  expect_that(c, same_order(c, "order", "order of the same seed") && same_order(c, "order", "order alone"),
              &NOT_REPRODUCIBLE, "two loaders with the same seed, used alternately, have different orders");
  expect_that(c, !same_order(c, "order", "order of another seed"), &SEED_FIXED,
              "a loader with a different seed has the same order");
  expect_that(c, !same_order(c, "order", "order of the next epoch"), NULL,
              "the second epoch has the same order as the first");
  expect_that(c, same_order(c, "order of the next epoch", "next order of the same seed"), &NOT_REPRODUCIBLE,
              "the second epoch of a second loader with the same seed has a different order");
  expect_that(c, data->dtype == FY_FLOAT32, &BYTES, "the data of a batch is not float32");
  suspect_array(c, "data", pictures_in_order(c, 0, 1), &NOT_NORMALIZED);
  suspect_array(c, "data", pictures_in_order(c, 0, 1.0 / 255), &BYTES);
  expect_array(c, "data", pictures_in_order(c, 0.5, 0.5), 1e-5);
  expect_that(c, got_number(c, "pinned") == 1, &PAGEABLE, "the batches are not in pinned memory");
}

// ---- the loop over batches -----------------------------------------------------------------------------------------------

static Array *whole_numbers(Case *c, Shape s) {
  return array_cast(c, draw_array(c, FY_INT32, s, 1, 9), FY_FLOAT32);
}
static void ask_loop(Case *c, const char *device, int64_t samples, int64_t batch_size) {
  int64_t features = draw_odd(c, 5, 11);
  give_array(c, "data", whole_numbers(c, shape(samples, features)), (Give){0});
  give_array(c, "target", whole_numbers(c, shape(samples)), (Give){0});
  give_array(c, "weight", whole_numbers(c, shape(features)), (Give){.device = device});
  give_number(c, "batch size", (double)batch_size);
}
static void ask_batches(Case *c) {
  ask_loop(c, "cuda:0", 8 * draw_int(c, 18, 26) + draw_odd(c, 3, 7), 8);
}
static void ask_whole_batches(Case *c) {
  ask_loop(c, "cuda:0", 5 * draw_int(c, 5, 9), 5);
}
static void ask_second(Case *c) {
  ask_loop(c, "cuda:1", 8 * draw_int(c, 5, 9) + draw_odd(c, 3, 7), 8);
}

static void ask_two_epochs(Case *c) {
  ask_loop(c, "cuda:0", 8 * draw_int(c, 5, 9) + draw_odd(c, 3, 7), 8);
  give_array(c, "first data", whole_numbers(c, given(c, "data")->shape), (Give){0});
  give_array(c, "first target", whole_numbers(c, given(c, "target")->shape), (Give){0});
}

static void ask_stream(Case *c) {
  ask_loop(c, "cuda:0", 8 * draw_int(c, 5, 9) + draw_odd(c, 3, 7), 8);
  give_number(c, "stream", 1);
}

static int64_t batches_of(const Case *c) {
  return (given(c, "data")->shape.size[0] + size_of(c, "batch size") - 1) / size_of(c, "batch size");
}

static Array *sums_over(Case *c, const Array *data, const Array *target, bool with_target) {
  const Array *weight = given(c, "weight");
  Array *sums = new_array(c, FY_FLOAT32, shape(batches_of(c)));
  for (int64_t i = 0; i < target->count; i++)
    for (int64_t j = 0; j < weight->count; j++)
      sums->f32[i / size_of(c, "batch size")] +=
          (with_target ? target->f32[i] : 1) * data->f32[i * weight->count + j] * weight->f32[j];
  return sums;
}

static Array *sums_of(Case *c, bool with_target) {
  return sums_over(c, given(c, "data"), given(c, "target"), with_target);
}

// The last sum over what it should be, where that is what a mean times a whole batch gives; else 0.
static double last_over_want(Case *c) {
  const Array *sums = got(c, "sums"), *want = sums_of(c, true);
  int64_t samples = given(c, "target")->count, size = size_of(c, "batch size"),
          last = samples - (want->count - 1) * size;
  if (!sums || sums->dtype != FY_FLOAT32 || sums->count != want->count)
    return 0;
  double ratio = sums->f32[want->count - 1] / want->f32[want->count - 1], full = (double)size / (double)last;
  return fabs(ratio - full) < 1e-4 * full ? ratio : 0;
}

// All sums but the last are right.
static bool last_is_missing(Case *c) {
  const Array *sums = got(c, "sums"), *want = sums_of(c, true);
  int64_t right = 0;
  for (int64_t k = 0; sums && sums->dtype == FY_FLOAT32 && k < sums->count && k < want->count; k++)
    right += sums->f32[k] == want->f32[k];
  return sums && right == want->count - 1 && sums->count >= right &&
         (sums->count == right || sums->f32[right] != want->f32[right]);
}

// The sum with the data of one batch and the targets of another.
static float mixed_sum(const Case *c, int64_t data_batch, int64_t target_batch) {
  const Array *data = given(c, "data"), *target = given(c, "target"), *weight = given(c, "weight");
  int64_t size = size_of(c, "batch size"), most = data_batch > target_batch ? data_batch : target_batch;
  int64_t samples = most == batches_of(c) - 1 ? target->count - most * size : size;
  float sum = 0;
  for (int64_t i = 0; i < samples; i++)
    for (int64_t j = 0; j < weight->count; j++)
      sum += target->f32[target_batch * size + i] * data->f32[(data_batch * size + i) * weight->count + j] *
             weight->f32[j];
  return sum;
}

static bool of_other_batches(const Case *c, float value, int64_t batch) {
  for (int64_t i = 0; i < batches_of(c); i++)
    for (int64_t j = 0; j < batches_of(c); j++)
      if ((i != batch || j != batch) && mixed_sum(c, i, j) == value)
        return true;
  return false;
}

// The share of the wrong sums that are NaN, because nothing had arrived, or those of other batches; and whether one is NaN.
typedef struct Early {
  bool most, nan;
} Early;

static Early came_too_early(Case *c) {
  const Array *sums = got(c, "sums"), *want = sums_of(c, true);
  int64_t wrong = 0, early = 0, nan = 0;
  if (!sums || sums->dtype != FY_FLOAT32 || sums->count != want->count)
    return (Early){0};
  for (int64_t k = 0; k < sums->count; k++)
    if (sums->f32[k] != want->f32[k]) {
      wrong++;
      nan += isnan(sums->f32[k]);
      early += isnan(sums->f32[k]) || of_other_batches(c, sums->f32[k], k);
    }
  return (Early){early > 0 && 2 * early >= wrong, nan > 0};
}

// The number of kernels that had been queued before the copies of each batch, and whether copies and kernels have the same
// stream.
typedef struct Order {
  int64_t kernels, kernels_before[MAX_BATCHES];
  bool same_stream;
} Order;

static Order order_of(Case *c) {
  EventTrace all = event_trace(c);
  Order order = {0};
  int64_t copies = 0, streams[2] = {-1, -1}; // of the first copy and of the last kernel
  for (int64_t i = 0; i < all.count; i++) {
    const TraceEntry *e = &all.entries[i];
    if (e->kind == TRACE_IN) {
      streams[0] = copies == 0 ? e->stream : streams[0];
      if (++copies % 2 == 0 && copies / 2 <= MAX_BATCHES)
        order.kernels_before[copies / 2 - 1] = order.kernels;
    } else if (e->kind == TRACE_KERNEL && copies >= 2) {
      order.kernels++;
      streams[1] = e->stream;
    }
  }
  order.same_stream = streams[0] == streams[1];
  return order;
}

enum { LATE = 1 }; // batches; at the beginning of an epoch

// All batches need the same number of kernels. Those of batch k must come after the copies of batch k + 1.
static void judge_order(Case *c) {
  Order order = order_of(c);
  int64_t batches = batches_of(c);
  double each = (double)order.kernels / (double)batches;
  int64_t late = 0;
  for (int64_t k = 0; k + 1 < batches; k++)
    late += (double)order.kernels_before[k + 1] > each * ((double)k + 0.5);
  if (expect_at_most(c, "batches copied only after the computation with the previous batch", late, LATE, &NOT_AHEAD))
    expect_that(c, !order.same_stream, &ONE_STREAM, "the batches were copied on the compute stream");
}

// The number of waits queued on the stream that computes, or on other streams.
static int64_t waits_of(Case *c, bool computes) {
  EventTrace all = event_trace(c);
  int64_t waits = 0, last = -1;
  for (int64_t i = 0; i < all.count; i++)
    last = all.entries[i].kind == TRACE_KERNEL ? all.entries[i].stream : last;
  for (int64_t i = 0; i < all.count; i++)
    waits += all.entries[i].kind == TRACE_WAIT_EVENT && (all.entries[i].stream == last) == computes;
  return waits;
}

// The kernels are on another stream than the current one, which does not wait for anything after the last kernel.
static bool current_does_not_wait(const Case *c) {
  EventTrace all = event_trace(c);
  const int64_t current = got_count(c, "computing");
  int64_t last = -1, waits = 0;
  for (int64_t i = 0; i < all.count; i++) {
    const TraceEntry *e = &all.entries[i];
    last = e->kind == TRACE_KERNEL ? e->stream : last;
    waits = e->kind == TRACE_KERNEL ? 0 : waits + (e->kind == TRACE_WAIT_EVENT && e->stream == current);
  }
  return last >= 0 && last != current && waits == 0;
}

enum { WAITS = 2 };

static void judge_loop(Case *c) {
  const int64_t batches = batches_of(c);
  const Counts *n = counts(c);
  suspect_that(c, strstr(got_error(c), "found at least two devices") && strstr(got_error(c), "cpu"), &LEFT_BEHIND);
  suspect_that(c, last_is_missing(c) && last_over_want(c) > 1.01, &FULL_BATCH);
  suspect_that(c, last_is_missing(c), &LAST_SUM);
  suspect_array(c, "sums", sums_of(c, false), &NO_TARGET);
  const Early early = came_too_early(c);
  suspect_sure(c, early.nan && current_does_not_wait(c), &NOT_JOINED);
  suspect_that(c, early.most && !early.nan && waits_of(c, true) >= batches, &USED_AGAIN);
  suspect_that(c, early.most && waits_of(c, true) == 0 && waits_of(c, false) >= batches, &WRONG_WAIT);
  suspect_that(c, early.most && waits_of(c, true) == 0 && waits_of(c, false) == 0, &NO_WAIT);
  if (!expect_array(c, "sums", sums_of(c, true), 1e-6) ||
      !expect_that(c, n->launches > 0, &ON_CPU, "nothing was computed on the device") ||
      !expect_device(c, "sums", given(c, "weight")->device == 1 ? "cuda:1" : "cuda:0", &ON_CPU) ||
      !expect_at_most(c, "copies from device to host", n->device_to_host, WAITS, &HOST_WAITS) ||
      !expect_at_most(c, "copies from host to device", n->host_to_device, 2 * batches, &SAMPLE_BY_SAMPLE) ||
      !expect_at_most(c, "synchronizations", n->synchronizations, WAITS,
                      n->synchronizations >= batches ? &HOST_WAITS : NULL))
    return;
  double epochs = got_number(c, "epochs");
  expect_that(c, epochs == 1, epochs < 0 ? &EPOCH_RESET : NULL,
              "after epoch 3, the loader's next epoch must be 4, but it is %g", 3 + epochs);
  if (event_trace(c).known)
    judge_order(c);
  Array *twice = sums_of(c, true);
  for (int64_t k = 0; k < twice->count; k++)
    twice->f32[k] *= 2;
  expect_array(c, "earlier sums", twice, 1e-6);
  expect_exactly(c, "synchronizations", n->synchronizations, 0, &FEW_WAITS);
}

// The elements of a batch of one of the arrays.
typedef struct Chunk {
  const float *at; // NULL: nothing
  int64_t count;
} Chunk;

static Chunk chunk_of(const Case *c, const char *name, int64_t batch) {
  const Array *a = given(c, name);
  const int64_t each = a->count / a->shape.size[0], size = size_of(c, "batch size"),
                left = a->shape.size[0] - batch * size;
  return (Chunk){a->f32 + batch * size * each, each * (left < size ? left : size)};
}

// The copies of the second epoch to the device, counted from 1: target and data of each batch. 0: none.
static Chunk copied(const Case *c, int64_t number) {
  return number == 0 ? (Chunk){0} : chunk_of(c, number % 2 ? "target" : "data", (number - 1) / 2);
}

static float element(Chunk own, Chunk over, int64_t i) {
  return i < over.count ? over.at[i] : own.at[i];
}

// Sum k of the first epoch if these had overwritten its data and its targets.
static float sum_overwritten(const Case *c, int64_t k, Chunk over_data, Chunk over_target) {
  const Chunk data = chunk_of(c, "first data", k), target = chunk_of(c, "first target", k);
  const Array *weight = given(c, "weight");
  float sum = 0;
  for (int64_t i = 0; i < data.count; i++)
    sum +=
        element(target, over_target, i / weight->count) * element(data, over_data, i) * weight->f32[i % weight->count];
  return sum;
}

// Most wrong sums of the first epoch have values that the second epoch copied.
static bool first_has_second(const Case *c, const Array *want) {
  const Array *sums = got_shaped(c, "first sums", want->shape);
  const int64_t copies = 2 * want->count;
  int64_t wrong = 0, explained = 0;
  for (int64_t k = 0; sums && sums->dtype == FY_FLOAT32 && k < want->count; k++) {
    bool found = false;
    for (int64_t both = 1; sums->f32[k] != want->f32[k] && both < (copies + 1) * (copies + 1) && !found; both++)
      found = sum_overwritten(c, k, copied(c, both / (copies + 1)), copied(c, both % (copies + 1))) == sums->f32[k];
    wrong += sums->f32[k] != want->f32[k];
    explained += found;
  }
  return wrong > 0 && 2 * explained > wrong;
}

static void judge_two_epochs(Case *c) {
  const Array *first = sums_over(c, given(c, "first data"), given(c, "first target"), true);
  if (!expect_array(c, "sums", sums_of(c, true), 1e-6))
    return;
  suspect_that(c,
               got_number(c, "one result") == 0 && waits_of(c, true) >= 2 * batches_of(c) && first_has_second(c, first),
               &USED_AGAIN);
  expect_array(c, "first sums", first, 1e-6);
}

EXERCISE = {
    .id = "08_1_loader_and_prefetcher",
    .title = "Data loader and prefetcher",
    .after_pass =
        "Prefetching hides transfers: the next batch is copied while the device computes with the current one.",
    .kind = "write",
    .chapter = 8,
    .level = LEVEL_MEDIUM,
    .minutes = 40,
    .essential = true,
    .lesson = PREFETCH,
    .stars = {{"the host never waits for the device", {&FEW_WAITS}}},
    .hints = {"Create the data set with fy_tensor_dataset(images, labels, .transform = ...). data/loader.h lists the "
              "loader's options.",
              "The transform is fy_compose(fy_to_tensor(), fy_normalize(1, fy_floats(0.5), fy_floats(0.5))).",
              "In fy_for_prefetched_batches(batch, loader, device) { ... }, each batch is on the device, and the next "
              "copy is already queued.",
              "Create the tensor of sums before the loop, because the loop's block frees the tensors created in it. In "
              "the loop, call fy_copy_(fy_select(sums, 0, batch.index), ...)."},
    .streams = true,
    .asked = true, // by the library, before it uses memory again
    .functions = {"training_loader", "epoch_sums"},
    .tests = {{.name = "loader: one batch", .ask = ask_one_batch, .judge = judge_loader},
              {.name = "loader: whole batches", .ask = ask_even, .judge = judge_loader},
              {.name = "loader: a smaller last batch", .ask = ask_uneven, .judge = judge_loader},
              {.name = "sums: whole batches", .ask = ask_whole_batches, .judge = judge_loop},
              {.name = "sums: a smaller last batch", .ask = ask_batches, .judge = judge_loop},
              {.name = "sums: another current stream", .ask = ask_stream, .judge = judge_loop},
              {.name = "sums: two epochs in a row", .ask = ask_two_epochs, .judge = judge_two_epochs},
              {.name = "sums: on cuda:1", .ask = ask_second, .judge = judge_loop, .devices = 2}},
};
