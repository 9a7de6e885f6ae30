// SPDX-License-Identifier: MIT
// Optimizers' state as a list of named tensors, and back.
#include "op/ops.h"
#include "optim/impl.h"
#include "optim/schedule.h"
#include "tensor/impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 64 };

static const char lr_name[] = "param_groups.0.lr";

FyTensorList *fy_optimizer_state_dict(const FyOptimizer *optimizer) {
  char name[NAME];
  fy_check(optimizer, FY_TYPE_ERROR, "fy_optimizer_state_dict: the optimizer is NULL");
  FyTensorList *list = fy_tensor_list_new();
  fy_scope {
    fy_list_add(list, lr_name, fy_tensor(&optimizer->lr, FY_SCALAR));
    for (int i = 0; i < optimizer->count; i++) {
      const FyParameterState *state = &optimizer->states[i];
      if (!state->steps)
        continue;
      snprintf(name, sizeof name, "state.%d.step", i);
      fy_list_add(list, name, state->step ? fy_detach(state->step) : fy_tensor(&state->steps, FY_SCALAR));
      for (int k = 0; k < FY_MAX_STATES && optimizer->type->state_names[k]; k++) {
        snprintf(name, sizeof name, "state.%d.%s", i, optimizer->type->state_names[k]);
        if (state->tensors[k])
          fy_list_add(list, name, fy_detach(state->tensors[k]));
      }
    }
  }
  return list;
}

// ---- loading -----------------------------------------------------------------------------------------------------------

typedef enum Kind { UNKNOWN, RATE, STEPS, STATE } Kind;

typedef struct StateEntry {
  Kind kind;
  int parameter, k; // STATE: state tensor k
} StateEntry;

// What "state.3.exp_avg" stands for in this optimizer.
static StateEntry parse_name(const FyOptimizer *o, const char *name) {
  char field[NAME], again[2 * NAME];
  StateEntry entry = {.kind = UNKNOWN};
  if (strcmp(name, lr_name) == 0)
    return (StateEntry){.kind = RATE};
  if (sscanf(name, "state.%9d.%63s", &entry.parameter, field) != 2)
    return entry;
  snprintf(again, sizeof again, "state.%d.%s", entry.parameter, field); // no "+3" or "03"
  if (strcmp(again, name) != 0 || entry.parameter < 0 || entry.parameter >= o->count)
    return entry;
  if (strcmp(field, "step") == 0)
    entry.kind = STEPS;
  for (int k = 0; k < FY_MAX_STATES && o->type->state_names[k]; k++) {
    if (strcmp(field, o->type->state_names[k]) == 0) {
      entry.kind = STATE;
      entry.k = k;
    }
  }
  return entry;
}

static void check_state_tensor(const FyParameterState *state, const char *name, const FyTensor *t) {
  FySize own = fy_size(state->parameter), given = fy_size(t);
  bool same = own.ndim == given.ndim && memcmp(own.dim, given.dim, (size_t)own.ndim * sizeof *own.dim) == 0;
  fy_check(same, FY_VALUE_ERROR, "loaded state dict has \"%s\" of %s, but the parameter has %s", name,
           fy_shape_string(t), fy_shape_string(state->parameter));
  fy_check(fy_dtype_is_floating(t->array.dtype), FY_VALUE_ERROR, "loaded state dict has \"%s\" of %s", name,
           fy_dtype_name(t->array.dtype));
}

// Both a rate and a count are numbers from 0, in tensors of one element.
static double number_in(const char *name, const FyTensor *t) {
  fy_check(t->array.numel == 1, FY_VALUE_ERROR, "loaded state dict has \"%s\" of %s, but it is one number", name,
           fy_shape_string(t));
  double value = fy_item(t);
  fy_check(value >= 0 && value < 0x1p62, FY_VALUE_ERROR, "loaded state dict has %g as \"%s\"", value, name);
  return value;
}

static void check_entry(const FyOptimizer *o, const char *name, const FyTensor *t, bool *stepped) {
  StateEntry entry = parse_name(o, name);
  fy_check(entry.kind != UNKNOWN, FY_VALUE_ERROR,
           "loaded state dict has \"%s\", which %s with %d parameters does not have", name, o->type->name, o->count);
  if (entry.kind == STATE)
    check_state_tensor(&o->states[entry.parameter], name, t);
  else
    number_in(name, t);
  if (entry.kind == STEPS)
    stepped[entry.parameter] = true;
}

// A parameter has all of its state, or none: a step would otherwise go on from zeros that nobody meant.
static void check_whole(const FyOptimizer *o, const FyTensorList *list, const bool *stepped) {
  for (int i = 0; i < list->count; i++) {
    StateEntry entry = parse_name(o, list->names[i]);
    fy_check(entry.kind != STATE || stepped[entry.parameter], FY_VALUE_ERROR,
             "loaded state dict has \"%s\", but no \"state.%d.step\"", list->names[i], entry.parameter);
  }
}

void fy_optimizer_check_state(const FyOptimizer *o, const FyTensorList *list) {
  fy_scope {
    FyTensor *flags = fy_zeros(fy_shape(o->count), .dtype = FY_BOOL);
    for (int i = 0; i < list->count; i++)
      check_entry(o, list->names[i], list->items[i], flags->array.data);
    check_whole(o, list, flags->array.data);
  }
}

static void set_state(FyParameterState *state, int k, FyTensor *value) {
  FyDType dtype = state->parameter->array.dtype == FY_FLOAT64 ? FY_FLOAT64 : FY_FLOAT32;
  FyTensor *own = fy_to(fy_detach(value), state->parameter->device, .dtype = dtype, .copy = true);
  FyTensor *row_major = fy_retain(fy_contiguous(own));
  fy_release(state->tensors[k]);
  state->tensors[k] = row_major;
}

static void set_steps(const FyOptimizer *o, FyParameterState *state, double steps) {
  state->steps = (int64_t)steps;
  if (fy_optimizer_steps_on_device(o))
    fy_fill_(fy_optimizer_beside(state, &state->step, FY_FLOAT32, FY_SCALAR), steps);
}

static void clear(FyOptimizer *o) {
  for (int i = 0; i < o->count; i++) {
    o->states[i].steps = 0;
    fy_release(o->states[i].step);
    o->states[i].step = NULL;
    for (int k = 0; k < FY_MAX_STATES; k++) {
      fy_release(o->states[i].tensors[k]);
      o->states[i].tensors[k] = NULL;
    }
  }
}

void fy_optimizer_load_state_dict(FyOptimizer *o, const FyTensorList *list) {
  fy_check(o && list, FY_TYPE_ERROR, "fy_optimizer_load_state_dict: the optimizer or the state dict is NULL");
  fy_optimizer_check_state(o, list);
  clear(o);
  fy_no_grad {
    for (int i = 0; i < list->count; i++) {
      StateEntry entry = parse_name(o, list->names[i]);
      fy_scope {
        if (entry.kind == RATE)
          fy_set_learning_rate(o, fy_item(list->items[i]));
        else if (entry.kind == STEPS)
          set_steps(o, &o->states[entry.parameter], fy_item(list->items[i]));
        else
          set_state(&o->states[entry.parameter], entry.k, list->items[i]);
      }
    }
  }
}
