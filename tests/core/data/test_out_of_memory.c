// SPDX-License-Identifier: MIT
// Every host allocation of the data pipeline fails in turn, once or from there on: the error says that memory ran out, nothing
// is left behind, and the same call works afterwards.
// run: FERRY_CUDA=off
#include "../nn/check.h"
#include "base/sanitized.h"
#include <unistd.h>

// The sanitizers have allocators of their own, which cannot be replaced here.
#if !defined(FY_SANITIZED) && defined(__GLIBC__)
#define REPLACED 1
#else
#define REPLACED 0
#endif

static _Thread_local long countdown; // the k-th from now fails; 0: none does
static _Thread_local bool ever_after;
static _Thread_local long live; // blocks

#if REPLACED
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *pointer);

static bool fails(void) {
  if (countdown == 0)
    return false;
  if (countdown > 1) {
    countdown--;
    return false;
  }
  countdown = ever_after;
  return true;
}

static void *counted(void *pointer) {
  live += pointer != NULL;
  return pointer;
}

void *malloc(size_t bytes) {
  return fails() ? NULL : counted(__libc_malloc(bytes));
}
void *calloc(size_t count, size_t bytes) {
  return fails() ? NULL : counted(__libc_calloc(count, bytes));
}
void *realloc(void *old, size_t bytes) {
  if (fails())
    return NULL;
  live -= old != NULL;
  return counted(__libc_realloc(old, bytes));
}
void *memalign(size_t alignment, size_t bytes) {
  return fails() ? NULL : counted(__libc_memalign(alignment, bytes));
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}
int posix_memalign(void **pointer, size_t alignment, size_t bytes) {
  *pointer = memalign(alignment, bytes);
  return *pointer ? 0 : 12; // ENOMEM
}
void free(void *pointer) {
  live -= pointer != NULL;
  __libc_free(pointer);
}
#endif

// ---- what is swept -----------------------------------------------------------------------------------------------------

static char path[] = "/tmp/ferry-memory-XXXXXX";
static FyDataset *set;
static FyModule *model;
static FyOptimizer *optimizer;

static void save(void) {
  FyTensorList *list = fy_tensor_list_new();
  FyMetadata *metadata = fy_metadata_new();
  FyTensor *t = fy_ones(fy_shape(3));
  fy_list_add(list, "a", t);
  fy_list_add(list, "b", fy_t(t));
  fy_list_add(list, "c", t);
  fy_metadata_set(metadata, "one", "1");
  fy_metadata_set(metadata, "two", "2");
  fy_metadata_set(metadata, "one", "%d", 3);
  fy_safetensors_save(path, list, metadata);
}

static void load(void) {
  FyMetadata *metadata = NULL;
  assert_int_equal(fy_safetensors_load(path, &metadata)->count, 3);
}

static void make_data_sets(void) {
  FyTransform *transform = fy_compose(fy_random_crop(28, 2), fy_random_horizontal_flip(0.5), fy_to_tensor());
  FyDataset *made = fy_synthetic_dataset(4, 1, 2, transform);
  fy_dataset_get(fy_subset(made, 1, 3), -1);
  fy_tensor_dataset(fy_zeros(fy_shape(3, 2)), fy_arange(3));
}

static void iterate(int workers) {
  int64_t samples = 0;
  FyDataLoader *loader = fy_data_loader(set, .batch_size = 3, .num_workers = workers, .shuffle = true);
  fy_for_batches(batch, loader) {
    samples += batch.size;
  }
  assert_int_equal(samples, 10);
}

static void iterate_alone(void) {
  iterate(0);
}

static void iterate_with_workers(void) {
  iterate(2);
}

static void clip(void) {
  fy_clip_grad_norm_(fy_parameters(model), 1);
  fy_clip_grad_value_(fy_parameters(model), 1);
}

static void checkpoint(void) {
  FyScheduler *scheduler = fy_step_lr(optimizer, 1, 0.5);
  FyCheckpoint c = {.model = model, .optimizer = optimizer, .scheduler = scheduler};
  fy_checkpoint_save(path, &c);
  fy_checkpoint_load(path, &c);
}

// ---- the sweep ---------------------------------------------------------------------------------------------------------

static __attribute__((noinline)) FyError run(void (*body)(void), long k, bool always) {
  FyError error;
  fy_trap(error) {
    fy_scope {
      ever_after = always;
      countdown = k;
      body();
      countdown = 0;
    }
  }
  countdown = 0;
  return error;
}

static void sweep(void (*body)(void), bool always) {
  enum { QUIET = 50 }; // so many allocations in a row whose failure goes unnoticed: the end has been passed
  int refused = 0, quiet = 0;
  for (int i = 0; i < 2; i++)
    assert_int_equal(run(body, 0, false).kind, FY_NO_ERROR);
  for (long k = 1; quiet < QUIET; k++) {
    long before = live;
    FyError error = run(body, k, always);
    if (live > before)
      fail_msg("allocation %ld: %ld block(s) left behind after \"%s\"", k, live - before, error.message);
    if (error.kind && error.kind != FY_OUT_OF_MEMORY_ERROR)
      fail_msg("allocation %ld: %s: %s", k, fy_error_name(error.kind), error.message);
    refused += error.kind != FY_NO_ERROR;
    quiet = error.kind ? 0 : quiet + 1;
    assert_int_equal(run(body, 0, false).kind, FY_NO_ERROR);
  }
  print_message("%d allocations refused\n", refused);
  assert_true(refused > 3);
}

#define SWEEP(name)                                                                                                    \
  static void each_failing_in_##name(void **state) {                                                                   \
    (void)state;                                                                                                       \
    if (!REPLACED) {                                                                                                   \
      print_message("needs glibc's allocator, without sanitizers\n");                                                  \
      skip();                                                                                                          \
    }                                                                                                                  \
    sweep(name, false);                                                                                                \
    sweep(name, true);                                                                                                 \
  }
SWEEP(save)
SWEEP(load)
SWEEP(make_data_sets)
SWEEP(iterate_alone)
SWEEP(iterate_with_workers)
SWEEP(clip)
SWEEP(checkpoint)

static int set_up(void **state) {
  (void)state;
  int file = mkstemp(path);
  if (file < 0)
    return -1;
  close(file);
  set = fy_tensor_dataset(fy_zeros(fy_shape(10, 4)), fy_arange(10));
  model = fy_nn_sequential(fy_nn_linear(3, 4), fy_nn_linear(4, 2));
  optimizer = fy_adam(fy_parameters(model));
  fy_backward(fy_sum(fy_forward(model, fy_ones(fy_shape(2, 3)))));
  fy_step(optimizer);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  return unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_failing_in_save),
      cmocka_unit_test(each_failing_in_load),
      cmocka_unit_test(each_failing_in_make_data_sets),
      cmocka_unit_test(each_failing_in_iterate_alone),
      cmocka_unit_test(each_failing_in_iterate_with_workers),
      cmocka_unit_test(each_failing_in_clip),
      cmocka_unit_test(each_failing_in_checkpoint),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
