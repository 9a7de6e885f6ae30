// SPDX-License-Identifier: MIT
// The modeled clock: nodes as tasks of model/schedule.h, and the time of the host threads that queue and await them.
#include "sim/runtime/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/cudasim.h"
#include "model/kernel.h"
#include "sim/base/sim.h"
#include "sim/base/plugin.h"
#include "sim/runtime/trace.h"

// ---- the host's time -------------------------------------------------------------------------------------------------------

static _Atomic double latest; // of all threads
static __thread double host_now;
static __thread bool host_known;

static double now(void) {
  if (!host_known)
    host_now = atomic_load(&latest);
  host_known = true;
  return host_now;
}

static void move_to(double seconds) {
  host_now = fmax(now(), seconds);
  double before = atomic_load(&latest);
  while (before < host_now && !atomic_compare_exchange_weak(&latest, &before, host_now))
    ;
}

static void call_made(bool work) {
  move_to(now() + 1e-6 * (work ? sim.config.gpu->launch.value : sim.config.gpu->record.value));
}

double cudasim_model_seconds(void) {
  return sim_enter() == cudaSuccess && sim.config.gpu ? now() : 0;
}

static char label[160];

static atomic_bool labeled; // the program above has asked for the label, and shows it

bool cudasim_models_gpu(void) {
  return sim_enter() == cudaSuccess && sim.config.gpu != NULL;
}

void sim_clock_label(void) {
  if (!atomic_exchange(&labeled, true))
    fprintf(stderr, "cudasim: times between events are %s\n", label);
}

const char *cudasim_model_label(void) {
  if (!cudasim_models_gpu())
    return NULL;
  atomic_store(&labeled, true);
  return label;
}

// ---- the cost of works -------------------------------------------------------------------------------------------------------

static __thread const struct cudasim_op *current_op;
static __thread bool op_has_begun; // some work has its cost already

void cudasim_op_begin(const struct cudasim_op *op) {
  current_op = op;
  op_has_begun = false;
}

void cudasim_op_end(void) {
  current_op = NULL;
}

static struct model_time op_time(const struct cudasim_op *op) {
  const struct model_gpu *gpu = sim.config.gpu;
  if (op->m == 0) {
    const double blocks = op->before > 0 ? 0 : op->blocks;
    struct model_time time = model_streaming_in(gpu, blocks, op->bytes_read, op->bytes_written, op->flops);
    if (op->before > 0)
      time.seconds += model_streaming_in(gpu, op->blocks, op->before, 0, 0).seconds + gpu->gap.value * 1e-6;
    return time;
  }
  const enum model_product type = op->element_bytes == 8   ? MODEL_PRODUCT_FP64
                                  : op->element_bytes == 2 ? MODEL_PRODUCT_HALF
                                                           : MODEL_PRODUCT_FP32;
  return model_product(gpu, op->m, op->n, op->k, op->batch, type);
}

// On the modeled GPU, an operation of a library is one kernel, however many kernels it takes here.
static bool price_as_op(struct sim_cost *cost) {
  if (current_op == NULL || cost->engine != MODEL_KERNELS)
    return false;
  cost->counted = false;
  cost->part = op_has_begun;
  const struct model_time time = op_has_begun ? (struct model_time){.share = 0} : op_time(current_op);
  op_has_begun = true;
  cost->seconds = time.seconds;
  cost->share = time.share;
  return true;
}

static void work_created(struct sim_work *work, int device) {
  if (work == NULL || work->price)
    return;
  work->price = sim_allocate(sizeof *work->price);
  *work->price = (struct sim_cost){.from = device, .to = device, .share = 1};
  if (work->cost)
    work->cost(work, work->price);
  price_as_op(work->price);
}

// ---- nodes as tasks --------------------------------------------------------------------------------------------------------

static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER; // taken within sim.lock, never around it
static struct model_schedule *schedule;                        // under the lock, and so are all tasks

// Settled tasks whose times are to be reported. Under the lock.
struct report {
  struct cudasim_activity activity;
  struct report *next;
};
static struct report *first_report, **last_report = &first_report;
static long long origin; // of the modeled clock, on CLOCK_MONOTONIC

static void note_settled(struct model_task *task) {
  struct report *report = task->data;
  if (report == NULL)
    return;
  task->data = NULL;
  report->activity.begin = origin + llround(task->start * 1e9);
  report->activity.end = origin + llround(task->finish * 1e9);
  *last_report = report;
  last_report = &report->next;
}

static void report_settled(void) {
  pthread_mutex_lock(&clock_lock);
  struct report *report = first_report;
  first_report = NULL;
  last_report = &first_report;
  pthread_mutex_unlock(&clock_lock);
  while (report) {
    struct report *next = report->next;
    sim_trace_report_ran(&report->activity);
    free(report);
    report = next;
  }
}

static void node_created(struct sim_node *node) {
  struct model_task *task = node->task = model_task_new();
  task->device = task->peer = node->device;
  work_created(node->work, node->device);
  if (node->work == NULL)
    return;
  const struct sim_cost *cost = node->work->price;
  task->engine = cost->seconds > 0 || cost->counted ? cost->engine : MODEL_NO_ENGINE;
  task->device = cost->from;
  task->peer = cost->to;
  task->guess = cost->seconds;
  task->seconds = cost->counted ? -1 : cost->seconds;
  task->share = fmax(cost->share, 1e-6);
  task->gap = task->engine == MODEL_KERNELS ? 1e-6 * sim.config.gpu->gap.value : 0;
}

void sim_clock_takes(struct sim_node *node, double seconds) {
  node->task->seconds = seconds;
}

static void node_in_graph(struct sim_node *node) {
  if (node->task->engine == MODEL_KERNELS)
    node->task->gap = 1e-6 * sim.config.gpu->graph_gap.value;
}

void sim_clock_report_when_known(struct sim_node *node, const struct cudasim_activity *activity) {
  struct report *report = node->task->data = sim_allocate(sizeof *report);
  *report = (struct report){.activity = *activity};
}

static void node_depends(struct sim_node *node, struct sim_node *on, bool done) {
  (void)done; // the modeled time may be later
  pthread_mutex_lock(&clock_lock);
  model_task_after(node->task, on->task);
  pthread_mutex_unlock(&clock_lock);
}

static void node_submitted(struct sim_node *node) {
  enum { MANY = 4096 }; // tasks, from which on it is worth forgetting some
  pthread_mutex_lock(&clock_lock);
  if (model_schedule_waiting(schedule) > MANY)
    model_schedule_advance(schedule, now());
  model_task_submit(schedule, node->task, now());
  pthread_mutex_unlock(&clock_lock);
}

static void node_destroyed(struct sim_node *node) {
  pthread_mutex_lock(&clock_lock);
  model_task_release(node->task);
  pthread_mutex_unlock(&clock_lock);
}

// ---- kernels that a plugin counts --------------------------------------------------------------------------------------------

static __thread struct sim_node *running;
static bool (*_Atomic will_count)(const struct cudasim_launch_request *);

void cudasim_counts_come(bool (*will)(const struct cudasim_launch_request *request)) {
  atomic_store(&will_count, will);
}

bool sim_clock_counts_come(const struct cudasim_launch_request *request) {
  bool (*will)(const struct cudasim_launch_request *) = atomic_load(&will_count);
  return will && will(request);
}

static void node_begins(struct sim_node *node) {
  running = node;
}

static void make_known(struct model_task *task, double seconds, double share) {
  sim_lock();
  pthread_mutex_lock(&clock_lock);
  if (task->seconds < 0) {
    task->seconds = seconds;
    task->share = fmax(share, 1e-6);
  }
  pthread_mutex_unlock(&clock_lock);
  sim_unlock();
}

bool cudasim_counts(const struct model_counts *counts, struct model_time *result) {
  if (running == NULL)
    return false;
  struct model_counts used = *counts;
  const double beyond = model_beyond_l2(sim.config.gpu, used.dram_reads + used.dram_writes);
  used.dram_reads *= beyond;
  used.dram_writes *= beyond;
  const struct model_time time = model_kernel(sim.config.gpu, &used);
  make_known(running->task, time.seconds, time.share);
  if (result)
    *result = time;
  return true;
}

// If no plugin has counted, the time is the guess.
static void node_ends(struct sim_node *node) {
  running = NULL;
  if (node->task->engine == MODEL_KERNELS && node->task->seconds < 0)
    make_known(node->task, node->task->guess, node->task->share);
}

// ---- waiting ---------------------------------------------------------------------------------------------------------------

// A kernel before the node that has yet to run and to be counted; NULL: none. In the lazy mode only what the program
// waits for runs, so the kernel's guess is used there.
static struct model_task *settle_or_find(struct sim_node *node) {
  pthread_mutex_lock(&clock_lock);
  struct model_task *unknown;
  while ((unknown = model_schedule_settle(schedule, node->task)) != NULL && sim.config.mode == SIM_LAZY)
    unknown->seconds = unknown->guess;
  if (unknown)
    unknown->references++;
  pthread_mutex_unlock(&clock_lock);
  return unknown;
}

static void await_counts(struct model_task *unknown) {
  sim_lock();
  while (unknown->seconds < 0)
    sim_worker_wait_done();
  sim_unlock();
  pthread_mutex_lock(&clock_lock);
  model_task_release(unknown);
  pthread_mutex_unlock(&clock_lock);
}

double sim_clock_finish(struct sim_node *node) {
  struct model_task *unknown;
  while ((unknown = settle_or_find(node)) != NULL)
    await_counts(unknown);
  report_settled();
  return node->task->finish;
}

static void node_waited(struct sim_node *node) {
  const double finish = sim_clock_finish(node);
  if (finish > now())
    move_to(finish + 1e-6 * sim.config.gpu->wait.value);
}

// ---- the plugin ------------------------------------------------------------------------------------------------------------

// Advances the host's time by the duration of the call, unless the work is a further part of an operation that is one kernel on the modeled GPU.
static void node_queuing(struct sim_node *node, unsigned long long stream, const struct sim_node *first) {
  (void)stream;
  if (first)
    return;
  node->task->priority = -node->priority;
  node->awaited = node->work && node->work->price->host_waits;
  if (node->work == NULL || !node->work->price->part)
    call_made(node->work && node->work->cost);
}

static void node_queued(struct sim_node *node, long long begin) {
  (void)begin;
  if (node->awaited)
    move_to(sim_clock_finish(node));
}

static const struct sim_plugin plugin = {.work_created = work_created,
                                         .call_made = call_made,
                                         .node_queuing = node_queuing,
                                         .node_queued = node_queued,
                                         .node_created = node_created,
                                         .node_in_graph = node_in_graph,
                                         .node_depends = node_depends,
                                         .node_submitted = node_submitted,
                                         .node_begins = node_begins,
                                         .node_ends = node_ends,
                                         .node_waited = node_waited,
                                         .node_destroyed = node_destroyed};

void sim_clock_start(void) {
  schedule = model_schedule_new((int)sim.config.gpu->copy_engines.value, note_settled);
  origin = sim_now();
  model_label(sim.config.gpu, label, sizeof label);
  sim_plugin_register(&plugin);
}
