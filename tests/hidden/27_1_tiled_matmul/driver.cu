// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include <math.h>
#include <stdlib.h>

#ifdef FERRY_SIM
static long long loads, outside, barriers; // barriers: of the first thread of all
static const float *begins[2], *ends[2];
static const Array *elements_of[2]; // what load returns; the device memory itself holds NaN

extern "C" float note_load(const float *address) {
  bool inside = (address >= begins[0] && address < ends[0]) || (address >= begins[1] && address < ends[1]);
  __atomic_fetch_add(inside ? &loads : &outside, 1, __ATOMIC_RELAXED);
  for (int operand = 0; operand < 2; operand++)
    if (address >= begins[operand] && address < begins[operand] + elements_of[operand]->count)
      return elements_of[operand]->f32[address - begins[operand]];
  return *address;
}

// Filled with a NaN that is not the one of fresh memory.
static const float *decoy(Driver *d, const char *name, const Array *elements) {
  void *memory = driver_device_new(d, name, FY_FLOAT32, elements->shape);
  float *nan = (float *)malloc((size_t)elements->count * sizeof *nan + 1);
  for (int64_t i = 0; nan && i < elements->count; i++)
    nan[i] = NAN;
  if (nan)
    cudaMemcpy(memory, nan, (size_t)elements->count * sizeof *nan, cudaMemcpyHostToDevice);
  free(nan);
  return (const float *)memory;
}

static const float *operand_memory(Driver *d, int operand, const char *name) {
  elements_of[operand] = driver_array(d, name);
  if (inspect_array)
    return (const float *)driver_device(d, name);
  return decoy(d, name, elements_of[operand]);
}

extern "C" void note_barrier(void) {
  barriers += threadIdx.x == 0 && threadIdx.y == 0 && blockIdx.x == 0 && blockIdx.y == 0;
}

static void watch_memory(int operand, const float *begin, int64_t count) {
  if (inspect_array) // the arrays are larger than the matrices
    inspect_array((void *)begin, (size_t)count * sizeof *begin, operand ? "b" : "a", false);
  begins[operand] = begin;
  ends[operand] = begin + count;
}

static void put_notes(Driver *d) {
  driver_put_number(d, "loads", (double)loads);
  driver_put_number(d, "loads outside", (double)outside);
  driver_put_number(d, "barriers", (double)barriers);
  loads = outside = barriers = 0; // for the next call
}
#else // a GPU counts nothing
static const float *operand_memory(Driver *d, int, const char *name) {
  return (const float *)driver_device(d, name);
}
static void watch_memory(int, const float *, int64_t) {
}
static void put_notes(Driver *) {
}
#endif

void drive(Driver *d) {
  int64_t m = (int64_t)driver_number(d, "m"), n = (int64_t)driver_number(d, "n"), k = (int64_t)driver_number(d, "k");
  const float *a = operand_memory(d, 0, "a"), *b = operand_memory(d, 1, "b");
  Shape result = {2, {m, n}};
  float *c = (float *)driver_device_new(d, "c", FY_FLOAT32, result);
  watch_memory(0, a, m * k);
  watch_memory(1, b, k * n);
  driver_count(d);
  matmul_on_device(c, a, b, (int)m, (int)n, (int)k);
  driver_put_device(d, "c");
  put_notes(d);
}
