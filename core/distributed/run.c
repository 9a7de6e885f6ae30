// SPDX-License-Identifier: MIT
// What work does when the ranks agree: collectives by MPI, or here where the data came with the announcements; messages piece
// by piece.
#include "distributed/impl.h"
#include "distributed/reduce.h"
#include <string.h>

enum { TAG_OF_SENDER = 2, TAG_OF_RECEIVER = 3, TAG_DATA = 4 };
static const size_t piece = (size_t)1 << 30; // MPI counts bytes in ints

static void check_mpi(FyWork *work, int error) {
  if (error && !work->failed)
    fy_work_fail(work, "MPI says: %s", fy_distributed.mpi->error_string(error));
}

// ---- collectives -------------------------------------------------------------------------------------------------------

static const void *data_of(const FyWork *work, int rank) {
  const FyGroup *group = work->group;
  return rank == group->rank ? work->in
                             : group->incoming + (size_t)rank * FY_ANNOUNCEMENT_BYTES + sizeof(FyCollectiveCall);
}

// out = op over the ranks of `count` elements from byte `offset` of their data, rank by rank, so that all come to the same
// bits. out may be this rank's data.
static void reduce_here(FyWork *work, void *out, size_t offset, size_t count) {
  const FyGroup *group = work->group;
  const size_t bytes = count * fy_dtype_size(work->call.dtype);
  _Alignas(16) char sum[FY_SHORT_BYTES];
  memcpy(sum, (const char *)data_of(work, 0) + offset, bytes);
  for (int r = 1; r < group->size; r++)
    fy_reduce_two(sum, (const char *)data_of(work, r) + offset, count, work->call.dtype, (FyReduceOp)work->call.op);
  memcpy(out, sum, bytes);
}

static void run_short(FyWork *work) {
  const FyGroup *group = work->group;
  const size_t bytes = work->call.count * fy_dtype_size(work->call.dtype);
  switch (work->call.kind) {
  case FY_CALL_ALL_REDUCE:
    reduce_here(work, work->out, 0, work->call.count);
    break;
  case FY_CALL_REDUCE_SCATTER:
    reduce_here(work, work->out, (size_t)group->rank * bytes, work->call.count);
    break;
  case FY_CALL_BROADCAST:
    if (group->rank != work->call.root)
      memcpy(work->out, data_of(work, work->call.root), bytes);
    break;
  default: // all_gather: the own part may be where it belongs
    for (int r = 0; r < group->size; r++)
      memmove((char *)work->out + (size_t)r * bytes, data_of(work, r), bytes);
  }
}

// In place where the rank's own part lies in the output, for which MPI wants a copy.
static void gather(FyWork *work, size_t bytes) {
  const FyMpi *mpi = fy_distributed.mpi;
  const char *out = work->out, *in = work->in;
  void *copy = NULL, *block = NULL;
  if (in + bytes > out && in < out + bytes * (size_t)work->group->size) {
    if (!fy_host_try_alloc(bytes, &copy, &block)) {
      fy_work_fail(work, "out of host memory for a copy of %zu bytes", bytes);
      return;
    }
    memcpy(copy, in, bytes);
  }
  check_mpi(work, mpi->all_gather(work->group->comm, copy ? copy : in, work->out, bytes));
  fy_host_free(block);
}

static void run_by_mpi(FyWork *work) {
  const FyMpi *mpi = fy_distributed.mpi;
  FyGroup *group = work->group;
  const FyCollectiveCall *call = &work->call;
  const size_t bytes = call->count * fy_dtype_size(call->dtype);
  switch (call->kind) {
  case FY_CALL_ALL_REDUCE:
    check_mpi(work, mpi->all_reduce(group->comm, work->out, call->count, call->dtype, (FyReduceOp)call->op));
    break;
  case FY_CALL_BROADCAST:
    check_mpi(work, mpi->broadcast(group->comm, work->out, bytes, call->root));
    break;
  case FY_CALL_ALL_GATHER:
    gather(work, bytes);
    break;
  default:
    check_mpi(work, mpi->reduce_scatter(group->comm, work->in, work->out, call->count, call->dtype,
                                        (FyReduceOp)call->op, group->size));
  }
}

static void make_group(FyWork *work) {
  const FyMpi *mpi = fy_distributed.mpi;
  for (int i = 0; i < work->rank_count; i++)
    if (work->ranks[i] == fy_distributed.rank)
      check_mpi(work, mpi->group(work->group->comm, work->ranks, work->rank_count, (int)(work->call.sequence & 0x3fff),
                                 &work->made_comm));
}

void fy_run_collective(FyWork *work) {
  const FyCollectiveCall *call = &work->call;
  const FyGroup *group = work->group;
  size_t bytes = call->count * fy_dtype_size(call->dtype);
  if (call->kind == FY_CALL_REDUCE_SCATTER)
    bytes *= (size_t)group->size;
  if (call->kind == FY_CALL_NEW_GROUP)
    make_group(work);
  if (call->kind >= FY_CALL_BARRIER || call->cuda || bytes == 0)
    return; // that all have come is all
  if (bytes * (size_t)(group->size - 1) <= FY_SHORT_BYTES)
    run_short(work);
  else
    run_by_mpi(work);
  if (!work->failed && call->op == FY_REDUCE_OP_AVG && call->kind != FY_CALL_BROADCAST &&
      call->kind != FY_CALL_ALL_GATHER)
    fy_reduce_divide(work->out, call->count, call->dtype, group->size);
}

// ---- messages ------------------------------------------------------------------------------------------------------------

void fy_begin_message(FyWork *work) {
  const FyMpi *mpi = fy_distributed.mpi;
  const bool sends = work->call.kind == FY_CALL_SEND;
  void *comm = work->group->comm;
  work->began = fy_seconds_now();
  work->state = FY_WORK_ANNOUNCED;
  check_mpi(work, mpi->receive(comm, &work->peer_call, sizeof work->peer_call, work->call.root,
                               sends ? TAG_OF_RECEIVER : TAG_OF_SENDER, &work->requests[0]));
  check_mpi(work, mpi->send(comm, &work->call, sizeof work->call, work->call.root,
                            sends ? TAG_OF_SENDER : TAG_OF_RECEIVER, &work->requests[1]));
}

static bool waits_for_peer(const FyWork *work, int rank) {
  return rank == work->call.root;
}

static bool match(FyWork *work) {
  const FyMpi *mpi = fy_distributed.mpi;
  char text[160];
  for (int i = 0; i < 2 && !work->failed; i++)
    if (work->requests[i])
      check_mpi(work, mpi->test(&work->requests[i]));
  if (work->failed || work->requests[0] || work->requests[1])
    return false;
  if (work->call.count != work->peer_call.count || work->call.dtype != work->peer_call.dtype ||
      work->call.cuda != work->peer_call.cuda)
    fy_work_fail(work, "rank %d called %s", work->group->ranks[work->call.root], fy_call_text(&work->peer_call, text));
  work->matched = true;
  return true;
}

static bool move_data(FyWork *work) {
  const FyMpi *mpi = fy_distributed.mpi;
  const size_t bytes = work->call.cuda ? 0 : work->call.count * fy_dtype_size(work->call.dtype);
  const size_t left = bytes - work->moved, now = left < piece ? left : piece;
  if (bytes == 0) {
    work->state = FY_WORK_DONE;
    return true;
  }
  if (!work->data_request) {
    const bool sends = work->call.kind == FY_CALL_SEND;
    char *at = (char *)work->out + work->moved;
    check_mpi(work, sends ? mpi->send(work->group->comm, at, now, work->call.root, TAG_DATA, &work->data_request)
                          : mpi->receive(work->group->comm, at, now, work->call.root, TAG_DATA, &work->data_request));
  }
  if (work->data_request)
    check_mpi(work, mpi->test(&work->data_request));
  if (work->data_request || work->failed)
    return work->failed;
  work->moved += now;
  if (work->moved == bytes)
    work->state = FY_WORK_DONE;
  return true;
}

bool fy_advance_message(FyWork *work, bool first) {
  bool moved = !work->matched && match(work);
  if (work->matched && first && !work->failed)
    moved |= move_data(work);
  if (!moved && !work->failed)
    fy_check_patience(work, waits_for_peer);
  return moved || work->failed;
}
