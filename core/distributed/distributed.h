// SPDX-License-Identifier: MIT
// A program that runs as several processes, which exchange tensors: torch.distributed.
//
//   fy_init_process_group("mpi");                       // first, in every process (rank)
//   FyTensor *t = fy_full(fy_get_rank(), fy_shape(2));
//   fy_all_reduce(t);                                   // now t is the sum of all ranks' t
//   fy_destroy_process_group();
//
// Start the program with `mpirun -n 4 PROGRAM`, `srun --mpi=pmix -n 4 PROGRAM` or `./ferry launch -n 4 PROGRAM`. A
// program that you start directly is a group of one rank, and needs no communication library. CPU tensors are sent with
// Open MPI, and CUDA tensors with NCCL (without a GPU, with the simulator's NCCL).
//
// All ranks of a group must call the same collectives in the same order, with tensors of the same size and dtype. The
// ranks compare their calls before they send data. For CUDA tensors, they do this only on simulated devices by default;
// set FERRY_DISTRIBUTED_DEBUG=DETAIL to do it on all devices, or OFF to do it on none. If a call does not match, if a
// rank has died or left, or if a rank does not call within the timeout, all waiting ranks raise FY_RUNTIME_ERROR, which
// names the rank, the call and its sequence number. The group is then unusable: later calls raise the same error.
//
// If all ranks of a group run on one host, DistributedDataParallel keeps the gradients of CPU parameters in shared
// memory, where the ranks add them without MPI. With FERRY_DISTRIBUTED_SHARED=OFF, MPI adds them.
//
// Only one thread at a time may call these functions.
#ifndef FERRY_DISTRIBUTED_DISTRIBUTED_H
#define FERRY_DISTRIBUTED_DISTRIBUTED_H

#include "tensor/tensor.h"

// Reductions. Averages of integers are truncated toward zero. For bools, the sum is a logical or, the product is a
// logical and, and there is no average. MIN and MAX ignore a NaN if a different rank has a number, and return NaN if no
// rank has one. NCCL does this (like fmin and fmax), and CPU tensors follow it. MPI_MIN, and PyTorch with gloo, do not
// define a result for NaN; it depends on the order of the ranks. PyTorch: torch.distributed.ReduceOp.
typedef enum FyReduceOp {
  FY_REDUCE_OP_SUM = 0,
  FY_REDUCE_OP_AVG,
  FY_REDUCE_OP_MIN,
  FY_REDUCE_OP_MAX,
  FY_REDUCE_OP_PRODUCT,
  FY_REDUCE_OP_COUNT
} FyReduceOp;

// ---- process groups -------------------------------------------------------------------------------------------------

// Initializes the group of all ranks. `backend` is "mpi" for CPU tensors, "nccl" for CUDA tensors, or NULL for both.
// `timeout` is how long a rank waits for the others, in seconds; 0 means 30. Raises FY_VALUE_ERROR for an unknown
// backend and a negative timeout. Raises FY_RUNTIME_ERROR if the group exists already ("trying to initialize the
// default process group twice!"), if there are several ranks and Open MPI is missing, and if the processes were not
// started as ranks of one program. PyTorch: torch.distributed.init_process_group(backend, timeout).
typedef struct FyInitProcessGroup {
  const char *backend;
  double timeout;
} FyInitProcessGroup;
#define fy_init_process_group(...) fy_init_process_group_with((FyInitProcessGroup){.backend = __VA_ARGS__})
FY_API void fy_init_process_group_with(FyInitProcessGroup options);

// Waits for all pending operations and for all ranks, and frees all groups. Does not wait if the group of all ranks has
// failed. Raises the errors of collectives. PyTorch: torch.distributed.destroy_process_group().
FY_API void fy_destroy_process_group(void);

// Returns whether programs with several ranks can run: Open MPI was found when Ferry was built, and can be loaded.
// Never raises. PyTorch: torch.distributed.is_mpi_available().
FY_API bool fy_distributed_is_available(void);

FY_API bool fy_distributed_is_initialized(void); // torch.distributed.is_initialized(); never raises
FY_API const char *fy_get_backend(void);         // "mpi", "nccl" or "cpu:mpi,cuda:nccl"

// Return the rank of this process, from 0, and the number of ranks. Before initialization, they raise FY_VALUE_ERROR
// "Default process group has not been initialized, please make sure to call fy_init_process_group.", like all functions
// that need the group. PyTorch: torch.distributed.get_rank() and torch.distributed.get_world_size().
FY_API int fy_get_rank(void);
FY_API int fy_get_world_size(void);

// Returns the number of this rank among the ranks of its machine, from 0. Use it to select a GPU. Reads the launcher's
// environment variables, and returns 0 without them. You may call it before initialization. Never raises. PyTorch:
// torch.distributed.get_node_local_rank().
FY_API int fy_get_node_local_rank(void);

// A group of some of the ranks. As an argument, NULL means the group of all ranks.
typedef struct FyGroup FyGroup;

// Creates a group. All ranks of the program must call this function, with the same list of ranks. A rank's position in
// the list is its rank in the group. Returns NULL if this rank is not in the list. The group exists until
// fy_destroy_process_group. Raises FY_VALUE_ERROR for ranks that do not exist or occur twice. PyTorch:
// torch.distributed.new_group(ranks).
FY_API FyGroup *fy_new_group(const int *ranks, int count);

FY_API int fy_group_rank(const FyGroup *group); // torch.distributed.get_rank(group): this process's rank in the group
FY_API int fy_group_size(const FyGroup *group); // torch.distributed.get_world_size(group)

// ---- collectives ----------------------------------------------------------------------------------------------------
// Options: .group, and .async_op = true. Without .async_op, a call returns NULL when the result is available. On a CUDA
// device, it is then available to all work that you enqueue on the current stream from then on. With .async_op, the
// call returns immediately, with a work handle. Do not access the tensors before fy_work_wait. Tensors must be
// contiguous (FY_VALUE_ERROR "Tensors must be contiguous"), and all on the CPU or all on one CUDA device. Ranks in
// arguments (src, dst) are ranks in the program, even if a group is given. Autograd does not record these calls. For
// CUDA tensors, they raise FY_RUNTIME_ERROR if there are several ranks and NCCL is missing.

// A handle of a call with .async_op, owned by the innermost scope.
typedef struct FyWork FyWork;

typedef struct FyCollective {
  FyTensor *tensor;
  FyReduceOp op;
  int rank; // src or dst, for calls that have one
  FyGroup *group;
  bool async_op;
} FyCollective;

// Reduces the tensors of all ranks, element by element, and stores the result in each of them: fy_all_reduce(t),
// fy_all_reduce(t, .op = FY_REDUCE_OP_MAX). Raises FY_RUNTIME_ERROR for the average of bools. PyTorch:
// torch.distributed.all_reduce(tensor, op).
#define fy_all_reduce(...) fy_all_reduce_with((FyCollective){.tensor = __VA_ARGS__})
FY_API FyWork *fy_all_reduce_with(FyCollective options);

// Copies the tensor of rank src to the tensors of all other ranks: fy_broadcast(t, 0). PyTorch:
// torch.distributed.broadcast(tensor, src).
#define fy_broadcast(collective_tensor, ...)                                                                           \
  fy_broadcast_with((FyCollective){.tensor = (collective_tensor), .rank = __VA_ARGS__})
FY_API FyWork *fy_broadcast_with(FyCollective options);

// Concatenates the inputs of all ranks in `output`, in the order of the ranks. `output` has the dtype of the input, and
// as many elements as all inputs together; otherwise raises FY_VALUE_ERROR. fy_all_gather stores each input in a tensor
// of its own, and has no .async_op. PyTorch: torch.distributed.all_gather_into_tensor(output, input) and
// torch.distributed.all_gather(list, input).
#define fy_all_gather_into_tensor(output, ...)                                                                         \
  fy_all_gather_into_tensor_with((output), (FyCollective){.tensor = __VA_ARGS__})
FY_API FyWork *fy_all_gather_into_tensor_with(FyTensor *output, FyCollective options);
#define fy_all_gather(outputs, ...) fy_all_gather_with((outputs), (FyCollective){.tensor = __VA_ARGS__})
FY_API void fy_all_gather_with(FyTensors outputs, FyCollective options);

// Reduces the inputs of all ranks, splits the result into equal parts, one per rank, and stores this rank's part in
// `output`. `output` has the dtype of the input; otherwise, and if the sizes do not match, raises FY_VALUE_ERROR.
// fy_reduce_scatter takes the input as one tensor per rank, and has no .async_op. PyTorch:
// torch.distributed.reduce_scatter_tensor(output, input, op) and torch.distributed.reduce_scatter(output, list, op).
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

// Waits until all ranks of the group have called it: fy_barrier(), fy_barrier(.group = g). PyTorch:
// torch.distributed.barrier().
#define fy_barrier(...) fy_barrier_with((FyCollective){.tensor = NULL, __VA_ARGS__})
FY_API void fy_barrier_with(FyCollective options);

// Send a tensor to rank dst, and receive one from rank src, of the same size and dtype. Messages from one rank to
// another arrive in the order in which they were sent. A send completes when the receive has the data. So two ranks
// that both send first wait for each other, as on GPUs, and raise the timeout's error. One of them must receive first,
// or send with .async_op = true. Raise FY_VALUE_ERROR if a rank sends to or receives from itself.
//
// On CUDA devices, two ranks of a larger group that exchange messages before the group's first collective create their
// own communicator, for which each of them waits for the other. So call a collective with CUDA tensors, such as
// fy_broadcast, before you send messages in a ring. PyTorch: torch.distributed.send(tensor, dst) and
// torch.distributed.recv(tensor, src).
#define fy_send(collective_tensor, ...) fy_send_with((FyCollective){.tensor = (collective_tensor), .rank = __VA_ARGS__})
#define fy_recv(collective_tensor, ...) fy_recv_with((FyCollective){.tensor = (collective_tensor), .rank = __VA_ARGS__})
FY_API FyWork *fy_send_with(FyCollective options);
FY_API FyWork *fy_recv_with(FyCollective options);

// Wait until an asynchronous call has completed, or return whether it has. fy_work_wait raises the error of the call.
// For CUDA tensors, it makes the current stream wait, not the host. fy_work_is_completed does not raise the error.
// PyTorch: work.wait() and work.is_completed().
FY_API void fy_work_wait(FyWork *work);
FY_API bool fy_work_is_completed(FyWork *work);

// ---- traffic --------------------------------------------------------------------------------------------------------

// How many calls this rank has made since the start of the program, and how many bytes of tensors it has passed to
// them.
typedef struct FyTraffic {
  int64_t collectives, collective_bytes; // bytes of the rank's own inputs
  int64_t sends, sent_bytes, receives, received_bytes;
  // The collectives that were reductions in memory shared by all ranks, without MPI or NCCL.
  int64_t shared, shared_bytes;
} FyTraffic;

// Returns the counts, for lessons and tests. Never raises.
FY_API FyTraffic fy_distributed_traffic(void);

#endif
