// SPDX-License-Identifier: MIT
// Accesses of the host to memory that copies and kernels use (host.c).
#ifndef INSPECT_HOST_H
#define INSPECT_HOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_region;
struct sim_vector_clock;
extern atomic_bool host_watches; // a copy of host memory is pending, or kernels share memory with the host
void host_queued(const struct sim_region *region, bool writes, const void *caller,
                 const struct sim_vector_clock *stamp);
void host_begins_sharing(void);
void host_access_watched(uint64_t address, size_t bytes, uint32_t pc, bool writes);
static inline void host_access(uint64_t address, size_t bytes, uint32_t pc, bool writes) {
  if (__builtin_expect(atomic_load_explicit(&host_watches, memory_order_relaxed), 0))
    host_access_watched(address, bytes, pc, writes);
}
// Atomic or volatile.
void host_access_strong(uint64_t address, size_t bytes, uint32_t pc, bool writes);

#endif
