// SPDX-License-Identifier: MIT
// Parallel loops over a small pool of threads.
//
// The pool is our own rather than OpenMP's because of what happens on a busy machine: OpenMP's threads wait for each other
// by spinning, and one other program can make a region a hundred times slower. Here the caller takes over every part that
// no worker has begun, and everyone who waits spins for some microseconds only, then sleeps. oneDNN is called with one
// thread, from inside the parts.
#include "base/threads.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 256, SPINS = 4000 }; // of about 10 ns each
enum { LATE_NS = 50000 };                 // a worker that has not noticed a loop for so long has no core

typedef void Body(int64_t begin, int64_t end, void *context);

typedef struct Worker {
  _Alignas(64) atomic_uint seen; // the last loop that it has noticed
  atomic_int thread;             // the system's number of it, 0 until it has run
  unsigned had_seen;             // when it was last looked at
  int64_t late;                  // since when it has not noticed a loop, 0: it has
  bool moved;                    // since then
} Worker;

static struct {
  pthread_mutex_t owner; // held by the thread whose loop is running
  pthread_mutex_t lock;  // of what follows
  pthread_cond_t work, done;
  Worker worker[MAX_THREADS];
  int workers, sleeping;
  bool caller_sleeps;
  bool missed; // the caller took the part of a worker in the last loop
  Body *body;
  void *context;
  int64_t n;
  int parts, next;
  atomic_int finished;
  atomic_uint loops; // counts loops begun: what workers watch
} pool = {.owner = PTHREAD_MUTEX_INITIALIZER,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .work = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static atomic_int requested;
static _Thread_local bool inside;

static int default_threads(void) {
  const char *text = getenv("OMP_NUM_THREADS");
  int limit = text ? atoi(text) : 0;
  cpu_set_t set;
  int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return limit > 0 ? limit : cores;
}

int fy_get_num_threads(void) {
  static atomic_int known;
  int threads = atomic_load_explicit(&requested, memory_order_relaxed);
  if (threads > 0)
    return threads;
  threads = atomic_load_explicit(&known, memory_order_relaxed);
  if (threads == 0) {
    threads = default_threads();
    threads = threads > MAX_THREADS ? MAX_THREADS : threads;
    atomic_store_explicit(&known, threads, memory_order_relaxed);
  }
  return threads;
}

void fy_set_num_threads(int n) {
  atomic_store(&requested, n > MAX_THREADS ? MAX_THREADS : n > 0 ? n : 0);
}

static void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Takes parts of the current loop until there are none left. Returns how many it took.
static int take_parts(void) {
  for (int taken = 0;; taken++) {
    pthread_mutex_lock(&pool.lock);
    int part = pool.next < pool.parts ? pool.next++ : -1;
    int64_t n = pool.n, parts = pool.parts;
    Body *body = pool.body;
    void *context = pool.context;
    pthread_mutex_unlock(&pool.lock);
    if (part < 0)
      return taken;
    body(n * part / parts, n * (part + 1) / parts, context);
    if (atomic_fetch_add_explicit(&pool.finished, 1, memory_order_acq_rel) + 1 < parts)
      continue;
    pthread_mutex_lock(&pool.lock);
    if (pool.caller_sleeps)
      pthread_cond_signal(&pool.done);
    pthread_mutex_unlock(&pool.lock);
  }
}

static void *work(void *argument) {
  unsigned seen = 0;
  Worker *self = argument;
  atomic_store_explicit(&self->thread, gettid(), memory_order_relaxed);
  inside = true;
  for (;;) {
    for (int i = 0; i < SPINS && atomic_load_explicit(&pool.loops, memory_order_acquire) == seen; i++)
      relax();
    pthread_mutex_lock(&pool.lock);
    pool.sleeping++;
    while (atomic_load_explicit(&pool.loops, memory_order_relaxed) == seen)
      pthread_cond_wait(&pool.work, &pool.lock);
    pool.sleeping--;
    seen = atomic_load_explicit(&pool.loops, memory_order_relaxed);
    pthread_mutex_unlock(&pool.lock);
    atomic_store_explicit(&self->seen, seen, memory_order_relaxed);
    take_parts();
  }
  return NULL;
}

// A forked child has only the thread that forked.
static void forget_workers(void) {
  pool.owner = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  pool.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  pool.work = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  pool.done = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  pool.workers = pool.sleeping = 0;
}

// The caller is one of the threads; what cannot be started is done without.
static void start_workers(int threads) {
  static bool prepared;
  if (!prepared)
    pthread_atfork(NULL, NULL, forget_workers);
  prepared = true;
  while (pool.workers < threads - 1) {
    pthread_t thread;
    memset(&pool.worker[pool.workers], 0, sizeof(Worker));
    if (pthread_create(&thread, NULL, work, &pool.worker[pool.workers]) != 0)
      return;
    pthread_detach(thread);
    pool.workers++;
  }
}

// Lets a worker run on any core but the caller's for a moment, so that the scheduler moves it: a sandbox may refuse.
static void move_away(pid_t thread) {
  cpu_set_t set, others;
  const int core = sched_getcpu();
  if (core < 0 || sched_getaffinity(thread, sizeof set, &set) != 0)
    return;
  others = set;
  CPU_CLR((size_t)core, &others);
  if (CPU_COUNT(&others) > 0 && sched_setaffinity(thread, sizeof others, &others) == 0)
    sched_setaffinity(thread, sizeof set, &set);
}

static int64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

// Schedulers often queue a worker behind the caller on the same core, although another one is idle: on a virtual machine Linux takes idle
// cores for taken. There it would wait as long as the caller has work, loop after loop. Called before a new loop begins, if a worker
// did not come to the last one.
static void find_late_workers(void) {
  const unsigned loop = atomic_load_explicit(&pool.loops, memory_order_relaxed);
  int64_t now = 0;
  for (int i = 0; i < pool.workers; i++) {
    Worker *w = &pool.worker[i];
    const unsigned seen = atomic_load_explicit(&w->seen, memory_order_relaxed);
    if (seen != w->had_seen) { // it has run since
      w->had_seen = seen;
      w->late = 0;
      w->moved = false;
    }
    if (seen == loop)
      continue;
    now = now ? now : nanoseconds();
    const pid_t thread = atomic_load_explicit(&w->thread, memory_order_relaxed);
    if (!w->late) {
      w->late = now;
    } else if (!w->moved && thread && now - w->late > LATE_NS) {
      w->moved = true;
      move_away(thread);
    }
  }
}

static void begin_loop(Body *body, void *context, int64_t n, int parts) {
  if (pool.missed)
    find_late_workers();
  pthread_mutex_lock(&pool.lock);
  pool.body = body;
  pool.context = context;
  pool.n = n;
  pool.parts = parts;
  pool.next = 0;
  atomic_store_explicit(&pool.finished, 0, memory_order_relaxed);
  atomic_fetch_add_explicit(&pool.loops, 1, memory_order_release);
  if (pool.sleeping)
    pthread_cond_broadcast(&pool.work);
  pthread_mutex_unlock(&pool.lock);
}

static void end_loop(int parts) {
  for (int i = 0; i < SPINS && atomic_load_explicit(&pool.finished, memory_order_acquire) < parts; i++)
    relax();
  if (atomic_load_explicit(&pool.finished, memory_order_acquire) == parts)
    return;
  pthread_mutex_lock(&pool.lock);
  pool.caller_sleeps = true;
  while (atomic_load_explicit(&pool.finished, memory_order_acquire) < parts)
    pthread_cond_wait(&pool.done, &pool.lock);
  pool.caller_sleeps = false;
  pthread_mutex_unlock(&pool.lock);
}

void fy_parallel_for(int64_t n, int64_t grain, Body *body, void *context) {
  if (n <= 0)
    return;
  int64_t parts = grain > 0 ? n / grain : n;
  if (parts > 1 && parts > fy_get_num_threads())
    parts = fy_get_num_threads();
  // One loop at a time: a thread that finds the pool in use has its own work to do meanwhile.
  if (parts <= 1 || inside || pthread_mutex_trylock(&pool.owner) != 0) {
    body(0, n, context);
    return;
  }
  inside = true;
  start_workers((int)parts);
  begin_loop(body, context, n, (int)parts);
  pool.missed = take_parts() > 1;
  end_loop((int)parts);
  inside = false;
  pthread_mutex_unlock(&pool.owner);
}

typedef struct Turns {
  FyTurns turns;
  void (*body)(int worker, FyTurns *turns, void *context);
  void *context;
} Turns;

// One part for each thread; on the caller alone, one part is all of them.
static void begin_worker(int64_t begin, int64_t end, void *context) {
  Turns *t = context;
  (void)end;
  t->body((int)begin, &t->turns, t->context);
}

void fy_parallel_turns(int64_t n, void (*body)(int worker, FyTurns *turns, void *context), void *context) {
  Turns t = {.turns = {.n = n}, .body = body, .context = context};
  int64_t workers = fy_get_num_threads();
  fy_parallel_for(n < workers ? n : workers, 1, begin_worker, &t);
}
