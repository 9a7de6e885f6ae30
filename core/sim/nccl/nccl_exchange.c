// SPDX-License-Identifier: MIT
// Moving the data of joint operations: within this process by address, between processes over the wire.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/plugin.h"
#include "sim/nccl/nccl_impl.h"
#include "sim/base/sim.h"

// ---- collectives ----

static bool reduces(int kind) {
  return kind == SIM_ALL_REDUCE || kind == SIM_REDUCE || kind == SIM_REDUCE_SCATTER;
}

// What a rank gives to a round: `bytes` from `offset` on; of a scatter, of the share for `target`.
static const char *given(const struct sim_nccl_part *part, const struct sim_nccl_call *call, int target,
                         size_t offset) {
  if (part->send == NULL) // not the broadcast's root
    return NULL;
  size_t share = call->kind == SIM_REDUCE_SCATTER ? (size_t)target * call->count * sim_nccl_bytes(call->type) : 0;
  return (const char *)part->send + share + offset;
}

// One round: elements [first, first + count) of each rank's data have been shown in parts[rank].
static void take(struct sim_joint *joint, const struct sim_nccl_call *call, const void *const *parts, char *scratch,
                 int target, size_t first, size_t count) {
  const struct sim_clique *clique = joint->clique;
  const size_t size = sim_nccl_bytes(call->type), bytes = count * size, offset = first * size;
  if (bytes == 0)
    return;
  if (reduces(call->kind))
    sim_nccl_combine(call->type, call->op, parts, clique->ranks, scratch, count);
  for (int r = 0; r < clique->ranks; r++) {
    if (!joint->part[r].here || joint->part[r].recv == NULL)
      continue;
    char *to = (char *)joint->part[r].recv + offset;
    if (call->kind == SIM_ALL_GATHER)
      for (int s = 0; s < clique->ranks; s++)
        memmove(to + (size_t)s * call->count * size, parts[s], bytes);
    else if (call->kind == SIM_BROADCAST)
      memmove(to, parts[call->root], bytes);
    else if (call->kind == SIM_ALL_REDUCE || r == (call->kind == SIM_REDUCE ? call->root : target))
      memcpy(to, scratch, bytes);
    for (int s = 0; s < (call->kind == SIM_ALL_GATHER ? clique->ranks : 1); s++)
      SIM_WROTE(to + (size_t)s * call->count * size, bytes);
  }
}

struct leader_wait {
  struct sim_clique *clique;
  unsigned long long steps;
};

static bool has_not_arrived(void *context, int rank) {
  const struct leader_wait *m = context;
  return sim_is_leader(m->clique, rank) && atomic_load(&m->clique->wire->rank[rank].steps) < m->steps;
}

static bool wait_for_leaders(struct sim_joint *joint, struct sim_patience *p) {
  struct sim_clique *clique = joint->clique;
  struct leader_wait m = {.clique = clique};
  for (int r = 0; r < clique->ranks; r++)
    if (joint->part[r].here && sim_is_leader(clique, r))
      m.steps = atomic_fetch_add(&clique->wire->rank[r].steps, 1) + 1;
  p->turns = 0;
  for (int r = 0; r < clique->ranks; r++)
    while (has_not_arrived(&m, r))
      if (!sim_patience_wait(p, has_not_arrived, &m, joint->problem))
        return false;
  return true;
}

static bool same_call(const struct sim_nccl_call *a, const struct sim_nccl_call *b) {
  return a->kind == b->kind && a->type == b->type && a->op == b->op && a->root == b->root && a->count == b->count;
}

static bool disagree(struct sim_joint *joint, int a, const struct sim_nccl_call *first, int b,
                     const struct sim_nccl_call *second) {
  char left[120], right[120];
  sim_nccl_describe(first, left, sizeof left);
  sim_nccl_describe(second, right, sizeof right);
  snprintf(joint->problem, sizeof joint->problem,
           "the ranks of a communicator call different things as its collective %llu: rank %d %s, rank %d %s",
           joint->number, a, left, b, right);
  return false;
}

// Do all ranks call the same? Those of other processes have shown what they call, where they are asked for.
static bool all_agree(struct sim_joint *joint, int mine, bool others) {
  const struct sim_clique *clique = joint->clique;
  const struct sim_nccl_call *call = &joint->part[mine].call;
  for (int r = 0; r < clique->ranks; r++) {
    const bool here = joint->part[r].here;
    const struct sim_nccl_call *other = here || !others ? &joint->part[r].call : &clique->wire->rank[r].call;
    if ((!here && !others) || same_call(call, other))
      continue;
    return r < mine ? disagree(joint, r, other, mine, call) : disagree(joint, mine, call, r, other);
  }
  return true;
}

static void show(struct sim_joint *joint, const struct sim_nccl_call *call, int target, size_t offset, size_t bytes) {
  struct sim_wire *wire = joint->clique->wire;
  for (int r = 0; r < joint->clique->ranks; r++) {
    if (!joint->part[r].here)
      continue;
    wire->rank[r].call = joint->part[r].call;
    if (bytes > 0 && (call->kind != SIM_BROADCAST || r == call->root))
      memcpy(sim_wire_slot(wire, r), given(&joint->part[r], call, target, offset), bytes);
  }
}

static bool run_rounds(struct sim_joint *joint, int mine, char *scratch) {
  struct sim_clique *clique = joint->clique;
  const struct sim_nccl_call *call = &joint->part[mine].call;
  const size_t size = sim_nccl_bytes(call->type), chunk = SIM_NCCL_SLOT / size;
  const int targets = call->kind == SIM_REDUCE_SCATTER ? clique->ranks : 1;
  struct sim_patience patience = sim_patience_begin(clique, sim_nccl_function(call->kind), joint->number);
  const void *parts[SIM_NCCL_RANKS];
  bool agreed = false;
  if (!all_agree(joint, mine, false))
    return false;
  for (int target = 0; target < targets; target++) {
    for (size_t first = 0; first < call->count || !agreed; first += chunk) {
      const size_t left = call->count - first, count = left < chunk ? left : chunk;
      if (clique->wire)
        show(joint, call, target, first * size, count * size);
      if (clique->wire && !wait_for_leaders(joint, &patience))
        return false;
      if (!agreed && !all_agree(joint, mine, clique->wire != NULL))
        return false;
      agreed = true;
      for (int r = 0; r < clique->ranks; r++)
        parts[r] =
            joint->part[r].here ? given(&joint->part[r], call, target, first * size) : sim_wire_slot(clique->wire, r);
      take(joint, call, parts, scratch, target, first, count);
      if (clique->wire && !wait_for_leaders(joint, &patience)) // nobody needs what is shown any more
        return false;
    }
  }
  return true;
}

bool sim_nccl_collective(struct sim_joint *joint) {
  int mine = 0;
  while (!joint->part[mine].here)
    mine++;
  char *scratch = sim_allocate(SIM_NCCL_SLOT);
  bool done = run_rounds(joint, mine, scratch);
  free(scratch);
  return done;
}

// ---- a send and its receive ----

static bool fits(struct sim_joint *joint, int from, const struct sim_nccl_call *send, int to,
                 const struct sim_nccl_call *recv) {
  if (send->count == recv->count && send->type == recv->type)
    return true;
  char left[120], right[120];
  sim_nccl_describe(send, left, sizeof left);
  sim_nccl_describe(recv, right, sizeof right);
  snprintf(joint->problem, sizeof joint->problem, "rank %d calls %s to rank %d, which calls %s", from, left, to, right);
  return false;
}

bool sim_nccl_pair(struct sim_joint *joint) {
  const struct sim_nccl_part *from = &joint->part[0], *to = &joint->part[1];
  if (!fits(joint, joint->from, &from->call, joint->to, &to->call))
    return false;
  memmove(to->recv, from->send, from->call.count * sim_nccl_bytes(from->call.type));
  SIM_WROTE(to->recv, from->call.count * sim_nccl_bytes(from->call.type));
  return true;
}

// ---- sends and receives with other processes ----

static size_t write_ring(struct sim_ring *ring, const void *data, size_t bytes) {
  unsigned long long at = atomic_load_explicit(&ring->written, memory_order_relaxed);
  size_t room = SIM_NCCL_RING - (size_t)(at - atomic_load_explicit(&ring->read, memory_order_acquire));
  size_t n = bytes < room ? bytes : room, begin = (size_t)at % SIM_NCCL_RING, before = SIM_NCCL_RING - begin;
  memcpy(ring->bytes + begin, data, n < before ? n : before);
  if (n > before)
    memcpy(ring->bytes, (const char *)data + before, n - before);
  atomic_store_explicit(&ring->written, at + n, memory_order_release);
  return n;
}

static size_t read_ring(struct sim_ring *ring, void *data, size_t bytes) {
  unsigned long long at = atomic_load_explicit(&ring->read, memory_order_relaxed);
  size_t there = (size_t)(atomic_load_explicit(&ring->written, memory_order_acquire) - at);
  size_t n = bytes < there ? bytes : there, begin = (size_t)at % SIM_NCCL_RING, before = SIM_NCCL_RING - begin;
  memcpy(data, ring->bytes + begin, n < before ? n : before);
  if (n > before)
    memcpy((char *)data + before, ring->bytes, n - before);
  SIM_WROTE(data, n);
  atomic_store_explicit(&ring->read, at + n, memory_order_release);
  return n;
}

enum { STUCK, MOVED, DONE, FAILED };

// Each transfer goes on as far as it can; messages begin with the call, and follow each other in the ring.
static int go_on(struct sim_joint *joint, struct sim_transfer *t) {
  const bool sends = t->call.kind == SIM_SEND;
  struct sim_ring *ring = sends ? sim_wire_ring(joint->clique->wire, joint->from, t->call.root)
                                : sim_wire_ring(joint->clique->wire, t->call.root, joint->from);
  const size_t bytes = t->call.count * sim_nccl_bytes(t->call.type), before = t->moved;
  if (!t->headed) {
    unsigned long long used = atomic_load(&ring->written) - atomic_load(&ring->read);
    struct sim_nccl_call header = t->call;
    if (sends ? SIM_NCCL_RING - used < sizeof header : used < sizeof header)
      return STUCK;
    sends ? write_ring(ring, &header, sizeof header) : read_ring(ring, &header, sizeof header);
    if (!sends && !fits(joint, t->call.root, &header, joint->from, &t->call))
      return FAILED;
    t->headed = true;
    return bytes == 0 ? DONE : MOVED;
  }
  t->moved += sends ? write_ring(ring, t->data + t->moved, bytes - t->moved)
                    : read_ring(ring, t->data + t->moved, bytes - t->moved);
  return t->moved == bytes ? DONE : t->moved > before ? MOVED : STUCK;
}

// A transfer waits for those before it in the same direction with the same peer.
static bool is_first(const struct sim_joint *joint, int index, const bool *done) {
  const struct sim_nccl_call *call = &joint->transfers[index].call;
  for (int i = 0; i < index; i++)
    if (!done[i] && joint->transfers[i].call.kind == call->kind && joint->transfers[i].call.root == call->root)
      return false;
  return true;
}

struct unfinished {
  const struct sim_joint *joint;
  const bool *done;
};

static bool is_unfinished(void *context, int rank) {
  const struct unfinished *u = context;
  for (int i = 0; i < u->joint->transfer_count; i++)
    if (!u->done[i] && u->joint->transfers[i].call.root == rank)
      return true;
  return false;
}

bool sim_nccl_transfers(struct sim_joint *joint) {
  bool *done = sim_allocate((size_t)joint->transfer_count * sizeof *done);
  memset(done, 0, (size_t)joint->transfer_count * sizeof *done);
  struct unfinished u = {joint, done};
  const char *doing = sim_nccl_function(joint->transfers[0].call.kind);
  struct sim_patience patience = sim_patience_begin(joint->clique, doing, 0);
  int left = joint->transfer_count;
  bool fine = true;
  while (left > 0 && fine) {
    bool moved = false;
    for (int i = 0; i < joint->transfer_count && fine; i++) {
      int state = done[i] || !is_first(joint, i, done) ? STUCK : go_on(joint, &joint->transfers[i]);
      done[i] |= state == DONE;
      left -= state == DONE;
      moved |= state != STUCK;
      fine = state != FAILED;
    }
    if (moved)
      patience = sim_patience_begin(joint->clique, doing, 0);
    else if (fine && left > 0)
      fine = sim_patience_wait(&patience, is_unfinished, &u, joint->problem);
  }
  free(done);
  return fine;
}
