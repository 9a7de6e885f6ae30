// SPDX-License-Identifier: MIT
// One program as several processes that work together: torch.distributed.
//
//   fy_init_process_group("mpi");                       // in every process ("rank"), first
//   FyTensor *t = fy_full(fy_get_rank(), fy_shape(2));
//   fy_all_reduce(t);                                   // now t is the sum of all ranks' t
//   fy_destroy_process_group();
//
// Started by `mpirun -n 4 PROGRAM`, `srun --mpi=pmix -n 4 PROGRAM` or `./ferry launch -n 4 PROGRAM`; a program started by none
// of them is a group of one rank, for which nothing else is needed. Tensors on the CPU go over Open MPI, tensors on CUDA
// devices over NCCL (the simulator's where there is no GPU).
//
// Collectives are called by all ranks of a group in one order, with tensors of one size and dtype. Before data move, the ranks
// tell each other what they call; for CUDA tensors by default only on simulated devices (FERRY_DISTRIBUTED_DEBUG=DETAIL: always,
// OFF: never). A call that does not fit, a rank that has died or left, or one that does not come within the timeout raise
// FY_RUNTIME_ERROR that names rank, call and sequence number, in every rank that waits. The group is of no use after that:
// later calls raise the same.
//
// Gradients of DistributedDataParallel on the CPU lie in memory that all ranks of a host see, where they are added up without
// MPI, when all ranks of the group are on one host. FERRY_DISTRIBUTED_SHARED=OFF leaves that to MPI.
//
// Threads: one at a time may call these functions.
#ifndef FERRY_DISTRIBUTED_DISTRIBUTED_H
#define FERRY_DISTRIBUTED_DISTRIBUTED_H

#include "tensor/tensor.h"

// torch.distributed.ReduceOp. Averages of integers are cut off towards zero; of bools there is none, their sum is "any". MIN and MAX
// pass over a NaN where another rank has a number, and give NaN where none has: NCCL does so (fmin, fmax), and CPU tensors follow
// it. MPI's own MPI_MIN, and PyTorch over gloo, say nothing of NaN: what comes out depends on the order of the ranks.
typedef enum FyReduceOp {
  FY_REDUCE_OP_SUM = 0,
  FY_REDUCE_OP_AVG,
  FY_REDUCE_OP_MIN,
  FY_REDUCE_OP_MAX,
  FY_REDUCE_OP_PRODUCT,
  FY_REDUCE_OP_COUNT
} FyReduceOp;

// ---- the group of all ranks, and others --------------------------------------------------------------------------------

// init_process_group(backend, timeout). backend: "mpi" for CPU tensors, "nccl" for CUDA tensors, NULL for both. timeout: how
// long a rank waits for others, in seconds (0 means 30). Raises FY_VALUE_ERROR for another backend, and FY_RUNTIME_ERROR
// "trying to initialize the default process group twice!", where Open MPI or NCCL are needed and missing, and where the
// processes were not started as ranks of one program.
typedef struct FyInitProcessGroup {
  const char *backend;
  double timeout;
} FyInitProcessGroup;
#define fy_init_process_group(...) fy_init_process_group_with((FyInitProcessGroup){.backend = __VA_ARGS__})
FY_API void fy_init_process_group_with(FyInitProcessGroup options);

// destroy_process_group(): waits for what is under way and for all ranks, unless the group has failed. Raises as collectives do.
FY_API void fy_destroy_process_group(void);

// torch.distributed.is_mpi_available(): can programs of several ranks be run? That Open MPI was found when Ferry was built, and
// can be opened. Never raises.
FY_API bool fy_distributed_is_available(void);
FY_API bool fy_distributed_is_initialized(void); // torch.distributed.is_initialized(). Never raises
FY_API const char *fy_get_backend(void);         // "mpi", "nccl" or "cpu:mpi,cuda:nccl"

// get_rank() and get_world_size(): which of how many processes this is. Raise FY_VALUE_ERROR "Default process group has not
// been initialized, please make sure to call fy_init_process_group.", as everything below does.
FY_API int fy_get_rank(void);
FY_API int fy_get_world_size(void);

// torch.distributed.get_node_local_rank(): which of the ranks of its machine, from 0; by it a rank chooses its GPU. By the
// launcher's variables, 0 without them; also before initialization. Never raises.
FY_API int fy_get_node_local_rank(void);

// A group of some of the ranks. NULL means the group of all.
typedef struct FyGroup FyGroup;

// new_group(ranks): every rank of the program calls it, with the same ranks. They are numbered in the group as they are
// listed. Returns NULL where this rank is not among them; a group lives until fy_destroy_process_group.
// Raises FY_VALUE_ERROR for ranks that do not exist or come twice.
FY_API FyGroup *fy_new_group(const int *ranks, int count);
FY_API int fy_group_rank(const FyGroup *group); // get_rank(group), get_world_size(group)
FY_API int fy_group_size(const FyGroup *group);

// ---- collectives -------------------------------------------------------------------------------------------------------
// Options: .group, .async_op = true. Without async_op they return NULL when the result is there (on a CUDA device: when what is
// queued on the current stream from here on will find it). With it they immediately return a work handle, an object of the scope; the
// tensors are not to be touched before fy_work_wait. Tensors are contiguous (FY_VALUE_ERROR "Tensors must be contiguous"), all
// on the CPU or all on one CUDA device. Ranks (src, dst) are those of the program, also in a group. None is recorded for
// backward.
typedef struct FyWork FyWork;

typedef struct FyCollective {
  FyTensor *tensor;
  FyReduceOp op;
  int rank; // the second argument, where there is one
  FyGroup *group;
  bool async_op;
} FyCollective;

// all_reduce(tensor, op): fy_all_reduce(t), fy_all_reduce(t, .op = FY_REDUCE_OP_MAX). In place. Raises FY_RUNTIME_ERROR for the
// average of bools.
#define fy_all_reduce(...) fy_all_reduce_with((FyCollective){.tensor = __VA_ARGS__})
FY_API FyWork *fy_all_reduce_with(FyCollective options);

// broadcast(tensor, src): fy_broadcast(t, 0). Into the tensor of all but src.
#define fy_broadcast(collective_tensor, ...)                                                                           \
  fy_broadcast_with((FyCollective){.tensor = (collective_tensor), .rank = __VA_ARGS__})
FY_API FyWork *fy_broadcast_with(FyCollective options);

// all_gather_into_tensor(output, input): the ranks' inputs one after the other. output has as many elements as all of them,
// of the same dtype (else FY_VALUE_ERROR). all_gather(list, input): into one tensor each; not asynchronous.
#define fy_all_gather_into_tensor(output, ...)                                                                         \
  fy_all_gather_into_tensor_with((output), (FyCollective){.tensor = __VA_ARGS__})
FY_API FyWork *fy_all_gather_into_tensor_with(FyTensor *output, FyCollective options);
#define fy_all_gather(outputs, ...) fy_all_gather_with((outputs), (FyCollective){.tensor = __VA_ARGS__})
FY_API void fy_all_gather_with(FyTensors outputs, FyCollective options);

// reduce_scatter_tensor(output, input, op): the reduced input in equal shares, one for each rank. reduce_scatter(output, list,
// op): from one tensor for each rank; not asynchronous.
#define fy_reduce_scatter_tensor(output, ...)                                                                          \
  fy_reduce_scatter_tensor_with((output), (FyCollective){.tensor = __VA_ARGS__})
FY_API FyWork *fy_reduce_scatter_tensor_with(FyTensor *output, FyCollective options);
typedef struct FyReduceScatter {
  FyTensors inputs;
  FyReduceOp op;
  FyGroup *group;
} FyReduceScatter;
#define fy_reduce_scatter(output, ...) fy_reduce_scatter_with((output), (FyReduceScatter){.inputs = __VA_ARGS__})
FY_API void fy_reduce_scatter_with(FyTensor *output, FyReduceScatter options);

// barrier(): returns when all ranks of the group have called it. fy_barrier(), fy_barrier(.group = g).
#define fy_barrier(...) fy_barrier_with((FyCollective){.tensor = NULL, __VA_ARGS__})
FY_API void fy_barrier_with(FyCollective options);

// send(tensor, dst) and recv(tensor, src): between two ranks; sends from one rank to another arrive in order, at receives of the
// same size and dtype. A send is over when its receive has taken the data: two ranks that both send first wait for each other
// (and get the timeout's error), as GPUs do; one of them receives first, or sends with .async_op = true. On CUDA devices, two ranks
// of a larger group that exchange messages before the group's first collective make a communicator of their own by that, for which
// each waits for the other: start a ring of messages by a collective of CUDA tensors, such as fy_broadcast.
#define fy_send(collective_tensor, ...) fy_send_with((FyCollective){.tensor = (collective_tensor), .rank = __VA_ARGS__})
#define fy_recv(collective_tensor, ...) fy_recv_with((FyCollective){.tensor = (collective_tensor), .rank = __VA_ARGS__})
FY_API FyWork *fy_send_with(FyCollective options);
FY_API FyWork *fy_recv_with(FyCollective options);

// work.wait(), which raises what went wrong, and work.is_completed(), which does not. A work on a CUDA device: the current stream
// waits, not the host.
FY_API void fy_work_wait(FyWork *work);
FY_API bool fy_work_is_completed(FyWork *work);

// ---- what was sent -------------------------------------------------------------------------------------------------------

// Bytes of tensors that this rank has passed to collectives and messages since the start, and how many calls that were: for
// lessons and tests. Reading raises nothing.
typedef struct FyTraffic {
  int64_t collectives, collective_bytes; // of the rank's own inputs
  int64_t sends, sent_bytes, receives, received_bytes;
  int64_t shared,
      shared_bytes; // of the collectives: reductions done in memory that all ranks share, and not by MPI or NCCL
} FyTraffic;
FY_API FyTraffic fy_distributed_traffic(void);

#endif
