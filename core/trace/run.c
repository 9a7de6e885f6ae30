// SPDX-License-Identifier: MIT
// Running a plan. A runner is what one run needs besides: the arena, the arrays with their addresses, the launches that are ready to
// go. A plan keeps the runners that no thread is using, so that a run of the usual kind makes none.
//
// On the CPU groups and chains are run by a team: the threads take tasks of a step until there are none left, and begin the next step
// when all of them are done. The caller takes them from the front and the others from the back, so that in each run a thread meets
// mostly the weights that are in its own cache. Nobody waits for a thread that has not come.
#include "base/threads.h"
#include "base/watch.h"
#include "device/runtime.h"
#include "op/levels.h"
#include "op/random/random.h"
#include "op/random/random_state.h"
#include "trace/plan.h"
#include "trace/record.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SCRATCH = 16, MOST_SPINS = 2000 }; // spins of about 10 ns each

// A task of the team: a step, or a stage of one.
typedef struct Item {
  const FyPlanStep *step;
  int stage;
  int64_t tasks;
  _Alignas(64) atomic_ullong taken; // from the front, and, from bit 32 on, from the back
  atomic_llong done;
} Item;

typedef struct FyRunner {
  FyObject object;
  struct FyRunner *next;
  const FyPlan *plan; // which holds it, or is held by the run
  void *stream;       // CUDA: whose order its memory follows
  char *arena, *memory, *scratch;
  void *arena_block, *memory_block, *scratch_block;
  size_t scratch_bytes, scratch_used, scratch_wanted;
  void *extra[MOST_SCRATCH]; // blocks beyond the scratch memory, which grows for the next run
  int extra_count;
  FyArray *arrays;       // of the plan's values
  FyLaunch *launches;    // of its steps
  Item *items;           // of all steps
  int *first_item;       // of each step, and one behind the last
  atomic_int status;     // of chains' kernels
  const FyChain *failed; // one of its links, that is
  const FyLink *failed_link;
} FyRunner;

// ---- making one --------------------------------------------------------------------------------------------------------------------

static bool try_alloc(FyDevice device, size_t bytes, void **pointer, void **block) {
  return device.type == FY_CPU ? fy_host_try_alloc(bytes, pointer, block)
                               : fy_cuda_try_alloc(device.index, bytes, pointer, block);
}
static void free_block(FyDevice device, void *block) {
  if (device.type == FY_CPU)
    fy_host_free(block);
  else
    fy_cuda_free(block);
}

static void free_extra(FyRunner *r) {
  while (r->extra_count > 0)
    free_block(r->plan->device, r->extra[--r->extra_count]);
}

static void destroy_runner(void *object) {
  FyRunner *r = object;
  const FyDevice device = r->plan->device;
  free_extra(r);
  free_block(device, r->arena_block);
  free_block(device, r->scratch_block);
  fy_host_free(r->memory_block);
  free(r->arrays);
  free(r->launches);
  free(r->items);
  free(r->first_item);
  free(r);
}

void fy_runners_free(struct FyRunner *runners) {
  while (runners) {
    FyRunner *next = runners->next;
    fy_release(runners);
    runners = next;
  }
}

// Scratch memory of kernels: what an earlier run of the same kernels asked for is there.
static void *workspace(FyLaunch *launch, size_t bytes) {
  FyRunner *r = launch->owner;
  const size_t rounded = (bytes + 511) / 512 * 512;
  void *pointer = NULL;
  r->scratch_used += rounded;
  if (r->scratch_wanted < r->scratch_used)
    r->scratch_wanted = r->scratch_used;
  if (r->scratch_used <= r->scratch_bytes)
    return r->scratch + r->scratch_used - rounded;
  if (r->extra_count == MOST_SCRATCH || !try_alloc(r->plan->device, bytes, &pointer, &r->extra[r->extra_count]))
    return NULL;
  r->extra_count++;
  return pointer;
}

static void place_values(FyRunner *r) {
  for (int i = 0; i < r->plan->value_count; i++) {
    const FyPlanValue *v = &r->plan->values[i], *root = &r->plan->values[v->root];
    FyArray *a = &r->arrays[i];
    *a = v->array;
    if (root->place == FY_PLACE_CONSTANT)
      *a = v->constant->array;
    else if (root->place == FY_PLACE_ARENA && a->numel)
      a->data = r->arena + root->offset + v->from_root;
  }
}

static void prepare_launches(FyRunner *r) {
  for (int i = 0; i < r->plan->step_count; i++) {
    const FyPlanStep *step = &r->plan->steps[i];
    FyLaunch *launch = &r->launches[i];
    if (step->kind != FY_STEP_KERNEL)
      continue;
    *launch = (FyLaunch){.n_in = step->n_in, .n_out = step->n_out, .params = step->params, .workspace = workspace};
    launch->owner = r;
    for (int k = 0; k < step->n_in; k++)
      launch->in[k] = step->in[k] < 0 ? NULL : &r->arrays[step->in[k]];
    for (int k = 0; k < step->n_out; k++)
      launch->out[k] = step->out[k] < 0 ? NULL : &r->arrays[step->out[k]];
  }
}

static int items_of(const FyPlanStep *step) {
  return step->kind == FY_STEP_GROUP ? fy_group_steps(step->group) : step->kind == FY_STEP_CHAIN;
}

static void prepare_items(FyRunner *r) {
  int count = 0;
  for (int i = 0; i < r->plan->step_count; i++) {
    const FyPlanStep *step = &r->plan->steps[i];
    r->first_item[i] = count;
    for (int k = 0; k < items_of(step); k++) {
      Item *item = &r->items[count++];
      item->step = step;
      item->stage = k;
      item->tasks = step->group ? fy_group_tasks(step->group, k) : fy_chain_tasks(step->chain);
    }
  }
  r->first_item[r->plan->step_count] = count;
}

static FyRunner *new_runner(const FyPlan *plan) {
  FyRunner *r = fy_object_new(sizeof *r, destroy_runner);
  const size_t team = plan->shared_bytes + plan->thread_bytes * (size_t)plan->threads;
  int items = 1;
  void *pointer = NULL;
  r->plan = plan;
  for (int i = 0; i < plan->step_count; i++)
    items += items_of(&plan->steps[i]);
  r->arrays = calloc((size_t)plan->value_count + 1, sizeof *r->arrays);
  r->launches = calloc((size_t)plan->step_count + 1, sizeof *r->launches);
  r->first_item = calloc((size_t)plan->step_count + 1, sizeof *r->first_item);
  r->items = aligned_alloc(64, (size_t)items * sizeof *r->items);
  fy_check(r->arrays && r->launches && r->first_item && r->items, FY_OUT_OF_MEMORY_ERROR,
           "out of host memory for a run of a traced module");
  if (plan->device.type == FY_CUDA) {
    fy_use_device(plan->device.index);
    r->stream = fy_raw_stream(plan->device.index);
    fy_cuda_alloc(plan->device.index, plan->arena_bytes, &pointer, &r->arena_block);
  } else {
    fy_host_alloc(plan->arena_bytes, &pointer, &r->arena_block);
  }
  r->arena = pointer;
  fy_host_alloc(team, &pointer, &r->memory_block);
  r->memory = pointer;
  if (team)
    memset(r->memory, 0, team); // the frames' borders stay so
  place_values(r);
  prepare_launches(r);
  prepare_items(r);
  return r;
}

// ---- taking one, giving it back ------------------------------------------------------------------------------------------------------

static FyRunner *take_runner(FyPlan *plan) {
  void *stream = plan->device.type == FY_CUDA ? fy_raw_stream(plan->device.index) : NULL;
  pthread_mutex_lock(&plan->lock);
  FyRunner **at = &plan->idle;
  while (*at && (*at)->stream != stream)
    at = &(*at)->next;
  FyRunner *r = *at;
  if (r)
    *at = r->next;
  pthread_mutex_unlock(&plan->lock);
  return r ? fy_adopt(r) : new_runner(plan);
}

// More scratch memory, if this run wanted more than there was.
static void grow_scratch(FyRunner *r) {
  void *pointer = NULL;
  free_extra(r);
  if (r->scratch_wanted <= r->scratch_bytes)
    return;
  free_block(r->plan->device, r->scratch_block);
  r->scratch_block = NULL;
  r->scratch_bytes = try_alloc(r->plan->device, r->scratch_wanted, &pointer, &r->scratch_block) ? r->scratch_wanted : 0;
  r->scratch = pointer;
}

static void give_back(FyPlan *plan, FyRunner *r) {
  grow_scratch(r);
  fy_retain(r);
  pthread_mutex_lock(&plan->lock);
  r->next = plan->idle;
  plan->idle = r;
  pthread_mutex_unlock(&plan->lock);
  fy_drop(r);
}

// ---- the team ------------------------------------------------------------------------------------------------------------------------

static void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// The next task of an item, -1: there is none.
static int64_t take_task(Item *item, bool from_front) {
  unsigned long long taken = atomic_load_explicit(&item->taken, memory_order_relaxed);
  for (;;) {
    const int64_t front = (int64_t)(taken & 0xffffffffu), back = (int64_t)(taken >> 32);
    if (front + back >= item->tasks)
      return -1;
    const unsigned long long next = taken + (from_front ? 1 : 1ULL << 32);
    if (atomic_compare_exchange_weak_explicit(&item->taken, &taken, next, memory_order_relaxed, memory_order_relaxed))
      return from_front ? front : item->tasks - 1 - back;
  }
}

static void run_task(FyRunner *r, const Item *item, int64_t task, int worker) {
  const FyPlanStep *step = item->step;
  void *out = r->arrays[step->out[0]].data;
  char *own = r->memory + r->plan->shared_bytes + (size_t)worker * r->plan->thread_bytes;
  if (step->kind == FY_STEP_GROUP) {
    char *memory = (step->group->chunk ? own : r->memory) + step->memory;
    fy_group_run(step->group, item->stage, task, r->arrays[step->in[0]].data, out, (float *)(void *)memory);
    return;
  }
  void *in[FY_MAX_CHAIN_INPUTS];
  for (int i = 0; i < step->n_in; i++)
    in[i] = r->arrays[step->in[i]].data;
  const FyLink *failed = NULL;
  const int status = fy_chain_run(step->chain, task, in, out, own + step->memory, &failed);
  int none = FY_LAUNCH_OK;
  if (status != FY_LAUNCH_OK && atomic_compare_exchange_strong(&r->status, &none, status)) { // the first one tells
    r->failed = step->chain;
    r->failed_link = failed;
  }
}

typedef struct Team {
  FyRunner *runner;
  Item *begin, *end;
  pthread_t caller;
} Team;

static void work(int64_t worker, int64_t end, void *context) {
  const Team *team = context;
  const bool from_front = pthread_equal(pthread_self(), team->caller);
  (void)end;
  for (Item *item = team->begin; item < team->end; item++) {
    for (int64_t task; (task = take_task(item, from_front)) >= 0;) {
      run_task(team->runner, item, task, (int)worker);
      atomic_fetch_add_explicit(&item->done, 1, memory_order_release);
    }
    for (int spins = 0; atomic_load_explicit(&item->done, memory_order_acquire) < item->tasks; spins++) {
      if (spins < MOST_SPINS)
        relax();
      else
        sched_yield(); // somebody's core is busy with something else
    }
  }
}

static void run_team(FyRunner *r, int first, int end) {
  Team team = {r, &r->items[r->first_item[first]], &r->items[r->first_item[end]], pthread_self()};
  int64_t most = 1;
  for (Item *item = team.begin; item < team.end; item++) {
    atomic_store_explicit(&item->taken, 0, memory_order_relaxed);
    atomic_store_explicit(&item->done, 0, memory_order_relaxed);
    most = item->tasks > most ? item->tasks : most;
  }
  fy_parallel_for(most < r->plan->threads ? most : r->plan->threads, 1, work, &team);
  const int status = atomic_load_explicit(&r->status, memory_order_relaxed);
  if (status != FY_LAUNCH_OK) {
    atomic_store(&r->status, FY_LAUNCH_OK);
    const FyLink *link = r->failed_link;
    const int from = link->source[0];
    const FyArray first = {.dtype = from < 0 ? r->failed->inputs[-1 - from].dtype : r->failed->links[from].dtype};
    fy_launch_check(link->op, &first, status);
  }
}

// ---- kernels -------------------------------------------------------------------------------------------------------------------------

// Other numbers in each run, as in each call.
static void draw_again(const FyPlanStep *step, const FyArray *out) {
  FyRandom *p = step->params;
  const bool wide = step->op == &fy_op_randint || (step->op != &fy_op_dropout && out->dtype == FY_FLOAT64);
  const FyRngState state = fy_rng_reserve(fy_random_blocks(out->numel, wide));
  p->seed = state.seed;
  p->offset = state.offset;
}

static void run_kernel(FyRunner *r, int i) {
  const FyPlanStep *step = &r->plan->steps[i];
  FyLaunch *launch = &r->launches[i];
  FyRandom random;
  if (fy_program_is_random(step->op)) { // the plan's own stay as they are: other threads run it too
    FyPlanStep drawn = *step;
    random = *(const FyRandom *)step->params;
    drawn.params = &random;
    draw_again(&drawn, launch->out[0]);
    launch->params = &random;
  }
  r->scratch_used = 0;
  const bool cuda = r->plan->device.type == FY_CUDA;
  if (step->op->check && !cuda)
    step->op->check(launch->params, launch->in);
  const int result =
      cuda ? fy_launch_on_cuda(step->op, r->plan->device.index, launch) : fy_cpu_kernel(step->op)(launch);
  fy_check(result != FY_LAUNCH_NO_MEMORY, FY_OUT_OF_MEMORY_ERROR,
           "out of memory for the workspace of %s in a traced module", step->op->name);
  fy_launch_check(step->op, launch->in[0], result);
  if (cuda)
    fy_op_launched();
}

static void run_steps(FyRunner *r) {
  const FyPlan *plan = r->plan;
  for (int i = 0; i < plan->step_count;) {
    const bool watched = fy_range_open(FY_RANGE_OP, plan->steps[i].name);
    int next = i + 1;
    if (plan->steps[i].kind == FY_STEP_KERNEL) {
      run_kernel(r, i);
    } else {
      while (!watched && next < plan->step_count && plan->steps[next].kind != FY_STEP_KERNEL)
        next++;
      run_team(r, i, next);
    }
    fy_range_close(watched);
    i = next;
  }
}

// ---- a run ---------------------------------------------------------------------------------------------------------------------------

static FyTensor *new_result(const FyPlan *plan) {
  const FyArray *a = &plan->values[plan->values[plan->output].root].array;
  FyTensor *t = fy_new_tensor((FyDType)a->dtype, plan->device, a->ndim, a->shape, false);
  memcpy(t->array.stride, a->stride, (size_t)a->ndim * sizeof *a->stride);
  fy_array_finish(&t->array);
  return t;
}

// The addresses that are others in each run.
static void place_ends(FyRunner *r, const FyTensor *input, const FyTensor *result) {
  const FyPlan *plan = r->plan;
  const int out = plan->values[plan->output].root;
  for (int i = 0; i < plan->value_count; i++) {
    const FyPlanValue *v = &plan->values[i];
    if (v->root == plan->input && r->arrays[i].numel)
      r->arrays[i].data = (char *)input->array.data + v->from_root;
    else if (v->root == out && r->arrays[i].numel)
      r->arrays[i].data = (char *)result->array.data + v->from_root;
  }
}

FyTensor *fy_plan_run(FyPlan *plan, FyTensor *input) {
  FyRunner *r = take_runner(plan);
  FyTensor *result = new_result(plan);
  place_ends(r, input, result);
  run_steps(r);
  give_back(plan, r);
  const FyPlanValue *out = &plan->values[plan->output];
  if (out->root == plan->output)
    return result;
  const int64_t size = (int64_t)fy_dtype_size((FyDType)out->array.dtype);
  return fy_new_alias(result, out->array.ndim, out->array.shape, out->array.stride, out->from_root / size);
}
