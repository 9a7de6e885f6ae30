// SPDX-License-Identifier: MIT
// Joint operations as nodes: who has called, what they wait for, and who ends those that are never complete.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/runtime/clock.h"
#include "model/kernel.h"
#include "sim/nccl/nccl_impl.h"
#include "sim/base/sim.h"
#include "sim/base/plugin.h"
#include "sim/runtime/trace.h"

// ---- the work ----

static cudaError_t run_joint(struct sim_work *base) {
  struct sim_joint *joint = (struct sim_joint *)base;
  struct sim_clique *clique = joint->clique;
  if (atomic_load(&clique->error))
    return cudaErrorLaunchFailure;
  bool done = joint->problem[0] == '\0' && (joint->collective       ? sim_nccl_collective(joint)
                                            : joint->transfer_count ? sim_nccl_transfers(joint)
                                                                    : sim_nccl_pair(joint));
  if (done)
    return cudaSuccess;
  // Another rank's process says the cause; this one comes after it.
  sim_nccl_lock();
  sim_clique_fail(clique, clique->wire ? ncclRemoteError : ncclInvalidUsage, true, joint->problem);
  sim_nccl_unlock();
  return cudaErrorLaunchFailure;
}

static void destroy_joint(struct sim_work *base) {
  struct sim_joint *joint = (struct sim_joint *)base;
  sim_nccl_lock();
  sim_clique_release(joint->clique);
  sim_nccl_unlock();
  free(joint->transfers);
}

static const struct sim_nccl_call *any_call(const struct sim_joint *joint) {
  if (joint->transfer_count)
    return &joint->transfers[0].call;
  int r = 0;
  while (!joint->part[r].here)
    r++;
  return &joint->part[r].call;
}

static void describe_joint(const struct sim_work *work, struct cudasim_activity *activity) {
  activity->kind = CUDASIM_KERNEL;
  activity->name = sim_nccl_function(any_call((const struct sim_joint *)work)->kind);
}

static struct sim_joint *joint_new(struct sim_clique *clique, const struct sim_nccl_op *op, int wanted) {
  struct sim_joint *joint = sim_work_new(sizeof *joint, run_joint, destroy_joint);
  memset((char *)joint + sizeof joint->base, 0, sizeof *joint - sizeof joint->base);
  joint->base.describe = describe_joint;
  joint->clique = clique;
  sim_clique_retain(clique);
  joint->wanted = wanted;
  joint->deadline = sim_now() + sim.config.nccl_seconds * 1000000000ll;
  joint->node = sim_node_new(op->comm->device, &joint->base, op->stream->tsan_fiber);
  return joint;
}

// ---- finding the one that a call belongs to. The lock is held. ----

static struct sim_joint *join_collective(const struct sim_nccl_op *op) {
  struct sim_clique *clique = op->comm->clique;
  const unsigned long long number = op->comm->collectives + 1;
  struct sim_joint **link = &clique->open;
  while (*link && (*link)->number != number)
    link = &(*link)->next;
  if (*link)
    return *link;
  struct sim_joint *joint = *link = joint_new(clique, op, clique->local_count);
  joint->collective = true;
  joint->number = number;
  sim_lock();
  sim_node_after(joint->node, clique->last);
  sim_unlock();
  sim_node_release(clique->last);
  clique->last = sim_node_retain(joint->node);
  return joint;
}

static struct sim_joint *join_pair(const struct sim_nccl_op *op) {
  struct sim_clique *clique = op->comm->clique;
  const bool sends = op->call.kind == SIM_SEND;
  const int from = sends ? op->comm->rank : op->call.root, to = sends ? op->call.root : op->comm->rank;
  struct sim_joint **link = &clique->open;
  while (*link && ((*link)->collective || (*link)->from != from || (*link)->to != to || (*link)->part[!sends].here))
    link = &(*link)->next;
  if (*link)
    return *link;
  struct sim_joint *joint = *link = joint_new(clique, op, 2);
  joint->from = from;
  joint->to = to;
  return joint;
}

static void unlink_open(struct sim_joint *joint) {
  struct sim_joint **link = &joint->clique->open;
  while (*link && *link != joint)
    link = &(*link)->next;
  if (*link)
    *link = joint->next;
}

// One thread that calls for several ranks, one after the other, would wait in the first call for ever.
static void check_group(struct sim_joint *joint, const struct sim_nccl_op *op) {
  for (int r = 0; r < joint->clique->ranks && !op->grouped && joint->collective; r++) {
    const struct sim_nccl_part *other = &joint->part[r];
    if (other->here && !other->grouped && r != op->comm->rank && pthread_equal(other->thread, pthread_self()))
      snprintf(
          joint->problem, sizeof joint->problem,
          "%s: one thread calls for rank %d and then for rank %d: NCCL may wait in the first call for ever; put the "
          "calls between ncclGroupStart and ncclGroupEnd",
          sim_nccl_function(op->call.kind), r, op->comm->rank);
  }
}

// On modeled GPUs, a ring: the bytes that each rank sends in total.
static double modeled_seconds(const struct sim_joint *joint) {
  const struct sim_nccl_call *call = any_call(joint);
  const int ranks = joint->clique->ranks;
  const double bytes = (double)call->count * (double)sim_nccl_bytes(call->type), others = ranks - 1.0;
  switch (call->kind) {
  case SIM_ALL_REDUCE:
    return model_ring_seconds(sim.config.gpu, 2 * others / ranks * bytes, ranks);
  case SIM_ALL_GATHER:
  case SIM_REDUCE_SCATTER: // `count` is of one rank's part
    return model_ring_seconds(sim.config.gpu, others * bytes, ranks);
  default:
    return model_ring_seconds(sim.config.gpu, bytes, 2);
  }
}

// A node that all ranks of this process have called, or that is given up, may run.
static void release_joint(struct sim_joint *joint) {
  struct sim_node *node = joint->node;
  unlink_open(joint);
  if (node->task && (joint->came > 0 || joint->transfer_count > 0))
    sim_clock_takes(node, modeled_seconds(joint));
  sim_lock();
  sim_node_unhold(node);
  sim_worker_signal_done();
  sim_unlock();
}

// Adds the caller's share, which comes after `before` in its stream. Whether the operation is complete now.
static bool add_part(struct sim_joint *joint, const struct sim_nccl_op *op, struct sim_node *before) {
  const int index = joint->collective ? op->comm->rank : op->call.kind == SIM_SEND ? 0 : 1;
  check_group(joint, op);
  joint->part[index] = (struct sim_nccl_part){.here = true,
                                              .send = op->send,
                                              .recv = op->recv,
                                              .call = op->call,
                                              .thread = pthread_self(),
                                              .grouped = op->grouped};
  sim_lock();
  sim_node_after(joint->node, before);
  sim_unlock();
  return ++joint->came == joint->wanted;
}

// ---- queueing ----

static bool is_local(const struct sim_nccl_op *op) {
  return op->comm->clique->wire == NULL || atomic_load(&op->comm->clique->wire->rank[op->call.root].pid) ==
                                               atomic_load(&op->comm->clique->wire->rank[op->comm->rank].pid);
}

static bool is_transfer(const struct sim_nccl_op *op) {
  return op->call.kind >= SIM_SEND;
}

// The sends and receives of one rank with other processes, in one operation: each goes on as its peer does. NULL: none.
static struct sim_joint *join_transfers(const struct sim_nccl_op *ops, int count) {
  int remote = 0;
  for (int i = 0; i < count; i++)
    remote += is_transfer(&ops[i]) && !is_local(&ops[i]);
  if (remote == 0)
    return NULL;
  struct sim_joint *joint = joint_new(ops[0].comm->clique, &ops[0], 1);
  joint->from = ops[0].comm->rank;
  joint->transfers = sim_allocate((size_t)count * sizeof *joint->transfers);
  for (int i = 0; i < count; i++)
    if (!is_local(&ops[i]))
      joint->transfers[joint->transfer_count++] = (struct sim_transfer){
          .call = ops[i].call, .data = ops[i].call.kind == SIM_SEND ? (char *)(uintptr_t)ops[i].send : ops[i].recv};
  return joint;
}

// A joint operation that a call took part in. Told of and, in the synchronous mode, run when no lock is held.
struct joined {
  struct sim_node *node; // retained
  bool complete;
};

// `stream`: the last caller's, in whose row of a trace the operation stands where it is of the operation's device.
static void joint_joined(struct joined *joined, struct sim_joint *joint, const struct CUstream_st *stream,
                         bool complete) {
  *joined = (struct joined){.node = sim_node_retain(joint->node), .complete = complete};
  if (!complete)
    return;
  const bool named = stream->device == joined->node->device;
  SIM_NOTIFY(node_queuing, (joined->node, named ? sim_stream_handle(stream) : 0, joined->node));
  // On the sanitizer fiber of the caller who goes on with it: the first one's may be waiting for another process,
  // which waits for this.
  joined->node->tsan_fiber = stream->tsan_fiber;
  release_joint(joint);
  sim_node_release(joined->node); // the maker's reference
}

// The lock is held.
static int join_all(struct sim_nccl_op *ops, int count, struct sim_node *before, struct joined *joined) {
  int made = 0;
  for (int i = 0; i < count; i++) {
    if (is_transfer(&ops[i]) && !is_local(&ops[i]))
      continue;
    struct sim_joint *joint = is_transfer(&ops[i]) ? join_pair(&ops[i]) : join_collective(&ops[i]);
    if (joint->collective)
      ops[i].comm->collectives++;
    joint_joined(&joined[made++], joint, ops[i].stream, add_part(joint, &ops[i], before));
  }
  struct sim_joint *transfers = join_transfers(ops, count);
  if (transfers) {
    sim_lock();
    sim_node_after(transfers->node, before);
    sim_unlock();
    joint_joined(&joined[made++], transfers, ops[0].stream, true);
  }
  return made;
}

// `count` operations of one rank and stream, which begin at one point of it.
static ncclResult_t queue_batch(struct sim_nccl_op *ops, int count, struct joined *joined, int *made) {
  struct CUstream_st *stream = ops[0].stream;
  const long long begin = sim_now();
  struct sim_node *before;
  if (sim_submit(stream, NULL, &before) != cudaSuccess)
    return ncclUnhandledCudaError;
  sim_worker_start();
  for (int i = 0; i < count; i++)
    sim_count_kernel(&sim.counters.launches);
  sim_nccl_lock();
  *made = join_all(ops, count, before, joined);
  sim_nccl_unlock();
  sim_node_release(before);
  for (int i = 0; i < *made; i++) {
    if (!joined[i].complete)
      continue;
    SIM_NOTIFY(node_queued, (joined[i].node, begin));
    sim_node_run_if_sync(joined[i].node);
  }
  if (sim.config.mode == SIM_SYNC)
    return ncclSuccess; // the caller waits before it goes on
  sim_lock();
  for (int i = 0; i < *made; i++)
    sim_stream_add_wait(stream, joined[i].node);
  sim_unlock();
  sim_submit(stream, NULL, NULL);
  return ncclSuccess;
}

static void *demand(void *node) {
  sim_worker_prepare_thread();
  sim_node_wait(node);
  sim_node_release(node);
  return NULL;
}

// Other processes do not know what this one waits for: in the lazy mode a thread has their common work run.
static void run_beside(struct sim_node *node) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, demand, sim_node_retain(node)) == 0)
    pthread_detach(thread);
  else
    demand(node);
}

ncclResult_t sim_nccl_queue(struct sim_nccl_op *ops, int count) {
  ncclResult_t result = ncclSuccess;
  struct joined *joined = sim_allocate((size_t)(2 * count) * sizeof *joined);
  int all = 0;
  for (int i = 0; i < count;) {
    int n = 1, made = 0;
    while (is_transfer(&ops[i]) && i + n < count && is_transfer(&ops[i + n]) && ops[i + n].comm == ops[i].comm &&
           ops[i + n].stream == ops[i].stream)
      n++;
    ncclResult_t error = queue_batch(ops + i, n, joined + all, &made);
    result = result ? result : error;
    all += made;
    i += n;
  }
  for (int i = 0; i < all; i++) {
    if (sim.config.mode == SIM_SYNC)
      sim_node_wait(joined[i].node);
    else if (sim.config.mode == SIM_LAZY && ops[0].comm->clique->wire)
      run_beside(joined[i].node);
    sim_node_release(joined[i].node);
  }
  free(joined);
  return result;
}

// ---- the watch ----

static const char *doing_of(const struct sim_joint *joint, char text[96]) {
  if (joint->collective)
    snprintf(text, 96, "%s, collective %llu of its communicator", sim_nccl_function(any_call(joint)->kind),
             joint->number);
  else
    snprintf(text, 96, "%s", sim_nccl_function(any_call(joint)->kind));
  return text;
}

static bool is_missing(const struct sim_joint *joint, int rank) {
  if (!joint->collective)
    return rank == (joint->part[0].here ? joint->to : joint->from);
  const struct sim_clique *clique = joint->clique;
  return !joint->part[rank].here && (clique->local[rank] || clique->gone[rank]);
}

// Why the operation cannot be complete any more, if so.
static bool is_lost(struct sim_joint *joint, long long now) {
  const struct sim_clique *clique = joint->clique;
  char doing[96], late[100];
  int used = 0;
  if (joint->problem[0] || atomic_load(&clique->error))
    return true;
  for (int r = 0; r < clique->ranks; r++) {
    if (!is_missing(joint, r))
      continue;
    if (clique->gone[r]) {
      snprintf(joint->problem, sizeof joint->problem, "%s: rank %d has destroyed its communicator",
               doing_of(joint, doing), r);
      return true;
    }
    if (used < 90)
      used += snprintf(late + used, sizeof late - (size_t)used, "%s%d", used ? ", " : "", r);
  }
  if (now < joint->deadline)
    return false;
  snprintf(joint->problem, sizeof joint->problem, "%s: rank %s did not call it within %d s (FERRY_SIM_NCCL_SECONDS)",
           doing_of(joint, doing), late, sim.config.nccl_seconds);
  return true;
}

// Gives up what is lost; returns it, one node at a time, with the maker's reference.
static struct sim_node *take_lost(struct sim_clique *clique) {
  const long long now = sim_now();
  for (struct sim_joint *joint = clique->open; joint; joint = joint->next) {
    if (!is_lost(joint, now))
      continue;
    struct sim_node *node = joint->node;
    release_joint(joint);
    return node;
  }
  return NULL;
}

static void *watch(void *unused) {
  (void)unused;
  sim_worker_prepare_thread();
  for (;;) {
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    struct sim_node *node;
    do {
      sim_nccl_lock();
      node = sim_clique_first(take_lost);
      sim_nccl_unlock();
      if (node)
        sim_node_run_if_sync(node);
      sim_node_release(node);
    } while (node);
  }
  return NULL;
}

static void start_watch(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, watch, NULL) == 0)
    pthread_detach(thread);
}

void sim_nccl_watch(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start_watch);
}
