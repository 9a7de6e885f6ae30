// nn.Sequential: each child's output is the next one's input.
#include "nn/impl.h"
#include <stdio.h>

// The next child from *i on, whose index is left behind it; NULL at the end.
static FyModule *next_child(const FyModule *self, int *i) {
  while (*i < self->field_count && self->fields[*i].kind != FY_CHILD)
    ++*i;
  return *i < self->field_count ? self->fields[(*i)++].module : NULL;
}

// Conv2d, ReLU and MaxPool2d that follow one another run as one op, with the same values. NULL when these are others.
static FyTensor *run_conv_relu_pool(const FyModule *self, FyModule *first, int *i, FyTensor *x) {
  FyTensor *weight;
  FyConv2d conv;
  FyPool2d pool;
  int after = *i;
  if (!fy_module_as_conv2d(first, &weight, &conv))
    return NULL;
  FyModule *relu = next_child(self, &after);
  if (!relu || !fy_module_is_relu(relu))
    return NULL;
  FyModule *last = next_child(self, &after);
  if (!last || !fy_module_as_max_pool2d(last, &pool))
    return NULL;
  *i = after;
  return fy_conv2d_relu_max_pool2d(x, weight, conv, pool);
}

// An output is dropped as soon as the next layer has run: autograd keeps what backward needs, and the rest would only
// raise the peak of memory. Between two layers the running value has one reference, ours; `input` is the caller's.
static FyTensor *sequential_forward(FyModule *self, FyTensor *input) {
  FyTensor *x = input;
  FyModule *child;
  for (int i = 0; (child = next_child(self, &i));) {
    int mark = fy_scope_open();
    if (x != input)
      fy_adopt(x);
    FyTensor *y = run_conv_relu_pool(self, child, &i, x);
    if (!y)
      y = fy_forward_(child, x);
    if (y != input)
      fy_retain(y);
    fy_scope_close(mark);
    x = y;
  }
  return x == input ? x : fy_adopt(x);
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
