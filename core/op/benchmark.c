// SPDX-License-Identifier: MIT
#include "op/benchmark_impl.h"
#include "base/text.h"
#include "base/watch.h"
#include "device/runtime.h"
#include "op/op.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

static atomic_bool benchmark, deterministic, times_simulated;
static atomic_bool winograd = true;

void fy_backends_set_benchmark(bool on) {
  atomic_store(&benchmark, on);
}

bool fy_backends_benchmark(void) {
  return atomic_load(&benchmark);
}

void fy_backends_set_deterministic(bool on) {
  atomic_store(&deterministic, on);
}

bool fy_backends_deterministic(void) {
  return atomic_load(&deterministic);
}

void fy_backends_set_winograd(bool on) {
  atomic_store(&winograd, on);
}

bool fy_backends_winograd(void) {
  return atomic_load_explicit(&winograd, memory_order_relaxed);
}

bool fy_is_benchmarking(void) {
  return atomic_load_explicit(&benchmark, memory_order_relaxed) &&
         !atomic_load_explicit(&deterministic, memory_order_relaxed);
}

void fy_benchmark_time_simulated(bool on) {
  atomic_store(&times_simulated, on);
}

// ---- what is remembered ------------------------------------------------------------------------------------------------

enum { MOST_KINDS = 256 };

typedef struct Kind {
  FySearch search; // as it ended
  int chosen;      // index of a candidate; -1: the rule
  bool timed;
  uint64_t used;
} Kind;

static pthread_mutex_t searching = PTHREAD_MUTEX_INITIALIZER; // held while algorithms are timed; taken before `lock`
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;      // of what follows
static Kind kinds[MOST_KINDS];
static int kind_count, kind_limit = MOST_KINDS;
static uint64_t uses;
static FyBenchmarkCounts counts;

static Kind *find(const int64_t *key) {
  for (int i = 0; i < kind_count; i++)
    if (memcmp(kinds[i].search.key, key, sizeof kinds[i].search.key) == 0)
      return &kinds[i];
  return NULL;
}

// Whether the kind is known, and by which algorithm it is computed.
static bool recall(const int64_t *key, int *algorithm) {
  pthread_mutex_lock(&lock);
  Kind *kind = find(key);
  if (kind) {
    kind->used = ++uses;
    *algorithm = kind->chosen < 0 ? 0 : kind->search.candidates[kind->chosen].algorithm;
  }
  pthread_mutex_unlock(&lock);
  return kind != NULL;
}

static Kind *vacate(void) {
  if (kind_count < kind_limit)
    return &kinds[kind_count++];
  Kind *oldest = &kinds[0];
  for (int i = 1; i < kind_count; i++)
    if (kinds[i].used < oldest->used)
      oldest = &kinds[i];
  return oldest;
}

static void remember(const FySearch *search, int chosen, bool timed, double seconds) {
  pthread_mutex_lock(&lock);
  *vacate() = (Kind){.search = *search, .chosen = chosen, .timed = timed, .used = ++uses};
  counts.searches += timed;
  counts.seconds += seconds;
  pthread_mutex_unlock(&lock);
}

FyBenchmarkCounts fy_backends_benchmark_counts(void) {
  pthread_mutex_lock(&lock);
  FyBenchmarkCounts now = counts;
  pthread_mutex_unlock(&lock);
  return now;
}

void fy_backends_benchmark_clear(void) {
  pthread_mutex_lock(&lock);
  kind_count = 0;
  pthread_mutex_unlock(&lock);
}

void fy_benchmark_limit(int limit) {
  fy_backends_benchmark_clear();
  pthread_mutex_lock(&lock);
  kind_limit = limit < 1 ? 1 : limit < MOST_KINDS ? limit : MOST_KINDS;
  pthread_mutex_unlock(&lock);
}

// ---- timing ------------------------------------------------------------------------------------------------------------

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int time_on_cpu(const FyLaunch *launch, FyKernel *kernel, double *seconds) {
  const double start = now();
  int status = fy_launch_alone(launch, kernel);
  *seconds = now() - start;
  return status;
}

// By events around it, which the host waits for.
static int time_on_cuda(const FyLaunch *launch, FyKernel *kernel, double *seconds) {
  const FyBackend *b = fy_backend();
  void *events[2] = {NULL, NULL};
  float milliseconds = 0;
  int status = b->event_create(&events[0], true);
  if (status == 0)
    status = b->event_create(&events[1], true);
  if (status == 0)
    status = b->event_record(events[0], launch->stream);
  if (status == 0)
    status = fy_launch_alone(launch, kernel);
  if (status == 0)
    status = b->event_record(events[1], launch->stream);
  if (status == 0)
    status = b->event_synchronize(events[1]);
  if (status == 0)
    status = b->event_elapsed(&milliseconds, events[0], events[1]);
  for (int i = 0; i < 2; i++)
    if (events[i])
      b->event_destroy(events[i]);
  *seconds = milliseconds * 1e-3;
  return status;
}

static void time_once(const FyLaunch *launch, FyKernel *kernel, FyDevice device, FySearch *search, FyCandidate *c,
                      bool counts_for_something) {
  double seconds;
  *search->algorithm = c->algorithm;
  c->status = device.type == FY_CPU ? time_on_cpu(launch, kernel, &seconds) : time_on_cuda(launch, kernel, &seconds);
  if (c->status == FY_LAUNCH_OK && counts_for_something && seconds < c->seconds)
    c->seconds = seconds;
}

static bool is_faster(const FySearch *search, int a, int b, double by) {
  return search->candidates[a].seconds < search->candidates[b].seconds * (1 - by);
}

// Index of the best so far; -1: none can. Another than the heuristic's is the best only if it is clearly faster, so that what
// disturbs the machine does not decide between equals.
static int best_of(const FySearch *search) {
  const double clearly = 0.03;
  const int rule = search->rule;
  int best = -1;
  for (int i = 0; i < search->count; i++)
    if (search->candidates[i].status == FY_LAUNCH_OK && (best < 0 || is_faster(search, i, best, 0)))
      best = i;
  if (best >= 0 && rule >= 0 && search->candidates[rule].status == FY_LAUNCH_OK &&
      !is_faster(search, best, rule, clearly))
    return rule;
  return best;
}

// In rounds, so that what disturbs the machine disturbs all: first one that counts for nothing, which makes plans and touches
// memory, then some of which the best counts, until the same one has been ahead for some rounds in a row; more of them where they
// are short. Those that are far behind after a round take no further part, except for the heuristic's.
static int search_fastest(const FyLaunch *launch, FyKernel *kernel, FyDevice device, FySearch *search) {
  enum { STABLE_ROUNDS = 4, MOST_ROUNDS = 40 };
  const double enough = 0.02; // seconds
  double begin = now();
  int best = -1, stable = 0;
  for (int i = 0; i < search->count; i++)
    search->candidates[i].seconds = INFINITY;
  for (int round = -1; round < MOST_ROUNDS && (stable < STABLE_ROUNDS || now() - begin < enough); round++) {
    for (int i = 0; i < search->count; i++) {
      FyCandidate *c = &search->candidates[i];
      const bool behind = round > 0 && i != search->rule && c->seconds > 2 * search->candidates[best].seconds;
      if (c->status == FY_LAUNCH_OK && !behind)
        time_once(launch, kernel, device, search, c, round >= 0);
    }
    const int before = best;
    best = best_of(search);
    if (best < 0)
      break;
    stable = round > 0 && best == before ? stable + 1 : 1;
    begin = round < 0 ? now() : begin;
  }
  return best;
}

static bool is_timed(FyDevice device) {
  return device.type == FY_CPU || !fy_cuda_is_simulated() || atomic_load(&times_simulated);
}

// What was chosen, remembered; 0, the rule, where nothing was found.
static int search_and_remember(const FyLaunch *launch, FyKernel *kernel, FyDevice device, FySearch *search) {
  const bool timed = is_timed(device);
  const bool watched = timed && fy_range_open(FY_RANGE_LIBRARY, "search for the fastest algorithm");
  const double start = now();
  int chosen = timed ? search_fastest(launch, kernel, device, search) : -1;
  fy_range_close(watched);
  remember(search, chosen, timed, timed ? now() - start : 0);
  return chosen < 0 ? 0 : search->candidates[chosen].algorithm;
}

// What a capture of a graph writes down does not run, and waiting would break it.
static bool is_captured(const FyLaunch *launch, FyDevice device) {
  const FyBackend *b = device.type == FY_CUDA ? fy_backend() : NULL;
  uint64_t id = 0;
  bool valid;
  return b && b->capture_info && b->capture_info(launch->stream, &id, &valid) == 0 && id != 0;
}

int fy_run_fastest(FyLaunch *launch, FyKernel *kernel, FyDevice device, FySearch *search) {
  int algorithm = 0;
  if (search->count > 1 && !recall(search->key, &algorithm) && !is_captured(launch, device)) {
    pthread_mutex_lock(&searching);
    if (!recall(search->key, &algorithm)) // another thread may have found it meanwhile
      algorithm = search_and_remember(launch, kernel, device, search);
    pthread_mutex_unlock(&searching);
  }
  *search->algorithm = algorithm;
  int status = kernel(launch);
  if (algorithm != 0 && (status == FY_LAUNCH_NO_MEMORY || status == FY_LAUNCH_NO_KERNEL)) {
    *search->algorithm = 0;
    status = kernel(launch);
  }
  return status;
}

// ---- the report ----------------------------------------------------------------------------------------------------------

static void add_time(FyText *text, double seconds) {
  const double micro = seconds * 1e6;
  fy_text_add(text, micro < 1000 ? "%.1f us" : "%.2f ms", micro < 1000 ? micro : micro / 1000);
}

static void add_kind(FyText *text, const Kind *kind) {
  const FySearch *s = &kind->search;
  fy_text_add(text, "%s\n", s->what);
  if (!kind->timed) {
    fy_text_add(text, "  %s, by rule: nothing is timed on a simulated device\n",
                s->rule < 0 ? "the only one" : s->candidates[s->rule].name);
    return;
  }
  for (int i = 0; i < s->count; i++) {
    const FyCandidate *c = &s->candidates[i];
    if (c->status == FY_LAUNCH_NO_KERNEL)
      continue;
    fy_text_add(text, "  %c %-28s ", i == kind->chosen ? '*' : ' ', c->name);
    if (c->status == FY_LAUNCH_OK)
      add_time(text, c->seconds);
    else
      fy_text_add(text, c->status == FY_LAUNCH_NO_MEMORY ? "passed over: no memory" : "passed over: it failed");
    fy_text_add(text, "\n");
  }
}

// A copy, since adding text may raise, which is not to be done with the lock held.
static bool copy_kind(int i, Kind *copy) {
  pthread_mutex_lock(&lock);
  bool there = i < kind_count;
  if (there)
    *copy = kinds[i];
  pthread_mutex_unlock(&lock);
  return there;
}

const char *fy_backends_benchmark_report(void) {
  FyText *text = fy_text_new();
  Kind kind;
  for (int i = 0; copy_kind(i, &kind); i++)
    add_kind(text, &kind);
  return text->bytes;
}
