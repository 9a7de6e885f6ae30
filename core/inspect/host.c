// Host code that comes to memory which a copy reads or writes that it has not waited for. What the compiler has put into the file's host
// code tells of its accesses, as in kernels; functions of the C library tell of nothing but copies.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "inspect/inspect.h"
#include "sim/inspector.h"

struct pending {
  struct sim_region region;
  bool writes;
  uint32_t place; // of the call that asked for the copy
  unsigned int chain, number;
};

atomic_bool host_watches;
static struct pending *pending;
static size_t count, room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void forget_known(void) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (!sim_stamp_host_knows(pending[i].chain, pending[i].number))
      pending[kept++] = pending[i];
  count = kept;
  atomic_store(&host_watches, count > 0);
}

void host_queued(const struct sim_region *region, bool writes, const void *caller, const struct sim_stamp *stamp) {
  if (stamp->unknown)
    return;
  pthread_mutex_lock(&lock);
  if (count == room) {
    forget_known();
    room = count == room ? 2 * room + 16 : room;
    pending = inspect_resize(pending, room * sizeof *pending);
  }
  pending[count++] = (struct pending){*region, writes, program_place_if(caller), stamp->chain, stamp->number};
  atomic_store(&host_watches, true);
  pthread_mutex_unlock(&lock);
}

static bool touches(const struct sim_region *r, uint64_t address, size_t bytes) {
  const uint64_t begin = (uintptr_t)r->address;
  for (size_t row = 0; row < r->rows; row++)
    if (address < begin + row * r->pitch + r->bytes && begin + row * r->pitch < address + bytes)
      return true;
  return false;
}

static void report(const struct pending *p, uint64_t address, uint32_t place, bool writes) {
  inspect_hold();
  finding_add(FIND_RACE_HOST, NULL, (struct place){.first = place, .second = p->place},
              "byte %zu of %zu: a copy %s it, the host %s it, and has not waited for the copy",
              (size_t)(address > (uintptr_t)p->region.address ? address - (uintptr_t)p->region.address : 0),
              p->region.bytes * p->region.rows, p->writes ? "writes" : "reads", writes ? "writes" : "reads");
  inspect_release();
}

void host_access_slowly(uint64_t address, size_t bytes, uint32_t place, bool writes) {
  bool known = false;
  if (sim_running_stamp()) // a kernel that nobody looks at, or a function of the host's that a stream calls in its turn
    return;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < count; i++) {
    const struct pending *p = &pending[i];
    if ((!p->writes && !writes) || !touches(&p->region, address, bytes))
      continue;
    if (sim_stamp_host_knows(p->chain, p->number))
      known = true;
    else
      report(p, address, place, writes);
  }
  if (known)
    forget_known();
  pthread_mutex_unlock(&lock);
}
