// SPDX-License-Identifier: MIT
// What the files of distributed/ share: for core/ only.
//
// Work on CPU tensors, and the checks of work on CUDA tensors, go through one engine (engine.c): a queue of collectives, which
// run in the order in which they were called, and a list of messages between two ranks, which go on side by side. Whoever waits
// drives it; while nobody waits, a thread does, so that work goes on behind a computation. MPI is called under the engine's
// lock only.
#ifndef FERRY_DISTRIBUTED_IMPL_H
#define FERRY_DISTRIBUTED_IMPL_H

#include "device/runtime.h"
#include "distributed/distributed.h"
#include "distributed/mpi_table.h"
#include "tensor/impl.h"
#include <stdatomic.h>

typedef enum FyCallKind {
  FY_CALL_ALL_REDUCE,
  FY_CALL_BROADCAST,
  FY_CALL_ALL_GATHER,
  FY_CALL_REDUCE_SCATTER,
  FY_CALL_BARRIER,
  FY_CALL_NEW_GROUP, // count: a hash of the ranks
  FY_CALL_DESTROY,
  FY_CALL_LEAVE, // the process ends
  FY_CALL_SEND,
  FY_CALL_RECV
} FyCallKind;

// What ranks tell each other before they do it.
typedef struct FyCollectiveCall {
  uint64_t sequence;             // in the group, from 1; of messages: between two ranks, in one direction
  int32_t kind, dtype, op, root; // root: rank in the group; of a message the peer's
  uint64_t count;                // elements: of the rank's input, of a reduce_scatter's output
  int32_t cuda, unused;
  uint64_t segment, offset; // of data in memory that the ranks share: which, 0: none, and where in it (shared.h)
} FyCollectiveCall;

enum {
  FY_SHORT_BYTES = 12288, // what all other ranks together are sent along with the announcement
  FY_ANNOUNCEMENT_BYTES = sizeof(FyCollectiveCall) + FY_SHORT_BYTES,
  FY_FAILURE_TEXT = 1200
};

// A communicator of NCCL's and the stream for what goes over it.
typedef struct FyChannel {
  void *nccl; // ncclComm_t, of the device; NULL: not made yet
  int device;
  FyStream *stream; // counted
} FyChannel;

struct FyGroup {
  int number; // 0: all ranks; the same in every rank
  int rank, size;
  int *ranks; // [size] of the program
  void *comm; // MPI's
  uint64_t sequence;
  uint64_t *sent, *received;     // [size] messages so far
  char failure[FY_FAILURE_TEXT]; // why it is of no use any more; empty: it is
  // announcements of the collective that is at the head of the queue
  char *outgoing, *incoming; // one; [size]
  void **requests;           // [2 * size]: receives, then sends
  FyChannel channel;         // NCCL between all
  FyChannel *pairs; // [size] NCCL with one other rank, for messages before the first collective; NULL: none yet
  struct FyGroup *next;
};

typedef enum FyWorkState { FY_WORK_QUEUED, FY_WORK_ANNOUNCED, FY_WORK_SHARED, FY_WORK_DONE } FyWorkState;

struct FyWork {
  FyObject object;
  FyGroup *group;
  FyCollectiveCall call;
  FyWorkState state; // under the engine's lock
  bool failed;       // then the group says why, or `failure`
  char failure[FY_FAILURE_TEXT];
  const void *in;
  void *out;
  const int *ranks; // of a new group; it is made in made_comm
  int rank_count;
  void *made_comm;
  FyTensor *tensors[2]; // counted
  double began;         // when it was announced
  int suspect;          // a rank that has ended, plus one: it may have sent something before
  // in shared memory: this rank's share is done, and others' may not be (FY_WORK_SHARED)
  struct FyShared *shared;
  uint64_t round;
  bool quiet; // no thread behind goes on with it, in no rank
  // messages
  FyCollectiveCall peer_call;
  void *requests[2], *data_request;
  size_t moved;
  bool matched;
  // CUDA: passes when the result is there
  FyEvent *event; // counted
  struct FyWork *next;
};

// ---- the process's state (process_group.c) -------------------------------------------------------------------------------

typedef struct FyRankInfo {
  int64_t pid;
  char host[56];
} FyRankInfo;

typedef struct FyDistributed {
  bool initialized, cpu, cuda;
  bool broken; // the group of all has failed: MPI cannot be ended any more
  int rank, size;
  double timeout;
  const FyMpi *mpi;        // NULL for one rank
  FyGroup *world, *groups; // groups: all, the world last
  FyRankInfo *info;        // [size]
} FyDistributed;
extern FyDistributed fy_distributed;

// The group, or the default one. Raises FY_VALUE_ERROR before initialization, FY_RUNTIME_ERROR for a group that has failed.
FyGroup *fy_group_required(FyGroup *group);
// The rank in the group of one of the program; raises FY_VALUE_ERROR where it has none.
int fy_group_rank_of(const FyGroup *group, int rank, const char *function);

// ---- engine.c --------------------------------------------------------------------------------------------------------------

// A work for the call, owned by the innermost scope.
FyWork *fy_work_new(FyGroup *group, FyCollectiveCall call, const void *in, void *out);
// Begins it. Whoever waits drives it; with `behind`, a thread does meanwhile.
void fy_engine_start(FyWork *work, bool behind);
// Returns when it is done. Raises what went wrong.
void fy_engine_wait(FyWork *work);
bool fy_engine_is_done(FyWork *work); // after a step ahead, for what is to go on without a thread behind
// Tells the others that this process ends, and waits a moment for what they have to say to it. Never raises. Whether all ranks
// end, too.
bool fy_engine_leave(void);

// ---- announce.c: the caller holds the engine's lock ---------------------------------------------------------------------------

double fy_seconds_now(void);
void fy_announce(FyWork *work);                                       // tells the group what this rank calls
bool fy_announcements_arrived(FyWork *work);                          // true when all have come, or the work has failed
const FyCollectiveCall *fy_announced(const FyGroup *group, int rank); // then: what another rank has called
// "all_reduce(sum, torch.float32, 10 elements)", in `text`, which is returned.
const char *fy_call_text(const FyCollectiveCall *call, char text[160]);
// Fails a work of a group, and the group.
void fy_work_fail(FyWork *work, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Fails the work where it has taken too long, or where a rank that it waits for has died. `waits(work, rank)` says for whom.
void fy_check_patience(FyWork *work, bool (*waits)(const FyWork *work, int rank));
bool fy_rank_has_ended(const FyGroup *group, int rank); // on this machine; any thread may ask

// ---- collectives.c ------------------------------------------------------------------------------------------------------------

// all_reduce(AVG) of a bucket of gradients that goes on while backward does: by a thread behind, or, in shared memory, where the
// host has to do the sums itself, by whoever asks fy_engine_is_done. The last one returns when its result is there.
FyWork *fy_average_bucket(FyGroup *group, FyTensor *bucket, bool last);

// ---- run.c: what a collective does when all have announced it, and how messages go on ------------------------------------------

void fy_run_collective(FyWork *work);
// Goes on with a message; whether something moved. The state becomes FY_WORK_DONE at its end.
bool fy_advance_message(FyWork *work, bool first);
void fy_begin_message(FyWork *work);

// ---- cuda_work.c ---------------------------------------------------------------------------------------------------------------

// Queues the work on the group's stream of the tensors' device; the work's event passes when it is done there. May raise.
void fy_cuda_work_start(FyWork *work);
void fy_cuda_group_free(FyGroup *group);

// process_group.c: bytes in host memory. Gather: `out` receives `bytes` from each rank, in the order of ranks. Broadcast: `data` of the
// group's first rank reaches all others. Both block until done; they raise what collectives raise.
void fy_group_gather_bytes(FyGroup *group, const void *in, void *out, size_t bytes);
void fy_group_broadcast_bytes(FyGroup *group, void *data, size_t bytes);

#endif
