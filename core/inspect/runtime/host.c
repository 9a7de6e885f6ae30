// Host code that comes to memory which a copy or a kernel reads or writes that it has not waited for. What the compiler has put into
// the file's host code tells of its accesses, as in kernels; functions of the C library tell of nothing but copies.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "inspect/runtime/host.h"
#include "inspect/shadow/memory.h"
#include "inspect/shadow/past.h"
#include "inspect/runtime/program.h"

// ---- copies ------------------------------------------------------------------------------------------------------------------------

struct pending {
  struct sim_region region;
  bool writes;
  uint32_t place; // of the call that asked for the copy
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
  pending[count++] = (struct pending){*region, writes, program_place_if(caller), stamp->component, stamp->time};
  atomic_store(&copies_pending, true);
  atomic_store(&host_watches, true);
  pthread_mutex_unlock(&lock);
}

static void report(const struct pending *p, uint64_t address, uint32_t place, bool writes) {
  inspect_hold();
  finding_add(FIND_RACE_HOST, NULL, (struct place){.first = place, .second = p->place},
              "byte %zu of %zu: a copy %s it, the host %s it, and has not waited for the copy",
              (size_t)(address > (uintptr_t)p->region.address ? address - (uintptr_t)p->region.address : 0),
              p->region.bytes * p->region.rows, p->writes ? "writes" : "reads", writes ? "writes" : "reads");
  inspect_release();
}

static void meet_copies(uint64_t address, size_t bytes, uint32_t place, bool writes) {
  bool known = false;
  if (sim_running_vector_clock()) // a kernel that nobody looks at, or a function of the host's that a stream calls in its turn
    return;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < count; i++) {
    const struct pending *p = &pending[i];
    if ((!p->writes && !writes) || !past_touches(&p->region, address, bytes))
      continue;
    if (sim_vector_clock_host_knows(p->chain, p->number))
      known = true;
    else
      report(p, address, place, writes);
  }
  if (known)
    forget_known();
  pthread_mutex_unlock(&lock);
}

// ---- kernels, in memory that they share with the host -------------------------------------------------------------------------------

// Whoever polls such memory, or hands it on by atomics, waits in a way of his own, which nobody here knows the order of.
static atomic_bool waits_otherwise;

void host_begins_sharing(void) {
  atomic_store(&shares_memory, true);
  atomic_store(&host_watches, true);
}

// True: the memory is shared with kernels, and the host has not waited for all of them.
static bool comes_to_kernels(uint64_t address, size_t bytes, uint32_t place, bool writes) {
  const bool is_heap = address - memory_shared_begin < memory_shared_bytes;
  if (atomic_load(&copies_pending))
    meet_copies(address, bytes, place, writes);
  if (is_heap && writes)
    memory_host_writes(address, bytes);
  const bool shared = is_heap ? memory_is_allocated(address) : program_is_managed(address);
  return shared && sim_vector_clock_host_is_behind() && !atomic_load(&waits_otherwise) && !sim_host_computes() &&
         (!sim_running_vector_clock() || sim_running_host_function());
}

void host_access_watched(uint64_t address, size_t bytes, uint32_t place, bool writes) {
  static __thread struct sim_vector_clock knows;
  if (!comes_to_kernels(address, bytes, place, writes))
    return;
  const struct sim_vector_clock *function = sim_running_vector_clock(); // that a stream calls in its turn
  const unsigned long version = function ? 0 : sim_vector_clock_of_host(&knows);
  struct transferred what = {
      .region = sim_bytes((const void *)(uintptr_t)address, bytes), .place = place, .writes = writes};
  inspect_hold();
  if (function) {
    what.library = "a function of the host's";
    past_host_function(function, what);
  } else {
    past_host_access(&knows, version, what);
  }
  inspect_release();
}

void host_access_strong(uint64_t address, size_t bytes, uint32_t place, bool writes) {
  if (!comes_to_kernels(address, bytes, place, writes) || atomic_exchange(&waits_otherwise, true))
    return;
  inspect_hold();
  past_forget_host();
  inspect_release();
}
