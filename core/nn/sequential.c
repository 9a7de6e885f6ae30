// nn.Sequential: each child's output is the next one's input.
#include "nn/impl.h"
#include <stdio.h>

// An output is dropped as soon as the next layer has run: autograd keeps what backward needs, and the rest would only
// raise the peak of memory. Between two layers the running value has one reference, ours; `input` is the caller's.
static FyTensor *sequential_forward(FyModule *self, FyTensor *input) {
  FyTensor *x = input;
  for (int i = 0; i < self->field_count; i++) {
    if (self->fields[i].kind != FY_CHILD)
      continue;
    int mark = fy_scope_open();
    if (x != input)
      fy_adopt(x);
    FyTensor *y = fy_forward_(self->fields[i].module, x);
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
