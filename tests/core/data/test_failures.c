// SPDX-License-Identifier: MIT
// The data pipeline when the system refuses: threads, writes, syncs, renames, memory. Each refusal is an error that says so,
// leaves nothing behind, and everything works again after it.
// run check: FERRY_CUDA=off
#include "../nn/check.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

// ---- calls that can be made to fail ------------------------------------------------------------------------------------

typedef enum Call { NONE, THREAD, WRITE, SYNC, RENAME } Call;

static Call failing;      // which call
static int countdown;     // the k-th from now ...
static bool ever_after;   // ... alone, or all from there on
static int error_to_give; // as errno

static bool fails(Call call) {
  if (failing != call)
    return false;
  countdown -= countdown > 0;
  if (countdown > 0)
    return false;
  if (!ever_after)
    failing = NONE;
  errno = error_to_give;
  return true;
}

static void make_fail(Call call, int k, bool always, int error) {
  failing = call;
  countdown = k;
  ever_after = always;
  error_to_give = error;
}

#define NEXT(type, name) ((type)(uintptr_t)dlsym(RTLD_NEXT, name))

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  typedef int Create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  return fails(THREAD) ? error_to_give : NEXT(Create *, "pthread_create")(thread, attributes, body, argument);
}
ssize_t write(int file, const void *bytes, size_t count) {
  typedef ssize_t Write(int, const void *, size_t);
  return fails(WRITE) ? -1 : NEXT(Write *, "write")(file, bytes, count);
}
int fsync(int file) {
  typedef int Sync(int);
  return fails(SYNC) ? -1 : NEXT(Sync *, "fsync")(file);
}
int rename(const char *from, const char *to) {
  typedef int Rename(const char *, const char *);
  return fails(RENAME) ? -1 : NEXT(Rename *, "rename")(from, to);
}

// ---- threads -----------------------------------------------------------------------------------------------------------

static int threads_now(void) {
  int count = 0;
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *entry; (entry = readdir(tasks));)
    count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

static FyDataset *numbers(void) {
  return fy_tensor_dataset(fy_reshape(fy_arange(40), fy_shape(20, 2)), fy_arange(20));
}

static int64_t sum_of(FyDataLoader *loader) {
  int64_t sum = 0;
  fy_for_batches(batch, loader) {
    sum += fy_item_int64(fy_sum(batch.target));
  }
  return sum;
}

static __attribute__((noinline)) FyError sum_or_error(FyDataLoader *loader, int64_t *sum) {
  FyError error;
  fy_trap(error) {
    *sum = sum_of(loader);
  }
  return error;
}

static void workers_that_cannot_be_started(void **state) {
  (void)state;
  FyDataLoader *loader = fy_data_loader(numbers(), .batch_size = 2, .num_workers = 4);
  size_t memory = fy_memory_allocated(FY_CPU_DEVICE);
  int threads = threads_now();
  char expected[64];
  for (int k = 1; k <= 4; k++) {
    for (int always = 0; always < 2; always++) {
      int64_t sum = 0;
      make_fail(THREAD, k, always, EAGAIN);
      FyError error = sum_or_error(loader, &sum);
      failing = NONE;
      assert_int_equal(error.kind, FY_OS_ERROR);
      snprintf(expected, sizeof expected, "worker %d of 4 cannot be started: Resource temp", k - 1);
      if (!strstr(error.message, expected))
        fail_msg("expected '%s', but got '%s'", expected, error.message);
      for (int wait = 0; threads_now() > threads && wait < 5000; wait++)
        usleep(1000);
      assert_int_equal(threads_now(), threads);
      assert_int_equal(fy_memory_allocated(FY_CPU_DEVICE), memory);
      assert_int_equal(sum_of(loader), 190);
    }
  }
}

// ---- files -------------------------------------------------------------------------------------------------------------

static char folder[] = "/tmp/ferry-failures-XXXXXX";
static char path[64];

static int set_up(void **state) {
  (void)state;
  if (!mkdtemp(folder))
    return -1;
  snprintf(path, sizeof path, "%s/file", folder);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder); // fails when a temporary file was left
}

static FyTensorList *filled_with(double value) {
  FyTensorList *list = fy_tensor_list_new();
  fy_list_add(list, "a", fy_full(value, fy_shape(5)));
  fy_list_add(list, "b", fy_full(value, fy_shape(2, 2), .dtype = FY_INT64));
  return list;
}

static __attribute__((noinline)) FyError save_or_error(double value) {
  FyError error;
  fy_trap(error) {
    fy_safetensors_save(path, filled_with(value), NULL);
  }
  return error;
}

static double value_in_file(void) {
  FyTensorList *list = fy_safetensors_load(path, NULL);
  assert_int_equal(list->count, 2);
  double value = fy_item(fy_mean(list->items[0]));
  assert_true(fy_item(fy_max(list->items[1])) == value);
  return value;
}

static int files_in_folder(void) {
  int count = 0;
  DIR *entries = opendir(folder);
  for (struct dirent *entry; (entry = readdir(entries));)
    count += entry->d_name[0] != '.';
  closedir(entries);
  return count;
}

static void writes_that_fail(void **state) {
  (void)state;
  static const struct {
    Call call;
    int error;
    const char *text;
    int times; // the call is made in one save
  } cases[] = {{WRITE, ENOSPC, "No space left on device", 4},
               {WRITE, EIO, "Input/output error", 4},
               {SYNC, EIO, "Input/output error", 1},
               {SYNC, EDQUOT, "Disk quota exceeded", 1},
               {RENAME, EACCES, "Permission denied", 1}};
  double value = 1;
  assert_int_equal(save_or_error(value).kind, FY_NO_ERROR);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int k = 1; k <= cases[i].times; k++) {
      for (int always = 0; always < 2; always++) {
        make_fail(cases[i].call, k, always, cases[i].error);
        FyError error = save_or_error(value + 1);
        failing = NONE;
        assert_int_equal(error.kind, FY_OS_ERROR);
        assert_non_null(strstr(error.message, path));
        assert_non_null(strstr(error.message, cases[i].text));
        assert_true(value_in_file() == value); // the old file
        assert_int_equal(files_in_folder(), 1);
        assert_int_equal(save_or_error(++value).kind, FY_NO_ERROR);
        assert_true(value_in_file() == value);
      }
    }
  }
}

// The rename has been done by then: the new file is there, but a power cut might take it back, and that is said.
static void a_directory_that_cannot_be_synced(void **state) {
  (void)state;
  assert_int_equal(save_or_error(1).kind, FY_NO_ERROR);
  make_fail(SYNC, 2, false, EIO);
  assert_int_equal(save_or_error(2).kind, FY_OS_ERROR);
  assert_true(value_in_file() == 2);
  make_fail(SYNC, 2, false, EINVAL); // a file system without such a call
  assert_int_equal(save_or_error(3).kind, FY_NO_ERROR);
  failing = NONE;
  assert_int_equal(files_in_folder(), 1);
}

// An interrupted write is written again.
static void an_interrupted_write(void **state) {
  (void)state;
  for (int k = 1; k <= 4; k++) {
    make_fail(WRITE, k, false, EINTR);
    assert_int_equal(save_or_error(k).kind, FY_NO_ERROR);
    assert_true(value_in_file() == k);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(workers_that_cannot_be_started),
      cmocka_unit_test(writes_that_fail),
      cmocka_unit_test(a_directory_that_cannot_be_synced),
      cmocka_unit_test(an_interrupted_write),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
