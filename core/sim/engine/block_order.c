// SPDX-License-Identifier: MIT
// The order in which a block's threads begin.
#include "sim/engine/block_internal.h"
#include "sim/base/sim.h"

static unsigned int next_random(unsigned int *state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

static void shuffle(uint16_t *items, unsigned int count, unsigned int *random) {
  for (unsigned int i = count; i > 1; i--) {
    unsigned int j = next_random(random) % i;
    uint16_t item = items[i - 1];
    items[i - 1] = items[j];
    items[j] = item;
  }
}

// Warps in order, and the threads of each warp together: descending and random order keep warps whole.
static void fill_order(struct sim_executor *e, unsigned int random) {
  enum sim_order order = e->ascends ? SIM_ASCENDING : sim.config.order;
  unsigned int warps = (e->threads + SIM_WARP_THREADS - 1) / SIM_WARP_THREADS, place = 0;
  uint16_t warp_order[SIM_MAX_WARPS];
  for (unsigned int i = 0; i < warps; i++)
    warp_order[i] = (uint16_t)(order == SIM_DESCENDING ? warps - 1 - i : i);
  if (order == SIM_RANDOM)
    shuffle(warp_order, warps, &random);
  for (unsigned int i = 0; i < warps; i++) {
    unsigned int first = warp_order[i] * (unsigned int)SIM_WARP_THREADS, lanes = e->threads - first;
    lanes = lanes < SIM_WARP_THREADS ? lanes : SIM_WARP_THREADS;
    e->warp_place[warp_order[i]] = (uint16_t)place;
    for (unsigned int lane = 0; lane < lanes; lane++)
      e->order[place + lane] = (uint16_t)(first + (order == SIM_DESCENDING ? lanes - 1 - lane : lane));
    if (order == SIM_RANDOM)
      shuffle(e->order + place, lanes, &random);
    place += lanes;
  }
}

static void fill_indices(struct sim_executor *e) {
  unsigned int thread = 0;
  for (unsigned int z = 0; z < e->shape.z; z++)
    for (unsigned int y = 0; y < e->shape.y; y++)
      for (unsigned int x = 0; x < e->shape.x; x++)
        e->waiter[thread++].index = (struct cudasim_index){x, y, z};
}

void sim_set_shape(struct sim_executor *e, struct cudasim_dim3 shape, unsigned int block) {
  bool same = e->shape.x == shape.x && e->shape.y == shape.y && e->shape.z == shape.z;
  if (!same) {
    e->shape = shape;
    e->threads = shape.x * shape.y * shape.z;
    fill_indices(e);
  }
  if (sim.config.order == SIM_RANDOM) // a block's order depends on the seed and on nothing else
    fill_order(e, (sim.config.seed + block) * 2654435761u | 1u);
  else if (!same)
    fill_order(e, 0);
}

void sim_set_ascending(struct sim_executor *e, bool ascends) {
  ascends &= sim.config.order == SIM_DESCENDING;
  if (e->ascends == ascends)
    return;
  e->ascends = ascends;
  fill_order(e, 0);
}
