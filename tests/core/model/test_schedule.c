// SPDX-License-Identifier: MIT
// The account of modeled times: schedules computed by hand, and random ones against a simulation that goes tick by tick.
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/schedule.h"

static struct model_task *kernel(double seconds, double share) {
  struct model_task *task = model_task_new();
  task->engine = MODEL_KERNELS;
  task->seconds = seconds;
  task->share = share;
  return task;
}

static struct model_task *copy(enum model_engine engine, double seconds) {
  struct model_task *task = model_task_new();
  task->engine = engine;
  task->seconds = seconds;
  return task;
}

static void expect(struct model_schedule *schedule, struct model_task *task, double start, double finish) {
  assert_null(model_schedule_settle(schedule, task));
  if (fabs(task->start - start) > 1e-9 || fabs(task->finish - finish) > 1e-9)
    fail_msg("from %g to %g, not from %g to %g", task->start, task->finish, start, finish);
  model_task_release(task);
}

// ---- by hand ---------------------------------------------------------------------------------------------------------------

// Two streams of copy, kernel, copy: the second stream's copy comes in while the first's kernel runs.
static void copies_and_kernels_overlap(void **state) {
  (void)state;
  struct model_schedule *s = model_schedule_new(2, NULL);
  struct model_task *t[2][3];
  for (int i = 0; i < 2; i++) {
    t[i][0] = copy(MODEL_COPY_IN, 4);
    t[i][1] = kernel(3, 1);
    t[i][2] = copy(MODEL_COPY_OUT, 4);
    for (int j = 0; j < 3; j++) {
      if (j > 0)
        model_task_after(t[i][j], t[i][j - 1]);
      model_task_submit(s, t[i][j], 0);
    }
  }
  expect(s, t[1][2], 11, 15); // 0-4-8 in, 4-7 and 8-11 kernels, 7-11-15 out
  expect(s, t[0][0], 0, 4);
  expect(s, t[0][1], 4, 7);
  expect(s, t[0][2], 7, 11);
  expect(s, t[1][0], 4, 8);
  expect(s, t[1][1], 8, 11);
  assert_int_equal(model_schedule_waiting(s), 0);
  model_schedule_free(s);
}

// The same with one engine for both ways: the second copy in is ready before the first copy out.
static void one_copy_engine_serves_both_ways(void **state) {
  (void)state;
  struct model_schedule *s = model_schedule_new(1, NULL);
  struct model_task *in[2] = {copy(MODEL_COPY_IN, 4), copy(MODEL_COPY_IN, 4)}, *out = copy(MODEL_COPY_OUT, 4);
  model_task_after(out, in[0]);
  model_task_submit(s, in[0], 0);
  model_task_submit(s, out, 0);
  model_task_submit(s, in[1], 1);
  expect(s, out, 8, 12);
  expect(s, in[1], 4, 8);
  expect(s, in[0], 0, 4);
  model_schedule_free(s);
}

static void kernels_share_the_multiprocessors(void **state) {
  (void)state;
  struct model_schedule *s = model_schedule_new(2, NULL);
  struct model_task *a = kernel(10, 0.5), *b = kernel(6, 0.4), *c = kernel(3, 0.4), *d = kernel(1, 0.1);
  struct model_task *tasks[] = {a, b, c, d};
  for (int i = 0; i < 4; i++)
    model_task_submit(s, tasks[i], i);
  expect(s, d, 7, 8); // would fit beside a and b at 3, but c was ready before it
  expect(s, c, 7, 10);
  expect(s, b, 1, 7);
  expect(s, a, 0, 10);
  model_schedule_free(s);
}

static void the_more_urgent_goes_first(void **state) {
  (void)state;
  struct model_schedule *s = model_schedule_new(2, NULL);
  struct model_task *a = kernel(10, 1), *b = kernel(5, 1), *c = kernel(5, 1);
  c->priority = 3;
  model_task_submit(s, a, 0);
  model_task_submit(s, b, 1);
  model_task_submit(s, c, 2);
  expect(s, b, 15, 20);
  expect(s, c, 10, 15);
  expect(s, a, 0, 10);
  model_schedule_free(s);
}

static void gaps_points_and_late_submissions(void **state) {
  (void)state;
  struct model_schedule *s = model_schedule_new(2, NULL);
  struct model_task *a = kernel(10, 1), *point = model_task_new(), *b = kernel(1, 1), *c = kernel(1, 1);
  b->gap = c->gap = 0.5;
  model_task_after(point, a);
  model_task_after(b, point);
  model_task_after(c, b);
  model_task_submit(s, a, 2);
  model_task_submit(s, point, 3);
  model_task_submit(s, b, 4);
  model_task_submit(s, c, 20);
  expect(s, c, 20, 21);     // submitted long after the gap
  expect(s, b, 12.5, 13.5); // a's end and the gap
  expect(s, point, 12, 12);
  expect(s, a, 2, 12);
  model_schedule_free(s);
}

// Between devices a copy takes one's engine out and the other's engine in.
static void peers_need_two_engines(void **state) {
  (void)state;
  struct model_schedule *s = model_schedule_new(2, NULL);
  struct model_task *out = copy(MODEL_COPY_OUT, 3), *in = copy(MODEL_COPY_IN, 5), *peer = copy(MODEL_PEER, 2);
  struct model_task *back = copy(MODEL_PEER, 2), *after = copy(MODEL_COPY_IN, 1);
  in->device = peer->peer = back->device = after->device = 1;
  struct model_task *tasks[] = {out, in, peer, back, after};
  for (int i = 0; i < 5; i++)
    model_task_submit(s, tasks[i], 0);
  expect(s, peer, 5, 7);
  expect(s, back, 0, 2); // from 1 to 0: engines that nobody else wants
  expect(s, after, 7, 8);
  expect(s, out, 0, 3);
  expect(s, in, 0, 5);
  model_schedule_free(s);
}

static void unknown_times_stop_the_account_until_they_are_known(void **state) {
  (void)state;
  struct model_schedule *s = model_schedule_new(2, NULL);
  struct model_task *a = kernel(-1, 1), *b = kernel(2, 1), *c = copy(MODEL_COPY_IN, 1);
  model_task_after(b, a);
  model_task_submit(s, a, 0);
  model_task_submit(s, b, 0);
  model_task_submit(s, c, 1);
  assert_ptr_equal(model_schedule_settle(s, b), a);
  model_schedule_advance(s, 100);
  assert_false(c->settled);
  a->seconds = 7;
  expect(s, b, 7, 9);
  expect(s, a, 0, 7);
  expect(s, c, 1, 2);
  model_schedule_free(s);
}

// ---- at random -------------------------------------------------------------------------------------------------------------

enum { TASKS = 120, DEVICES = 3, MOST_BEFORE = 3 };

typedef struct Plan {
  int engine, device, peer, seconds, tenths, gap, priority, submitted, before[MOST_BEFORE], befores, ready, start;
} Plan;

static unsigned int seed;
static int draw(int below) {
  seed = seed * 1664525u + 1013904223u;
  return (int)((seed >> 8) % (unsigned int)below);
}

static int finish_of(const Plan *p) {
  return p->start + p->seconds;
}

// When its way is free, at tick `now`; -1: not yet known.
static int ready_at(const Plan *plans, const Plan *p, int now) {
  int ready = p->submitted;
  for (int i = 0; i < p->befores; i++) {
    const Plan *b = &plans[p->before[i]];
    if (b->start < 0 || finish_of(b) > now)
      return -1;
    ready = ready > finish_of(b) + p->gap ? ready : finish_of(b) + p->gap;
  }
  return ready;
}

static int uses(const Plan *p, int device, bool in, int engines) {
  const bool either = engines < 2;
  if (p->engine == MODEL_COPY_IN || p->engine == MODEL_COPY_OUT)
    return p->device == device && (either || (p->engine == MODEL_COPY_IN) == in);
  return p->engine == MODEL_PEER && ((p->device == device && (either || !in)) || (p->peer == device && (either || in)));
}

// Whether nothing that runs at `now` is in the way of p.
static bool fits(const Plan *plans, const Plan *p, int now, int engines) {
  int used = 0;
  for (int i = 0; i < TASKS; i++) {
    const Plan *o = &plans[i];
    if (o->start < 0 || finish_of(o) <= now)
      continue;
    if (o->engine == MODEL_KERNELS && p->engine == MODEL_KERNELS && o->device == p->device)
      used += o->tenths;
    for (int device = 0; device < DEVICES; device++)
      for (int in = 0; in < 2; in++)
        if (uses(o, device, in, engines) && uses(p, device, in, engines))
          return false;
  }
  return p->engine != MODEL_KERNELS || used + p->tenths <= 10;
}

static bool before(const Plan *a, const Plan *b) {
  return a->ready != b->ready ? a->ready < b->ready : a < b;
}

static bool kept_back(const Plan *plans, const Plan *p) {
  for (int i = 0; i < TASKS && p->engine == MODEL_KERNELS; i++) {
    const Plan *o = &plans[i];
    if (o != p && o->engine == MODEL_KERNELS && o->device == p->device && o->start < 0 && o->ready >= 0 &&
        before(o, p) && o->priority >= p->priority)
      return true;
  }
  return false;
}

// Of those that can begin now, the most urgent, then the one that was ready first; NULL: none.
static Plan *next_to_begin(Plan *plans, int now, int engines) {
  Plan *best = NULL;
  for (int i = 0; i < TASKS; i++)
    if (plans[i].start < 0) {
      const int ready = ready_at(plans, &plans[i], now);
      plans[i].ready = ready <= now ? ready : -1;
    }
  for (int i = 0; i < TASKS; i++) {
    Plan *p = &plans[i];
    if (p->start >= 0 || p->ready < 0)
      continue;
    if (p->engine == MODEL_NO_ENGINE)
      return p;
    if (kept_back(plans, p) || !fits(plans, p, now, engines))
      continue;
    if (!best || p->priority > best->priority || (p->priority == best->priority && before(p, best)))
      best = p;
  }
  return best;
}

static void simulate(Plan *plans, int engines) {
  for (int now = 0, begun = 0; begun < TASKS; now++)
    for (Plan *p; (p = next_to_begin(plans, now, engines)) != NULL; begun++)
      p->start = now;
}

static void draw_plans(Plan *plans) {
  int host = 0;
  for (int i = 0; i < TASKS; i++) {
    Plan *p = &plans[i];
    *p = (Plan){.engine = draw(5), .device = draw(DEVICES), .seconds = 1 + draw(9), .start = -1, .ready = -1};
    p->peer = (p->device + 1 + draw(DEVICES - 1)) % DEVICES;
    p->tenths = draw(3) ? 1 + draw(10) : 10;
    if (p->engine == MODEL_NO_ENGINE)
      p->seconds = draw(3) ? 0 : 2;
    p->gap = draw(3);
    p->priority = draw(4) ? 0 : draw(4);
    p->submitted = host += draw(3);
    for (int b = draw(MOST_BEFORE + 1); b > 0 && i > 0; b--)
      p->before[p->befores++] = i - 1 - draw(i < 12 ? i : 12);
  }
}

static void random_schedules_agree_with_a_simulation(void **state) {
  (void)state;
  for (seed = 1; seed < 400 * 7919u; seed += 7919) {
    const unsigned int first = seed;
    Plan plans[TASKS];
    struct model_task *tasks[TASKS];
    const int engines = 1 + draw(2);
    draw_plans(plans);
    simulate(plans, engines);
    struct model_schedule *s = model_schedule_new(engines, NULL);
    for (int i = 0; i < TASKS; i++) {
      const Plan *p = &plans[i];
      struct model_task *t = tasks[i] = model_task_new();
      t->engine = (enum model_engine)p->engine;
      t->device = p->device;
      t->peer = p->peer;
      t->seconds = p->seconds;
      t->share = p->tenths / 10.0;
      t->gap = p->gap;
      t->priority = p->priority;
      for (int b = 0; b < p->befores; b++)
        model_task_after(t, tasks[p->before[b]]);
      model_task_submit(s, t, p->submitted);
      if (draw(8) == 0)
        model_schedule_advance(s, p->submitted - 1); // another may be submitted at this very moment
    }
    for (int i = TASKS; i-- > 0;) {
      assert_null(model_schedule_settle(s, tasks[i]));
      if (tasks[i]->start != plans[i].start)
        fail_msg("seed %u: task %d begins at %g, in the simulation at %d", first, i, tasks[i]->start, plans[i].start);
      model_task_release(tasks[i]);
    }
    model_schedule_free(s);
    seed = first;
  }
}

static void long_chains_are_settled(void **state) {
  (void)state;
  enum { LONG = 200000 };
  struct model_schedule *s = model_schedule_new(2, NULL);
  struct model_task *last = NULL;
  for (int i = 0; i < LONG; i++) {
    struct model_task *t = i % 2 ? model_task_new() : kernel(1, 1);
    if (last)
      model_task_after(t, last);
    model_task_submit(s, t, 0);
    model_task_release(last);
    last = t;
  }
  expect(s, last, LONG / 2, LONG / 2);
  assert_int_equal(model_schedule_waiting(s), 0);
  model_schedule_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_and_kernels_overlap),
      cmocka_unit_test(one_copy_engine_serves_both_ways),
      cmocka_unit_test(kernels_share_the_multiprocessors),
      cmocka_unit_test(the_more_urgent_goes_first),
      cmocka_unit_test(gaps_points_and_late_submissions),
      cmocka_unit_test(peers_need_two_engines),
      cmocka_unit_test(unknown_times_stop_the_account_until_they_are_known),
      cmocka_unit_test(random_schedules_agree_with_a_simulation),
      cmocka_unit_test(long_chains_are_settled),
  };
  return cmocka_run_group_tests_name("the modeled account", tests, NULL, NULL);
}
