// SPDX-License-Identifier: MIT
// The data loader: the same batches for any number of workers, errors at their batch, stopping at any moment.
// run check: FERRY_CUDA=off
// tsan
#include "../nn/check.h"
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

// Sample i is (i, a random number of its seed), with target i. Raises at `bad`, and can be slow.
typedef struct Counting {
  FyDataset base;
  int64_t bad;
  int delay; // microseconds
  atomic_long made;
} Counting;

static void counting_get(FyDataset *base, int64_t index, uint64_t seed, void *input, void *target) {
  Counting *self = (Counting *)base;
  float *out = input;
  if (self->delay)
    usleep((useconds_t)self->delay);
  fy_check(index != self->bad, FY_VALUE_ERROR, "sample %d is spoilt", (int)index);
  out[0] = (float)index;
  out[1] = (float)(seed >> 40);
  *(int64_t *)target = index;
  atomic_fetch_add(&self->made, 1);
}

static const FyDatasetClass counting_class = {.name = "counting", .get = counting_get};

static Counting *counting(int64_t count) {
  Counting *self = fy_dataset_new(sizeof *self, &counting_class);
  self->base.count = count;
  self->base.input_size = fy_shape(2);
  self->base.input_dtype = FY_FLOAT32;
  self->base.target_dtype = FY_INT64;
  self->bad = -1;
  return self;
}

static int threads_now(void) {
  int count = 0;
  DIR *tasks = opendir("/proc/self/task");
  assert_non_null(tasks);
  for (struct dirent *entry; (entry = readdir(tasks));)
    count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

// All of an epoch, one batch after the other, and where each batch ends.
typedef struct Epoch {
  int samples, batches;
  float data[256][2];
  int64_t targets[256];
  int64_t sizes[256];
} Epoch;

static Epoch read_epoch(FyDataLoader *loader) {
  Epoch epoch = {0};
  fy_for_batches(batch, loader) {
    assert_int_equal(batch.index, epoch.batches);
    assert_int_equal(fy_size_at(batch.data, 0), batch.size);
    assert_int_equal(fy_size_at(batch.target, 0), batch.size);
    fy_copy_to_host(batch.data, epoch.data[epoch.samples]);
    fy_copy_to_host(batch.target, epoch.targets + epoch.samples);
    epoch.samples += (int)batch.size;
    epoch.sizes[epoch.batches++] = batch.size;
  }
  return epoch;
}

static void order_without_shuffle(void **state) {
  (void)state;
  FyDataLoader *loader = fy_data_loader(&counting(10)->base, .batch_size = 4);
  Epoch epoch = read_epoch(loader);
  assert_int_equal(fy_loader_batches(loader), 3);
  assert_int_equal(fy_loader_samples(loader), 10);
  assert_int_equal(epoch.batches, 3);
  assert_int_equal(epoch.samples, 10);
  assert_int_equal(epoch.sizes[2], 2);
  for (int i = 0; i < 10; i++) {
    assert_int_equal(epoch.targets[i], i);
    assert_true(epoch.data[i][0] == (float)i);
  }
}

static void drop_last(void **state) {
  (void)state;
  for (int workers = 0; workers < 3; workers++) {
    FyDataLoader *loader =
        fy_data_loader(&counting(10)->base, .batch_size = 4, .drop_last = true, .num_workers = workers);
    Epoch epoch = read_epoch(loader);
    assert_int_equal(fy_loader_batches(loader), 2);
    assert_int_equal(fy_loader_samples(loader), 8);
    assert_int_equal(epoch.samples, 8);
  }
  FyDataLoader *none = fy_data_loader(&counting(3)->base, .batch_size = 4, .drop_last = true, .num_workers = 2);
  assert_int_equal(read_epoch(none).batches, 0);
}

static void an_empty_data_set_has_no_batches(void **state) {
  (void)state;
  for (int workers = 0; workers < 3; workers++)
    assert_int_equal(read_epoch(fy_data_loader(&counting(0)->base, .num_workers = workers, .shuffle = true)).batches,
                     0);
}

// Order and random numbers depend on seed and epoch alone.
static void the_same_for_any_number_of_workers(void **state) {
  (void)state;
  static const int workers[] = {0, 1, 2, 4};
  for (uint64_t seed = 1; seed <= 3; seed++) {
    static Epoch expected[2];
    for (int w = 0; w < 4; w++) {
      for (int factor = 1; factor < 4; factor += 2) {
        Counting *set = counting(101);
        set->delay = w ? 20 : 0;
        FyDataLoader *loader = fy_data_loader(&set->base, .batch_size = 7, .shuffle = true, .num_workers = workers[w],
                                              .prefetch_factor = factor, .seed = seed);
        for (int e = 0; e < 2; e++) {
          static Epoch epoch;
          epoch = read_epoch(loader);
          if (w == 0 && factor == 1)
            expected[e] = epoch;
          else
            assert_memory_equal(&epoch, &expected[e], sizeof epoch);
        }
      }
    }
    assert_memory_not_equal(expected[0].targets, expected[1].targets, sizeof expected[0].targets);
  }
}

static void a_shuffled_epoch_is_a_permutation(void **state) {
  (void)state;
  bool seen[100] = {false};
  int in_place = 0;
  Epoch epoch = read_epoch(fy_data_loader(&counting(100)->base, .batch_size = 8, .shuffle = true, .seed = 5));
  for (int i = 0; i < 100; i++) {
    assert_false(seen[epoch.targets[i]]);
    seen[epoch.targets[i]] = true;
    in_place += epoch.targets[i] == i;
  }
  assert_int_equal(epoch.samples, 100);
  assert_true(in_place < 12);
}

static void seed_zero_follows_the_process_generator(void **state) {
  (void)state;
  Epoch epoch[3];
  for (int i = 0; i < 3; i++) {
    fy_manual_seed(i == 2 ? 8 : 7);
    epoch[i] = read_epoch(fy_data_loader(&counting(50)->base, .shuffle = true, .num_workers = i));
  }
  assert_memory_equal(&epoch[0], &epoch[1], sizeof epoch[0]);
  assert_memory_not_equal(&epoch[0], &epoch[2], sizeof epoch[0]);
}

static void an_epoch_can_be_set(void **state) {
  (void)state;
  FyDataLoader *loader = fy_data_loader(&counting(50)->base, .shuffle = true, .seed = 3);
  Epoch first = read_epoch(loader), second = read_epoch(loader);
  assert_int_equal(fy_loader_epoch(loader), 2);
  FyDataLoader *resumed = fy_data_loader(&counting(50)->base, .shuffle = true, .seed = 3, .num_workers = 2);
  fy_loader_set_epoch(resumed, 1);
  Epoch again = read_epoch(resumed);
  assert_memory_equal(&again, &second, sizeof again);
  assert_memory_not_equal(&again, &first, sizeof again);
}

// ---- samplers ----------------------------------------------------------------------------------------------------------

static void a_subset_sampler(void **state) {
  (void)state;
  int64_t indices[] = {3, 5, 7, 7}, sum = 0;
  FyDataLoader *loader = fy_data_loader(&counting(10)->base, .sampler = fy_subset_sampler(indices, 4), .seed = 2);
  Epoch epoch = read_epoch(loader);
  assert_int_equal(epoch.samples, 4);
  for (int i = 0; i < 4; i++)
    sum += epoch.targets[i] * epoch.targets[i];
  assert_int_equal(sum, 9 + 25 + 49 + 49);
}

static void backwards(FySampler *self, uint64_t seed, int64_t *indices) {
  (void)seed;
  for (int64_t i = 0; i < self->count; i++)
    indices[i] = self->count - 1 - i;
}

static void a_sampler_of_ones_own(void **state) {
  (void)state;
  FySampler *sampler = fy_sampler_new(sizeof *sampler, 5, backwards);
  Epoch epoch = read_epoch(fy_data_loader(&counting(5)->base, .sampler = sampler, .num_workers = 2));
  for (int i = 0; i < 5; i++)
    assert_int_equal(epoch.targets[i], 4 - i);
  FySampler *beyond = fy_sampler_new(sizeof *beyond, 6, backwards);
  assert_raises(FY_INDEX_ERROR, "the sampler's index 5, at position 0, is out of range for a data set of 5 samples",
                read_epoch(fy_data_loader(&counting(5)->base, .sampler = beyond)));
}

static void options_are_checked(void **state) {
  (void)state;
  FyDataset *set = &counting(5)->base;
  assert_raises_about(FY_TYPE_ERROR, "the data set is NULL", fy_data_loader(NULL));
  assert_raises_about(FY_VALUE_ERROR, "batch_size should be a positive", fy_data_loader(set, .batch_size = -1));
  assert_raises_about(FY_VALUE_ERROR, "num_workers option should be non-negative",
                      fy_data_loader(set, .num_workers = -1));
  assert_raises_about(FY_VALUE_ERROR, "mutually exclusive with shuffle",
                      fy_data_loader(set, .shuffle = true, .sampler = fy_sequential_sampler(5)));
  assert_raises_about(FY_VALUE_ERROR, "must not be negative", fy_random_sampler(-1));
}

// ---- errors ------------------------------------------------------------------------------------------------------------

// Calls fy_loader_next and tells what it raised; "more" is false then.
static __attribute__((noinline)) FyError next_or_error(FyLoaderIterator *it, FyBatch *batch, bool *more) {
  FyError error;
  *more = false;
  fy_trap(error) {
    *more = fy_loader_next(it, batch);
  }
  return error;
}

// The batches before the bad one arrive, the bad one raises in its place, those after it arrive.
static void an_error_is_raised_at_its_batch(void **state) {
  (void)state;
  for (int workers = 0; workers < 4; workers++) {
    fy_scope {
      Counting *set = counting(40);
      FyBatch batch;
      bool more;
      set->bad = 22;
      FyLoaderIterator *it = fy_loader_iter(fy_data_loader(&set->base, .batch_size = 5, .num_workers = workers));
      for (int i = 0; i < 8; i++) {
        FyError error = next_or_error(it, &batch, &more);
        assert_int_equal(error.kind, i == 4 ? FY_VALUE_ERROR : FY_NO_ERROR);
        assert_int_equal(more, i != 4);
        if (i == 4) {
          assert_non_null(strstr(error.message, "Caught ValueError in DataLoader"));
          assert_non_null(strstr(error.message, ", sample 2 of batch 4 (index 22): sample 22 is spoilt"));
          assert_int_equal(strstr(error.message, "DataLoader worker ") != NULL, workers > 0);
          assert_non_null(strstr(error.file, "test_loader.c"));
        }
      }
      assert_false(fy_loader_next(it, &batch));
    }
  }
}

static __attribute__((noinline)) void assert_spoilt(FyDataLoader *loader) {
  assert_raises_about(FY_VALUE_ERROR, "sample 12 is spoilt", read_epoch(loader));
}

static void an_error_leaves_the_loop_and_stops_its_workers(void **state) {
  (void)state;
  int before = threads_now();
  Counting *set = counting(40);
  set->bad = 12;
  FyDataLoader *loader = fy_data_loader(&set->base, .batch_size = 5, .num_workers = 3);
  for (int i = 0; i < 20; i++)
    assert_spoilt(loader);
  for (int wait = 0; threads_now() > before && wait < 5000; wait++)
    usleep(1000);
  assert_int_equal(threads_now(), before);
  set->bad = -1;
  assert_int_equal(read_epoch(loader).samples, 40);
}

// ---- stopping early ----------------------------------------------------------------------------------------------------

static int64_t first_target(FyDataLoader *loader) {
  fy_for_batches(batch, loader) {
    return ((int64_t *)fy_numpy(batch.target))[0];
  }
  return -1;
}

static void leaving_the_loop(void **state) {
  (void)state;
  FyDataLoader *loader = fy_data_loader(&counting(30)->base, .batch_size = 3, .num_workers = 2);
  int seen = 0;
  fy_for_batches(batch, loader) {
    if (batch.index == 1)
      continue;
    seen++;
    if (batch.index == 3)
      break;
  }
  assert_int_equal(seen, 3);
  assert_int_equal(first_target(loader), 0);
}

// fy_keep lets something out of the loop, and nothing else stays.
static void what_a_loop_leaves_behind(void **state) {
  (void)state;
  size_t before = fy_memory_allocated(FY_CPU_DEVICE);
  fy_scope {
    FyDataLoader *loader = fy_data_loader(&counting(30)->base, .batch_size = 3, .num_workers = 2);
    FyTensor *kept = NULL;
    fy_for_batches(batch, loader) {
      if (batch.index == 4)
        kept = fy_keep(batch.target);
    }
    assert_values(kept, (double[]){12, 13, 14}, 3, 0);
    fy_drop(kept);
    assert_int_equal(fy_memory_allocated(FY_CPU_DEVICE), before);
  }
}

static void stopping_a_thousand_times(void **state) {
  (void)state;
  size_t before = fy_memory_allocated(FY_CPU_DEVICE);
  int threads = threads_now();
  Counting *set = counting(64);
  for (int i = 0; i < 1000; i++) {
    fy_scope {
      set->delay = i % 3 ? 0 : 30;
      FyDataLoader *loader =
          fy_data_loader(&set->base, .batch_size = 1 + i % 5, .num_workers = 1 + i % 3, .shuffle = i % 2, .seed = 1);
      FyLoaderIterator *it = fy_loader_iter(loader);
      FyBatch batch;
      for (int n = 0; n < i % 7; n++)
        assert_true(fy_loader_next(it, &batch));
      if (i % 4 == 0) {
        fy_loader_close(it);
        assert_false(fy_loader_next(it, &batch));
      } else if (i % 4 == 1) {
        fy_drop(it);
      } else if (i % 4 == 2) {
        fy_drop(loader); // the iterator holds it
        fy_loader_next(it, &batch);
      }
    }
  }
  assert_int_equal(fy_memory_allocated(FY_CPU_DEVICE), before);
  for (int wait = 0; threads_now() > threads && wait < 5000; wait++)
    usleep(1000);
  assert_int_equal(threads_now(), threads);
}

// The workers run ahead by prefetch_factor batches each, and not further.
static void workers_run_ahead_and_no_further(void **state) {
  (void)state;
  Counting *set = counting(200);
  FyLoaderIterator *it =
      fy_loader_iter(fy_data_loader(&set->base, .batch_size = 2, .num_workers = 2, .prefetch_factor = 3));
  FyBatch batch;
  assert_true(fy_loader_next(it, &batch));
  for (int wait = 0; atomic_load(&set->made) < 14 && wait < 5000; wait++)
    usleep(1000);
  usleep(20000);
  assert_int_equal(atomic_load(&set->made), 2 * (1 + 2 * 3));
  fy_loader_close(it);
}

// Waits until so many samples have been made, at most five seconds.
static bool made_within_time(Counting *set, long count) {
  for (int i = 0; i < 5000 && atomic_load(&set->made) < count; i++)
    usleep(1000);
  return atomic_load(&set->made) >= count;
}

static void workers_begin_with_the_iterator(void **state) {
  (void)state;
  for (int factor = 1; factor < 3; factor++) {
    Counting *set = counting(100);
    FyLoaderIterator *it =
        fy_loader_iter(fy_data_loader(&set->base, .batch_size = 10, .num_workers = 2, .prefetch_factor = factor));
    assert_true(made_within_time(set, 20 * factor));
    fy_loader_close(it);
  }
}

// Even with one worker that is one batch ahead, the next batch is made while the consumer works on this one.
static void one_worker_overlaps(void **state) {
  (void)state;
  Counting *set = counting(30);
  FyLoaderIterator *it =
      fy_loader_iter(fy_data_loader(&set->base, .batch_size = 10, .num_workers = 1, .prefetch_factor = 1));
  FyBatch batch;
  assert_true(fy_loader_next(it, &batch));
  assert_true(made_within_time(set, 20));
  usleep(20000);
  assert_int_equal(atomic_load(&set->made), 20); // and no further
  fy_loader_close(it);
}

// The transform of an epoch is the one that the data set had when the iterator was made.
static void a_transform_replaced_under_way(void **state) {
  (void)state;
  for (int workers = 0; workers < 3; workers++) {
    FyTensor *images = fy_ones(fy_shape(64, 8, 8));
    FyDataset *set = NULL;
    fy_scope {
      FyTransform *first = fy_normalize(1, fy_floats(0), fy_floats(0.5f));
      set = fy_keep(fy_tensor_dataset(images, fy_zeros(fy_shape(64), .dtype = FY_INT64), .transform = first));
    }
    FyDataLoader *loader = fy_data_loader(set, .batch_size = 8, .num_workers = workers);
    int batches = 0;
    fy_for_batches(batch, loader) {
      assert_true(fy_item(fy_max(batch.data)) == 2 && fy_item(fy_min(batch.data)) == 2);
      if (batches++ == 0) {
        fy_scope { // the only reference to the first one was the data set's
          fy_dataset_transform(set, fy_normalize(1, fy_floats(0), fy_floats(0.25f)));
        }
      }
    }
    assert_int_equal(batches, 8);
    fy_for_batches(batch, loader) {
      assert_true(fy_item(fy_min(batch.data)) == 4);
    }
  }
}

static void two_epochs_at_a_time(void **state) {
  (void)state;
  FyDataLoader *loader = fy_data_loader(&counting(12)->base, .batch_size = 2, .num_workers = 2);
  int pairs = 0;
  fy_for_batches(outer, loader) {
    fy_for_batches(inner, loader) {
      assert_int_equal(((int64_t *)fy_numpy(inner.target))[0], 2 * inner.index);
      pairs++;
    }
    assert_int_equal(((int64_t *)fy_numpy(outer.target))[0], 2 * outer.index);
  }
  assert_int_equal(pairs, 36);
}

static void pinned_without_cuda_is_ordinary(void **state) {
  (void)state;
  if (fy_cuda_is_available()) {
    print_message("needs FERRY_CUDA=off\n");
    skip();
  }
  FyDataLoader *loader = fy_data_loader(&counting(4)->base, .batch_size = 2, .pin_memory = true);
  fy_for_batches(batch, loader) {
    assert_false(fy_is_pinned(batch.data));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(order_without_shuffle),
      cmocka_unit_test(drop_last),
      cmocka_unit_test(an_empty_data_set_has_no_batches),
      cmocka_unit_test(the_same_for_any_number_of_workers),
      cmocka_unit_test(a_shuffled_epoch_is_a_permutation),
      cmocka_unit_test(seed_zero_follows_the_process_generator),
      cmocka_unit_test(an_epoch_can_be_set),
      cmocka_unit_test(a_subset_sampler),
      cmocka_unit_test(a_sampler_of_ones_own),
      cmocka_unit_test(options_are_checked),
      cmocka_unit_test(an_error_is_raised_at_its_batch),
      cmocka_unit_test(an_error_leaves_the_loop_and_stops_its_workers),
      cmocka_unit_test(leaving_the_loop),
      cmocka_unit_test(what_a_loop_leaves_behind),
      cmocka_unit_test(stopping_a_thousand_times),
      cmocka_unit_test(workers_run_ahead_and_no_further),
      cmocka_unit_test(workers_begin_with_the_iterator),
      cmocka_unit_test(one_worker_overlaps),
      cmocka_unit_test(a_transform_replaced_under_way),
      cmocka_unit_test(two_epochs_at_a_time),
      cmocka_unit_test(pinned_without_cuda_is_ordinary),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
