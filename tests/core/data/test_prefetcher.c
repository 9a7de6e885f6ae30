// SPDX-License-Identifier: MIT
// The prefetcher: the right batches, copied on a stream of their own while the consumer's stream still works.
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=random
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=descending
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads
// run: FERRY_SIM_MODE=sync
// run: FERRY_CUDA=off
// tsan
#include "../nn/check.h"
#include "device/runtime.h"

enum { SAMPLES = 40, FEATURES = 300 };

static FyDataset *numbers(void) {
  FyTensor *x =
      fy_mul_scalar(fy_reshape(fy_arange(SAMPLES * FEATURES, .dtype = FY_FLOAT32), fy_shape(SAMPLES, FEATURES)), 0.25);
  return fy_tensor_dataset(x, fy_arange(SAMPLES));
}

static bool lazy(void) {
  const char *mode = getenv("FERRY_SIM_MODE");
  return mode && strcmp(mode, "lazy") == 0;
}

static void need_cuda(void) {
  if (!fy_cuda_is_available()) {
    print_message("needs CUDA, real or simulated, and there is none\n");
    skip();
  }
}

// Sums of all batches, computed on the device with nothing in between that waits: memory that was reused too early, or read
// before it was copied, gives other sums. Batches are dropped at once.
static void the_right_batches(FyDevice device, int workers) {
  FyDataLoader *loader = fy_data_loader(numbers(), .batch_size = 3, .num_workers = workers,
                                        .pin_memory = device.type == FY_CUDA, .shuffle = true, .seed = 4);
  FyTensor *sums[16], *firsts[16];
  double expected[16][2] = {{0}};
  int count = 0;
  fy_for_batches(batch, loader) {
    expected[batch.index][0] = fy_item(fy_sum(batch.data));
    expected[batch.index][1] = fy_item(fy_sum(batch.target));
  }
  fy_loader_set_epoch(loader, 0);
  fy_for_prefetched_batches(batch, loader, device) {
    assert_int_equal(fy_device_of(batch.data).type, device.type);
    assert_int_equal(fy_device_of(batch.target).type, device.type);
    assert_int_equal(batch.index, count);
    assert_int_equal(batch.size, batch.index < 13 ? 3 : 1);
    FyTensor *slow = batch.data;
    for (int i = 0; i < 5; i++)
      slow = fy_add_scalar(slow, 0);
    sums[count] = fy_keep(fy_sum(slow));
    firsts[count++] = fy_keep(fy_sum(batch.target));
  }
  assert_int_equal(count, 14);
  for (int i = 0; i < count; i++) {
    assert_true(fabs(fy_item(sums[i]) - expected[i][0]) <= 1e-4 * fabs(expected[i][0]));
    assert_true(fy_item(firsts[i]) == expected[i][1]);
  }
}

static void on_the_cpu(void **state) {
  (void)state;
  the_right_batches(FY_CPU_DEVICE, 0);
  the_right_batches(FY_CPU_DEVICE, 2);
}

static void on_a_device(void **state) {
  (void)state;
  need_cuda();
  for (int workers = 0; workers < 3; workers++)
    the_right_batches(fy_cuda_device(fy_cuda_device_count() - 1), workers);
}

static void batches_are_pinned(void **state) {
  (void)state;
  need_cuda();
  for (int workers = 0; workers < 3; workers += 2) {
    fy_for_batches(batch, fy_data_loader(numbers(), .batch_size = 8, .num_workers = workers, .pin_memory = true)) {
      assert_true(fy_is_pinned(batch.data));
      assert_true(fy_is_pinned(batch.target));
    }
  }
}

// The next batch arrives although the work on this one has not begun: waiting for the copy, which in the lazy mode runs
// what the copy needs and nothing else, leaves the work for later.
static void copies_overlap_with_work(void **state) {
  (void)state;
  need_cuda();
  if (!lazy()) {
    print_message("needs FERRY_SIM_MODE=lazy, where work is done only when it is waited for\n");
    skip();
  }
  FyDevice device = fy_cuda_device(0);
  FyBatch batch;
  FyPrefetcher *prefetcher =
      fy_prefetcher(fy_data_loader(numbers(), .batch_size = 8, .pin_memory = true, .num_workers = 1), device);
  FyStream *copies = fy_prefetcher_stream(prefetcher);
  assert_ptr_not_equal(copies, fy_current_stream(device));
  for (int i = 0; i < 3; i++) {
    FyEvent *worked = fy_event_new(true), *copied = fy_event_new(true);
    assert_true(fy_prefetcher_next(prefetcher, &batch));
    fy_mul(batch.data, batch.data);
    fy_event_record(worked, fy_current_stream(device));
    fy_event_record(copied, copies); // after the copy of the next batch
    fy_event_synchronize(copied);
    fy_event_synchronize(worked);
    assert_true(fy_event_elapsed_time(copied, worked) > 0);
  }
}

// The events' times say the same where streams run by themselves.
static void copies_end_before_long_work(void **state) {
  (void)state;
  need_cuda();
  const char *mode = getenv("FERRY_SIM_MODE");
  if (mode && strcmp(mode, "threads") != 0) {
    print_message("needs streams that run by themselves: a GPU, or FERRY_SIM_MODE=threads\n");
    skip();
  }
  FyDevice device = fy_cuda_device(0);
  FyBatch batch;
  FyPrefetcher *prefetcher = fy_prefetcher(fy_data_loader(numbers(), .batch_size = 8, .pin_memory = true), device);
  FyEvent *copied = fy_event_new(true), *worked = fy_event_new(true);
  int64_t side = fy_cuda_is_simulated() ? 1000 : 8000;
  FyTensor *a = fy_rand(fy_shape(side, side), .device = device);
  fy_synchronize(device);
  FyTensor *b = a;
  for (int i = 0; i < 4; i++)
    b = fy_matmul(b, a);
  assert_true(fy_prefetcher_next(prefetcher, &batch)); // queues the copy of batch 1, after the long work
  fy_event_record(copied, fy_prefetcher_stream(prefetcher));
  fy_event_record(worked, fy_current_stream(device));
  fy_synchronize(device);
  assert_true(fy_event_elapsed_time(copied, worked) > 0);
}

// ---- errors and early ends ---------------------------------------------------------------------------------------------

static void failing_get(FyDataset *self, int64_t index, uint64_t seed, void *input, void *target) {
  (void)self;
  (void)seed;
  fy_check(index != 7, FY_OS_ERROR, "the disk is gone");
  *(float *)input = (float)index;
  *(int64_t *)target = index;
}

static __attribute__((noinline)) FyError next_or_error(FyPrefetcher *p, FyBatch *batch, bool *more) {
  FyError error;
  *more = false;
  fy_trap(error) {
    *more = fy_prefetcher_next(p, batch);
  }
  return error;
}

static void an_error_comes_at_its_batch(void **state) {
  (void)state;
  static const FyDatasetClass failing = {.name = "failing", .get = failing_get};
  FyDevice device = fy_cuda_is_available() ? fy_cuda_device(0) : FY_CPU_DEVICE;
  for (int workers = 0; workers < 3; workers++) {
    fy_scope {
      FyDataset *set = fy_dataset_new(sizeof *set, &failing);
      set->count = 12;
      set->input_dtype = FY_FLOAT32;
      set->target_dtype = FY_INT64;
      FyPrefetcher *p = fy_prefetcher(fy_data_loader(set, .batch_size = 2, .num_workers = workers), device);
      FyBatch batch;
      bool more;
      for (int i = 0; i < 6; i++) {
        FyError error = next_or_error(p, &batch, &more);
        assert_int_equal(error.kind, i == 3 ? FY_OS_ERROR : FY_NO_ERROR);
        if (i == 3)
          assert_non_null(strstr(error.message, "sample 1 of batch 3 (index 7): the disk is gone"));
        else
          assert_true(more && fy_item(fy_sum(batch.data)) == 4 * i + 1);
      }
      assert_false(fy_prefetcher_next(p, &batch));
      assert_false(fy_prefetcher_next(p, &batch));
    }
  }
}

static void stopping_early(void **state) {
  (void)state;
  FyDevice device = fy_cuda_is_available() ? fy_cuda_device(0) : FY_CPU_DEVICE;
  size_t before = fy_memory_allocated(device);
  for (int i = 0; i < 60; i++) {
    fy_scope {
      FyDataLoader *loader = fy_data_loader(numbers(), .batch_size = 4, .num_workers = i % 3, .pin_memory = i % 2);
      int seen = 0;
      if (i % 2) {
        fy_for_prefetched_batches(batch, loader, device) {
          if (seen++ == i % 5)
            break;
        }
      } else {
        FyPrefetcher *p = fy_prefetcher(loader, device);
        FyBatch batch;
        assert_true(fy_prefetcher_next(p, &batch));
        fy_prefetcher_close(p);
        assert_false(fy_prefetcher_next(p, &batch));
      }
    }
  }
  fy_synchronize(device);
  assert_int_equal(fy_memory_allocated(device), before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_the_cpu),
      cmocka_unit_test(on_a_device),
      cmocka_unit_test(batches_are_pinned),
      cmocka_unit_test(copies_overlap_with_work),
      cmocka_unit_test(copies_end_before_long_work),
      cmocka_unit_test(an_error_comes_at_its_batch),
      cmocka_unit_test(stopping_early),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
