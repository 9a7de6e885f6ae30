// SPDX-License-Identifier: MIT
// One rank, with a simulated clock; the times of the other ranks are given.
#include "driver.h"
#include "answer.h"

static const double *costs; // of this rank's steps, the last one for all later steps
static int64_t cost_count, steps_made;
static double clock_now, late, others;
static double told = -1;    // to slowest
static int barriers, asked; // asked: slowest

// In every step the ranks average gradients, so they wait for a late rank.
static void meet(void) {
  if (steps_made >= 5) {
    clock_now += late;
    late = 0;
  }
}

static void step(void) {
  meet();
  clock_now += costs[steps_made < cost_count ? steps_made : cost_count - 1];
  steps_made++;
}

static void barrier(void) {
  meet();
  barriers++;
}

static double now(void) {
  return clock_now;
}

static double slowest(double seconds) {
  told = seconds;
  asked++;
  return seconds > others ? seconds : others;
}

void drive(Driver *d) {
  const Array *cost = driver_array(d, "costs");
  costs = cost->f64;
  cost_count = cost->count;
  clock_now = driver_number(d, "clock");
  late = driver_number(d, "late");
  others = driver_number(d, "others");
  const double efficiency =
      scaling_efficiency((int)driver_number(d, "ranks"), (int)driver_number(d, "batch"), (int)driver_number(d, "steps"),
                         driver_number(d, "single"), step, barrier, now, slowest);
  driver_put_number(d, "efficiency", efficiency);
  driver_put_number(d, "told", told);
  driver_put_number(d, "asked", asked);
  driver_put_number(d, "steps made", (double)steps_made);
}
