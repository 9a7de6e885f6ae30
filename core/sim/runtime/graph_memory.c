// SPDX-License-Identifier: MIT
// Memory that a graph has allocated or frees: it stays allocated, even after it is freed.
#include "cudasim_graph.h"
#include "sim/base/plugin.h"
#include "sim/runtime/memory.h"
#include "sim/base/sim.h"

struct kept {
  void *pointer;
  size_t bytes;
  bool freed; // by the program or by a node; it is there all the same
};
static struct {
  struct kept *items;
  size_t count, room;
} kept; // under sim.lock

// sim.lock is held. NULL: no graph's memory.
static struct kept *find_kept(const void *pointer) {
  for (size_t i = 0; i < kept.count; i++)
    if (kept.items[i].pointer == pointer)
      return &kept.items[i];
  return NULL;
}

// sim.lock is held.
static struct kept *add_kept(void *pointer) {
  if (kept.count == kept.room) {
    kept.room = kept.room ? 2 * kept.room : 16;
    kept.items = sim_resize(kept.items, kept.room * sizeof *kept.items);
  }
  const struct sim_heap *heap = &sim.device[sim_device_of(pointer)].heap;
  const struct sim_piece *piece = sim_heap_find(heap, pointer);
  kept.items[kept.count] = (struct kept){pointer, piece ? piece->size : 0, false};
  return &kept.items[kept.count++];
}

// A graph that has allocated it may run again after a program has freed it, and then it is there at the same address: it is never
// given back.
void cudasim_graph_keep(void *pointer) {
  sim_lock();
  add_kept(pointer);
  sim_unlock();
}

bool sim_graph_keeps(const void *pointer) {
  sim_lock();
  const bool found = find_kept(pointer) != NULL;
  sim_unlock();
  return found;
}

// Marks the memory as freed. Memory that a graph frees without having allocated it is kept as well: the graph may run again.
void cudasim_graph_free(void *pointer) {
  if (sim_device_of(pointer) < 0)
    return;
  sim_lock();
  struct kept *found = find_kept(pointer);
  if (found == NULL)
    found = add_kept(pointer);
  if (!found->freed)
    SIM_NOTIFY(given_back, (pointer));
  found->freed = true;
  sim_unlock();
}

size_t sim_graph_freed_bytes(void) {
  size_t bytes = 0;
  sim_lock();
  for (size_t i = 0; i < kept.count; i++)
    bytes += kept.items[i].freed ? kept.items[i].bytes : 0;
  sim_unlock();
  return bytes;
}
