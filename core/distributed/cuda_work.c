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

static void check(const FyNccl *nccl, const FyWork *work, int error) {
  char text[160];
  if (error)
    fy_raise(FY_RUNTIME_ERROR, "[rank %d] %s, sequence %llu: NCCL error: %s. %s", fy_distributed.rank,
             fy_call_text(&work->call, text), (unsigned long long)work->call.sequence, nccl->error_string(error),
             nccl->last_error(work->group->nccl));
}

static bool is_checked(void) {
  const char *level = getenv("FERRY_DISTRIBUTED_DEBUG");
  if (level && level[0])
    return strcmp(level, "DETAIL") == 0;
  return fy_cuda_is_simulated();
}

// Through the engine, without data: returns when all have called the same, and raises otherwise.
static void agree(const FyWork *work) {
  FyWork *question = fy_work_new(work->group, work->call, NULL, NULL);
  fy_engine_start(question, false);
  fy_engine_wait(question);
}

// The communicator is made at the first use of a group, on the device of the tensor: rank 0's id goes to the others over MPI.
static void open_group(const FyNccl *nccl, FyWork *work, int device) {
  FyGroup *group = work->group;
  if (group->nccl) {
    fy_check(
        group->nccl_device == device, FY_RUNTIME_ERROR,
        "this rank's collectives of the group are on cuda:%d: one device for each rank, but this tensor is on cuda:%d",
        group->nccl_device, device);
    return;
  }
  unsigned char id[FY_NCCL_ID_BYTES] = {0};
  if (group->rank == 0)
    check(nccl, work, nccl->unique_id(id));
  FyCall call = {.sequence = work->call.sequence, .kind = FY_CALL_BROADCAST, .dtype = FY_UINT8, .count = sizeof id};
  FyWork *sharing = fy_work_new(group, call, id, id);
  fy_engine_start(sharing, false);
  fy_engine_wait(sharing);
  check(nccl, work, nccl->init_rank(&group->nccl, group->size, id, group->rank));
  group->nccl_device = device;
  group->stream = fy_retain(fy_stream_new(fy_cuda_device(device), -1));
}

static int queue(const FyNccl *nccl, const FyWork *work, void *stream) {
  const FyCall *call = &work->call;
  void *comm = work->group->nccl;
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
    return nccl->send(work->in, call->count, call->dtype, call->root, comm, stream);
  default:
    return nccl->receive(work->out, call->count, call->dtype, call->root, comm, stream);
  }
}

void fy_cuda_work_start(FyWork *work) {
  const FyNccl *nccl = nccl_required();
  FyGroup *group = work->group;
  const FyDevice device = work->tensors[0]->device;
  fy_cuda_device_guard(device.index) {
    fy_use_device(device.index);
    // A message is between two ranks, and making the communicator between all: all begin with a collective then.
    fy_check(
        group->nccl || work->call.kind < FY_CALL_SEND || group->size == 2, FY_RUNTIME_ERROR,
        "the first call of a group of more than two ranks on CUDA tensors must be a collective, such as fy_broadcast");
    if (is_checked())
      agree(work);
    open_group(nccl, work, device.index);
    fy_stream_wait_stream(group->stream, fy_current_stream(device)); // the inputs are made there
    check(nccl, work, queue(nccl, work, fy_stream_raw(group->stream)));
    work->event = fy_retain(fy_event_new(false));
    fy_event_record(work->event, group->stream);
    for (int i = 0; i < 2; i++)
      fy_record_stream(work->tensors[i], group->stream);
  }
}

void fy_cuda_group_free(FyGroup *group) {
  if (group->nccl)
    fy_backend_required()->nccl->destroy(group->nccl);
  fy_release(group->stream);
}
