// SPDX-License-Identifier: MIT
// The engine: one queue of collectives for all groups, in the order of the calls, and the messages beside it. Whoever waits
// drives it, and while nobody does, a thread.
#include "base/watch.h"
#include "distributed/shared.h"
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begun = PTHREAD_COND_INITIALIZER;
static FyWork *queue_first, *queue_last; // collectives, counted
static FyWork *messages;                 // in the order of the calls, counted
static FyWork *finished;                 // counted; let go of by the next caller, whose thread may free tensors
static int waiting;                      // threads that drive the engine
static _Atomic(FyWork *) in_mpi;         // a collective that MPI has been given, with no way back
static _Atomic double in_mpi_since;

// ---- progress: the lock is held ------------------------------------------------------------------------------------------

static void finish(FyWork *work) {
  work->state = FY_WORK_DONE;
  work->next = finished;
  finished = work;
}

// What a profile has of it: the part in which data move, on the thread that drives.
static void run_watched(FyWork *work, bool shared) {
  static const char *const names[] = {"mpi:all_reduce", "mpi:broadcast", "mpi:all_gather", "mpi:reduce_scatter"};
  const bool told = work->call.kind <= FY_CALL_REDUCE_SCATTER && !work->call.cuda;
  const bool watched = told && fy_range_open(FY_RANGE_LIBRARY, shared ? "shared:all_reduce" : names[work->call.kind]);
  if (shared)
    fy_shared_reduce(work);
  else
    fy_run_collective(work);
  fy_range_close(watched);
}

// All have announced the same.
static void run(FyWork *work) {
  if (fy_is_shared(work)) {
    run_watched(work, true);
    work->state = FY_WORK_SHARED;
    return;
  }
  atomic_store(&in_mpi_since, fy_seconds_now());
  atomic_store(&in_mpi, work);
  run_watched(work, false);
  atomic_store(&in_mpi, NULL);
  work->state = FY_WORK_DONE;
}

static bool advance_queue(void) {
  FyWork *head = queue_first;
  bool moved = false;
  if (!head)
    return false;
  if (head->state == FY_WORK_QUEUED) {
    if (head->group->failure[0])
      fy_work_fail(head, "%s", head->group->failure);
    else
      fy_announce(head);
    moved = true;
  }
  if (head->state == FY_WORK_ANNOUNCED && fy_announcements_arrived(head)) {
    if (!head->failed)
      run(head);
    else
      head->state = FY_WORK_DONE;
    moved = true;
  }
  if (head->state == FY_WORK_SHARED && fy_shared_done(head, waiting > 0))
    head->state = FY_WORK_DONE;
  if (head->state != FY_WORK_DONE)
    return moved;
  queue_first = head->next;
  queue_last = queue_first ? queue_last : NULL;
  finish(head);
  return true;
}

// The data of messages in one direction with one rank go in the order of the calls.
static bool is_first(const FyWork *work) {
  for (const FyWork *before = messages; before != work; before = before->next)
    if (before->group == work->group && before->call.kind == work->call.kind && before->call.root == work->call.root)
      return false;
  return true;
}

static bool advance_messages(void) {
  bool moved = false;
  for (FyWork **link = &messages; *link;) {
    FyWork *work = *link;
    moved |= fy_advance_message(work, is_first(work));
    if (work->state != FY_WORK_DONE) {
      link = &work->next;
      continue;
    }
    *link = work->next;
    finish(work);
  }
  return moved;
}

static bool advance(void) {
  bool moved = advance_queue();
  return (messages && advance_messages()) || moved;
}

// ---- those who drive it ----------------------------------------------------------------------------------------------------

static void nap(long nanoseconds) {
  nanosleep(&(struct timespec){.tv_nsec = nanoseconds}, NULL);
}

// A waiting rank first looks again and again, then lets others have the core, then sleeps.
static void pause_after(int turns) {
  static const int looks = 300, yields = 3000;
  if (turns < looks)
    return;
  if (turns < yields)
    sched_yield();
  else
    nap(turns < 4000 ? 20000 : 500000);
}

static void *work_behind(void *unused) {
  (void)unused;
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL); // naps of the length asked for
  int turns = 0;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (waiting > 0 || (!queue_first && !messages)) {
      pthread_cond_wait(&begun, &lock);
      turns = 0;
    }
    turns = advance() ? 0 : turns + 1;
    pthread_mutex_unlock(&lock);
    if (turns > 0)
      nap(turns < 20 ? 30000 : turns < 100 ? 100000 : 500000); // the computation needs the core
    pthread_mutex_lock(&lock);
  }
  return NULL;
}

// MPI's own collectives wait for ever when a rank dies in the middle of one. Then this process cannot go on, and says so.
static void end_process(const FyWork *work) {
  char text[160], ended[160] = "";
  size_t used = 0;
  for (int r = 0; r < work->group->size; r++)
    if (r != work->group->rank && fy_rank_has_ended(work->group, r) && used + 12 < sizeof ended)
      used += (size_t)snprintf(ended + used, sizeof ended - used, "%s%d", used ? ", " : "rank ", work->group->ranks[r]);
  if (used > 0)
    snprintf(ended + used, sizeof ended - used, " has died in the middle of it");
  else
    snprintf(ended, sizeof ended, "all ranks have called it, and MPI has not done it within %g s",
             fy_distributed.timeout);
  fprintf(stderr, "RuntimeError: [rank %d] %s, sequence %llu: %s\n", fy_distributed.rank,
          fy_call_text(&work->call, text), (unsigned long long)work->call.sequence, ended);
  fflush(stdout);
  _exit(1);
}

static bool is_lost(const FyWork *work) {
  for (int r = 0; r < work->group->size; r++)
    if (r != work->group->rank && fy_rank_has_ended(work->group, r))
      return true;
  return fy_seconds_now() - atomic_load(&in_mpi_since) > fy_distributed.timeout;
}

static void *watch(void *unused) {
  (void)unused;
  for (;;) {
    nap(200000000);
    FyWork *work = atomic_load(&in_mpi);
    if (work && fy_seconds_now() - atomic_load(&in_mpi_since) > 0.2 && is_lost(work)) {
      nap(100000000); // it may just be done with
      if (atomic_load(&in_mpi) == work)
        end_process(work);
    }
  }
  return NULL;
}

static void start_thread(void *(*body)(void *)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, NULL) == 0) // without it, works go on when they are waited for
    pthread_detach(thread);
}

static void start_behind(void) {
  start_thread(work_behind);
}

static void start_watch(void) {
  start_thread(watch);
}

// ---- for the others ----------------------------------------------------------------------------------------------------------

static void destroy_work(void *object) {
  FyWork *work = object;
  for (int i = 0; i < 2; i++)
    fy_release(work->tensors[i]);
  fy_release(work->event);
  free(work);
}

FyWork *fy_work_new(FyGroup *group, FyCollectiveCall call, const void *in, void *out) {
  FyWork *work = fy_object_new(sizeof *work, destroy_work);
  work->group = group;
  work->call = call;
  work->in = in;
  work->out = out;
  return work;
}

// Lets go of what is done, on the thread of a caller.
static void sweep(FyWork *list) {
  while (list) {
    FyWork *next = list->next;
    fy_release(list);
    list = next;
  }
}

static FyWork *take_finished(void) {
  FyWork *list = finished;
  finished = NULL;
  return list;
}

static void enter(FyWork *work) {
  fy_retain(work);
  work->next = NULL;
  if (work->call.kind >= FY_CALL_SEND) {
    FyWork **link = &messages;
    while (*link)
      link = &(*link)->next;
    *link = work;
    fy_begin_message(work);
    return;
  }
  if (queue_last)
    queue_last->next = work;
  else
    queue_first = work;
  queue_last = work;
  if (queue_first == work)
    advance_queue(); // announce it
}

void fy_engine_start(FyWork *work, bool behind) {
  static pthread_once_t behind_once = PTHREAD_ONCE_INIT, watch_once = PTHREAD_ONCE_INIT;
  pthread_once(&watch_once, start_watch);
  if (behind)
    pthread_once(&behind_once, start_behind);
  pthread_mutex_lock(&lock);
  enter(work);
  if (behind && waiting == 0)
    pthread_cond_signal(&begun);
  FyWork *list = take_finished();
  pthread_mutex_unlock(&lock);
  sweep(list);
}

static void drive(FyWork *work) {
  int turns = 0;
  pthread_mutex_lock(&lock);
  waiting++;
  while (work->state != FY_WORK_DONE) {
    turns = advance() ? 0 : turns + 1;
    if (work->state == FY_WORK_DONE || turns == 0)
      continue;
    pthread_mutex_unlock(&lock);
    pause_after(turns);
    pthread_mutex_lock(&lock);
  }
  if (--waiting == 0 && (queue_first || messages))
    pthread_cond_signal(&begun);
  FyWork *list = take_finished();
  pthread_mutex_unlock(&lock);
  sweep(list);
}

void fy_engine_wait(FyWork *work) {
  fy_retain(work);
  drive(work);
  char failure[FY_FAILURE_TEXT];
  const bool failed = work->failed;
  if (failed)
    memcpy(failure, work->failure, sizeof failure);
  fy_release(work);
  if (failed)
    fy_raise(FY_RUNTIME_ERROR, "%s", failure);
}

bool fy_engine_is_done(FyWork *work) {
  pthread_mutex_lock(&lock);
  if (work->state != FY_WORK_DONE)
    advance();
  const bool done = work->state == FY_WORK_DONE;
  pthread_mutex_unlock(&lock);
  return done;
}

// ---- the end of the process ----------------------------------------------------------------------------------------------------

static bool lock_within(double seconds) {
  const double until = fy_seconds_now() + seconds;
  while (pthread_mutex_trylock(&lock) != 0) {
    if (fy_seconds_now() > until)
      return false;
    nap(1000000);
  }
  return true;
}

// What is under way is finished first: the others count on it.
static void finish_all(double until) {
  for (int turns = 0; (queue_first || messages) && fy_seconds_now() < until; turns++)
    if (!advance())
      pause_after(turns);
}

bool fy_engine_leave(void) {
  bool all = false;
  if (!lock_within(1))
    return false;
  waiting++; // the thread behind keeps out of the way
  finish_all(fy_seconds_now() + 5);
  for (FyGroup *group = fy_distributed.groups; group && !queue_first; group = group->next) {
    if (group->failure[0])
      continue;
    static FyWork work; // never done with: the announcements may arrive later
    work = (FyWork){.group = group, .call = {.kind = FY_CALL_LEAVE, .sequence = ++group->sequence}};
    fy_announce(&work);
    const double until = fy_seconds_now() + 5;
    int turns = 0;
    while (group->number == 0 && !all && !work.failed && fy_seconds_now() < until) {
      all = fy_announcements_arrived(&work);
      pause_after(turns++);
    }
    all = all && !work.failed;
  }
  pthread_mutex_unlock(&lock);
  return all;
}
