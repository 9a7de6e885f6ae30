// SPDX-License-Identifier: MIT
// What core/distributed asks of NCCL: part of the CUDA backend's table (device/backend.h), over NVIDIA's library, which is
// opened when it is first used, or the simulator's. Functions return 0 or an ncclResult_t, and work on the current device.
#ifndef FERRY_DISTRIBUTED_NCCL_TABLE_H
#define FERRY_DISTRIBUTED_NCCL_TABLE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FY_NCCL_ID_BYTES = 128 };

// Numbers for the reductions are FyReduceOp's, for dtypes FyDType's.
typedef struct FyNccl {
  int (*open)(char *why, size_t size); // 0: usable; else why not
  int (*unique_id)(void *id);          // FY_NCCL_ID_BYTES
  int (*init_rank)(void **comm, int ranks, const void *id, int rank);
  int (*destroy)(void *comm);
  int (*all_reduce)(const void *in, void *out, size_t count, int dtype, int op, void *comm, void *stream);
  int (*broadcast)(const void *in, void *out, size_t count, int dtype, int root, void *comm, void *stream);
  int (*all_gather)(const void *in, void *out, size_t count, int dtype, void *comm, void *stream);
  int (*reduce_scatter)(const void *in, void *out, size_t count, int dtype, int op, void *comm, void *stream);
  int (*send)(const void *in, size_t count, int dtype, int peer, void *comm, void *stream);
  int (*receive)(void *out, size_t count, int dtype, int peer, void *comm, void *stream);
  const char *(*error_string)(int error);
  const char *(*last_error)(void *comm);
} FyNccl;

#ifdef __cplusplus
}
#endif

#endif
