// SPDX-License-Identifier: MIT
// Which ops run as one on the CPU, in float32: convolution + ReLU + pooling, one after the other as long as nobody else reads what
// lies between, and linear layers + ReLU in the same way. (Chains of pointwise ops: fuse_chain.c.)
#include "trace/plan.h"
#include "op/convolution/conv_cpu.h"
#include "op/convolution/pool.h"
#include "op/ops.h"
#include "op/shape/view.h"
#include <stdlib.h>
#include <string.h>

// ---- looking ahead ---------------------------------------------------------------------------------------------------------------

typedef struct Fusion {
  FyPlan *plan;
  const FyProgram *program;
  const int *uses;
  bool *taken;
  FyGroup *group; // of the step `made`
  int made;
} Fusion;

// The step that alone reads `value`, if it is this op and `value` is its first input; -1: none.
static int next_of(const Fusion *f, int value, const FyOp *op) {
  const int use = f->uses[value];
  if (use < 0 || f->taken[use])
    return -1;
  const FyProgramStep *step = &f->program->steps[use];
  return step->op == op && step->in[0] == value ? use : -1;
}

static FyTensor *constant_of(const Fusion *f, int value) {
  return value < 0 ? NULL : f->plan->values[value].constant;
}

static bool is_floats(const FyTensor *t) {
  return t && t->array.dtype == FY_FLOAT32 && t->array.numel > 0 && t->device.type == FY_CPU;
}

// Shapes and dtypes of a step that becomes a part of a group, checked by its infer; its output's shape is then known.
static const FyArray *checked(const Fusion *f, const FyProgramStep *step) {
  FyDescribed d;
  fy_plan_describe(f->plan, step, &d);
  const FyArray array = fy_plan_array((FyDType)d.output[0].dtype, f->plan->device, d.output[0].ndim, d.output[0].shape);
  f->plan->values[step->out[0]].array = array;
  return &f->plan->values[step->out[0]].array;
}

static bool has_one_output(const FyProgramStep *step) {
  for (int i = 1; i < step->n_out; i++)
    if (step->out[i] >= 0)
      return false;
  return true;
}

// ---- weights -----------------------------------------------------------------------------------------------------------------------

static float *room_for(float **at, int64_t count) {
  float *room = *at;
  *at += (count + 15) / 16 * 16;
  return room;
}

static int64_t weight_size(const FyStage *stage) {
  if (stage->kind == FY_STAGE_CONV)
    return fy_panels(stage->conv.outputs) * FY_PANEL * (fy_conv_stage_depth(&stage->conv) + 1) + 32;
  if (stage->kind == FY_STAGE_DENSE)
    return fy_dense_packed_size(stage->dense.in, stage->dense.out) + fy_panels(stage->dense.out) * FY_PANEL + 32;
  return 0;
}

// What a stage's weight is made of.
typedef struct Source {
  FyTensor *weight, *bias;
  const FyFrame *frame; // dense: its input is such an image, with its channels together
  int64_t channels;     // of the image
} Source;

// Where input k of a flattened image (height, width, stored channels) was in (channels, height, width).
static int64_t *order_of(const Source *source) {
  const FyFrame *f = source->frame;
  int64_t *order = malloc((size_t)(f->height * f->width * f->channels) * sizeof *order), *to = order;
  for (int64_t y = 0; order && y < f->height; y++)
    for (int64_t x = 0; x < f->width; x++)
      for (int64_t c = 0; c < f->channels; c++)
        *to++ = c < source->channels ? (c * f->height + y) * f->width + x : -1;
  return order;
}

static void pack(FyStage *stage, const Source *source, float **at) {
  const int scope = fy_scope_open();
  const float *weight = fy_contiguous(source->weight)->array.data;
  const float *bias = source->bias ? fy_contiguous(source->bias)->array.data : NULL;
  if (stage->kind == FY_STAGE_CONV) {
    FyConvStage *conv = &stage->conv;
    conv->packed = room_for(at, fy_panels(conv->outputs) * FY_PANEL * fy_conv_stage_depth(conv));
    conv->bias = room_for(at, fy_panels(conv->outputs) * FY_PANEL);
    fy_conv_stage_pack(conv, weight, source->weight->array.shape[1], bias);
  } else {
    FyDense *dense = &stage->dense;
    int64_t *order = source->frame ? order_of(source) : NULL;
    fy_check(order || !source->frame, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the plan of a traced module");
    dense->packed = room_for(at, fy_dense_packed_size(dense->in, dense->out));
    dense->bias = room_for(at, fy_panels(dense->out) * FY_PANEL);
    fy_dense_pack(dense, weight, bias, source->weight->array.shape[1], order);
    free(order);
  }
  fy_scope_close(scope);
}

// When the group has all its stages: what its step reads and makes, and its weights.
static void finish_group(Fusion *f, const Source *sources, int in, int out, int64_t samples, const char *name) {
  FyPlan *plan = f->plan;
  int64_t total = 0;
  for (int i = 0; i < f->group->count; i++)
    total += weight_size(&f->group->stages[i]);
  FyPlanStep *step = &plan->steps[f->made];
  step->name = name;
  step->n_in = step->n_out = 1;
  step->in[0] = in;
  step->out[0] = out;
  f->group->weights = aligned_alloc(64, (size_t)(total + 16) / 16 * 16 * sizeof(float));
  fy_check(f->group->weights, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the weights of a traced module");
  float *at = f->group->weights;
  for (int i = 0; i < f->group->count; i++)
    if (f->group->stages[i].kind == FY_STAGE_CONV || f->group->stages[i].kind == FY_STAGE_DENSE)
      pack(&f->group->stages[i], &sources[i], &at);
  fy_group_finish(f->group, samples, plan->threads);
  size_t *bytes = f->group->chunk ? &plan->thread_bytes : &plan->shared_bytes;
  step->memory = *bytes;
  *bytes += ((size_t)f->group->memory * sizeof(float) + 63) / 64 * 64;
}

// An empty group as the plan's next step, which frees it whatever is raised.
static void begin_group(Fusion *f) {
  FyPlanStep *step = fy_plan_add_step(f->plan, FY_STEP_GROUP, NULL, NULL);
  f->made = (int)(step - f->plan->steps);
  f->group = step->group = calloc(1, sizeof *step->group);
  fy_check(f->group, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the plan of a traced module");
}

static void mark_taken(Fusion *f, int step) {
  f->taken[step] = true;
}

// ---- linear layers ---------------------------------------------------------------------------------------------------------------

static bool is_dense(const Fusion *f, const FyProgramStep *step) {
  if (step->op != &fy_op_linear)
    return false;
  const FyTensor *weight = constant_of(f, step->in[1]), *bias = constant_of(f, step->in[2]);
  const FyArray *x = &f->plan->values[step->in[0]].array;
  return is_floats(weight) && weight->array.ndim == 2 && x->dtype == FY_FLOAT32 &&
         (step->in[2] < 0 || (is_floats(bias) && bias->array.ndim == 1 && bias->array.numel == weight->array.shape[0]));
}

// Linear layers from step `i` on, on `in`: a value of the plan whose last dimension, or samples, are the first one's input, or
// images as `frame` says.
static void add_dense_group(Fusion *f, int i, int in, const FyFrame *frame, int64_t channels) {
  Source sources[FY_MOST_STAGES] = {{0}};
  int out = -1;
  int64_t samples = 0;
  begin_group(f);
  f->group->in_size = frame ? frame->height * frame->width * frame->channels : 0;
  while (i >= 0 && f->group->count < FY_MOST_STAGES && is_dense(f, &f->program->steps[i])) {
    const FyProgramStep *linear = &f->program->steps[i];
    const FyArray y = *checked(f, linear);
    FyStage stage = {.kind = FY_STAGE_DENSE};
    const bool first = f->group->count == 0;
    sources[f->group->count] =
        (Source){constant_of(f, linear->in[1]), constant_of(f, linear->in[2]), first ? frame : NULL, channels};
    stage.dense.out = stage.out_size = y.shape[y.ndim - 1];
    samples = y.numel / stage.dense.out;
    stage.dense.in = first && frame ? f->group->in_size : sources[f->group->count].weight->array.shape[1];
    if (first)
      f->group->in_size = stage.dense.in;
    mark_taken(f, i);
    out = linear->out[0];
    const int relu = next_of(f, out, &fy_op_relu);
    if (relu >= 0) {
      checked(f, &f->program->steps[relu]);
      mark_taken(f, relu);
      stage.dense.relu = true;
      out = f->program->steps[relu].out[0];
    }
    fy_group_add(f->group, &stage);
    f->group->out_size = stage.out_size;
    i = next_of(f, out, &fy_op_linear);
  }
  static const char *const names[] = {"linear", "linear_relu", "linears"};
  const int kind = f->group->count > 1 ? 2 : f->group->stages[0].dense.relu;
  finish_group(f, sources, in, out, samples, names[kind]);
}

static bool is_empty(const FyArray *a) {
  return a->numel == 0;
}

static bool fuse_linear(Fusion *f, int i) {
  const FyProgramStep *step = &f->program->steps[i];
  if (!is_dense(f, step) || is_empty(&f->plan->values[step->in[0]].array))
    return false;
  FyDescribed d;
  fy_plan_describe(f->plan, step, &d); // raises before anything is made
  add_dense_group(f, i, fy_plan_contiguous(f->plan, step->in[0]), NULL, 0);
  return true;
}

// ---- convolutions ----------------------------------------------------------------------------------------------------------------

// What Winograd's algorithm computes in less time is left to the op, which with pooling has it for whole vectors of channels alone.
static bool is_winograds(const FyProgramStep *step, const FyArray *x, const FyTensor *weight) {
  const FyConvShape s = fy_conv_shape(step->params, x->shape, weight->array.shape);
  return s.o % 16 == 0 && fy_conv_rule_is_winograd(FY_FLOAT32, &s);
}

static bool is_conv(const Fusion *f, const FyProgramStep *step) {
  if (step->op != &fy_op_conv2d)
    return false;
  const FyTensor *weight = constant_of(f, step->in[1]), *bias = constant_of(f, step->in[2]);
  const FyArray *x = &f->plan->values[step->in[0]].array;
  return is_floats(weight) && x->dtype == FY_FLOAT32 && x->numel > 0 && (step->in[2] < 0 || is_floats(bias)) &&
         ((const FyConv2dParams *)step->params)->groups == 1 && !is_winograds(step, x, weight);
}

static bool is_two_by_two(const FyProgramStep *step, const FyArray *in) {
  const FyPool2dParams *p = step->params;
  return p->kernel == 2 && p->stride == 2 && p->padding == 0 && has_one_output(step) && in->shape[2] >= 2 &&
         in->shape[3] >= 2;
}

// What follows the convolution within its stage; returns the value that the stage makes.
static int add_relu_and_pool(Fusion *f, int value, FyStage *stage) {
  const int relu = next_of(f, value, &fy_op_relu);
  if (relu >= 0) {
    checked(f, &f->program->steps[relu]);
    mark_taken(f, relu);
    stage->conv.relu = true;
    value = f->program->steps[relu].out[0];
  }
  const int pool = next_of(f, value, &fy_op_max_pool2d);
  if (pool >= 0 && is_two_by_two(&f->program->steps[pool], &f->plan->values[value].array)) {
    checked(f, &f->program->steps[pool]);
    mark_taken(f, pool);
    stage->conv.pool = true;
    value = f->program->steps[pool].out[0];
  }
  return value;
}

// The view that joins all but the samples, and the linear layer behind it; -1 where there is none.
static int flat_linear(const Fusion *f, int value, int *view) {
  *view = next_of(f, value, &fy_op_view);
  if (*view < 0)
    return -1;
  const FyArray *image = &f->plan->values[value].array, *flat = checked(f, &f->program->steps[*view]);
  const int linear = next_of(f, f->program->steps[*view].out[0], &fy_op_linear);
  const bool joins = flat->ndim == 2 && flat->shape[0] == image->shape[0];
  return joins && linear >= 0 && is_dense(f, &f->program->steps[linear]) ? linear : -1;
}

static FyStage conv_stage(const FyProgramStep *step, const FyArray *x, const FyTensor *weight, int64_t stored) {
  const FyConv2dParams *p = step->params;
  FyStage stage = {.kind = FY_STAGE_CONV};
  stage.conv = (FyConvStage){
      .in = {stored, x->shape[2], x->shape[3], p->padding},
      .kernel_height = weight->array.shape[2],
      .kernel_width = weight->array.shape[3],
      .stride = p->stride,
      .dilation = p->dilation,
      .outputs = weight->array.shape[0],
  };
  return stage;
}

// Convolutions from step i on; *last is the value of the last one, *channels its image's, which lies as its stage's `out` says.
static FyStage *add_convs(Fusion *f, int i, Source *sources, int *last, int64_t *channels) {
  const FyArray *x = &f->plan->values[f->program->steps[i].in[0]].array;
  int64_t stored = x->shape[1];
  FyStage *conv = NULL;
  *channels = stored;
  for (; i >= 0 && f->group->count < FY_MOST_STAGES - 1 && is_conv(f, &f->program->steps[i]);
       i = next_of(f, *last, &fy_op_conv2d)) {
    const FyProgramStep *step = &f->program->steps[i];
    FyTensor *weight = constant_of(f, step->in[1]);
    checked(f, step);
    FyStage stage = conv_stage(step, &f->plan->values[step->in[0]].array, weight, stored);
    if (conv)
      conv->conv.out.border = stage.conv.in.border;
    mark_taken(f, i);
    *last = add_relu_and_pool(f, step->out[0], &stage);
    const FyArray *y = &f->plan->values[*last].array;
    stored = fy_stored_channels(stage.conv.outputs);
    *channels = stage.conv.outputs;
    stage.conv.out = (FyFrame){stored, y->shape[2], y->shape[3], 0};
    sources[f->group->count] = (Source){.weight = weight, .bias = constant_of(f, step->in[2])};
    fy_group_add(f->group, &stage);
    conv = &f->group->stages[f->group->count - 1];
  }
  for (int k = 0; k < f->group->count; k++)
    if (f->group->stages[k].kind == FY_STAGE_CONV)
      f->group->stages[k].out_size = fy_frame_size(&f->group->stages[k].conv.out);
  return conv;
}

static bool fuse_conv(Fusion *f, int i) {
  const FyProgramStep *step = &f->program->steps[i];
  if (!is_conv(f, step))
    return false;
  FyDescribed d;
  fy_plan_describe(f->plan, step, &d);
  const int in = fy_plan_contiguous(f->plan, step->in[0]);
  const FyArray x = f->plan->values[step->in[0]].array;
  const int64_t samples = x.shape[0];
  Source sources[FY_MOST_STAGES] = {{0}};
  FyStage frame = {.kind = FY_STAGE_FRAME, .channels = x.shape[1]};
  frame.frame = (FyFrame){x.shape[1], x.shape[2], x.shape[3], ((const FyConv2dParams *)step->params)->padding};
  frame.out_size = fy_frame_size(&frame.frame);
  begin_group(f);
  f->group->images = true;
  f->group->in_size = x.shape[1] * x.shape[2] * x.shape[3];
  fy_group_add(f->group, &frame);
  int last = step->out[0], view;
  int64_t channels;
  FyStage *conv = add_convs(f, i, sources, &last, &channels);
  const bool several = f->group->count > 2;
  const char *name = several            ? "conv2ds"
                     : !conv->conv.relu ? (conv->conv.pool ? "conv2d_max_pool2d" : "conv2d")
                                        : (conv->conv.pool ? "conv2d_relu_max_pool2d" : "conv2d_relu");
  const FyFrame out_frame = conv->conv.out;
  const int linear = flat_linear(f, last, &view);
  if (linear >= 0) { // the linear layer reads the image as it lies
    const FyArray flat = fy_plan_array(FY_FLOAT32, f->plan->device, 2, (int64_t[]){samples, fy_frame_size(&out_frame)});
    const int between = fy_plan_add_value(f->plan, &flat);
    f->group->out_size = conv->out_size;
    finish_group(f, sources, in, between, samples, name);
    mark_taken(f, view);
    add_dense_group(f, linear, between, &out_frame, channels);
    return true;
  }
  FyStage empty = {.kind = FY_STAGE_EMPTY, .channels = channels, .frame = out_frame};
  empty.out_size = channels * out_frame.height * out_frame.width;
  fy_group_add(f->group, &empty);
  f->group->out_size = empty.out_size;
  finish_group(f, sources, in, last, samples, name);
  return true;
}

bool fy_fuse_group(FyPlan *plan, int first, const int *uses, bool *taken) {
  Fusion f = {.plan = plan, .program = plan->program, .uses = uses, .taken = taken};
  return plan->device.type == FY_CPU && (fuse_conv(&f, first) || fuse_linear(&f, first));
}
