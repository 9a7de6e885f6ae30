// SPDX-License-Identifier: MIT
// Shared arrays of kernels that are judged: their initial values, and guard bytes on both sides that are checked.
#include "sim/engine/shared.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/engine/block_internal.h"
#include "cudasim_judged.h"
#include "sim/engine/fault.h"
#include "sim/base/sim.h"
#include "sim/engine/store_buffer.h"

// Fresh elements are huge, 3.4e38 or 2139062143: never a lucky zero, and told from device memory, which is NaN. Guards hold
// something else.
enum { FRESH = 0x7f, GUARD = 0xb7, MAX_ARRAYS = 64, DYNAMIC = 0 };

struct shared_array {
  char *begin;
  size_t bytes, element_bytes;
  const char *name;
};

static __thread struct shared_array arrays[MAX_ARRAYS]; // the first: dynamic shared memory
static __thread int array_count = 1;
static char guard_bytes[CUDASIM_SHARED_GUARD];

static void fill(const struct shared_array *array) {
  memset(array->begin, FRESH, array->bytes);
  memset(array->begin - CUDASIM_SHARED_GUARD, GUARD, CUDASIM_SHARED_GUARD);
  memset(array->begin + array->bytes, GUARD, CUDASIM_SHARED_GUARD);
}

static void prepare_array(const struct shared_array *array) {
  fill(array);
  sim_store_buffer_add_shared(array->begin, array->bytes);
}

void cudasim_shared_array(void *begin, size_t bytes, size_t element_bytes, const char *name) {
  if (array_count == MAX_ARRAYS)
    return;
  arrays[array_count] = (struct shared_array){begin, bytes, element_bytes, name};
  prepare_array(&arrays[array_count++]);
}

void sim_shared_block_begin(struct sim_executor *e) {
  memset(guard_bytes, GUARD, sizeof guard_bytes);
  arrays[DYNAMIC] = (struct shared_array){e->dynamic_shared, e->launch->shared_bytes, 4, "the dynamic shared memory"};
  for (int i = e->launch->shared_bytes > 0 ? 0 : 1; i < array_count; i++)
    prepare_array(&arrays[i]);
}

// The place in a guard nearest to the array that was written over; -1: none was.
static int broken_at(const char *guard, bool before) {
  if (memcmp(guard, guard_bytes, CUDASIM_SHARED_GUARD) == 0)
    return -1;
  int at = before ? CUDASIM_SHARED_GUARD - 1 : 0;
  while (guard[at] == guard_bytes[0])
    at += before ? -1 : 1;
  return at;
}

static void report_overrun(struct sim_executor *e, const struct shared_array *array, long long byte) {
  char what[256];
  const long long size = (long long)array->element_bytes;
  const long long index = byte >= 0 ? byte / size : -((-byte + size - 1) / size);
  snprintf(what, sizeof what, "%s[%lld] was written, outside of the shared array: it has %zu elements, from 0 to %zu",
           array->name, index, array->bytes / array->element_bytes, array->bytes / array->element_bytes - 1);
  sim_report(e, what);
  sim_report_thread();
}

bool sim_shared_is_written_outside(const struct sim_executor *e) {
  for (int i = e->launch->shared_bytes > 0 ? 0 : 1; i < array_count; i++)
    if (broken_at(arrays[i].begin - CUDASIM_SHARED_GUARD, true) >= 0 ||
        broken_at(arrays[i].begin + arrays[i].bytes, false) >= 0)
      return true;
  return false;
}

bool sim_shared_is_broken(struct sim_executor *e) {
  for (int i = e->launch->shared_bytes > 0 ? 0 : 1; i < array_count; i++) {
    const struct shared_array *array = &arrays[i];
    const int before = broken_at(array->begin - CUDASIM_SHARED_GUARD, true);
    const int after = broken_at(array->begin + array->bytes, false);
    if (before < 0 && after < 0)
      continue;
    report_overrun(e, array, before >= 0 ? before - CUDASIM_SHARED_GUARD : (long long)array->bytes + after);
    fill(array);
    e->error = cudaErrorIllegalAddress;
    return true;
  }
  return false;
}
