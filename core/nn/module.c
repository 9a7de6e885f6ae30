// SPDX-License-Identifier: MIT
// Modules as objects: making them, registering what they hold, calling them, walking over them.
#include "nn/impl.h"
#include <stdlib.h>
#include <string.h>

static void release_field(FyField *field) {
  if (field->kind == FY_CHILD)
    fy_release(field->module);
  else
    fy_release(field->tensor);
  free(field->name);
}

static void destroy_module(void *object) {
  FyModule *self = object;
  if (self->type && self->type->destroy)
    self->type->destroy(self);
  for (int i = 0; i < self->field_count; i++)
    release_field(&self->fields[i]);
  free(self->fields);
  fy_module_set_graphed(self, NULL);
  free(self);
}

void fy_module_set_graphed(FyModule *self, const FyGraphedForward *graphed) {
  FyObject *old = self->graphed ? self->graphed->object : NULL;
  if (graphed)
    fy_retain(graphed->object);
  self->graphed = graphed;
  fy_release(old);
}

void fy_module_required(const FyModule *module, const char *function) {
  fy_check(module, FY_TYPE_ERROR, "%s: the module is NULL", function);
}

static FyModule *new_module(size_t bytes) {
  FyModule *self = fy_object_new(bytes, destroy_module);
  self->bytes = bytes;
  self->training = true;
  return self;
}

void *fy_module_new_of(size_t bytes, const FyModuleClass *type) {
  FyModule *self = new_module(bytes);
  self->type = type;
  return self;
}

void *fy_module_new_with(size_t bytes, const char *name, FyTensor *(*forward)(FyModule *, FyTensor *)) {
  FyModule *self = new_module(bytes);
  self->own = (FyModuleClass){.name = name, .forward = forward};
  self->type = &self->own;
  return self;
}

// ---- registration ------------------------------------------------------------------------------------------------------

static void check_name(const char *what, const char *name) {
  fy_check(name && *name, FY_KEY_ERROR, "%s name can't be empty string \"\"", what);
  fy_check(!strchr(name, '.'), FY_KEY_ERROR, "%s name can't contain \".\", got \"%s\"", what, name);
}

static FyField *new_field(FyModule *self) {
  if (self->field_count == self->field_capacity) {
    int capacity = self->field_capacity ? 2 * self->field_capacity : 4;
    FyField *fields = realloc(self->fields, (size_t)capacity * sizeof *fields);
    fy_check(fields, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a module of %d fields", capacity);
    self->fields = fields;
    self->field_capacity = capacity;
  }
  return &self->fields[self->field_count];
}

static void remove_field(FyModule *self, int index) {
  FyField gone = self->fields[index];
  self->field_count--;
  memmove(&self->fields[index], &self->fields[index + 1], (size_t)(self->field_count - index) * sizeof gone);
  release_field(&gone);
}

// The field to write: a new one, or that of the same name and kind (assigning again replaces, at the same place).
static FyField *field_for(FyModule *self, const char *name, FyFieldKind kind) {
  for (int i = 0; i < self->field_count; i++) {
    FyField *field = &self->fields[i];
    if (strcmp(field->name, name) != 0)
      continue;
    if (field->kind == kind)
      return field;
    remove_field(self, i);
    break;
  }
  FyField *field = new_field(self);
  char *copy = strdup(name);
  fy_check(copy, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the name of a field");
  *field = (FyField){.name = copy, .kind = kind};
  self->field_count++;
  return field;
}

static bool contains(const FyModule *module, const FyModule *wanted) {
  if (module == wanted)
    return true;
  for (int i = 0; i < module->field_count; i++)
    if (module->fields[i].kind == FY_CHILD && contains(module->fields[i].module, wanted))
      return true;
  return false;
}

FyModule *fy_module_add_child(FyModule *self, const char *name, FyModule *child, int64_t offset) {
  fy_module_required(self, "fy_module_add_child");
  check_name("module", name);
  fy_check(child, FY_TYPE_ERROR, "child \"%s\" of %s is NULL, not a module", name, self->type->name);
  fy_check(!contains(child, self), FY_VALUE_ERROR, "child \"%s\" of %s contains it: modules cannot form a cycle", name,
           self->type->name);
  FyField *field = field_for(self, name, FY_CHILD);
  FyModule *old = field->module;
  field->module = fy_retain(child);
  field->offset = offset;
  fy_release(old);
  return child;
}

FyTensor *fy_module_add_tensor(FyModule *self, const char *name, FyFieldKind kind, FyTensor *tensor, int64_t offset) {
  fy_module_required(self, "fy_module_add_tensor");
  fy_check(kind != FY_CHILD, FY_VALUE_ERROR, "\"%s\" is a tensor; children are added by fy_module_add_child", name);
  check_name(kind == FY_PARAMETER ? "parameter" : "buffer", name);
  if (tensor && kind == FY_PARAMETER) {
    fy_check(fy_is_leaf(tensor), FY_VALUE_ERROR,
             "Cannot assign non-leaf Tensor to parameter '%s'. Model parameters must be created explicitly. To express "
             "'%s' as a function of another Tensor, compute the value in the forward() method.",
             name, name);
    fy_set_requires_grad(tensor, true);
  }
  FyField *field = field_for(self, name, kind);
  FyTensor *old = field->tensor;
  field->tensor = fy_retain(tensor);
  field->offset = offset;
  fy_release(old);
  return tensor;
}

// ---- calling -----------------------------------------------------------------------------------------------------------

FyTensor *fy_forward_of(FyModule *module, FyTensor *input) {
  fy_module_required(module, "fy_forward");
  fy_check(input, FY_TYPE_ERROR, "%s.forward() missing 1 required positional argument: 'input'", module->type->name);
  int mark = fy_scope_open();
  const FyGraphedForward *graphed = module->graphed;
  const bool replays = graphed && graphed->training == module->training;
  FyTensor *output = replays ? graphed->forward(graphed, module, input) : module->type->forward(module, input);
  fy_check(output, FY_TYPE_ERROR, "%s.forward() returned NULL, not a tensor", module->type->name);
  fy_keep(output);
  fy_scope_close(mark);
  return output;
}

// ---- walking -----------------------------------------------------------------------------------------------------------

static void visit_below(FyModule *module, const char *prefix, unsigned kinds, FyFieldVisit *visit, void *context);

static void visit_kind(FyModule *module, const char *prefix, FyFieldKind kind, unsigned kinds, FyFieldVisit *visit,
                       void *context) {
  for (int i = 0; i < module->field_count; i++) {
    FyField *field = &module->fields[i];
    if (field->kind != kind || !field->module)
      continue;
    size_t length = strlen(prefix), name_length = strlen(field->name) + 1;
    char path[length + 1 + name_length];
    memcpy(path, prefix, length);
    if (length)
      path[length++] = '.';
    memcpy(path + length, field->name, name_length);
    if (kinds & 1u << kind)
      visit(module, field, path, context);
    if (kind == FY_CHILD)
      visit_below(field->module, path, kinds, visit, context);
  }
}

static void visit_below(FyModule *module, const char *prefix, unsigned kinds, FyFieldVisit *visit, void *context) {
  if (kinds & 1u << FY_PARAMETER)
    visit_kind(module, prefix, FY_PARAMETER, kinds, visit, context);
  if (kinds & 1u << FY_BUFFER)
    visit_kind(module, prefix, FY_BUFFER, kinds, visit, context);
  visit_kind(module, prefix, FY_CHILD, kinds, visit, context);
}

void fy_module_visit(FyModule *module, unsigned kinds, FyFieldVisit *visit, void *context) {
  visit_below(module, "", kinds, visit, context);
}

void fy_set_training_of(FyModule *module, bool training) {
  fy_module_required(module, "fy_train");
  module->training = training;
  for (int i = 0; i < module->field_count; i++)
    if (module->fields[i].kind == FY_CHILD)
      fy_set_training_of(module->fields[i].module, training);
}

static bool child_before(const FyModule *module, int index) {
  for (int i = 0; i < index; i++)
    if (module->fields[i].kind == FY_CHILD && module->fields[i].module == module->fields[index].module)
      return true;
  return false;
}

void fy_module_apply_of(FyModule *module, void (*fn)(FyModule *module, void *context), void *context) {
  fy_module_required(module, "fy_module_apply");
  for (int i = 0; i < module->field_count; i++)
    if (module->fields[i].kind == FY_CHILD && !child_before(module, i))
      fy_module_apply_of(module->fields[i].module, fn, context);
  fn(module, context);
}

static void clear_grad(FyModule *owner, FyField *field, const char *name, void *context) {
  (void)owner;
  (void)name;
  (void)context;
  fy_set_grad(field->tensor, NULL);
}

void fy_module_zero_grad_of(FyModule *module) {
  fy_module_required(module, "fy_module_zero_grad");
  fy_module_visit(module, 1u << FY_PARAMETER, clear_grad, NULL);
}

static void set_requires_grad(FyModule *owner, FyField *field, const char *name, void *context) {
  (void)owner;
  (void)name;
  fy_set_requires_grad(field->tensor, *(bool *)context);
}

void fy_module_requires_grad_(FyModule *module, bool requires_grad) {
  fy_module_required(module, "fy_module_requires_grad_");
  fy_module_visit(module, 1u << FY_PARAMETER, set_requires_grad, &requires_grad);
}

// ---- replicas ----------------------------------------------------------------------------------------------------------

// What a clone replaces: tensors by position in two pairs of lists, modules as they are made (a shared child stays one).
typedef struct Replacements {
  FyObject object;
  const FyTensorList *old_parameters, *old_buffers;
  FyTensors parameters, buffers;
  int count, capacity;
  const FyModule **from;
  FyModule **to;
} Replacements;

static void destroy_replacements(void *object) {
  Replacements *r = object;
  free(r->from);
  free(r->to);
  free(r);
}

static FyTensor *replacement_of(const Replacements *r, FyFieldKind kind, const FyTensor *tensor) {
  const FyTensorList *old = kind == FY_PARAMETER ? r->old_parameters : r->old_buffers;
  FyTensors fresh = kind == FY_PARAMETER ? r->parameters : r->buffers;
  for (int i = 0; i < old->count; i++)
    if (old->items[i] == tensor)
      return fresh.items[i];
  return NULL;
}

static void remember(Replacements *r, const FyModule *from, FyModule *to) {
  if (r->count == r->capacity) {
    int capacity = r->capacity ? 2 * r->capacity : 16;
    const FyModule **wider_from = realloc(r->from, (size_t)capacity * sizeof *wider_from);
    if (wider_from)
      r->from = wider_from;
    FyModule **wider_to = realloc(r->to, (size_t)capacity * sizeof *wider_to);
    if (wider_to)
      r->to = wider_to;
    fy_check(wider_from && wider_to, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a copy of %d modules", capacity);
    r->capacity = capacity;
  }
  r->from[r->count] = from;
  r->to[r->count++] = to;
}

static FyModule *clone_tree(const FyModule *module, Replacements *r);

static void clone_field(FyModule *copy, const FyField *field, Replacements *r) {
  void *value = NULL;
  if (field->kind == FY_CHILD)
    value = fy_retain(clone_tree(field->module, r));
  else if (field->tensor)
    value = fy_retain(replacement_of(r, field->kind, field->tensor));
  FyField *made = new_field(copy);
  *made = *field;
  made->name = strdup(field->name);
  if (field->kind == FY_CHILD)
    made->module = value;
  else
    made->tensor = value;
  copy->field_count++;
  if (field->offset >= 0)
    memcpy((char *)copy + field->offset, &value, sizeof value);
  fy_check(made->name, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the name of a field");
}

static FyModule *clone_tree(const FyModule *module, Replacements *r) {
  for (int i = 0; i < r->count; i++)
    if (r->from[i] == module)
      return r->to[i];
  fy_check(!module->type->destroy || module->type->clone, FY_NOT_IMPLEMENTED_ERROR,
           "%s cannot be copied: its class has a destroy function, and no clone function beside it",
           module->type->name);
  FyModule *copy = new_module(module->bytes);
  copy->training = module->training;
  copy->own = module->own;
  memcpy((char *)copy + sizeof *copy, (const char *)module + sizeof *module, module->bytes - sizeof *module);
  if (module->type->clone)
    module->type->clone(copy, module);
  copy->type = module->type == &module->own ? &copy->own : module->type;
  remember(r, module, copy);
  for (int i = 0; i < module->field_count; i++)
    clone_field(copy, &module->fields[i], r);
  return copy;
}

FyModule *fy_module_clone_with(const FyModule *module, FyTensors parameters, FyTensors buffers) {
  fy_module_required(module, "fy_module_clone");
  int mark = fy_scope_open();
  Replacements *r = fy_object_new(sizeof *r, destroy_replacements);
  r->old_parameters = fy_parameters_of((FyModule *)module);
  r->old_buffers = fy_buffers_of((FyModule *)module);
  r->parameters = parameters;
  r->buffers = buffers;
  fy_check(parameters.count == r->old_parameters->count && buffers.count == r->old_buffers->count, FY_VALUE_ERROR,
           "a copy of %s needs %d parameters and %d buffers, but got %d and %d", module->type->name,
           r->old_parameters->count, r->old_buffers->count, parameters.count, buffers.count);
  FyModule *copy = fy_keep(clone_tree(module, r));
  fy_scope_close(mark);
  return copy;
}
