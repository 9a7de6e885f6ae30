// SPDX-License-Identifier: MIT
// nn.Sequential: each child's output is the next one's input.
#include "nn/impl.h"
#include "autograd/checkpoint.h"
#include "op/convolution/conv_pool.h"
#include <stdio.h>
#include <stdlib.h>

// What runs one after the other: some of a Sequential's fields, or a list that ends with NULL.
typedef struct Layers {
  const FyModule *sequential;
  int end; // of its fields
  FyModule *const *list;
} Layers;

// The layer at *i, which is then the next one's; NULL at the end.
static FyModule *next_layer(const Layers *layers, int *i) {
  if (layers->list)
    return layers->list[*i] ? layers->list[(*i)++] : NULL;
  while (*i < layers->end && layers->sequential->fields[*i].kind != FY_CHILD)
    ++*i;
  return *i < layers->end ? layers->sequential->fields[(*i)++].module : NULL;
}

static bool has_layer(const Layers *layers, int i) {
  return next_layer(layers, &i) != NULL;
}

// Conv2d, ReLU and MaxPool2d from *i on; then moves *i behind them.
typedef struct ConvBlock {
  FyTensor *weight;
  FyConv2d conv;
  FyPool2d pool;
} ConvBlock;

static bool take_conv_block(const Layers *layers, int *i, ConvBlock *block) {
  int after = *i;
  const FyModule *conv = next_layer(layers, &after), *relu = conv ? next_layer(layers, &after) : NULL;
  const FyModule *pool = relu ? next_layer(layers, &after) : NULL;
  if (!pool || !fy_module_as_conv2d(conv, &block->weight, &block->conv) || !fy_module_is_relu(relu) ||
      !fy_module_as_max_pool2d(pool, &block->pool))
    return false;
  *i = after;
  return true;
}

static bool take_linear_relu(const Layers *layers, int *i, FyTensor **weight, FyTensor **bias) {
  int after = *i;
  const FyModule *linear = next_layer(layers, &after), *relu = linear ? next_layer(layers, &after) : NULL;
  if (!relu || !fy_module_as_linear(linear, weight, bias) || !fy_module_is_relu(relu))
    return false;
  *i = after;
  return true;
}

// The layer at *i, or several that have an op of their own together. Between two blocks of convolutions nobody sees the
// images, so they stay in the layout that the convolutions compute in.
static FyTensor *run_next(const Layers *layers, int *i, FyTensor *x) {
  ConvBlock block, next;
  FyTensor *weight, *bias;
  if (take_linear_relu(layers, i, &weight, &bias))
    return fy_linear_relu(x, weight, bias);
  if (!take_conv_block(layers, i, &block))
    return fy_forward_of(next_layer(layers, i), x);
  int after = *i;
  if (take_conv_block(layers, &after, &next))
    return fy_conv2d_relu_max_pool2d_channels_last(x, block.weight, block.conv, block.pool);
  return fy_conv2d_relu_max_pool2d(x, block.weight, block.conv, block.pool);
}

// An output is dropped as soon as the next layer has run: autograd keeps what backward needs, and the rest would only
// raise the peak of memory. Between two layers the running value has one reference, ours; `input` is the caller's.
static FyTensor *run_layers(const Layers *layers, int begin, FyTensor *input) {
  FyTensor *x = input;
  for (int i = begin; has_layer(layers, i);) {
    int mark = fy_scope_open();
    if (x != input)
      fy_adopt(x);
    FyTensor *y = run_next(layers, &i, x);
    if (y != input)
      fy_retain(y);
    fy_scope_close(mark);
    x = y;
  }
  return x == input ? x : fy_adopt(x);
}

static FyTensor *sequential_forward(FyModule *self, FyTensor *input) {
  return run_layers(&(Layers){.sequential = self, .end = self->field_count}, 0, input);
}

FyTensor *fy_forward_each_with(FyTensor *input, FyModule *const *modules) {
  fy_check(input, FY_TYPE_ERROR, "fy_forward_each: the input is NULL");
  return run_layers(&(Layers){.list = modules}, 0, input);
}

static const FyModuleClass sequential_class = {.name = "Sequential", .forward = sequential_forward};

FyModule *fy_nn_sequential_with(FyModule *const *children) {
  FyModule *self = fy_module_new_of(sizeof *self, &sequential_class);
  for (int i = 0; children[i]; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    fy_module_add_child(self, name, children[i], -1);
  }
  return self;
}

static int layer_count(const FyModule *sequential) {
  int count = 0;
  for (int i = 0; i < sequential->field_count; i++)
    count += sequential->fields[i].kind == FY_CHILD;
  return count;
}

FyModule *fy_sequential_at(FyModule *sequential, int index) {
  fy_module_required(sequential, "fy_sequential_at");
  fy_check(sequential->type == &sequential_class, FY_TYPE_ERROR, "'%s' object is not subscriptable",
           sequential->type->name);
  int count = layer_count(sequential);
  fy_check(index >= -count && index < count, FY_INDEX_ERROR, "index %d is out of range", index);
  int wanted = index < 0 ? index + count : index;
  for (int i = 0;; i++)
    if (sequential->fields[i].kind == FY_CHILD && wanted-- == 0)
      return sequential->fields[i].module;
}

// ---- checkpoints -----------------------------------------------------------------------------------------------------------

typedef struct Segment {
  FyModule *sequential; // counted
  int begin, end;       // fields
} Segment;

static FyTensor *run_segment(void *context, FyTensor *const *inputs) {
  const Segment *s = context;
  return run_layers(&(Layers){.sequential = s->sequential, .end = s->end}, s->begin, inputs[0]);
}

static void free_segment(void *context) {
  Segment *s = context;
  fy_release(s->sequential);
  free(s);
}

static FyTensor *checkpoint_segment(FyModule *sequential, int begin, int end, FyTensor *x) {
  Segment *s = malloc(sizeof *s);
  fy_check(s, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a segment of a checkpoint");
  *s = (Segment){.sequential = fy_retain(sequential), .begin = begin, .end = end};
  return fy_checkpoint_with(fy_checkpoint_options(run_segment, s, .free_context = free_segment), fy_list(x));
}

// The field behind the next `layers` layers from field `begin` on.
static int field_behind(const FyModule *sequential, int begin, int layers) {
  const Layers all = {.sequential = sequential, .end = sequential->field_count};
  while (layers-- > 0)
    next_layer(&all, &begin);
  return begin;
}

FyTensor *fy_checkpoint_sequential(FyModule *sequential, int segments, FyTensor *x) {
  fy_module_required(sequential, "fy_checkpoint_sequential");
  fy_check(x, FY_TYPE_ERROR, "fy_checkpoint_sequential: the input is NULL");
  fy_check(sequential->type == &sequential_class, FY_TYPE_ERROR,
           "fy_checkpoint_sequential() runs a Sequential, but got '%s' object", sequential->type->name);
  const int layers = layer_count(sequential);
  fy_check(segments >= 1 && segments <= layers, FY_VALUE_ERROR,
           "fy_checkpoint_sequential: a Sequential of %d layers can be cut into 1 to %d segments, but got %d", layers,
           layers, segments);
  FyTensor *input = x;
  int scope = fy_scope_open(), begin = 0;
  for (int i = 0; i < segments - 1; i++) {
    const int end = field_behind(sequential, begin, layers / segments);
    FyTensor *y = checkpoint_segment(sequential, begin, end, x);
    if (x != y && x != input)
      fy_drop(x);
    x = y;
    begin = end;
  }
  FyTensor *y = run_layers(&(Layers){.sequential = sequential, .end = sequential->field_count}, begin, x);
  fy_keep(y);
  fy_scope_close(scope);
  return y;
}
