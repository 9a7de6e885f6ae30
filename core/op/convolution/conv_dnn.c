// SPDX-License-Identifier: MIT
// Convolution by oneDNN, in the layouts that it likes best: float32 or bfloat16 with enough channels.
//
// The batch is cut into chunks by its size alone. A thread takes a chunk, brings its images into oneDNN's layout, convolves,
// and brings the result back, all of it in the cache. So results do not depend on the number of threads either. A batch too
// small to share goes to one primitive that uses all threads.
#include "op/convolution/conv_dnn.h"
#include "base/threads.h"
#include "op/convolution/conv_cpu.h"
#include "tensor/half.h"
#include <stdatomic.h>
#include <string.h>

typedef struct Job {
  FyDnnKind kind;
  FyConvAlgorithm algorithm;
  FyDType dtype;
  const FyConvShape *s;
  FyDnnPlan *plan, *last_plan; // of a whole chunk, and of the last one when it is smaller
  char *data[FY_DNN_ROLES];    // row-major
  const void *bias;
  const FyConvHook *hook; // meets the output instead of data[FY_DNN_OUT], when not NULL
  char *weight;           // in the plan's layout, where the pass reads it
  char *slots;            // scratch of each thread
  size_t slot_bytes;
  int64_t chunk, chunks; // images, and their number
  atomic_int status;
} Job;

static const int arguments[3][FY_DNN_ROLES] = {
    [FY_DNN_FORWARD] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
    [FY_DNN_BACKWARD_INPUT] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
    [FY_DNN_BACKWARD_WEIGHT] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST},
};

static size_t aligned(size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

static size_t slot_bytes(const FyDnnPlan *plan, const FyConvHook *hook) {
  size_t bytes = aligned(plan->scratchpad_bytes) + (hook ? aligned(hook->scratch_bytes) : 0);
  for (int i = 0; i < FY_DNN_ROLES; i++)
    bytes += aligned(plan->arrays[i].inner_bytes) + aligned(plan->arrays[i].met_bytes);
  return bytes;
}

// ---- running primitives ------------------------------------------------------------------------------------------------

static dnnl_status_t reorder(const FyDnnArray *array, bool to_inner, const void *from, void *to, dnnl_stream_t stream) {
  FyDnnExecution e = {.status = dnnl_success};
  fy_dnn_argument(&e, DNNL_ARG_FROM, to_inner ? array->plain : array->inner, from);
  fy_dnn_argument(&e, DNNL_ARG_TO, to_inner ? array->inner : array->plain, to);
  return fy_dnn_execute(&e, array->reorder, stream);
}

// A chunk of the batch, as convolve takes it.
typedef struct Chunk {
  char *plain[FY_DNN_ROLES]; // of OUT not used when there is a hook
  const char *weight;        // in its layout already, when not NULL
  int64_t first, images, part;
} Chunk;

static void call_hook(const Job *job, const Chunk *chunk, char *out, char *scratch) {
  job->hook->meet(job->hook->context, chunk->first, chunk->images, chunk->part, out, scratch);
}

static dnnl_status_t convolve(const Job *job, const FyDnnPlan *plan, const Chunk *chunk, char *slot,
                              dnnl_stream_t stream) {
  const FyConvHook *hook = job->hook;
  int result = fy_dnn_result(job->kind);
  char *inner[FY_DNN_ROLES], *met = NULL, *scratchpad = slot, *scratch = slot + aligned(plan->scratchpad_bytes);
  FyDnnExecution e = {.status = dnnl_success};
  slot = scratch + (hook ? aligned(hook->scratch_bytes) : 0);
  for (int i = 0; i < FY_DNN_ROLES; i++) {
    const FyDnnArray *array = &plan->arrays[i];
    bool hooked = hook && i == FY_DNN_OUT, ready = hooked || (i == FY_DNN_WEIGHT && chunk->weight);
    inner[i] = hooked ? slot : ready ? (char *)(uintptr_t)chunk->weight : array->reorder ? slot : chunk->plain[i];
    slot += aligned(array->inner_bytes);
    if (hooked) {
      met = array->reorder ? slot : inner[i];
      slot += aligned(array->met_bytes);
    }
    if (hooked && i != result)
      call_hook(job, chunk, met, scratch);
    if (hooked && i != result && array->reorder && e.status == dnnl_success)
      e.status = reorder(array, true, met, inner[i], stream);
    else if (array->reorder && i != result && !ready && e.status == dnnl_success)
      e.status = reorder(array, true, chunk->plain[i], inner[i], stream);
    fy_dnn_argument(&e, arguments[job->kind][i], array->inner, inner[i]);
  }
  if (plan->bias)
    fy_dnn_argument(&e, DNNL_ARG_BIAS, plan->bias, job->bias);
  fy_dnn_argument(&e, DNNL_ARG_SCRATCHPAD, plan->scratchpad, scratchpad);
  dnnl_status_t status = fy_dnn_execute(&e, plan->convolution, stream);
  if (status != dnnl_success)
    return status;
  bool meets = hook && result == FY_DNN_OUT;
  if (plan->arrays[result].reorder)
    status = reorder(&plan->arrays[result], false, inner[result], meets ? met : chunk->plain[result], stream);
  if (meets && status == dnnl_success)
    call_hook(job, chunk, met, scratch);
  return status;
}

// ---- chunks ------------------------------------------------------------------------------------------------------------

static void run_chunks(int worker, FyTurns *turns, void *context) {
  Job *job = context;
  const FyConvShape *s = job->s;
  int64_t x = s->c * s->h * s->w, y = s->o * s->oh * s->ow, weight = s->o * (s->c / s->groups) * s->kh * s->kw;
  size_t size = fy_dtype_size(job->dtype);
  char *slot = job->slots + (size_t)worker * job->slot_bytes;
  bool serial = job->plan->key.serial;
  int held = serial ? fy_dnn_hold_threads() : 0;
  dnnl_stream_t stream = NULL;
  dnnl_status_t status = dnnl_stream_create(&stream, fy_dnn_engine(), dnnl_stream_default_flags);
  for (int64_t i; status == dnnl_success && fy_next_turn(turns, &i);) {
    bool partial = job->kind == FY_DNN_BACKWARD_WEIGHT, last = i == job->chunks - 1;
    const FyDnnPlan *plan = last ? job->last_plan : job->plan;
    Chunk chunk = {.first = i * job->chunk, .part = i};
    chunk.images = last ? s->n - chunk.first : job->chunk;
    chunk.weight = plan == job->plan ? job->weight : NULL; // another size may have chosen another layout
    chunk.plain[FY_DNN_X] = job->data[FY_DNN_X] + (size_t)(chunk.first * x) * size;
    chunk.plain[FY_DNN_WEIGHT] = job->data[FY_DNN_WEIGHT] + (partial ? (size_t)(i * weight) * sizeof(float) : 0);
    if (!job->hook)
      chunk.plain[FY_DNN_OUT] = job->data[FY_DNN_OUT] + (size_t)(chunk.first * y) * size;
    status = convolve(job, plan, &chunk, slot, stream);
  }
  if (stream)
    dnnl_stream_destroy(stream);
  if (serial)
    fy_dnn_release_threads(held);
  if (status != dnnl_success)
    atomic_store(&job->status, FY_LAUNCH_DNN - (int)status);
}

// Chunks by the shape alone: enough for many threads, each with work worth the overhead of some microseconds.
static void choose_chunks(Job *job) {
  enum { MOST_CHUNKS = 32, LEAST_WORK = 4 << 20, MOST_PARTIAL_BYTES = 64 << 20 };
  const FyConvShape *s = job->s;
  int64_t weight = s->o * fy_conv_depth(s), work = weight * s->oh * s->ow; // multiply-adds of an image
  int64_t chunks = s->n < MOST_CHUNKS ? s->n : MOST_CHUNKS;
  while (chunks > 1 && work * s->n / chunks < LEAST_WORK)
    chunks /= 2;
  if (job->algorithm == FY_CONV_DNN_WHOLE)
    chunks = 1;
  if (job->kind == FY_DNN_BACKWARD_WEIGHT)
    for (chunks = chunks < FY_CONV_MOST_PARTS ? chunks : FY_CONV_MOST_PARTS;
         chunks > 1 && chunks * weight * 4 > MOST_PARTIAL_BYTES;)
      chunks /= 2;
  job->chunk = (s->n + chunks - 1) / chunks;
  job->chunks = (s->n + job->chunk - 1) / job->chunk;
}

static bool choose_plans(Job *job) {
  FyConvShape chunk = *job->s, last = *job->s;
  // A weight's gradient sums over the batch, which one thread does in one order.
  bool serial = job->chunks > 1 || job->kind == FY_DNN_BACKWARD_WEIGHT, channels_last = job->hook != NULL;
  bool x_last = job->hook && job->hook->x_channels_last;
  chunk.n = job->chunk;
  last.n = job->s->n - (job->chunks - 1) * job->chunk;
  job->plan = fy_dnn_plan(job->kind, job->dtype, &chunk, job->bias != NULL, serial, channels_last, x_last);
  job->last_plan = last.n == chunk.n
                       ? job->plan
                       : fy_dnn_plan(job->kind, job->dtype, &last, job->bias != NULL, serial, channels_last, x_last);
  return job->plan && job->last_plan;
}

// Brings the weight into the plan's layout once for all chunks.
static int prepare_weight(FyLaunch *l, Job *job) {
  const FyDnnArray *array = &job->plan->arrays[FY_DNN_WEIGHT];
  dnnl_stream_t stream;
  if (job->kind == FY_DNN_BACKWARD_WEIGHT || !array->reorder)
    return FY_LAUNCH_OK;
  job->weight = l->workspace(l, array->inner_bytes);
  if (!job->weight)
    return FY_LAUNCH_NO_MEMORY;
  dnnl_status_t status = dnnl_stream_create(&stream, fy_dnn_engine(), dnnl_stream_default_flags);
  if (status != dnnl_success)
    return FY_LAUNCH_DNN - (int)status;
  status = reorder(array, true, job->data[FY_DNN_WEIGHT], job->weight, stream);
  dnnl_stream_destroy(stream);
  return status == dnnl_success ? FY_LAUNCH_OK : FY_LAUNCH_DNN - (int)status;
}

// oneDNN's layouts hold 8 or 16 channels together: with fewer, im2col is faster. Depthwise has kernels of its own.
static bool pays_by_rule(const FyConvShape *s) {
  enum { FEW = 8 };
  int64_t in = s->c / s->groups, out = s->o / s->groups;
  return (in >= FEW && out >= FEW) || (in == 1 && out == 1 && s->groups >= FEW);
}

// Whether to try: by the rule where it pays, else because it is asked for. The whole batch at once, whose sums depend on the
// number of threads where the batch is summed over, and which leaves a hook to one thread, is for the other passes.
static bool is_for(FyConvAlgorithm algorithm, FyDnnKind kind, const FyConvShape *s, const FyConvHook *hook) {
  if (s->n == 0)
    return false;
  if (algorithm == FY_CONV_DNN_WHOLE)
    return kind != FY_DNN_BACKWARD_WEIGHT && !hook;
  return algorithm == FY_CONV_BY_RULE ? pays_by_rule(s) : algorithm == FY_CONV_DNN;
}

static int run_chunked(FyLaunch *l, Job *job) {
  int status = prepare_weight(l, job);
  if (status != FY_LAUNCH_OK)
    return status;
  size_t whole = slot_bytes(job->plan, job->hook), last = slot_bytes(job->last_plan, job->hook);
  job->slot_bytes = whole > last ? whole : last;
  job->slots = l->workspace(l, job->slot_bytes * (size_t)fy_get_num_threads() + 1);
  if (!job->slots)
    return FY_LAUNCH_NO_MEMORY;
  fy_parallel_turns(job->chunks, run_chunks, job);
  return atomic_load(&job->status);
}

static void release_plans(const Job *job) {
  if (job->last_plan != job->plan)
    fy_dnn_plan_release(job->last_plan);
  fy_dnn_plan_release(job->plan);
}

static int run_job(FyLaunch *l, Job *job) {
  if (!is_for(job->algorithm, job->kind, job->s, job->hook))
    return FY_LAUNCH_NO_KERNEL;
  choose_chunks(job);
  int status = choose_plans(job) ? run_chunked(l, job) : FY_LAUNCH_NO_KERNEL;
  release_plans(job);
  return status;
}

static char *bytes_of(const void *p) {
  return (char *)(uintptr_t)p;
}

int fy_dnn_forward(FyLaunch *l, FyConvAlgorithm algorithm, const FyConvShape *s, FyDType dtype, const void *x,
                   const void *weight, const void *bias, void *out, const FyConvHook *hook) {
  Job job = {.kind = FY_DNN_FORWARD,
             .algorithm = algorithm,
             .dtype = dtype,
             .s = s,
             .bias = bias,
             .hook = hook,
             .data = {bytes_of(x), bytes_of(weight), out}};
  return run_job(l, &job);
}

int fy_dnn_backward_input(FyLaunch *l, FyConvAlgorithm algorithm, const FyConvShape *s, FyDType dtype, const void *grad,
                          const void *weight, void *grad_x, const FyConvHook *hook) {
  Job job = {.kind = FY_DNN_BACKWARD_INPUT,
             .algorithm = algorithm,
             .dtype = dtype,
             .s = s,
             .hook = hook,
             .data = {grad_x, bytes_of(weight), bytes_of(grad)}};
  return run_job(l, &job);
}

// Each chunk has its own gradient, float32; they are summed in their order, and rounded at the end.
int fy_dnn_backward_weight(FyLaunch *l, FyConvAlgorithm algorithm, const FyConvShape *s, FyDType dtype,
                           const void *grad, const void *x, void *grad_weight, const FyConvHook *hook) {
  Job job = {.kind = FY_DNN_BACKWARD_WEIGHT, .algorithm = algorithm, .dtype = dtype, .s = s, .hook = hook};
  int64_t count = s->o * fy_conv_depth(s);
  bool rounded = dtype == FY_BFLOAT16 && !hook;
  if (!is_for(algorithm, FY_DNN_BACKWARD_WEIGHT, s, hook))
    return FY_LAUNCH_NO_KERNEL;
  choose_chunks(&job);
  float *parts = grad_weight;
  if (job.chunks > 1 || rounded)
    parts = l->workspace(l, (size_t)(job.chunks * count) * sizeof *parts);
  if (!parts)
    return FY_LAUNCH_NO_MEMORY;
  job.data[FY_DNN_X] = bytes_of(x);
  job.data[FY_DNN_WEIGHT] = bytes_of(parts);
  job.data[FY_DNN_OUT] = bytes_of(grad);
  int status = run_job(l, &job);
  if (status != FY_LAUNCH_OK || parts == grad_weight)
    return status;
  fy_conv_sum_parts(FY_FLOAT32, job.chunks, count, parts, rounded ? parts : grad_weight);
  if (rounded)
    fy_narrow_floats(grad_weight, parts, count);
  return FY_LAUNCH_OK;
}

bool fy_dnn_convolves_bfloat16(FyDnnKind kind, const FyConvShape *s, bool bias) {
  Job job = {.kind = kind, .dtype = FY_BFLOAT16, .s = s, .bias = bias ? s : NULL}; // any pointer: whether there is one
  if (!fy_dnn_has_amx() || !is_for(FY_CONV_BY_RULE, kind, s, NULL))
    return false;
  choose_chunks(&job);
  bool all = choose_plans(&job);
  release_plans(&job);
  return all;
}
