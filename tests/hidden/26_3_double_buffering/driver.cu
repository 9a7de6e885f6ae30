// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

#ifdef FERRY_SIM
static long long loads, fetches;
// Of the first thread of all: its barriers, and the stretches between them in which it loaded after it had fetched.
static long long barriers, late;
static bool has_fetched, has_loaded_late;

static bool is_first(void) {
  return threadIdx.x == 0 && threadIdx.y == 0 && blockIdx.x == 0 && blockIdx.y == 0;
}

extern "C" void note_load(void) {
  __atomic_fetch_add(&loads, 1, __ATOMIC_RELAXED);
  if (is_first())
    has_loaded_late = has_loaded_late || has_fetched;
}

extern "C" void note_fetch(void) {
  __atomic_fetch_add(&fetches, 1, __ATOMIC_RELAXED);
  if (is_first())
    has_fetched = true;
}

static void end_stretch(void) {
  late += has_loaded_late;
  has_fetched = has_loaded_late = false;
}

extern "C" void note_barrier(void) {
  if (is_first()) {
    barriers++;
    end_stretch();
  }
}

static void watch_memory(const float *begin, int64_t count, const char *name) {
  if (inspect_array) // more was given than the matrix has
    inspect_array((void *)begin, (size_t)count * sizeof *begin, name, false);
}

static void put_notes(Driver *d) {
  end_stretch();
  driver_put_number(d, "loads", (double)loads);
  driver_put_number(d, "fetches", (double)fetches);
  driver_put_number(d, "barriers", (double)barriers);
  driver_put_number(d, "late", (double)late);
  loads = fetches = barriers = late = 0; // for the next call
}
#else // a GPU does not tell
static void watch_memory(const float *, int64_t, const char *) {
}
static void put_notes(Driver *) {
}
#endif

void drive(Driver *d) {
  int64_t m = (int64_t)driver_number(d, "m"), n = (int64_t)driver_number(d, "n"), k = (int64_t)driver_number(d, "k");
  const float *a = (const float *)driver_device(d, "a"), *b = (const float *)driver_device(d, "b");
  Shape result = {2, {m, n}};
  float *c = (float *)driver_device_new(d, "c", FY_FLOAT32, result);
  watch_memory(a, m * k, "a");
  watch_memory(b, k * n, "b");
  driver_count(d);
  matmul_on_device(c, a, b, (int)m, (int)n, (int)k);
  driver_put_device(d, "c");
  put_notes(d);
}
