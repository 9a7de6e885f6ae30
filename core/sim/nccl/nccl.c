// SPDX-License-Identifier: MIT
// Simulated NCCL: what programs call. Checks the arguments, gathers groups, and queues (nccl_joint.c).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/runtime/memory.h"
#include "sim/nccl/nccl_impl.h"
#include "sim/base/sim.h"

ncclResult_t ncclGetVersion(int *version) {
  if (version == NULL)
    return ncclInvalidArgument;
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  switch (result) {
  case ncclSuccess:
    return "no error";
  case ncclUnhandledCudaError:
    return "a CUDA call failed";
  case ncclSystemError:
    return "a system call failed";
  case ncclInternalError:
    return "an internal check failed";
  case ncclInvalidArgument:
    return "an argument is invalid";
  case ncclInvalidUsage:
    return "the calls do not go together";
  case ncclRemoteError:
    return "another rank has failed or left";
  case ncclInProgress:
    return "not finished yet";
  default:
    return "unknown result code";
  }
}

// ---- communicators ----

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
  if (comm == NULL || error == NULL)
    return ncclInvalidArgument;
  *error = (ncclResult_t)atomic_load(&comm->clique->error);
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count) {
  if (comm == NULL || count == NULL)
    return ncclInvalidArgument;
  *count = comm->clique->ranks;
  return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device) {
  if (comm == NULL || device == NULL)
    return ncclInvalidArgument;
  *device = comm->device;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank) {
  if (comm == NULL || rank == NULL)
    return ncclInvalidArgument;
  *rank = comm->rank;
  return ncclSuccess;
}

// ---- groups ----

static __thread int depth;
static __thread struct sim_nccl_op *gathered;
static __thread int gathered_count, gathered_room;
static __thread ncclResult_t group_error;

ncclResult_t ncclGroupStart(void) {
  depth++;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void) {
  if (depth == 0)
    return sim_nccl_refuse(ncclInvalidUsage, "ncclGroupEnd", "there is no ncclGroupStart before it");
  if (--depth > 0)
    return ncclSuccess;
  ncclResult_t result = group_error, error = sim_nccl_init_finish();
  result = result ? result : error;
  if (result == ncclSuccess && gathered_count > 0)
    result = sim_nccl_queue(gathered, gathered_count);
  free(gathered);
  gathered = NULL;
  gathered_count = gathered_room = 0;
  group_error = ncclSuccess;
  return result;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank) {
  ncclResult_t error = sim_nccl_init_rank(comm, ranks, &id, rank);
  if (depth == 0 && error == ncclSuccess)
    error = sim_nccl_init_finish();
  group_error = group_error || depth == 0 ? group_error : error;
  return error;
}

// ---- calls ----

static bool usable(const char *function, const char *name, const void *data, size_t bytes, int device) {
  if (bytes == 0 || !sim.config.check)
    return true;
  const char *fault = data ? sim_pointer_fault(data, device) : "nothing (NULL)";
  if (fault == NULL && sim_range_check(data, bytes) != cudaSuccess)
    fault = "too little memory: the elements go on beyond their allocation";
  if (fault)
    sim_nccl_refuse(ncclInvalidArgument, function, "%s (%p) points to %s", name, (void *)(uintptr_t)data, fault);
  return fault == NULL;
}

static bool buffers_usable(const struct sim_nccl_op *op) {
  const struct sim_nccl_call *call = &op->call;
  const char *function = sim_nccl_function(call->kind);
  const size_t ranks = (size_t)op->comm->clique->ranks, bytes = call->count * sim_nccl_bytes(call->type);
  const bool at_root = op->comm->rank == call->root;
  const size_t sent = call->kind == SIM_REDUCE_SCATTER ? ranks * bytes : bytes;
  const size_t received = call->kind == SIM_ALL_GATHER ? ranks * bytes : bytes;
  const bool sends = call->kind != SIM_RECV && (call->kind != SIM_BROADCAST || at_root);
  const bool receives = call->kind != SIM_SEND && (call->kind != SIM_REDUCE || at_root);
  return (!sends || usable(function, "the send buffer", op->send, sent, op->comm->device)) &&
         (!receives || usable(function, "the receive buffer", op->recv, received, op->comm->device));
}

static ncclResult_t find_stream(struct sim_nccl_op *op, cudaStream_t handle) {
  const char *function = sim_nccl_function(op->call.kind);
  if (handle == NULL || handle == cudaStreamLegacy)
    op->stream = sim.device[op->comm->device].legacy;
  else if (sim_stream_get(handle, &op->stream) != cudaSuccess)
    return sim_nccl_refuse(ncclInvalidArgument, function, "there is no such stream");
  if (op->stream->device != op->comm->device)
    return sim_nccl_refuse(ncclInvalidUsage, function, "the stream is of device %d, and rank %d's communicator of %d",
                           op->stream->device, op->comm->rank, op->comm->device);
  if (op->stream->capture)
    return sim_nccl_refuse(ncclInvalidUsage, function, "the simulator does not capture NCCL's operations in graphs");
  return ncclSuccess;
}

static ncclResult_t check(struct sim_nccl_op *op, cudaStream_t stream) {
  const char *function = sim_nccl_function(op->call.kind);
  if (sim_enter() != cudaSuccess)
    return ncclUnhandledCudaError;
  if (op->comm == NULL)
    return sim_nccl_refuse(ncclInvalidArgument, function, "the communicator is NULL");
  if (atomic_load(&op->comm->clique->error))
    return (ncclResult_t)atomic_load(&op->comm->clique->error);
  if (sim_nccl_bytes(op->call.type) == 0 || op->call.op < 0 || op->call.op >= ncclNumOps)
    return sim_nccl_refuse(ncclInvalidArgument, function, "type %d or operation %d does not exist", op->call.type,
                           op->call.op);
  if (op->call.root < 0 || op->call.root >= op->comm->clique->ranks)
    return sim_nccl_refuse(ncclInvalidArgument, function, "there is no rank %d: the ranks are 0 to %d", op->call.root,
                           op->comm->clique->ranks - 1);
  ncclResult_t error = find_stream(op, stream);
  if (error == ncclSuccess && !buffers_usable(op))
    error = ncclInvalidArgument;
  return error;
}

static ncclResult_t call(struct sim_nccl_op op, cudaStream_t stream) {
  ncclResult_t error = check(&op, stream);
  op.grouped = depth > 0;
  if (depth == 0)
    return error ? error : sim_nccl_queue(&op, 1);
  if (error) {
    group_error = group_error ? group_error : error;
    return error;
  }
  if (gathered_count == gathered_room) {
    gathered_room = gathered_room ? 2 * gathered_room : 16;
    gathered = sim_resize(gathered, (size_t)gathered_room * sizeof *gathered);
  }
  gathered[gathered_count++] = op;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return call(
      (struct sim_nccl_op){.comm = comm, .call = {SIM_ALL_REDUCE, type, op, 0, count}, .send = send, .recv = recv},
      stream);
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return call(
      (struct sim_nccl_op){.comm = comm, .call = {SIM_REDUCE, type, op, root, count}, .send = send, .recv = recv},
      stream);
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return call(
      (struct sim_nccl_op){.comm = comm, .call = {SIM_BROADCAST, type, 0, root, count}, .send = send, .recv = recv},
      stream);
}

ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return call(
      (struct sim_nccl_op){.comm = comm, .call = {SIM_ALL_GATHER, type, 0, 0, count}, .send = send, .recv = recv},
      stream);
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return call(
      (struct sim_nccl_op){.comm = comm, .call = {SIM_REDUCE_SCATTER, type, op, 0, count}, .send = send, .recv = recv},
      stream);
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return call((struct sim_nccl_op){.comm = comm, .call = {SIM_SEND, type, 0, peer, count}, .send = send}, stream);
}

ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return call((struct sim_nccl_op){.comm = comm, .call = {SIM_RECV, type, 0, peer, count}, .recv = recv}, stream);
}
