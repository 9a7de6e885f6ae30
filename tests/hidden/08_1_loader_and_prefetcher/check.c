// SPDX-License-Identifier: MIT
// Exercise 8.1: a loader, judged by the order and the contents of its batches, and a loop over prefetched batches, judged by
// its sums, by what was copied and by when each batch was asked for.
#include "exercise.h"
#include <math.h>
#include <string.h>

enum { MAX_BATCHES = 512 };

static const Mistake NOT_SHUFFLED = {
    "not shuffled", "The samples came in the order of the data set. .shuffle = true gives each epoch its own.",
    "docs/08_data_pipeline.md#the-order-of-an-epoch"};
static const Mistake SEED_LEFT_OUT = {"the seed left out",
                                      "Two loaders with the same seed had different orders. Without .seed the order "
                                      "comes from the process's generator; such a "
                                      "run cannot be repeated.",
                                      "docs/08_data_pipeline.md#the-order-of-an-epoch"};
static const Mistake SEED_FIXED = {
    "always the same seed",
    "Loaders with different seeds had the same order: the seed that was given has to reach the "
    "loader.",
    "docs/08_data_pipeline.md#the-order-of-an-epoch"};
static const Mistake SEED_FOLDED = {"the seed's halves folded",
                                    "Both halves of the seed were brought into 32 bits, and many seeds fall together "
                                    "there: seed is a uint64_t, and .seed takes one.",
                                    "docs/08_data_pipeline.md#the-order-of-an-epoch"};
static const Mistake EPOCH_RESET = {
    "the loader's epoch reset",
    "The loader was set back to an epoch of its past: a call goes through the one that comes next, and the next call "
    "through the one after that.",
    "docs/08_data_pipeline.md#the-order-of-an-epoch"};
static const Mistake SEED_SHARED = {
    "one generator for all loaders",
    "Loaders with the same seed had different orders, although nobody else drew random numbers: what one drew the "
    "other lacked. Each loader needs orders of its own, which follow from .seed; nothing static.",
    "docs/08_data_pipeline.md#the-order-of-an-epoch"};
static const Mistake DROPPED = {
    "the last batch dropped",
    "Samples were missing: those that do not fill a batch. .drop_last leaves them out; they belong in a smaller batch.",
    "docs/08_data_pipeline.md#from-samples-to-batches"};
static const Mistake BATCH_SIZE = {"another batch size", "Every batch but the last has batch_size samples.",
                                   "docs/08_data_pipeline.md#one-by-one-or-in-batches"};
static const Mistake NOT_NORMALIZED = {
    "not normalized", "The pictures are between 0 and 1. fy_normalize with 0.5 and 0.5 brings them to -1 .. 1.",
    "docs/08_data_pipeline.md#from-samples-to-batches"};
static const Mistake BYTES = {"bytes in place of numbers",
                              "The pictures are as they were in the file, 0 to 255. A transform makes numbers of them: "
                              "fy_to_tensor, then fy_normalize.",
                              "docs/08_data_pipeline.md#from-samples-to-batches"};
static const Mistake PAGEABLE = {
    "batches in pageable memory",
    "A copy from memory that is not pinned makes the host wait, whatever else is done. .pin_memory = true.",
    "docs/08_data_pipeline.md#pinned-against-pageable-memory"};
static const Mistake NOT_AHEAD = {
    "each batch copied at its turn",
    "The next batch was asked for only after this one had been computed with. A prefetcher sends it on its way before.",
    "docs/08_data_pipeline.md#waiting-against-prefetching"};
static const Mistake ONE_STREAM = {"copied on the computing stream",
                                   "The copies were queued early, but on the stream that computes, and there "
                                   "everything comes one after the other: a copy waits "
                                   "for the products before it. On a stream of its own it can go on beside them.",
                                   "docs/08_data_pipeline.md#waiting-against-prefetching"};
static const Mistake USED_AGAIN = {"memory used again too early",
                                   "A batch's memory was given to the next batch's copy while a product had still to "
                                   "read it. Memory belongs to the stream on "
                                   "which it was allocated; fy_record_stream says that another one uses it too.",
                                   "docs/08_data_pipeline.md#waiting-against-prefetching"};
static const Mistake HOST_WAITS = {"the host waits in the loop",
                                   "Reading a value (fy_item, fy_cpu) or synchronising at each batch makes the host "
                                   "wait, and then it prepares nothing "
                                   "meanwhile. Leave the sums on the device.",
                                   "docs/08_data_pipeline.md#waiting-against-prefetching"};
static const Mistake NO_WAIT = {"computed before the copy arrived",
                                "The copies are on a stream of their own, and the computing stream did not wait for "
                                "them: fy_stream_wait_stream before "
                                "the batch is used.",
                                "docs/08_data_pipeline.md#waiting-against-prefetching"};
static const Mistake ELSEWHERE = {
    "not on the current stream",
    "The caller had made a stream current, and it is the one that computes: it is what has to wait for the copies. "
    "fy_current_stream(device) says which it is, and it is not always the default one.",
    "docs/04_benchmarks.md#two-queues"};
static const Mistake LEFT_BEHIND = {"the target left behind",
                                    "A batch is data and target. Both have to go to the device before they meet there.",
                                    "docs/07_pitfalls.md#mismatched-devices"};
static const Mistake ON_CPU = {"computed on the CPU",
                               "The batches go to the device where the weight is; the sums stay there.",
                               "docs/03_tensor_moves.md#todevice"};
static const Mistake SAMPLE_BY_SAMPLE = {"sample by sample",
                                         "More was copied than data and target of each batch. A batch crosses whole.",
                                         "docs/08_data_pipeline.md#one-transfer-instead-of-many"};
static const Mistake FULL_BATCH = {
    "the last batch taken for a full one",
    "The last sum is its mean times the size of the other batches. batch.size is that of this one.",
    "docs/08_data_pipeline.md#from-samples-to-batches"};
static const Mistake LAST_SUM = {"the last batch left out",
                                 "The last batch is smaller than the others, and a batch all the same.",
                                 "docs/08_data_pipeline.md#from-samples-to-batches"};
static const Mistake NO_TARGET = {"target not used",
                                  "Each product is multiplied by its sample's target before the sum.",
                                  "docs/08_data_pipeline.md#from-samples-to-batches"};

// ---- the loader --------------------------------------------------------------------------------------------------------

// Labels are the samples' numbers, so that they tell the order.
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

// The pictures in the order of the labels: byte / 255, then (x - mean) / deviation.
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
      !expect_that(c, is_permutation(order, samples), NULL, "an epoch has to have every sample once"))
    return;
  judge_sizes(c);
  expect_that(c, !in_sequence(order), &NOT_SHUFFLED, "the order is 0, 1, 2, ...");
  if (!expect_that(c, same_order(c, "order alone", "order alone again"), &SEED_SHARED,
                   "a second loader with the same seed has another order") ||
      !expect_that(c, same_order(c, "order alone", "order alone, seeded otherwise"), &SEED_LEFT_OUT,
                   "the order depends on the process's generator"))
    return;
  expect_that(c, same_order(c, "order", "order of the same seed") && same_order(c, "order", "order alone"),
              &SEED_SHARED, "two loaders with the same seed, asked in turn, have different orders");
  expect_that(c, !same_order(c, "order", "order of another seed"), &SEED_FIXED,
              "a loader with another seed has the same order");
  expect_that(c, !same_order(c, "order", "order of a seed above 32 bits"), &SEED_CUT,
              "a loader whose seed is larger by 2^32 has the same order");
  expect_that(c, !same_order(c, "order", "order of a seed of the same sum"), &SEED_FOLDED,
              "a loader whose seed has other halves, of the same sum, has the same order");
  expect_that(c, !same_order(c, "order", "order of the next epoch"), NULL,
              "the second epoch has the order of the first");
  expect_that(c, same_order(c, "order of the next epoch", "next order of the same seed"), &SEED_SHARED,
              "the second epoch of a second loader with the same seed has another order");
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

// Nothing had arrived (NaN), or what had was another batch's.
static bool came_too_early(Case *c) {
  const Array *sums = got(c, "sums"), *want = sums_of(c, true);
  int64_t wrong = 0, early = 0;
  if (!sums || sums->dtype != FY_FLOAT32 || sums->count != want->count)
    return false;
  for (int64_t k = 0; k < sums->count; k++)
    if (sums->f32[k] != want->f32[k]) {
      wrong++;
      early += isnan(sums->f32[k]) || of_other_batches(c, sums->f32[k], k);
    }
  return early > 0 && 2 * early >= wrong;
}

// On which streams the batches were copied and computed with, and how many kernels had been queued when both tensors of batch
// `batch` were.
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

// Each batch takes as many kernels as any other. When batch k + 1 has been queued, those of batch k may not have been.
static void judge_order(Case *c) {
  Order order = order_of(c);
  int64_t batches = batches_of(c);
  double each = (double)order.kernels / (double)batches;
  int64_t late = 0;
  for (int64_t k = 0; k + 1 < batches; k++)
    late += (double)order.kernels_before[k + 1] > each * ((double)k + 0.5);
  if (!expect_exactly(c, "batches that were copied after the one before had been computed with", late, 0, &NOT_AHEAD))
    return;
  expect_that(c, !order.same_stream, &ONE_STREAM, "the batches were copied on the stream that computes");
}

// How often a stream that computes, or one that does not, was told to wait.
static int64_t waits_of(Case *c, bool computes) {
  EventTrace all = event_trace(c);
  int64_t waits = 0, last = -1;
  for (int64_t i = 0; i < all.count; i++)
    last = all.entries[i].kind == TRACE_KERNEL ? all.entries[i].stream : last;
  for (int64_t i = 0; i < all.count; i++)
    waits += all.entries[i].kind == TRACE_WAIT_EVENT && (all.entries[i].stream == last) == computes;
  return waits;
}

// Kernels on another stream than the one that was current.
static int64_t kernels_elsewhere(const Case *c) {
  EventTrace all = event_trace(c);
  int64_t count = 0, computing = got_count(c, "computing");
  for (int64_t i = 0; i < all.count; i++)
    count += all.entries[i].kind == TRACE_KERNEL && all.entries[i].stream != computing;
  return count;
}

static void judge_loop(Case *c) {
  bool second = given(c, "weight")->device == 1;
  suspect_that(c, strstr(got_error(c), "found at least two devices") && strstr(got_error(c), "cpu"), &LEFT_BEHIND);
  suspect_that(c, last_is_missing(c) && last_over_want(c) > 1.01, &FULL_BATCH);
  suspect_that(c, last_is_missing(c), &LAST_SUM);
  suspect_array(c, "sums", sums_of(c, false), &NO_TARGET);
  bool early = came_too_early(c);
  suspect_that(c, early && waits_of(c, true) >= batches_of(c), &USED_AGAIN);
  suspect_that(c, early && waits_of(c, true) == 0 && waits_of(c, false) >= batches_of(c), &ELSEWHERE);
  suspect_that(c, early && waits_of(c, false) == 0, &NO_WAIT);
  if (!expect_array(c, "sums", sums_of(c, true), 1e-6))
    return;
  expect_that(c, counts(c)->launches > 0, &ON_CPU, "nothing was computed on the device");
  expect_device(c, "sums", second ? "cuda:1" : "cuda:0", &ON_CPU);
  expect_exactly(c, "copies from device to host", counts(c)->device_to_host, 0, &HOST_WAITS);
  expect_at_most(c, "copies from host to device", counts(c)->host_to_device, 2 * batches_of(c), &SAMPLE_BY_SAMPLE);
  expect_exactly(c, "times the host waited", counts(c)->synchronizations, 0, &HOST_WAITS);
  double epochs = got_number(c, "epochs");
  expect_that(c, epochs == 1, epochs < 0 ? &EPOCH_RESET : NULL,
              "the loader's next epoch was number 3, and is to be number 4 now: it is number %g", 3 + epochs);
  if (event_trace(c).known)
    judge_order(c);
  expect_exactly(c, "kernels on another stream than the current one", kernels_elsewhere(c), 0, &ELSEWHERE);
  Array *twice = sums_of(c, true);
  for (int64_t k = 0; k < twice->count; k++)
    twice->f32[k] *= 2;
  expect_array(c, "earlier sums", twice, 1e-6);
}

// The elements of a batch of one of the arrays.
typedef struct Piece {
  const float *at; // NULL: nothing
  int64_t count;
} Piece;

static Piece piece_of(const Case *c, const char *name, int64_t batch) {
  const Array *a = given(c, name);
  const int64_t each = a->count / a->shape.size[0], size = size_of(c, "batch size"),
                left = a->shape.size[0] - batch * size;
  return (Piece){a->f32 + batch * size * each, each * (left < size ? left : size)};
}

// Piece `number` of those that the second epoch copies to the device; of 0 there is nothing.
static Piece copied(const Case *c, int64_t number) {
  return number == 0 ? (Piece){0} : piece_of(c, number % 2 ? "target" : "data", (number - 1) / 2);
}

static float element(Piece own, Piece over, int64_t i) {
  return i < over.count ? over.at[i] : own.at[i];
}

// Sum k of the first epoch, when these were copied over its data and its targets.
static float sum_behind(const Case *c, int64_t k, Piece over_data, Piece over_target) {
  const Piece data = piece_of(c, "first data", k), target = piece_of(c, "first target", k);
  const Array *weight = given(c, "weight");
  float sum = 0;
  for (int64_t i = 0; i < data.count; i++)
    sum +=
        element(target, over_target, i / weight->count) * element(data, over_data, i) * weight->f32[i % weight->count];
  return sum;
}

// Are most of the first epoch's sums that are wrong made of what the second epoch copied?
static bool first_has_second(const Case *c, const Array *want) {
  const Array *sums = got_shaped(c, "first sums", want->shape);
  const int64_t copies = 2 * want->count;
  int64_t wrong = 0, explained = 0;
  for (int64_t k = 0; sums && sums->dtype == FY_FLOAT32 && k < want->count; k++) {
    bool found = false;
    for (int64_t both = 1; sums->f32[k] != want->f32[k] && both < (copies + 1) * (copies + 1) && !found; both++)
      found = sum_behind(c, k, copied(c, both / (copies + 1)), copied(c, both % (copies + 1))) == sums->f32[k];
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
    .after_pass = "A prefetcher brings the next batch while the device works on this one.",
    .kind = "write",
    .chapter = 8,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = "docs/08_data_pipeline.md#waiting-against-prefetching",
    .hints = {"fy_tensor_dataset(pictures, labels, .transform = ...) is the data set. The loader's options are in "
              "data/loader.h.",
              "The transform is fy_compose(fy_to_tensor(), fy_normalize(1, fy_floats(0.5), fy_floats(0.5))).",
              "fy_for_prefetched_batches(batch, loader, device) { ... } has each batch on the device, and the next on "
              "its way.",
              "Make the sums before the loop, and copy each to its place: fy_copy_(fy_select(sums, 0, batch.index), "
              "...). What "
              "is made in the block is gone after it."},
    .streams = true,
    .asked = true, // by the library, before it uses memory again
    .functions = {"training_loader", "epoch_sums"},
    .tests = {{.name = "loader: a smaller last batch", .ask = ask_uneven, .judge = judge_loader},
              {.name = "loader: whole batches", .ask = ask_even, .judge = judge_loader},
              {.name = "loader: one batch", .ask = ask_one_batch, .judge = judge_loader},
              {.name = "loop: a smaller last batch", .ask = ask_batches, .judge = judge_loop},
              {.name = "loop: whole batches", .ask = ask_whole_batches, .judge = judge_loop},
              {.name = "loop: on a stream of the caller's", .ask = ask_stream, .judge = judge_loop},
              {.name = "loop: two epochs, one right after the other", .ask = ask_two_epochs, .judge = judge_two_epochs},
              {.name = "loop: on the second GPU", .ask = ask_second, .judge = judge_loop, .devices = 2}},
};
