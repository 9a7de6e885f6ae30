// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

#ifdef FERRY_SIM
static long long loads, fetches;
// Of the first thread of the first block: its barriers, its loads, and those of them after which it fetched before the next barrier.
static long long barriers, own_loads, loads_ahead;
static long long pending; // loads since its last fetch or barrier

static bool is_first(void) {
  return threadIdx.x == 0 && threadIdx.y == 0 && blockIdx.x == 0 && blockIdx.y == 0;
}

extern "C" void note_load(void) {
  __atomic_fetch_add(&loads, 1, __ATOMIC_RELAXED);
  if (is_first()) {
    own_loads++;
    pending++;
  }
}

extern "C" void note_fetch(void) {
  __atomic_fetch_add(&fetches, 1, __ATOMIC_RELAXED);
  if (is_first()) {
    loads_ahead += pending;
    pending = 0;
  }
}

extern "C" void note_barrier(void) {
  if (is_first()) {
    barriers++;
    pending = 0;
  }
}

static void watch_memory(const float *begin, int64_t count, const char *name) {
  if (inspect_array) // the arrays are larger than the matrices
    inspect_array((void *)begin, (size_t)count * sizeof *begin, name, false);
}

static void put_notes(Driver *d) {
  driver_put_number(d, "loads", (double)loads);
  driver_put_number(d, "fetches", (double)fetches);
  driver_put_number(d, "barriers", (double)barriers);
  driver_put_number(d, "loads of a thread", (double)own_loads);
  driver_put_number(d, "loads ahead of a fetch", (double)loads_ahead);
  loads = fetches = barriers = own_loads = loads_ahead = pending = 0; // for the next call
}
#else // a GPU counts nothing
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
