// SPDX-License-Identifier: MIT
// A profile: its schedule, its begin and end.
//
// A step of the schedule is without a profiler, of warm-up, or recorded. Warm-up records as well, so that the threads' tracks
// and the devices' reports are there when it matters, and throws away what it got.
#include "profiler/impl.h"
#include "base/state.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum Phase { OFF, WARMUP, RECORD, RECORD_AND_SAVE } Phase;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FyProfile *current; // the one that is open in the program

static _Thread_local FyProfile *mine; // the same, on the thread that opened it

// ---- the schedule ------------------------------------------------------------------------------------------------------------

static void check_schedule(const FyProfileSchedule *s) {
  bool given = s->wait || s->warmup || s->active || s->repeat || s->skip_first;
  bool good = s->wait >= 0 && s->warmup >= 0 && s->active > 0 && s->repeat >= 0 && s->skip_first >= 0;
  fy_check(!given || good, FY_VALUE_ERROR,
           "Invalid profiler schedule arguments. Got wait=%d (need >= 0), warmup=%d (need >= 0), active=%d (need > 0), "
           "repeat=%d (need >= 0), skip_first=%d (need >= 0).",
           s->wait, s->warmup, s->active, s->repeat, s->skip_first);
  static bool warned;
  if (given && !s->warmup)
    fy_warn_once(&warned, "Profiler won't be using warmup, this can skew profiler results");
}

static Phase phase_of(const FyProfileSchedule *s, int64_t step) {
  if (!s->active)
    return RECORD;
  int64_t cycle = (int64_t)s->wait + s->warmup + s->active;
  if (step < s->skip_first)
    return OFF;
  step -= s->skip_first;
  if (s->repeat && step / cycle >= s->repeat)
    return OFF;
  step %= cycle;
  if (step < s->wait)
    return OFF;
  if (step < (int64_t)s->wait + s->warmup)
    return WARMUP;
  return step < cycle - 1 ? RECORD : RECORD_AND_SAVE;
}

// ---- recording -----------------------------------------------------------------------------------------------------------------

static void start(FyProfile *p, bool kept) {
  fy_records_free(&p->records);
  p->recording = true;
  p->kept = kept;
  fy_records_start(&p->options);
}

static void stop(FyProfile *p) {
  if (!p->recording)
    return;
  fy_records_stop(p->kept ? &p->records : NULL);
  p->recording = false;
}

static void begin_step(FyProfile *p) {
  char name[48];
  snprintf(name, sizeof name, "ProfilerStep#%lld", (long long)p->step);
  p->step_mark = p->options.schedule.active && p->recording ? fy_range_enter(name) : 0;
}

static void call_handler(FyProfile *p) {
  if (p->options.on_trace_ready)
    p->options.on_trace_ready(p, p->options.context);
}

// From the phase of the step that ends to that of the next.
static void change_phase(FyProfile *p, Phase from, Phase to) {
  if (from == RECORD_AND_SAVE || (from == RECORD && to == OFF)) {
    stop(p);
    call_handler(p);
  } else if (from == WARMUP && to != WARMUP) {
    stop(p);
  }
  if (to == WARMUP && !p->recording)
    start(p, false);
  else if ((to == RECORD || to == RECORD_AND_SAVE) && !p->recording)
    start(p, true);
}

// ---- begin, step, end ------------------------------------------------------------------------------------------------------------

static void close(FyProfile *p) {
  stop(p);
  p->open = false;
  mine = NULL;
  pthread_mutex_lock(&lock);
  if (current == p)
    current = NULL;
  pthread_mutex_unlock(&lock);
}

static void destroy(void *object) {
  FyProfile *p = object;
  if (p->open)
    close(p);
  fy_records_free(&p->records);
  free(p);
}

FyProfile *fy_profile_begin(FyProfileOptions options) {
  const unsigned all = FY_PROFILE_CPU | FY_PROFILE_CUDA;
  fy_check(!(options.activities & ~all), FY_VALUE_ERROR, "No valid profiler activities found");
  check_schedule(&options.schedule);
  if (!options.activities)
    options.activities = all;
  FyProfile *p = fy_object_new(sizeof *p, destroy);
  p->options = options;
  pthread_mutex_lock(&lock);
  bool free_now = !current;
  if (free_now)
    current = p;
  pthread_mutex_unlock(&lock);
  fy_check(free_now, FY_RUNTIME_ERROR, "a profile is being taken already: there can be one at a time in a program");
  p->open = true;
  mine = p;
  change_phase(p, OFF, phase_of(&options.schedule, 0));
  begin_step(p);
  return p;
}

static void check_open(const FyProfile *p, const char *who) {
  fy_check(p && p->open && mine == p, FY_RUNTIME_ERROR,
           "%s: the profile is not being taken, or by another thread: call it within fy_profile's block", who);
}

void fy_profile_step(FyProfile *p) {
  check_open(p, "fy_profile_step");
  if (p->step_mark)
    fy_range_exit(p->step_mark);
  Phase before = phase_of(&p->options.schedule, p->step);
  p->step++;
  change_phase(p, before, phase_of(&p->options.schedule, p->step));
  begin_step(p);
}

int64_t fy_profile_step_num(const FyProfile *p) {
  return p->step;
}

FyProfile *fy_profile_end(FyProfile *p) {
  check_open(p, "fy_profile_end");
  Phase last = phase_of(&p->options.schedule, p->step);
  close(p);
  if (last == RECORD || last == RECORD_AND_SAVE)
    call_handler(p);
  return NULL;
}

const FyRecords *fy_profile_records(const FyProfile *p, const char *who) {
  fy_check(p, FY_TYPE_ERROR, "%s: the profile is NULL", who);
  fy_check(!p->recording || !p->kept, FY_RUNTIME_ERROR,
           "%s: the profile still records; ask after its block, or in on_trace_ready", who);
  return &p->records;
}

// ---- ranges of the program -------------------------------------------------------------------------------------------------------

// A mark is the record's, and below it how many ranges tools outside had been told of.
enum { OUTSIDE_BITS = 8 };

int fy_record_function_enter(const char *name) {
  const int outside = fy_outside_ranges();
  fy_outside_enter(name ? name : "(null)");
  return fy_range_enter(name ? name : "(null)") << OUTSIDE_BITS | outside;
}

int fy_record_function_exit(int mark) {
  if (mark >= 0) {
    fy_range_exit(mark >> OUTSIDE_BITS);
    fy_outside_close(mark & ((1 << OUTSIDE_BITS) - 1));
  }
  return -1;
}

// ---- errors ----------------------------------------------------------------------------------------------------------------------

typedef struct Saved {
  const FyProfile *profile;
  int open, outside;
} Saved;

static void save(void *saved) {
  *(Saved *)saved = (Saved){.profile = mine, .open = fy_open_ranges(), .outside = fy_outside_ranges()};
}

// A worker takes over its maker's state, and has no ranges that could be closed.
static void restore(const void *saved) {
  const Saved *s = saved;
  if (mine && mine != s->profile)
    close(mine);
  fy_close_ranges(s->open);
  fy_outside_close(s->outside);
}

__attribute__((constructor)) static void register_part(void) {
  static const FyThreadPart part = {
      .room = "profiler", .height = 9, .bytes = sizeof(Saved), .save = save, .restore = restore};
  fy_thread_part_register(&part);
}
