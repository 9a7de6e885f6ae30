// SPDX-License-Identifier: MIT
// The process group: how a process learns its rank, groups of some ranks, and the end.
#include "distributed/impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

FyDistributed fy_distributed;

// ---- the launcher's variables --------------------------------------------------------------------------------------------

// The number in the first of these variables that is set, or -1.
static int from_environment(const char *const *names) {
  for (; *names; names++) {
    const char *value = getenv(*names);
    if (value && value[0])
      return atoi(value);
  }
  return -1;
}

static int launched_ranks(void) {
  // srun's is that of its step: SLURM_NTASKS is also there in a batch script, where a program is one process.
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE", "SLURM_STEP_NUM_TASKS", NULL};
  int ranks = from_environment(names);
  return ranks > 0 ? ranks : 1;
}

int fy_get_node_local_rank(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID",
                                      NULL};
  int rank = from_environment(names);
  return rank > 0 ? rank : 0;
}

// ---- groups ----------------------------------------------------------------------------------------------------------------

// This rank is one of them.
static FyGroup *group_new(int number, const int *ranks, int count, void *comm) {
  FyGroup *group = calloc(1, sizeof *group);
  const size_t n = (size_t)count;
  if (group) {
    group->ranks = calloc(n, sizeof *group->ranks);
    group->sent = calloc(n, sizeof *group->sent);
    group->received = calloc(n, sizeof *group->received);
    group->outgoing = calloc(1, FY_ANNOUNCEMENT_BYTES);
    group->incoming = calloc(n, FY_ANNOUNCEMENT_BYTES);
    group->requests = calloc(2 * n, sizeof *group->requests);
  }
  fy_check(group && group->ranks && group->sent && group->received && group->outgoing && group->incoming &&
               group->requests,
           FY_OUT_OF_MEMORY_ERROR, "out of host memory for a group of %d ranks", count);
  group->number = number;
  group->size = count;
  group->comm = comm;
  for (int i = 0; i < count; i++) {
    group->ranks[i] = ranks[i];
    if (ranks[i] == fy_distributed.rank)
      group->rank = i;
  }
  group->next = fy_distributed.groups;
  fy_distributed.groups = group;
  return group;
}

// What MPI may still write to, after a failure, stays.
static void free_group(FyGroup *group) {
  fy_cuda_group_free(group);
  if (group->failure[0])
    return;
  if (group->comm && group->number > 0)
    fy_distributed.mpi->free_comm(group->comm);
  free(group->ranks);
  free(group->sent);
  free(group->received);
  free(group->outgoing);
  free(group->incoming);
  free(group->requests);
  free(group);
}

static void initialized_required(void) {
  fy_check(fy_distributed.initialized, FY_VALUE_ERROR,
           "Default process group has not been initialized, please make sure to call fy_init_process_group.");
}

FyGroup *fy_group_required(FyGroup *group) {
  initialized_required();
  group = group ? group : fy_distributed.world;
  fy_check(!group->failure[0], FY_RUNTIME_ERROR, "%s", group->failure);
  return group;
}

int fy_group_rank_of(const FyGroup *group, int rank, const char *function) {
  for (int i = 0; i < group->size; i++)
    if (group->ranks[i] == rank)
      return i;
  fy_check(group->number > 0, FY_VALUE_ERROR, "%s: there is no rank %d: the ranks are 0 to %d", function, rank,
           group->size - 1);
  fy_raise(FY_VALUE_ERROR, "%s: rank %d is not part of group %d", function, rank, group->number);
}

int fy_group_rank(const FyGroup *group) {
  initialized_required();
  return group ? group->rank : fy_distributed.rank;
}
int fy_group_size(const FyGroup *group) {
  initialized_required();
  return group ? group->size : fy_distributed.size;
}

static uint64_t hash_of(const int *ranks, int count) {
  uint64_t hash = 1469598103934665603u;
  for (int i = 0; i < count; i++)
    hash = (hash ^ (uint64_t)(ranks[i] + 1)) * 1099511628211u;
  return hash;
}

FyGroup *fy_new_group(const int *ranks, int count) {
  FyGroup *world = fy_group_required(NULL), *group = NULL;
  static int last_number;
  bool member = false;
  fy_check(ranks && count > 0, FY_VALUE_ERROR, "fy_new_group: a group has at least one rank");
  for (int i = 0; i < count; i++) {
    fy_check(ranks[i] >= 0 && ranks[i] < fy_distributed.size, FY_VALUE_ERROR,
             "fy_new_group: there is no rank %d: the ranks are 0 to %d", ranks[i], fy_distributed.size - 1);
    for (int j = 0; j < i; j++)
      fy_check(ranks[j] != ranks[i], FY_VALUE_ERROR, "fy_new_group: rank %d comes twice", ranks[i]);
    member |= ranks[i] == fy_distributed.rank;
  }
  const int number = ++last_number;
  fy_scope {
    void *comm = NULL;
    if (fy_distributed.size > 1) {
      FyCollectiveCall call = {
          .sequence = ++world->sequence, .kind = FY_CALL_NEW_GROUP, .count = hash_of(ranks, count)};
      FyWork *work = fy_work_new(world, call, NULL, NULL);
      work->ranks = ranks;
      work->rank_count = count;
      fy_engine_start(work, false);
      fy_engine_wait(work);
      comm = work->made_comm;
    }
    if (member)
      group = group_new(number, ranks, count, comm);
  }
  return group;
}

// ---- beginning -----------------------------------------------------------------------------------------------------------

static void check_mpi(int error, const char *what) {
  fy_check(error == 0, FY_RUNTIME_ERROR, "fy_init_process_group: %s failed: %s", what,
           fy_distributed.mpi->error_string(error));
}

static void *world_comm; // lives as long as the program, for a second initialization

static void tell_each_other(void) {
  FyRankInfo own = {.pid = getpid()};
  gethostname(own.host, sizeof own.host - 1);
  free(fy_distributed.info);
  fy_distributed.info = calloc((size_t)fy_distributed.size, sizeof *fy_distributed.info);
  fy_check(fy_distributed.info, FY_OUT_OF_MEMORY_ERROR, "out of host memory for %d ranks", fy_distributed.size);
  check_mpi(fy_distributed.mpi->all_gather(world_comm, &own, fy_distributed.info, sizeof own), "MPI_Allgather");
}

static pid_t owner;

static void at_exit(void) {
  if (!fy_distributed.mpi || getpid() != owner)
    return;
  // Without all the others MPI would wait for them for ever.
  if (fy_distributed.broken)
    return;
  if (!fy_distributed.initialized || fy_engine_leave())
    fy_distributed.mpi->finalize();
}

// Open MPI would end the process, with a text about how it was built.
static void check_srun(int ranks) {
  const bool step = getenv("SLURM_STEP_NUM_TASKS") && !getenv("OMPI_COMM_WORLD_SIZE");
  fy_check(
      !step || getenv("PMIX_NAMESPACE") || getenv("PMI_SIZE"), FY_RUNTIME_ERROR,
      "fy_init_process_group: srun has started %d processes without PMIx, by which they find each other: use `srun "
      "--mpi=pmix -n %d PROGRAM`",
      ranks, ranks);
}

static void open_mpi(void) {
  char why[900];
  const FyMpi *mpi = fy_mpi_open(why, sizeof why);
  const int wanted = launched_ranks();
  int rank, size;
  fy_check(mpi, FY_RUNTIME_ERROR, "fy_init_process_group: %d processes need Open MPI to talk to each other, and %s",
           wanted, why);
  check_srun(wanted);
  int error = mpi->init(&rank, &size);
  fy_check(error == 0, FY_RUNTIME_ERROR, "fy_init_process_group: MPI cannot begin: %s", mpi->error_string(error));
  if (!fy_distributed.mpi) {
    owner = getpid();
    atexit(at_exit);
  }
  fy_distributed.mpi = mpi;
  fy_check(
      size == wanted, FY_RUNTIME_ERROR,
      "fy_init_process_group: the environment says that there are %d ranks, and MPI knows of %d: start the program "
      "with `./ferry launch -n %d`, `mpirun -n %d` or `srun --mpi=pmix -n %d`",
      wanted, size, wanted, wanted, wanted);
  fy_distributed.rank = rank;
  fy_distributed.size = size;
  if (!world_comm)
    check_mpi(mpi->world(&world_comm), "MPI_Comm_dup");
  tell_each_other();
}

static void choose_backend(const char *name) {
  fy_distributed.cpu = !name || strcmp(name, "mpi") == 0 || strcmp(name, "cpu:mpi,cuda:nccl") == 0;
  fy_distributed.cuda = !name || strcmp(name, "nccl") == 0 || strcmp(name, "cpu:mpi,cuda:nccl") == 0;
  fy_check(fy_distributed.cpu || fy_distributed.cuda, FY_VALUE_ERROR,
           "Invalid backend: '%s'. The backends are \"mpi\" (CPU tensors), \"nccl\" (CUDA tensors) and NULL (both)",
           name);
}

void fy_init_process_group_with(FyInitProcessGroup options) {
  fy_check(!fy_distributed.initialized, FY_RUNTIME_ERROR, "trying to initialize the default process group twice!");
  fy_check(options.timeout >= 0, FY_VALUE_ERROR, "fy_init_process_group: the timeout must not be negative, but got %g",
           options.timeout);
  choose_backend(options.backend);
  fy_distributed.timeout = options.timeout > 0 ? options.timeout : 30;
  fy_distributed.rank = 0;
  fy_distributed.size = 1;
  if (launched_ranks() > 1)
    open_mpi();
  int all[fy_distributed.size];
  for (int i = 0; i < fy_distributed.size; i++)
    all[i] = i;
  fy_distributed.world = group_new(0, all, fy_distributed.size, world_comm);
  fy_distributed.initialized = true;
}

// ---- asking, and ending ------------------------------------------------------------------------------------------------------

bool fy_distributed_is_available(void) {
  char why[900];
  return fy_distributed.mpi || fy_mpi_open(why, sizeof why);
}

bool fy_distributed_is_initialized(void) {
  return fy_distributed.initialized;
}

const char *fy_get_backend(void) {
  initialized_required();
  return !fy_distributed.cuda ? "mpi" : !fy_distributed.cpu ? "nccl" : "cpu:mpi,cuda:nccl";
}

int fy_get_rank(void) {
  initialized_required();
  return fy_distributed.rank;
}
int fy_get_world_size(void) {
  initialized_required();
  return fy_distributed.size;
}

void fy_destroy_process_group(void) {
  initialized_required();
  FyGroup *world = fy_distributed.world;
  fy_distributed.broken |= world->failure[0] != '\0';
  if (fy_distributed.size > 1 && !fy_distributed.broken) {
    fy_scope {
      FyCollectiveCall call = {.sequence = ++world->sequence, .kind = FY_CALL_DESTROY};
      FyWork *work = fy_work_new(world, call, NULL, NULL);
      fy_engine_start(work, false);
      fy_engine_wait(work);
    }
  }
  fy_distributed.initialized = false;
  fy_distributed.world = NULL;
  while (fy_distributed.groups) {
    FyGroup *group = fy_distributed.groups;
    fy_distributed.groups = group->next;
    free_group(group);
  }
}

// ---- bytes of the host, exchanged by all ranks ---------------------------------------------------------------------------

static void exchange(FyGroup *group, FyCallKind kind, const void *in, void *out, size_t bytes) {
  if (group->size == 1) {
    if (in != out)
      memcpy(out, in, bytes);
    return;
  }
  fy_scope {
    FyCollectiveCall call = {.sequence = ++group->sequence, .kind = kind, .dtype = FY_UINT8, .count = bytes};
    FyWork *work = fy_work_new(group, call, in, out);
    fy_engine_start(work, false);
    fy_engine_wait(work);
  }
}

void fy_group_gather_bytes(FyGroup *group, const void *in, void *out, size_t bytes) {
  exchange(group, FY_CALL_ALL_GATHER, in, out, bytes);
}
void fy_group_broadcast_bytes(FyGroup *group, void *data, size_t bytes) {
  exchange(group, FY_CALL_BROADCAST, data, data, bytes);
}
