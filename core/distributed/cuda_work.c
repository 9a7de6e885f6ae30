// SPDX-License-Identifier: MIT
// Work on CUDA tensors: NCCL on a stream of the group's own. The ranks tell each other first what they call, by the engine, as
// PyTorch does with TORCH_DISTRIBUTED_DEBUG=DETAIL.
#include "distributed/impl.h"
#include "distributed/nccl_table.h"
#include "op/creation/factory.h"
#include <stdlib.h>
#include <string.h>

static const FyNccl *nccl_required(void) {
  char why[512];
  const FyNccl *nccl = fy_backend_required()->nccl;
  fy_check(nccl->open(why, sizeof why) == 0, FY_RUNTIME_ERROR,
           "collectives on CUDA tensors need NCCL: %s, or use CPU tensors", why);
  return nccl;
}

static void check(const FyNccl *nccl, const FyWork *work, const FyChannel *channel, int error) {
  char text[160];
  if (error)
    fy_raise(FY_RUNTIME_ERROR, "[rank %d] %s, sequence %llu: NCCL error: %s. %s", fy_distributed.rank,
             fy_call_text(&work->call, text), (unsigned long long)work->call.sequence, nccl->error_string(error),
             nccl->last_error(channel->nccl));
}

static bool is_checked(void) {
  const char *level = getenv("FERRY_DISTRIBUTED_DEBUG");
  if (level && level[0])
    return strcmp(level, "DETAIL") == 0;
  return fy_cuda_is_simulated();
}

static void run(FyWork *work) {
  fy_engine_start(work, false);
  fy_engine_wait(work);
}

// Through the engine, without data: returns when all have called the same, and raises otherwise.
static void agree(const FyWork *work) {
  run(fy_work_new(work->group, work->call, NULL, NULL));
}

// A message before the first collective of a group has a communicator of the two ranks, since the others do not come.
static FyChannel *channel_of(FyWork *work) {
  FyGroup *group = work->group;
  if (work->call.kind < FY_CALL_SEND || group->size == 2 || group->channel.nccl)
    return &group->channel;
  if (!group->pairs)
    group->pairs = calloc((size_t)group->size, sizeof *group->pairs);
  fy_check(group->pairs, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a group's communicators");
  return &group->pairs[work->call.root];
}

// The id of the communicator's first rank goes to the others over MPI.
static void share_id(FyWork *work, const FyChannel *channel, unsigned char *id) {
  FyGroup *group = work->group;
  FyCollectiveCall call = {.sequence = work->call.sequence, .dtype = FY_UINT8, .count = FY_NCCL_ID_BYTES};
  call.kind = channel == &group->channel      ? FY_CALL_BROADCAST
              : group->rank < work->call.root ? FY_CALL_SEND
                                              : FY_CALL_RECV;
  call.root = channel == &group->channel ? 0 : work->call.root;
  run(fy_work_new(group, call, id, id));
}

// Made at the first use, on the device of the tensor.
static void open_channel(const FyNccl *nccl, FyWork *work, FyChannel *channel, int device) {
  const FyGroup *group = work->group;
  if (channel->nccl) {
    fy_check(
        channel->device == device, FY_RUNTIME_ERROR,
        "this rank's collectives of the group are on cuda:%d: one device for each rank, but this tensor is on cuda:%d",
        channel->device, device);
    return;
  }
  const bool pair = channel != &group->channel;
  const int rank = pair ? group->rank > work->call.root : group->rank;
  unsigned char id[FY_NCCL_ID_BYTES] = {0};
  if (rank == 0)
    check(nccl, work, channel, nccl->unique_id(id));
  share_id(work, channel, id);
  check(nccl, work, channel, nccl->init_rank(&channel->nccl, pair ? 2 : group->size, id, rank));
  channel->device = device;
  channel->stream = fy_retain(fy_stream_new(fy_cuda_device(device), -1));
}

static int queue(const FyNccl *nccl, const FyWork *work, const FyChannel *channel) {
  const FyCollectiveCall *call = &work->call;
  const FyGroup *group = work->group;
  void *comm = channel->nccl, *stream = fy_stream_raw(channel->stream);
  const int peer = channel == &group->channel ? call->root : group->rank < call->root;
  switch (call->kind) {
  case FY_CALL_ALL_REDUCE:
    return nccl->all_reduce(work->in, work->out, call->count, call->dtype, call->op, comm, stream);
  case FY_CALL_BROADCAST:
    return nccl->broadcast(work->in, work->out, call->count, call->dtype, call->root, comm, stream);
  case FY_CALL_ALL_GATHER:
    return nccl->all_gather(work->in, work->out, call->count, call->dtype, comm, stream);
  case FY_CALL_REDUCE_SCATTER:
    return nccl->reduce_scatter(work->in, work->out, call->count, call->dtype, call->op, comm, stream);
  case FY_CALL_SEND:
    return nccl->send(work->in, call->count, call->dtype, peer, comm, stream);
  default:
    return nccl->receive(work->out, call->count, call->dtype, peer, comm, stream);
  }
}

void fy_cuda_work_start(FyWork *work) {
  const FyNccl *nccl = nccl_required();
  const FyDevice device = work->tensors[0]->device;
  fy_cuda_device_guard(device.index) {
    fy_use_device(device.index);
    if (is_checked())
      agree(work);
    FyChannel *channel = channel_of(work);
    open_channel(nccl, work, channel, device.index);
    fy_stream_wait_stream(channel->stream, fy_current_stream(device)); // the inputs are made there
    check(nccl, work, channel, queue(nccl, work, channel));
    work->event = fy_retain(fy_event_new(false));
    fy_event_record(work->event, channel->stream);
    for (int i = 0; i < 2; i++)
      fy_record_stream(work->tensors[i], channel->stream);
  }
}

static void free_channel(FyChannel *channel) {
  if (channel->nccl)
    fy_backend_required()->nccl->destroy(channel->nccl);
  fy_release(channel->stream);
}

void fy_cuda_group_free(FyGroup *group) {
  free_channel(&group->channel);
  for (int r = 0; group->pairs && r < group->size; r++)
    free_channel(&group->pairs[r]);
  free(group->pairs);
  group->pairs = NULL;
}
