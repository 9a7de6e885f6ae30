// nn.Sequential: each child's output is the next one's input.
#include "nn/impl.h"
#include <stdio.h>

// What runs one after the other: a Sequential's children, or a list that ends with NULL.
typedef struct Layers {
  const FyModule *sequential;
  FyModule *const *list;
} Layers;

// The layer at *i, which is then the next one's; NULL at the end.
static FyModule *next_layer(const Layers *layers, int *i) {
  if (layers->list)
    return layers->list[*i] ? layers->list[(*i)++] : NULL;
  while (*i < layers->sequential->field_count && layers->sequential->fields[*i].kind != FY_CHILD)
    ++*i;
  return *i < layers->sequential->field_count ? layers->sequential->fields[(*i)++].module : NULL;
}

// Layers that follow one another and have an op of their own together: Linear and ReLU; Conv2d, ReLU and MaxPool2d. Runs it
// and moves *i behind them; NULL when these are others.
static FyTensor *run_as_one(const Layers *layers, const FyModule *first, int *i, FyTensor *x) {
  FyTensor *weight, *bias;
  FyConv2d conv;
  FyPool2d pool;
  int after = *i;
  bool linear = fy_module_as_linear(first, &weight, &bias);
  if (!linear && !fy_module_as_conv2d(first, &weight, &conv))
    return NULL;
  const FyModule *relu = next_layer(layers, &after);
  if (!relu || !fy_module_is_relu(relu))
    return NULL;
  if (linear) {
    *i = after;
    return fy_linear_relu(x, weight, bias);
  }
  const FyModule *last = next_layer(layers, &after);
  if (!last || !fy_module_as_max_pool2d(last, &pool))
    return NULL;
  *i = after;
  return fy_conv2d_relu_max_pool2d(x, weight, conv, pool);
}

// An output is dropped as soon as the next layer has run: autograd keeps what backward needs, and the rest would only
// raise the peak of memory. Between two layers the running value has one reference, ours; `input` is the caller's.
static FyTensor *run_layers(const Layers *layers, FyTensor *input) {
  FyTensor *x = input;
  FyModule *layer;
  for (int i = 0; (layer = next_layer(layers, &i));) {
    int mark = fy_scope_open();
    if (x != input)
      fy_adopt(x);
    FyTensor *y = run_as_one(layers, layer, &i, x);
    if (!y)
      y = fy_forward_(layer, x);
    if (y != input)
      fy_retain(y);
    fy_scope_close(mark);
    x = y;
  }
  return x == input ? x : fy_adopt(x);
}

static FyTensor *sequential_forward(FyModule *self, FyTensor *input) {
  return run_layers(&(Layers){.sequential = self}, input);
}

FyTensor *fy_forward_each_(FyTensor *input, FyModule *const *modules) {
  fy_check(input, FY_TYPE_ERROR, "fy_forward_each: the input is NULL");
  return run_layers(&(Layers){.list = modules}, input);
}

static const FyModuleClass sequential_class = {.name = "Sequential", .forward = sequential_forward};

FyModule *fy_nn_sequential_(FyModule *const *children) {
  FyModule *self = fy_module_new_of(sizeof *self, &sequential_class);
  for (int i = 0; children[i]; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    fy_module_add_child(self, name, children[i], -1);
  }
  return self;
}

FyModule *fy_sequential_at(FyModule *sequential, int index) {
  fy_module_required(sequential, "fy_sequential_at");
  fy_check(sequential->type == &sequential_class, FY_TYPE_ERROR, "'%s' object is not subscriptable",
           sequential->type->name);
  int count = 0;
  for (int i = 0; i < sequential->field_count; i++)
    count += sequential->fields[i].kind == FY_CHILD;
  fy_check(index >= -count && index < count, FY_INDEX_ERROR, "index %d is out of range", index);
  int wanted = index < 0 ? index + count : index;
  for (int i = 0;; i++)
    if (sequential->fields[i].kind == FY_CHILD && wanted-- == 0)
      return sequential->fields[i].module;
}
