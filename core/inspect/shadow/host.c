// SPDX-License-Identifier: MIT
// Data races of host code: it accesses memory that a copy or a kernel uses, and has not waited for it. The file's
// host code is instrumented as kernels are; functions of the C library are not, except copies.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "inspect/shadow/host.h"
#include "inspect/shadow/memory.h"
#include "inspect/shadow/launch_history.h"
#include "inspect/program.h"

// ---- copies ------------------------------------------------------------------------------------------------------------------------

struct pending {
  struct sim_region region;
  bool writes;
  uint32_t pc; // of the call that enqueued the copy
  unsigned int chain, number;
};

atomic_bool host_watches;
static atomic_bool copies_pending, shares_memory;
static struct pending *pending;
static size_t count, room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void forget_known(void) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (!sim_vector_clock_host_knows(pending[i].chain, pending[i].number))
      pending[kept++] = pending[i];
  count = kept;
  atomic_store(&copies_pending, count > 0);
  atomic_store(&host_watches, count > 0 || atomic_load(&shares_memory));
}

void host_queued(const struct sim_region *region, bool writes, const void *caller,
                 const struct sim_vector_clock *stamp) {
  if (stamp->unknown)
    return;
  pthread_mutex_lock(&lock);
  if (count == room) {
    forget_known();
    room = count == room ? 2 * room + 16 : room;
    pending = inspect_resize(pending, room * sizeof *pending);
  }
  pending[count++] = (struct pending){*region, writes, program_pc_if(caller), stamp->component, stamp->time};
  atomic_store(&copies_pending, true);
  atomic_store(&host_watches, true);
  pthread_mutex_unlock(&lock);
}

static void report(const struct pending *p, uint64_t address, uint32_t pc, bool writes) {
  inspect_hold();
  finding_add(FIND_RACE_HOST, NULL, (struct location){.first = pc, .second = p->pc},
              "byte %zu of %zu: a copy %s it, the host %s it without waiting for the copy",
              (size_t)(address > (uintptr_t)p->region.address ? address - (uintptr_t)p->region.address : 0),
              p->region.bytes * p->region.rows, p->writes ? "writes" : "reads", writes ? "writes" : "reads");
  inspect_release();
}

static void check_copies(uint64_t address, size_t bytes, uint32_t pc, bool writes) {
  bool known = false;
  if (sim_running_vector_clock()) // an uninstrumented kernel, or a host function that a stream calls
    return;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < count; i++) {
    const struct pending *p = &pending[i];
    if ((!p->writes && !writes) || !history_overlaps(&p->region, address, bytes))
      continue;
    if (sim_vector_clock_host_knows(p->chain, p->number))
      known = true;
    else
      report(p, address, pc, writes);
  }
  if (known)
    forget_known();
  pthread_mutex_unlock(&lock);
}

// ---- memory that kernels share with the host ----------------------------------------------------------------------------

// A program that polls shared memory, or uses atomics on it, synchronizes by means of its own, whose order is unknown
// here.
static atomic_bool synchronizes_by_memory;

void host_begins_sharing(void) {
  atomic_store(&shares_memory, true);
  atomic_store(&host_watches, true);
}

// True: kernels share the memory, and the host has not waited for all of them.
static bool may_race_with_kernels(uint64_t address, size_t bytes, uint32_t pc, bool writes) {
  const bool is_heap = address - memory_shared_begin < memory_shared_bytes;
  if (atomic_load(&copies_pending))
    check_copies(address, bytes, pc, writes);
  if (is_heap && writes)
    memory_host_writes(address, bytes);
  const bool shared = is_heap ? memory_is_allocated(address) : program_is_managed(address);
  return shared && sim_vector_clock_host_is_behind() && !atomic_load(&synchronizes_by_memory) && !sim_host_computes() &&
         (!sim_running_vector_clock() || sim_running_host_function());
}

void host_access_watched(uint64_t address, size_t bytes, uint32_t pc, bool writes) {
  static __thread struct sim_vector_clock knows;
  if (!may_race_with_kernels(address, bytes, pc, writes))
    return;
  const struct sim_vector_clock *function = sim_running_vector_clock(); // a host function that a stream calls
  const unsigned long version = function ? 0 : sim_vector_clock_of_host(&knows);
  struct range_access what = {.region = sim_bytes((const void *)(uintptr_t)address, bytes), .pc = pc, .writes = writes};
  inspect_hold();
  if (function) {
    what.library = "a host function";
    history_host_function(function, what);
  } else {
    history_host_access(&knows, version, what);
  }
  inspect_release();
}

void host_access_strong(uint64_t address, size_t bytes, uint32_t pc, bool writes) {
  if (!may_race_with_kernels(address, bytes, pc, writes) || atomic_exchange(&synchronizes_by_memory, true))
    return;
  inspect_hold();
  history_forget_host();
  inspect_release();
}
