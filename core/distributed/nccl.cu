// SPDX-License-Identifier: MIT
// The table of functions over NCCL: built against the simulator's, and by nvcc against NVIDIA's header where there is one. The
// library itself is opened when a group first needs it, so that programs run without.
#include "device/backend.h"
#include "distributed/nccl_table.h"
#include "tensor/dtype.h"

#include <stdio.h>

#if defined(FERRY_SIM)
#include <nccl.h>
#define NCCL(name) name

static int open_library(char *why, size_t size) {
  (void)why;
  (void)size;
  return 0;
}

#elif __has_include(<nccl.h>)
#include <dlfcn.h>
#include <nccl.h>

#define EACH(use)                                                                                                      \
  use(ncclGetUniqueId) use(ncclCommInitRank) use(ncclCommDestroy) use(ncclAllReduce) use(ncclBroadcast)                \
      use(ncclAllGather) use(ncclReduceScatter) use(ncclSend) use(ncclRecv) use(ncclGetErrorString)                    \
          use(ncclGetLastError)
#define MEMBER(name) decltype(&name) name##_;
static struct { EACH(MEMBER) } library;
#define NCCL(name) library.name##_

static int open_library(char *why, size_t size) {
  static bool opened;
  if (opened)
    return 0;
  void *handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    snprintf(why, size, "libnccl.so.2 cannot be loaded (%.300s); install NCCL", dlerror());
    return 1;
  }
#define FIND(name)                                                                                                     \
  library.name##_ = (decltype(&name))dlsym(handle, #name);                                                             \
  if (!library.name##_) {                                                                                              \
    snprintf(why, size, "libnccl.so.2 has no " #name ": it is too old");                                               \
    return 1;                                                                                                          \
  }
  EACH(FIND)
  opened = true;
  return 0;
}

#else
#define WITHOUT_NCCL 1
#endif

#ifndef WITHOUT_NCCL
static ncclDataType_t type_of(int dtype) {
  switch (dtype) {
  case FY_BOOL:
  case FY_UINT8:
    return ncclUint8;
  case FY_INT32:
    return ncclInt32;
  case FY_INT64:
    return ncclInt64;
  case FY_FLOAT16:
    return ncclFloat16;
  case FY_BFLOAT16:
    return ncclBfloat16;
  case FY_FLOAT64:
    return ncclFloat64;
  default:
    return ncclFloat32;
  }
}

// FyReduceOp's order. Of bools the sum says whether any is true, the product whether all are.
static ncclRedOp_t op_of(int op, int dtype) {
  static const ncclRedOp_t ops[] = {ncclSum, ncclAvg, ncclMin, ncclMax, ncclProd};
  if (dtype == FY_BOOL)
    return op == 0 || op == 3 ? ncclMax : ncclMin;
  return ops[op];
}

static int unique_id(void *id) {
  return (int)NCCL(ncclGetUniqueId)((ncclUniqueId *)id);
}

static int init_rank(void **comm, int ranks, const void *id, int rank) {
  return (int)NCCL(ncclCommInitRank)((ncclComm_t *)comm, ranks, *(const ncclUniqueId *)id, rank);
}

static int destroy(void *comm) {
  return (int)NCCL(ncclCommDestroy)((ncclComm_t)comm);
}

static int all_reduce(const void *in, void *out, size_t count, int dtype, int op, void *comm, void *stream) {
  return (int)NCCL(ncclAllReduce)(in, out, count, type_of(dtype), op_of(op, dtype), (ncclComm_t)comm,
                                  (cudaStream_t)stream);
}

static int broadcast(const void *in, void *out, size_t count, int dtype, int root, void *comm, void *stream) {
  return (int)NCCL(ncclBroadcast)(in, out, count, type_of(dtype), root, (ncclComm_t)comm, (cudaStream_t)stream);
}

static int all_gather(const void *in, void *out, size_t count, int dtype, void *comm, void *stream) {
  return (int)NCCL(ncclAllGather)(in, out, count, type_of(dtype), (ncclComm_t)comm, (cudaStream_t)stream);
}

static int reduce_scatter(const void *in, void *out, size_t count, int dtype, int op, void *comm, void *stream) {
  return (int)NCCL(ncclReduceScatter)(in, out, count, type_of(dtype), op_of(op, dtype), (ncclComm_t)comm,
                                      (cudaStream_t)stream);
}

static int send(const void *in, size_t count, int dtype, int peer, void *comm, void *stream) {
  return (int)NCCL(ncclSend)(in, count, type_of(dtype), peer, (ncclComm_t)comm, (cudaStream_t)stream);
}

static int receive(void *out, size_t count, int dtype, int peer, void *comm, void *stream) {
  return (int)NCCL(ncclRecv)(out, count, type_of(dtype), peer, (ncclComm_t)comm, (cudaStream_t)stream);
}

static const char *error_string(int error) {
  return NCCL(ncclGetErrorString)((ncclResult_t)error);
}

static const char *last_error(void *comm) {
  return NCCL(ncclGetLastError)((ncclComm_t)comm);
}

extern const FyNccl fy_nccl_table = {open_library, unique_id,      init_rank, destroy, all_reduce,   broadcast,
                                     all_gather,   reduce_scatter, send,      receive, error_string, last_error};
#else
static int open_library(char *why, size_t size) {
  snprintf(why, size, "the CUDA backend was built without NCCL's header nccl.h: install NCCL and run `make`");
  return 1;
}

extern const FyNccl fy_nccl_table = {open_library, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
#endif
