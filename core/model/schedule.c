// SPDX-License-Identifier: MIT
// The account is kept in the order of time: of all tasks that are ready, the one that can begin first is settled next. What is
// not ready yet waits for one that begins no earlier, so it cannot overtake.
#include "model/schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct running {
  double finish, share;
};

struct kernels {
  struct running *items; // that may not have ended, by finish
  size_t count, room;
  double last; // when the latest began: none begins before it
};

struct model_schedule {
  int copy_engines;
  void (*tell)(struct model_task *task);
  struct model_task *ready; // by ready and order
  struct kernels kernels[MODEL_MAX_DEVICES];
  double free_at[MODEL_MAX_DEVICES][2]; // copy engines
  unsigned long long submitted;
  size_t waiting;
};

static void *resize(void *memory, size_t bytes) {
  memory = realloc(memory, bytes);
  if (memory == NULL) {
    fprintf(stderr, "ferry: the modeled clock has no memory left (%zu bytes wanted)\n", bytes);
    abort();
  }
  return memory;
}

struct model_schedule *model_schedule_new(int copy_engines, void (*settled)(struct model_task *task)) {
  struct model_schedule *schedule = resize(NULL, sizeof *schedule);
  *schedule = (struct model_schedule){.copy_engines = copy_engines, .tell = settled};
  return schedule;
}

void model_schedule_free(struct model_schedule *schedule) {
  for (int device = 0; device < MODEL_MAX_DEVICES; device++)
    free(schedule->kernels[device].items);
  while (schedule->ready) {
    struct model_task *task = schedule->ready;
    schedule->ready = task->next;
    model_task_release(task);
  }
  free(schedule);
}

// ---- tasks ---------------------------------------------------------------------------------------------------------------

struct model_task *model_task_new(void) {
  struct model_task *task = resize(NULL, sizeof *task);
  *task = (struct model_task){.references = 1, .pending = 1, .share = 1, .after = -INFINITY};
  return task;
}

void model_task_release(struct model_task *task) {
  if (task == NULL || --task->references > 0)
    return;
  for (size_t i = 0; i < task->successor_count; i++)
    model_task_release(task->successors[i]);
  free(task->successors);
  free(task);
}

void model_task_after(struct model_task *task, struct model_task *on) {
  if (on->settled) {
    task->after = fmax(task->after, on->finish);
    return;
  }
  if (on->successor_count == on->successor_room) {
    on->successor_room = on->successor_room ? 2 * on->successor_room : 4;
    on->successors = resize(on->successors, on->successor_room * sizeof(struct model_task *));
  }
  on->successors[on->successor_count++] = task;
  task->references++;
  task->pending++;
}

static void make_ready(struct model_task *task) {
  task->ready = fmax(task->submitted, task->after + task->gap);
}

static bool waits_for_no_engine(const struct model_task *task) {
  return task->engine == MODEL_NO_ENGINE && task->seconds >= 0;
}

static void enqueue(struct model_schedule *schedule, struct model_task *task) {
  struct model_task **link = &schedule->ready;
  while (*link && ((*link)->ready < task->ready || ((*link)->ready == task->ready && (*link)->order < task->order)))
    link = &(*link)->next;
  task->next = *link;
  *link = task;
}

// And the successors that waited for it alone and need no engine; in a list of their own, for chains of them may be long.
static void start_chain(struct model_schedule *schedule, struct model_task *task, double start) {
  struct model_task *last = task;
  task->ready = start;
  task->next = NULL;
  for (struct model_task *t = task; t; t = t->next) {
    t->start = t->ready;
    t->finish = t->start + t->seconds;
    t->settled = true;
    for (size_t i = 0; i < t->successor_count; i++) {
      struct model_task *s = t->successors[i];
      s->after = fmax(s->after, t->finish);
      if (--s->pending > 0)
        continue;
      make_ready(s);
      if (waits_for_no_engine(s)) {
        s->next = NULL;
        last = last->next = s;
      } else {
        enqueue(schedule, s);
      }
    }
  }
  while (task) {
    struct model_task *next = task->next;
    task->next = NULL;
    schedule->waiting--;
    if (schedule->tell)
      schedule->tell(task);
    struct model_task **successors = task->successors;
    const size_t count = task->successor_count;
    task->successors = NULL;
    task->successor_count = task->successor_room = 0;
    for (size_t i = 0; i < count; i++)
      model_task_release(successors[i]);
    free(successors);
    model_task_release(task);
    task = next;
  }
}

void model_task_submit(struct model_schedule *schedule, struct model_task *task, double now) {
  task->references++; // the schedule's, until it is settled
  task->submitted = now;
  task->order = schedule->submitted++;
  schedule->waiting++;
  if (--task->pending > 0)
    return;
  make_ready(task);
  if (waits_for_no_engine(task))
    start_chain(schedule, task, task->ready);
  else
    enqueue(schedule, task);
}

size_t model_schedule_waiting(const struct model_schedule *schedule) {
  return schedule->waiting;
}

// ---- engines -------------------------------------------------------------------------------------------------------------

// The first moment from `ready` on at which so much of the multiprocessors is free.
static double room_at(const struct kernels *kernels, double ready, double share) {
  const double most = 1 + 1e-9;
  ready = fmax(ready, kernels->last);
  double used = 0, at = ready;
  for (size_t i = 0; i < kernels->count; i++)
    used += kernels->items[i].finish > ready ? kernels->items[i].share : 0;
  for (size_t i = 0; i < kernels->count && used + share > most; i++)
    if (kernels->items[i].finish > ready) {
      at = kernels->items[i].finish;
      used -= kernels->items[i].share;
    }
  return at;
}

static void occupy(struct kernels *kernels, double start, double finish, double share) {
  size_t kept = 0;
  for (size_t i = 0; i < kernels->count; i++)
    if (kernels->items[i].finish > start)
      kernels->items[kept++] = kernels->items[i];
  kernels->count = kept;
  if (kernels->count == kernels->room) {
    kernels->room = kernels->room ? 2 * kernels->room : 16;
    kernels->items = resize(kernels->items, kernels->room * sizeof *kernels->items);
  }
  kernels->last = start;
  size_t i = kernels->count++;
  for (; i > 0 && kernels->items[i - 1].finish > finish; i--)
    kernels->items[i] = kernels->items[i - 1];
  kernels->items[i] = (struct running){finish, share};
}

static double *copy_engine(struct model_schedule *schedule, int device, bool in) {
  return &schedule->free_at[device][in || schedule->copy_engines < 2 ? 0 : 1];
}

static double start_of(struct model_schedule *schedule, const struct model_task *task) {
  switch (task->engine) {
  case MODEL_NO_ENGINE:
    return task->ready;
  case MODEL_KERNELS:
    return room_at(&schedule->kernels[task->device], task->ready, task->share);
  case MODEL_COPY_IN:
  case MODEL_COPY_OUT:
    return fmax(task->ready, *copy_engine(schedule, task->device, task->engine == MODEL_COPY_IN));
  case MODEL_PEER:
    return fmax(task->ready,
                fmax(*copy_engine(schedule, task->device, false), *copy_engine(schedule, task->peer, true)));
  }
  return task->ready;
}

static void take_engine(struct model_schedule *schedule, const struct model_task *task, double start) {
  const double finish = start + task->seconds;
  if (task->engine == MODEL_KERNELS)
    occupy(&schedule->kernels[task->device], start, finish, task->share);
  else if (task->engine == MODEL_COPY_IN || task->engine == MODEL_COPY_OUT)
    *copy_engine(schedule, task->device, task->engine == MODEL_COPY_IN) = finish;
  else if (task->engine == MODEL_PEER)
    *copy_engine(schedule, task->device, false) = *copy_engine(schedule, task->peer, true) = finish;
}

// The task that begins first, and when. A kernel that waits for room keeps back those that were ready after it, unless they are
// more urgent: else small ones would pass a big one for ever.
static struct model_task **first_to_begin(struct model_schedule *schedule, double *start) {
  struct model_task **first = NULL;
  bool kept_back[MODEL_MAX_DEVICES] = {false};
  int urgent[MODEL_MAX_DEVICES];
  for (struct model_task **link = &schedule->ready; *link; link = &(*link)->next) {
    const struct model_task *task = *link;
    if (first && task->ready > *start)
      break;
    if (task->engine == MODEL_KERNELS) {
      if (kept_back[task->device] && task->priority <= urgent[task->device])
        continue;
      kept_back[task->device] = true;
      urgent[task->device] = task->priority;
    }
    const double at = start_of(schedule, task);
    if (first && (at > *start || (at == *start && task->priority <= (*first)->priority)))
      continue;
    first = link;
    *start = at;
  }
  return first;
}

static void begin(struct model_schedule *schedule, struct model_task **link, double start) {
  struct model_task *task = *link;
  *link = task->next;
  take_engine(schedule, task, start);
  start_chain(schedule, task, start);
}

struct model_task *model_schedule_settle(struct model_schedule *schedule, struct model_task *task) {
  while (!task->settled) {
    double start = 0;
    struct model_task **first = first_to_begin(schedule, &start);
    if (first == NULL) // waits for one that has not been submitted
      return task;
    if ((*first)->seconds < 0)
      return *first;
    begin(schedule, first, start);
  }
  return NULL;
}

void model_schedule_advance(struct model_schedule *schedule, double now) {
  for (;;) {
    double start = 0;
    struct model_task **first = first_to_begin(schedule, &start);
    if (first == NULL || start > now || (*first)->seconds < 0)
      return;
    begin(schedule, first, start);
  }
}
