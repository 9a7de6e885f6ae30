// SPDX-License-Identifier: MIT
// Simulated NCCL: communicators of devices, in one process and between processes of one machine, with NCCL's names and
// values. ncclMin and ncclMax pass over a NaN, as NVIDIA's do by fmin and fmax. Left out: communicators with a configuration,
// registered buffers, operations of one's own.
#ifndef CUDASIM_NCCL_H
#define CUDASIM_NCCL_H

#include <stddef.h>

#include "cuda_runtime_api.h"

#define NCCL_MAJOR 2
#define NCCL_MINOR 27
#define NCCL_PATCH 0
#define NCCL_VERSION(X, Y, Z) ((X)*10000 + (Y)*100 + (Z))
#define NCCL_VERSION_CODE NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH)
#define NCCL_UNIQUE_ID_BYTES 128

typedef struct ncclComm *ncclComm_t;

typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclNumResults = 8
} ncclResult_t;

typedef enum { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4, ncclNumOps = 5 } ncclRedOp_t;

typedef enum {
  ncclInt8 = 0,
  ncclChar = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclHalf = 6,
  ncclFloat32 = 7,
  ncclFloat = 7,
  ncclFloat64 = 8,
  ncclDouble = 8,
  ncclBfloat16 = 9,
  ncclNumTypes = 10
} ncclDataType_t;

CUDASIM_BEGIN_C

ncclResult_t ncclGetVersion(int *version) CUDASIM_SYMBOL(ncclGetVersion);
const char *ncclGetErrorString(ncclResult_t result) CUDASIM_SYMBOL(ncclGetErrorString);
// What went wrong last, in words; `comm` may be NULL.
const char *ncclGetLastError(ncclComm_t comm) CUDASIM_SYMBOL(ncclGetLastError);

// One rank draws an id, all ranks hand it to ncclCommInitRank, which returns when all have.
ncclResult_t ncclGetUniqueId(ncclUniqueId *id) CUDASIM_SYMBOL(ncclGetUniqueId);
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank) CUDASIM_SYMBOL(ncclCommInitRank);
// One communicator per device for one process; devices NULL: 0, 1, ...
ncclResult_t ncclCommInitAll(ncclComm_t *comms, int count, const int *devices) CUDASIM_SYMBOL(ncclCommInitAll);
ncclResult_t ncclCommFinalize(ncclComm_t comm) CUDASIM_SYMBOL(ncclCommFinalize);
ncclResult_t ncclCommDestroy(ncclComm_t comm) CUDASIM_SYMBOL(ncclCommDestroy);
// Ends what the communicator has not done yet, with an error, in all its ranks.
ncclResult_t ncclCommAbort(ncclComm_t comm) CUDASIM_SYMBOL(ncclCommAbort);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) CUDASIM_SYMBOL(ncclCommGetAsyncError);
ncclResult_t ncclCommCount(const ncclComm_t comm, int *count) CUDASIM_SYMBOL(ncclCommCount);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device) CUDASIM_SYMBOL(ncclCommCuDevice);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank) CUDASIM_SYMBOL(ncclCommUserRank);

// Calls between the two are one: one thread begins several communicators' work so, and sends and receives at once.
ncclResult_t ncclGroupStart(void) CUDASIM_SYMBOL(ncclGroupStart);
ncclResult_t ncclGroupEnd(void) CUDASIM_SYMBOL(ncclGroupEnd);

// Queued in the stream; counts are in elements. send == recv is allowed (in place) as NCCL's documentation says.
ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) CUDASIM_SYMBOL(ncclAllReduce);
ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) CUDASIM_SYMBOL(ncclReduce);
ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) CUDASIM_SYMBOL(ncclBroadcast);
ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream)
    CUDASIM_SYMBOL(ncclBcast);
ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) CUDASIM_SYMBOL(ncclAllGather);
ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) CUDASIM_SYMBOL(ncclReduceScatter);
ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) CUDASIM_SYMBOL(ncclSend);
ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
    CUDASIM_SYMBOL(ncclRecv);

CUDASIM_END_C

#endif
