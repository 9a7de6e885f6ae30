// SPDX-License-Identifier: MIT
// Announcements: before a collective, each rank tells each other what it calls, with the data where they are short. So the
// ranks know of each other's mistakes, wait without spinning, and find out who does not come.
#include "distributed/impl.h"
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TAG_ANNOUNCEMENT = 1 };

double fy_seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// ---- words -----------------------------------------------------------------------------------------------------------

static const char *op_name(int op) {
  static const char *const names[FY_REDUCE_OP_COUNT] = {"sum", "avg", "min", "max", "product"};
  return op >= 0 && op < FY_REDUCE_OP_COUNT ? names[op] : "?";
}

const char *fy_call_text(const FyCollectiveCall *call, char text[160]) {
  static const char *const names[] = {
      "all_reduce", "broadcast", "all_gather", "reduce_scatter", "barrier", "new_group", "destroy_process_group",
      "exit",       "send",      "recv"};
  char what[96] = "";
  const char *device = call->cuda ? " on CUDA" : "";
  if (call->kind == FY_CALL_ALL_REDUCE || call->kind == FY_CALL_REDUCE_SCATTER)
    snprintf(what, sizeof what, "(%s, %s, %llu elements%s)", op_name(call->op), fy_dtype_name((FyDType)call->dtype),
             (unsigned long long)call->count, device);
  else if (call->kind == FY_CALL_BROADCAST)
    snprintf(what, sizeof what, "(%s, %llu elements%s, from rank %d)", fy_dtype_name((FyDType)call->dtype),
             (unsigned long long)call->count, device, call->root);
  else if (call->kind == FY_CALL_ALL_GATHER || call->kind >= FY_CALL_SEND)
    snprintf(what, sizeof what, "(%s, %llu elements%s)", fy_dtype_name((FyDType)call->dtype),
             (unsigned long long)call->count, device);
  snprintf(text, 160, "%s%s", call->kind >= 0 && call->kind <= FY_CALL_RECV ? names[call->kind] : "?", what);
  return text;
}

void fy_work_fail(FyWork *work, const char *format, ...) {
  char call[160], place[200];
  FyGroup *group = work->group;
  snprintf(place, sizeof place, "%s, sequence %llu", fy_call_text(&work->call, call),
           (unsigned long long)work->call.sequence);
  int used = snprintf(work->failure, sizeof work->failure, "[rank %d] %s", fy_distributed.rank, place);
  if (group->number > 0)
    used += snprintf(work->failure + used, sizeof work->failure - (size_t)used, " of group %d", group->number);
  used += snprintf(work->failure + used, sizeof work->failure - (size_t)used, ": ");
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(work->failure + used, sizeof work->failure - (size_t)used, format, arguments);
  va_end(arguments);
  work->failed = true;
  work->state = FY_WORK_DONE;
  if (!group->failure[0])
    snprintf(group->failure, sizeof group->failure, "%s", work->failure);
}

// ---- who keeps us waiting ----------------------------------------------------------------------------------------------

static bool has_ended(int64_t pid) {
  char path[64], line[256] = "";
  if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
    return true;
  snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
  FILE *file = fopen(path, "re");
  if (!file)
    return false;
  const char *state = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
  fclose(file);
  return state && (state[2] == 'Z' || state[2] == 'X');
}

// Of other machines only what MPI says is known.
bool fy_rank_has_ended(const FyGroup *group, int rank) {
  const FyRankInfo *own = &fy_distributed.info[fy_distributed.rank], *info = &fy_distributed.info[group->ranks[rank]];
  return strcmp(info->host, own->host) == 0 && has_ended(info->pid);
}

static void name_ranks(const FyWork *work, bool (*waits)(const FyWork *work, int rank), char text[160]) {
  int late = 0, used;
  for (int r = 0; r < work->group->size; r++)
    late += waits(work, r);
  used = snprintf(text, 160, "rank%s", late == 1 ? "" : "s");
  for (int r = 0, told = 0; r < work->group->size && used < 140; r++)
    if (waits(work, r))
      used += snprintf(text + used, 160 - (size_t)used, "%s%d", told++ ? ", " : " ", work->group->ranks[r]);
}

void fy_check_patience(FyWork *work, bool (*waits)(const FyWork *work, int rank)) {
  static double looked; // under the engine's lock
  const double now = fy_seconds_now();
  char late[160];
  if (now - looked > 0.1) {
    looked = now;
    for (int r = 0; r < work->group->size; r++) {
      const FyRankInfo *info = &fy_distributed.info[work->group->ranks[r]];
      if (!waits(work, r) || !fy_rank_has_ended(work->group, r))
        continue;
      if (work->suspect == r + 1) { // what it sent before it ended has had time to arrive
        fy_work_fail(work, "rank %d (process %lld on %s) has died", work->group->ranks[r], (long long)info->pid,
                     info->host);
        return;
      }
      work->suspect = r + 1;
      break;
    }
  }
  if (now - work->began < fy_distributed.timeout)
    return;
  name_ranks(work, waits, late);
  fy_work_fail(work,
               work->state == FY_WORK_SHARED ? "%s called it and did not finish it within %g s"
                                             : "%s did not call it within %g s",
               late, fy_distributed.timeout);
}

// ---- announcing ----------------------------------------------------------------------------------------------------------

// The bytes that go along with this rank's announcement.
static size_t short_bytes(const FyGroup *group, const FyCollectiveCall *call, int rank) {
  size_t bytes = call->count * fy_dtype_size(call->dtype);
  if (call->cuda || call->kind > FY_CALL_REDUCE_SCATTER || (call->kind == FY_CALL_BROADCAST && rank != call->root))
    return 0;
  if (call->kind == FY_CALL_REDUCE_SCATTER)
    bytes *= (size_t)group->size;
  return bytes * (size_t)(group->size - 1) <= FY_SHORT_BYTES ? bytes : 0;
}

static void check_mpi(FyWork *work, int error) {
  if (error && !work->failed)
    fy_work_fail(work, "MPI says: %s", fy_distributed.mpi->error_string(error));
}

void fy_announce(FyWork *work) {
  FyGroup *group = work->group;
  const size_t bytes = short_bytes(group, &work->call, group->rank);
  work->began = fy_seconds_now();
  work->state = FY_WORK_ANNOUNCED;
  memcpy(group->outgoing, &work->call, sizeof work->call);
  if (bytes > 0)
    memcpy(group->outgoing + sizeof work->call, work->in, bytes);
  for (int i = 1; i < group->size; i++) {
    const int from = (group->rank + group->size - i) % group->size;
    check_mpi(work, fy_distributed.mpi->receive(group->comm, group->incoming + (size_t)from * FY_ANNOUNCEMENT_BYTES,
                                                FY_ANNOUNCEMENT_BYTES, from, TAG_ANNOUNCEMENT, &group->requests[from]));
  }
  for (int i = 1; i < group->size; i++) {
    const int to = (group->rank + i) % group->size;
    check_mpi(work, fy_distributed.mpi->send(group->comm, group->outgoing, sizeof work->call + bytes, to,
                                             TAG_ANNOUNCEMENT, &group->requests[group->size + to]));
  }
}

static bool waits_for_announcement(const FyWork *work, int rank) {
  return work->group->requests[rank] != NULL;
}

const FyCollectiveCall *fy_announced(const FyGroup *group, int rank) {
  return (const FyCollectiveCall *)(const void *)(group->incoming + (size_t)rank * FY_ANNOUNCEMENT_BYTES);
}

static bool ends(const FyCollectiveCall *call) {
  return call->kind == FY_CALL_DESTROY || call->kind == FY_CALL_LEAVE;
}

static bool same(const FyCollectiveCall *a, const FyCollectiveCall *b) {
  return a->kind == b->kind && a->dtype == b->dtype && a->op == b->op && a->root == b->root && a->count == b->count &&
         a->cuda == b->cuda;
}

static void compare(FyWork *work) {
  const FyGroup *group = work->group;
  char text[160];
  for (int r = 0; r < group->size && !work->failed; r++) {
    const FyCollectiveCall *other = fy_announced(group, r);
    if (r == group->rank || same(&work->call, other) || (ends(&work->call) && ends(other)))
      continue;
    if (other->kind == FY_CALL_LEAVE)
      fy_work_fail(work, "rank %d has ended without calling it", group->ranks[r]);
    else
      fy_work_fail(work, "rank %d called %s", group->ranks[r], fy_call_text(other, text));
  }
}

bool fy_announcements_arrived(FyWork *work) {
  FyGroup *group = work->group;
  bool all = true;
  for (int i = 0; i < 2 * group->size && !work->failed; i++) {
    if (group->requests[i])
      check_mpi(work, fy_distributed.mpi->test(&group->requests[i]));
    all = all && !group->requests[i];
  }
  if (all && !work->failed)
    compare(work);
  else if (!work->failed)
    fy_check_patience(work, waits_for_announcement);
  return all || work->failed;
}
