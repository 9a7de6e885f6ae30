// SPDX-License-Identifier: MIT
// What the files of the simulated NCCL share.
//
// A clique is what the communicators of one id have in common. A joint operation is one node that waits for a point in
// the stream of each rank of this process, and that all these streams go on after: so it runs when the ranks here have
// called it, whatever the mode, and no thread waits for another rank of its own process. Ranks of other processes are met
// over a piece of shared memory, the wire, while the node runs.
#ifndef SIM_NCCL_IMPL_H
#define SIM_NCCL_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "nccl.h"
#include "sim/runtime/node.h"
#include "sim/runtime/stream.h"

enum {
  SIM_NCCL_RANKS = 32,
  SIM_NCCL_SLOT = 1 << 17, // bytes that a rank shows the others at a time
  SIM_NCCL_RING = 1 << 15, // bytes on their way from one rank to another; a power of two
  SIM_NCCL_TEXT = 512
};

enum sim_nccl_kind {
  SIM_ALL_REDUCE,
  SIM_REDUCE,
  SIM_BROADCAST,
  SIM_ALL_GATHER,
  SIM_REDUCE_SCATTER,
  SIM_SEND,
  SIM_RECV
};

// What a rank calls. For a collective all ranks' must be equal; `root` is a send's or receive's peer.
struct sim_nccl_call {
  int kind, type, op, root;
  size_t count;
};

// ---- the wire ----

struct sim_wire_rank {
  atomic_int pid; // 0: has not come
  atomic_bool left;
  atomic_ullong steps; // barriers that its process has come to; counted for the lowest rank of each process
  unsigned long long number;
  struct sim_nccl_call call; // the present collective's
};

struct sim_ring { // bytes from one rank to one other
  atomic_ullong written, read;
  char bytes[SIM_NCCL_RING];
};

struct sim_wire {
  atomic_int ranks, came;
  atomic_bool failed;
  struct sim_wire_rank rank[SIM_NCCL_RANKS];
  // behind it: a slot per rank, then a ring per pair of ranks
};

char *sim_wire_slot(struct sim_wire *wire, int rank);
struct sim_ring *sim_wire_ring(struct sim_wire *wire, int from, int to);

// ---- cliques and communicators ----

struct sim_clique {
  char name[48]; // of the wire's memory; empty when there is none
  int ranks, references;
  int local_count;
  struct ncclComm *local[SIM_NCCL_RANKS]; // those of this process, NULL for others
  bool gone[SIM_NCCL_RANKS];              // was here, and has been destroyed
  struct sim_wire *wire;                  // NULL: all ranks are of this process
  struct sim_joint *open;                 // operations that not all ranks here have called
  struct sim_node *last;                  // retained: the last collective, which the next one waits for
  atomic_int error;                       // ncclResult_t that ended it
  struct sim_clique *next;
};

struct ncclComm {
  struct sim_clique *clique;
  int rank, device;
  unsigned long long collectives; // called so far
};

// One rank's share in an operation.
struct sim_nccl_part {
  bool here;
  const void *send;
  void *recv;
  struct sim_nccl_call call;
  pthread_t thread;
  bool grouped;
};

// A collective, or a send and its receive within the process, or one rank's sends and receives with other processes.
struct sim_joint {
  struct sim_work base;
  struct sim_clique *clique; // counted
  struct sim_node *node;
  unsigned long long number; // of a collective; from 1
  int wanted, came;          // ranks of this process
  long long deadline;        // of those that have not come; nanoseconds
  char problem[SIM_NCCL_TEXT];
  bool collective;
  int from, to; // of a pair
  struct sim_nccl_part part[SIM_NCCL_RANKS];
  struct sim_transfer *transfers; // with other processes
  int transfer_count;
  struct sim_joint *next; // in clique->open
};

struct sim_transfer {
  struct sim_nccl_call call;
  char *data;
  bool headed;
  size_t moved;
};

// One lock for all that stands in cliques and communicators; sim.lock may be taken under it.
void sim_nccl_lock(void);
void sim_nccl_unlock(void);

// nccl_clique.c. The caller holds the lock for the first three.
void sim_clique_retain(struct sim_clique *clique);
void sim_clique_release(struct sim_clique *clique);
struct sim_node *sim_clique_first(struct sim_node *(*ask)(struct sim_clique *)); // the first that is not NULL
bool sim_is_leader(const struct sim_clique *clique, int rank);                   // the lowest rank of its process

// The clique has failed: says why on stderr, once, and keeps it for ncclGetLastError; its devices here fail too, if
// `devices`. Returns error.
ncclResult_t sim_clique_fail(struct sim_clique *clique, ncclResult_t error, bool devices, const char *problem);
// The same for a call that is refused: "cudasim: FUNCTION: ..."; returns error.
ncclResult_t sim_nccl_refuse(ncclResult_t error, const char *function, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// ncclCommInitRank: a rank comes, and waits for the others at once or at the end of its group.
ncclResult_t sim_nccl_init_rank(ncclComm_t *comm, int ranks, const ncclUniqueId *id, int rank);
ncclResult_t sim_nccl_init_finish(void);

// Waiting for ranks of other processes. Each call waits a little longer; false when it has been too long, when the clique
// has failed, or when one of the ranks that `waits(rank)` is true of has left or died: `problem` then says so.
struct sim_patience {
  struct sim_clique *clique;
  const char *doing; // "ncclAllReduce"
  unsigned long long number;
  long long deadline, checked;
  int turns;
};
struct sim_patience sim_patience_begin(struct sim_clique *clique, const char *doing, unsigned long long number);
bool sim_patience_wait(struct sim_patience *p, bool (*waits)(void *context, int rank), void *context,
                       char problem[SIM_NCCL_TEXT]);

// nccl_joint.c: queues what ranks have called, all of one group.
struct sim_nccl_op {
  struct ncclComm *comm;
  struct CUstream_st *stream;
  struct sim_nccl_call call;
  const void *send;
  void *recv;
  bool grouped;
};
ncclResult_t sim_nccl_queue(struct sim_nccl_op *ops, int count);
void sim_nccl_watch(void); // starts the thread that ends what nobody completes

// nccl_exchange.c: what a joint operation does when it runs; false with `problem` set.
bool sim_nccl_collective(struct sim_joint *joint);
bool sim_nccl_pair(struct sim_joint *joint);
bool sim_nccl_transfers(struct sim_joint *joint);

// nccl_reduce.c.
size_t sim_nccl_bytes(int type); // 0: no such type
void sim_nccl_combine(int type, int op, const void *const *parts, int ranks, void *out, size_t count);

// "ncclAllReduce", and "ncclAllReduce of 10 ncclFloat32, ncclSum".
const char *sim_nccl_function(int kind);
void sim_nccl_describe(const struct sim_nccl_call *call, char *text, size_t size);

#endif
