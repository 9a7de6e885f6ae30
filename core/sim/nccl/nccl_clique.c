// SPDX-License-Identifier: MIT
// Cliques: how ranks find each other, the memory that processes share, waiting for other processes, and failing.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "sim/nccl/nccl_impl.h"
#include "sim/base/sim.h"
#include "sim/runtime/trace.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_clique *cliques; // of this process
static char last_problem[SIM_NCCL_TEXT];

void sim_nccl_lock(void) {
  pthread_mutex_lock(&lock);
}

void sim_nccl_unlock(void) {
  pthread_mutex_unlock(&lock);
}

// ---- what went wrong ----

static pthread_mutex_t problem_lock = PTHREAD_MUTEX_INITIALIZER;

static void note(const char *problem) {
  pthread_mutex_lock(&problem_lock);
  snprintf(last_problem, sizeof last_problem, "%s", problem);
  pthread_mutex_unlock(&problem_lock);
}

const char *ncclGetLastError(ncclComm_t comm) {
  static __thread char text[SIM_NCCL_TEXT];
  (void)comm;
  pthread_mutex_lock(&problem_lock);
  memcpy(text, last_problem, sizeof text);
  pthread_mutex_unlock(&problem_lock);
  return text;
}

ncclResult_t sim_nccl_refuse(ncclResult_t error, const char *function, const char *format, ...) {
  char text[SIM_NCCL_TEXT];
  int used = snprintf(text, sizeof text, "%s: ", function);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
  va_end(arguments);
  fprintf(stderr, "cudasim: %s\n", text);
  note(text);
  return error;
}

ncclResult_t sim_clique_fail(struct sim_clique *clique, ncclResult_t error, bool devices, const char *problem) {
  int none = ncclSuccess;
  if (!atomic_compare_exchange_strong(&clique->error, &none, (int)error))
    return (ncclResult_t)none;
  note(problem);
  fprintf(stderr, "cudasim: %s\n", problem);
  if (clique->wire)
    atomic_store(&clique->wire->failed, true);
  for (int r = 0; devices && r < clique->ranks; r++)
    if (clique->local[r])
      sim_set_sticky(clique->local[r]->device, cudaErrorLaunchFailure);
  return error;
}

// ---- the wire ----

char *sim_wire_slot(struct sim_wire *wire, int rank) {
  return (char *)(wire + 1) + (size_t)rank * SIM_NCCL_SLOT;
}

struct sim_ring *sim_wire_ring(struct sim_wire *wire, int from, int to) {
  const int ranks = atomic_load(&wire->ranks);
  return (struct sim_ring *)(void *)sim_wire_slot(wire, ranks) + from * ranks + to;
}

// Pages are given out as they are touched.
static size_t wire_bytes(int ranks) {
  return sizeof(struct sim_wire) + (size_t)ranks * SIM_NCCL_SLOT + (size_t)(ranks * ranks) * sizeof(struct sim_ring);
}

static struct sim_wire *wire_open(const char *name, int ranks) {
  int file = shm_open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, (off_t)wire_bytes(ranks)) != 0) {
    if (file >= 0)
      close(file);
    return NULL;
  }
  void *memory = mmap(NULL, wire_bytes(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? NULL : memory;
}

// ---- cliques ----

void sim_clique_retain(struct sim_clique *clique) {
  clique->references++;
}

void sim_clique_release(struct sim_clique *clique) {
  if (--clique->references > 0)
    return;
  struct sim_clique **link = &cliques;
  while (*link && *link != clique)
    link = &(*link)->next;
  if (*link)
    *link = clique->next;
  if (clique->wire)
    munmap(clique->wire, wire_bytes(clique->ranks));
  sim_node_release(clique->last);
  free(clique);
}

struct sim_node *sim_clique_first(struct sim_node *(*ask)(struct sim_clique *)) {
  struct sim_node *found = NULL;
  for (struct sim_clique *clique = cliques; clique && !found; clique = clique->next)
    found = ask(clique);
  return found;
}

bool sim_is_leader(const struct sim_clique *clique, int rank) {
  const int pid = atomic_load(&clique->wire->rank[rank].pid);
  for (int r = 0; r < rank; r++)
    if (atomic_load(&clique->wire->rank[r].pid) == pid)
      return false;
  return true;
}

static struct sim_clique *clique_new(int ranks) {
  struct sim_clique *clique = sim_allocate(sizeof *clique);
  memset(clique, 0, sizeof *clique);
  clique->ranks = ranks;
  clique->next = cliques;
  cliques = clique;
  sim_nccl_watch();
  return clique;
}

static struct ncclComm *comm_new(struct sim_clique *clique, int rank, int device) {
  struct ncclComm *comm = sim_allocate(sizeof *comm);
  *comm = (struct ncclComm){.clique = clique, .rank = rank, .device = device};
  clique->local[rank] = comm;
  clique->gone[rank] = false;
  sim_clique_retain(clique);
  return comm;
}

// ---- waiting for other processes ----

static bool has_ended(pid_t pid) {
  char path[64], line[256] = "";
  if (kill(pid, 0) != 0 && errno == ESRCH)
    return true;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return false;
  const char *state = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
  fclose(file);
  return state && (state[2] == 'Z' || state[2] == 'X');
}

struct sim_patience sim_patience_begin(struct sim_clique *clique, const char *doing, unsigned long long number) {
  const long long now = sim_now();
  return (struct sim_patience){.clique = clique,
                               .doing = doing,
                               .number = number,
                               .deadline = now + sim.config.nccl_seconds * 1000000000ll,
                               .checked = now};
}

static void name_the_doing(const struct sim_patience *p, char text[80]) {
  if (p->number)
    snprintf(text, 80, "%s, collective %llu of its communicator", p->doing, p->number);
  else
    snprintf(text, 80, "%s", p->doing);
}

// Who keeps the others waiting, as "ranks 1, 3".
static void name_the_late(const struct sim_patience *p, bool (*waits)(void *, int), void *context, char text[120]) {
  int used = 0, late = 0;
  for (int r = 0; r < p->clique->ranks; r++)
    late += waits(context, r);
  used = snprintf(text, 120, "rank%s", late == 1 ? "" : "s");
  for (int r = 0, told = 0; r < p->clique->ranks && used < 110; r++)
    if (waits(context, r))
      used += snprintf(text + used, 120 - (size_t)used, "%s%d", told++ ? ", " : " ", r);
}

bool sim_patience_wait(struct sim_patience *p, bool (*waits)(void *, int), void *context, char problem[SIM_NCCL_TEXT]) {
  struct sim_wire *wire = p->clique->wire;
  const long long now = sim_now();
  char doing[80], late[120];
  name_the_doing(p, doing);
  if (now - p->checked > 50000000) {
    p->checked = now;
    for (int r = 0; r < p->clique->ranks; r++) {
      const pid_t pid = atomic_load(&wire->rank[r].pid);
      if (!waits(context, r) || pid == 0)
        continue;
      const bool left = atomic_load(&wire->rank[r].left);
      if (!left && !has_ended(pid))
        continue;
      snprintf(problem, SIM_NCCL_TEXT, "%s: rank %d %s", doing, r,
               left ? "has destroyed its communicator" : "has died");
      return false;
    }
  }
  if (atomic_load(&wire->failed)) {
    snprintf(problem, SIM_NCCL_TEXT, "%s: another rank of the communicator has failed, and says why", doing);
    return false;
  }
  if (now > p->deadline) {
    name_the_late(p, waits, context, late);
    snprintf(problem, SIM_NCCL_TEXT, "%s: %s did not come within %d s (FERRY_SIM_NCCL_SECONDS)", doing, late,
             sim.config.nccl_seconds);
    return false;
  }
  p->turns++;
  const int locks = sim_execution_pause(); // what the others wait for may be another thread's to run here
  if (p->turns < 200)
    sched_yield();
  else
    nanosleep(&(struct timespec){.tv_nsec = p->turns < 1000 ? 50000 : 1000000}, NULL);
  sim_execution_resume(locks);
  return true;
}

// ---- beginning ----

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  if (id == NULL)
    return sim_nccl_refuse(ncclInvalidArgument, "ncclGetUniqueId", "the id is NULL");
  memset(id, 0, sizeof *id);
  unsigned long long drawn[2];
  if (getrandom(drawn, sizeof drawn, 0) != sizeof drawn)
    return ncclSystemError;
  snprintf(id->internal, sizeof id->internal, "ferry-nccl-%016llx%016llx", drawn[0], drawn[1]);
  return ncclSuccess;
}

static struct sim_clique *clique_of(const char *name, int ranks) {
  for (struct sim_clique *clique = cliques; clique; clique = clique->next)
    if (strcmp(clique->name, name) == 0)
      return clique;
  struct sim_wire *wire = wire_open(name, ranks);
  if (wire == NULL)
    return NULL;
  struct sim_clique *clique = clique_new(ranks);
  snprintf(clique->name, sizeof clique->name, "%s", name);
  clique->wire = wire;
  return clique;
}

// A rank that came, and may still have to wait for the others (init_finish).
static __thread struct ncclComm *beginning[SIM_NCCL_RANKS];
static __thread ncclComm_t *wanted[SIM_NCCL_RANKS];
static __thread int beginning_count;

static ncclResult_t init_begin(ncclComm_t *comm, int ranks, const char *name, int rank) {
  static const char function[] = "ncclCommInitRank";
  sim_nccl_lock();
  struct sim_clique *clique = clique_of(name, ranks);
  int none = 0, known = ranks;
  const char *problem = NULL;
  if (clique == NULL)
    problem = "no memory can be shared with other processes (shm_open)";
  else if (clique->ranks != ranks ||
           (atomic_compare_exchange_strong(&clique->wire->ranks, &none, ranks), none && none != known))
    problem = "the ranks give different numbers of ranks for one id";
  none = 0;
  if (!problem && !atomic_compare_exchange_strong(&clique->wire->rank[rank].pid, &none, (int)getpid()))
    problem = "this rank has come already: each rank of an id comes once";
  if (!problem) {
    beginning[beginning_count] = comm_new(clique, rank, sim_current_device);
    wanted[beginning_count++] = comm;
    atomic_fetch_add(&clique->wire->came, 1);
  }
  sim_nccl_unlock();
  return problem ? sim_nccl_refuse(ncclInvalidUsage, function, "rank %d of %d: %s", rank, ranks, problem) : ncclSuccess;
}

static bool has_no_pid(void *context, int rank) {
  return atomic_load(&((struct sim_clique *)context)->wire->rank[rank].pid) == 0;
}

static ncclResult_t init_wait(struct ncclComm *comm) {
  struct sim_clique *clique = comm->clique;
  struct sim_patience patience = sim_patience_begin(clique, "ncclCommInitRank", 0);
  char problem[SIM_NCCL_TEXT];
  while (atomic_load(&clique->wire->came) < clique->ranks)
    if (!sim_patience_wait(&patience, has_no_pid, clique, problem)) {
      shm_unlink(clique->name);
      return sim_clique_fail(clique, ncclRemoteError, false, problem);
    }
  int here = 0;
  for (int r = 0; r < clique->ranks; r++)
    here += atomic_load(&clique->wire->rank[r].pid) == (int)getpid();
  sim_nccl_lock();
  clique->local_count = here;
  shm_unlink(clique->name); // the name is no longer needed
  sim_nccl_unlock();
  return ncclSuccess;
}

ncclResult_t sim_nccl_init_finish(void) {
  ncclResult_t result = ncclSuccess;
  for (int i = 0; i < beginning_count; i++) {
    ncclResult_t error = init_wait(beginning[i]);
    if (error == ncclSuccess)
      *wanted[i] = beginning[i];
    else
      ncclCommDestroy(beginning[i]);
    result = result ? result : error;
  }
  beginning_count = 0;
  return result;
}

ncclResult_t sim_nccl_init_rank(ncclComm_t *comm, int ranks, const ncclUniqueId *id, int rank) {
  static const char function[] = "ncclCommInitRank";
  if (sim_enter() != cudaSuccess)
    return ncclUnhandledCudaError;
  if (comm == NULL || ranks < 1 || ranks > SIM_NCCL_RANKS || rank < 0 || rank >= ranks)
    return sim_nccl_refuse(ncclInvalidArgument, function, "rank %d of %d: the simulator has ranks 0 to %d", rank, ranks,
                           SIM_NCCL_RANKS - 1);
  if (strncmp(id->internal, "ferry-nccl-", 11) != 0 || memchr(id->internal, '\0', 48) == NULL)
    return sim_nccl_refuse(ncclInvalidArgument, function, "the id is not one of ncclGetUniqueId's");
  if (beginning_count == SIM_NCCL_RANKS)
    return sim_nccl_refuse(ncclInvalidUsage, function, "more than %d ranks in one group", SIM_NCCL_RANKS);
  char name[48];
  snprintf(name, sizeof name, "/%.46s", id->internal);
  return init_begin(comm, ranks, name, rank);
}

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int count, const int *devices) {
  static const char function[] = "ncclCommInitAll";
  if (sim_enter() != cudaSuccess)
    return ncclUnhandledCudaError;
  if (comms == NULL || count < 1 || count > sim.config.devices)
    return sim_nccl_refuse(ncclInvalidArgument, function, "%d communicators, and there are %d devices", count,
                           sim.config.devices);
  for (int i = 0; i < count; i++) {
    int device = devices ? devices[i] : i;
    if (!sim_is_device(device))
      return sim_nccl_refuse(ncclInvalidArgument, function, "there is no device %d", device);
    for (int j = 0; j < i; j++)
      if (devices && devices[j] == device)
        return sim_nccl_refuse(ncclInvalidUsage, function, "device %d is named twice", device);
  }
  sim_nccl_lock();
  struct sim_clique *clique = clique_new(count);
  clique->local_count = count;
  for (int i = 0; i < count; i++)
    comms[i] = comm_new(clique, i, devices ? devices[i] : i);
  sim_nccl_unlock();
  return ncclSuccess;
}

// ---- ending ----

// Before the last rank leaves, those that another rank here still waits for are ended by the watch.
static ncclResult_t leave_clique(ncclComm_t comm) {
  struct sim_clique *clique = comm->clique;
  sim_nccl_lock();
  clique->local[comm->rank] = NULL;
  clique->gone[comm->rank] = true;
  if (clique->wire)
    atomic_store(&clique->wire->rank[comm->rank].left, true);
  sim_clique_release(clique);
  sim_nccl_unlock();
  free(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (comm == NULL)
    return sim_nccl_refuse(ncclInvalidArgument, "ncclCommFinalize", "the communicator is NULL");
  sim_nccl_lock();
  struct sim_node *last = sim_node_retain(comm->clique->last);
  sim_nccl_unlock();
  sim_node_wait(last);
  sim_node_release(last);
  return (ncclResult_t)atomic_load(&comm->clique->error);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == NULL)
    return ncclSuccess; // as NCCL does
  if (comm->clique->error == ncclSuccess)
    ncclCommFinalize(comm); // the others still need this rank for what it has called
  return leave_clique(comm);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == NULL)
    return ncclSuccess;
  char problem[80];
  snprintf(problem, sizeof problem, "rank %d has aborted the communicator", comm->rank);
  sim_nccl_lock();
  if (comm->clique->open || (comm->clique->last && !atomic_load(&comm->clique->last->done)))
    sim_clique_fail(comm->clique, ncclInvalidUsage, false, problem);
  sim_nccl_unlock();
  return leave_clique(comm);
}
