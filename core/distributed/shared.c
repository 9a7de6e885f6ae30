// SPDX-License-Identifier: MIT
// Reductions in memory that all ranks of a host map.
#include "distributed/shared.h"
#include "distributed/reduce.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_BYTES = 4096, MOST_RANKS = 256, PIECE_BYTES = 4096, LINE_BYTES = 64 };

static const char name[] = "ferry-buckets";

// The beginning of a segment. Only its rank writes it.
typedef struct Header {
  uint64_t token;                             // of this segment and no other
  _Alignas(LINE_BYTES) _Atomic uint64_t done; // reductions whose share this rank has done
} Header;

struct FyShared {
  FyObject object;
  int ranks, own;  // of its group, which may be gone before it
  int *members;    // [ranks] of the program
  uint64_t rounds; // reductions begun, under the engine's lock
  size_t bytes;    // mapped, of each
  Header **mapped; // [ranks]
};

static _Atomic int64_t reductions, reduced_bytes;

void fy_shared_traffic(int64_t *calls, int64_t *bytes) {
  *calls = atomic_load(&reductions);
  *bytes = atomic_load(&reduced_bytes);
}

static void destroy_shared(void *object) {
  FyShared *shared = object;
  for (int r = 0; shared->mapped && r < shared->ranks; r++)
    if (shared->mapped[r])
      munmap(shared->mapped[r], shared->bytes);
  free(shared->mapped);
  free(shared->members);
  free(shared);
}

static void *data_of(const FyShared *shared, int rank, size_t offset) {
  return (char *)shared->mapped[rank] + HEADER_BYTES + offset;
}

void *fy_shared_data(FyShared *shared) {
  return data_of(shared, shared->own, 0);
}

// ---- making --------------------------------------------------------------------------------------------------------------

// What a rank tells the others of its segment.
typedef struct Offer {
  uint64_t token;
  int64_t pid;
  int32_t file; // -1: it has none
  int32_t unused;
} Offer;

static bool is_on_one_host(const FyGroup *group) {
  const FyRankInfo *own = &fy_distributed.info[fy_distributed.rank];
  for (int r = 0; r < group->size; r++)
    if (strcmp(fy_distributed.info[group->ranks[r]].host, own->host) != 0)
      return false;
  return true;
}

static bool is_switched_off(void) {
  const char *set = getenv("FERRY_DISTRIBUTED_SHARED");
  return set && strcmp(set, "OFF") == 0;
}

// All pages at once: a share is no place for page faults.
static Header *map(int file, size_t bytes) {
  void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  return start == MAP_FAILED ? NULL : start;
}

// A file without a name: nothing is left of it when the ranks have ended, however they did.
static Offer make_own(FyShared *shared, const FyGroup *group) {
  Offer offer = {.pid = getpid(), .file = -1};
  const int own = shared->own;
  if (is_switched_off() || !is_on_one_host(group) || shared->ranks > MOST_RANKS ||
      getrandom(&offer.token, sizeof offer.token, 0) != sizeof offer.token)
    return offer;
  const int file = memfd_create(name, MFD_CLOEXEC);
  if (file >= 0 && posix_fallocate(file, 0, (off_t)shared->bytes) == 0)
    shared->mapped[own] = map(file, shared->bytes);
  if (shared->mapped[own]) {
    shared->mapped[own]->token = offer.token;
    offer.file = file;
  } else if (file >= 0) {
    close(file);
  }
  return offer;
}

// The process of this number may be another one here, where hosts or containers have one name, and the file some other: its
// name is looked at before it is opened, and its token tells.
static bool map_other(FyShared *shared, int rank, const Offer *offer) {
  char path[64], target[64] = "", expected[64];
  struct stat is;
  snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)offer->pid, (int)offer->file);
  snprintf(expected, sizeof expected, "/memfd:%s (deleted)", name);
  if (offer->file < 0 || readlink(path, target, sizeof target - 1) < 0 || strcmp(target, expected) != 0)
    return false;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0)
    return false;
  if (fstat(file, &is) == 0 && (size_t)is.st_size == shared->bytes)
    shared->mapped[rank] = map(file, shared->bytes);
  close(file);
  return shared->mapped[rank] && shared->mapped[rank]->token == offer->token;
}

// Has every rank all the others' segments?
static bool exchange(FyShared *shared, FyGroup *group, const Offer *own) {
  Offer offers[group->size];
  uint8_t all = 1, answers[group->size];
  fy_group_gather_bytes(group, own, offers, sizeof *own);
  for (int r = 0; r < group->size; r++)
    all &= r == group->rank ? own->file >= 0 : (uint8_t)map_other(shared, r, &offers[r]);
  fy_group_gather_bytes(group, &all, answers, 1);
  for (int r = 0; r < group->size; r++)
    all &= answers[r];
  return all;
}

FyShared *fy_shared_new(FyGroup *group, size_t bytes) {
  FyShared *shared = fy_object_new(sizeof *shared, destroy_shared);
  shared->ranks = group->size;
  shared->own = group->rank;
  shared->bytes = HEADER_BYTES + bytes;
  shared->mapped = calloc((size_t)group->size, sizeof(Header *));
  shared->members = calloc((size_t)group->size, sizeof(int));
  fy_check(shared->mapped && shared->members, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a group of %d ranks",
           group->size);
  memcpy(shared->members, group->ranks, (size_t)group->size * sizeof(int));
  const Offer own = make_own(shared, group);
  bool all = false;
  FyError error;
  fy_trap(error) {
    all = exchange(shared, group, &own);
  }
  if (own.file >= 0)
    close(own.file); // the others have opened it, or do without
  if (error.kind)
    fy_raise_again(&error);
  if (all)
    return shared;
  fy_drop(shared);
  return NULL;
}

// ---- which tensors --------------------------------------------------------------------------------------------------------

void fy_shared_note(FyWork *work, const FyTensor *tensor) {
  FyObject *owner = tensor->storage->owner;
  const FyGroup *group = work->group;
  const size_t bytes = work->call.count * fy_dtype_size(work->call.dtype);
  if (!owner || owner->destroy != destroy_shared || bytes * (size_t)(group->size - 1) <= FY_SHORT_BYTES)
    return;
  FyShared *shared = (FyShared *)owner;
  if (shared->ranks != group->size || memcmp(shared->members, group->ranks, (size_t)group->size * sizeof(int)) != 0)
    return;
  work->shared = shared; // the work's tensor holds it
  work->call.segment = shared->mapped[0]->token;
  work->call.offset = (uint64_t)((const char *)tensor->array.data - (const char *)fy_shared_data(shared));
}

bool fy_is_shared(const FyWork *work) {
  const FyGroup *group = work->group;
  if (!work->shared || work->call.kind != FY_CALL_ALL_REDUCE)
    return false;
  for (int r = 0; r < group->size; r++) {
    const FyCollectiveCall *other = r == group->rank ? &work->call : fy_announced(group, r);
    if (other->segment != work->call.segment || other->offset != work->call.offset)
      return false;
  }
  return true;
}

// ---- reducing --------------------------------------------------------------------------------------------------------------

// Two ranks' float32 numbers, the most frequent case, in one pass. Half of each is the other core's.
static void add_two(float *restrict a, float *restrict b, size_t count, float share) {
  for (size_t i = 0; i < count; i++)
    a[i] = b[i] = (a[i] + b[i]) * share;
}

// Piece by piece, so that the sum stays in the nearest cache.
static void reduce_piece(const FyShared *shared, const FyCollectiveCall *call, size_t offset, size_t count) {
  _Alignas(LINE_BYTES) char sum[PIECE_BYTES];
  const size_t bytes = count * fy_dtype_size(call->dtype);
  memcpy(sum, data_of(shared, 0, offset), bytes);
  for (int r = 1; r < shared->ranks; r++)
    fy_reduce_two(sum, data_of(shared, r, offset), count, call->dtype, (FyReduceOp)call->op);
  if (call->op == FY_REDUCE_OP_AVG)
    fy_reduce_divide(sum, count, call->dtype, shared->ranks);
  for (int r = 0; r < shared->ranks; r++)
    memcpy(data_of(shared, r, offset), sum, bytes);
}

static void reduce_share(const FyShared *shared, const FyCollectiveCall *call, size_t first, size_t last) {
  const size_t size = fy_dtype_size(call->dtype), piece = PIECE_BYTES / size;
  const bool sums = call->op == FY_REDUCE_OP_SUM || call->op == FY_REDUCE_OP_AVG;
  if (shared->ranks == 2 && call->dtype == FY_FLOAT32 && sums) {
    const size_t offset = call->offset + first * size;
    add_two(data_of(shared, 0, offset), data_of(shared, 1, offset), last - first,
            call->op == FY_REDUCE_OP_AVG ? 0.5f : 1);
    return;
  }
  for (size_t at = first; at < last; at += piece)
    reduce_piece(shared, call, call->offset + at * size, last - at < piece ? last - at : piece);
}

// Shares end at cache lines, so that no line is two cores'.
static size_t share_begin(const FyCollectiveCall *call, int rank, int ranks) {
  const size_t line = LINE_BYTES / fy_dtype_size(call->dtype), lines = (call->count + line - 1) / line;
  const size_t begin = lines * (size_t)rank / (size_t)ranks * line;
  return begin < call->count ? begin : call->count;
}

void fy_shared_reduce(FyWork *work) {
  FyShared *shared = work->shared;
  const int own = work->group->rank;
  work->began = fy_seconds_now();
  work->round = ++shared->rounds;
  reduce_share(shared, &work->call, share_begin(&work->call, own, shared->ranks),
               share_begin(&work->call, own + 1, shared->ranks));
  atomic_fetch_add(&reductions, 1);
  atomic_fetch_add(&reduced_bytes, (int64_t)(work->call.count * fy_dtype_size(work->call.dtype)));
  atomic_store_explicit(&shared->mapped[own]->done, work->round, memory_order_release);
}

static bool waits_for_share(const FyWork *work, int rank) {
  return atomic_load_explicit(&work->shared->mapped[rank]->done, memory_order_acquire) < work->round;
}

bool fy_shared_done(FyWork *work, bool waiting) {
  bool all = true;
  for (int r = 0; r < work->group->size && all; r++)
    all = !waits_for_share(work, r);
  if (!all && work->quiet && !waiting)
    work->began = fy_seconds_now();
  else if (!all)
    fy_check_patience(work, waits_for_share);
  return all || work->failed;
}
