// SPDX-License-Identifier: MIT
// Runs statements. Each row of calls.def becomes a function here; guards, streams and dropping stand beside them.
#include "program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

Machine machine;

// ---- accessors of calls.def: arguments by name ---------------------------------------------------------------------------

static const char *need(const Statement *s, const char *name) {
  const char *value = argument(s, name);
  fy_check(value, FY_KEY_ERROR, "fuzz: %s has no argument %s", s->name, name);
  return value;
}

static FyTensor *tensor_argument(const Statement *s, const char *name) {
  const char *value = argument(s, name);
  int slot = slot_of(value);
  return value && slot >= 0 ? machine.tensors[slot] : NULL; // `none`, or not given
}

static FyTensors list_argument(Statement *s, const char *name) {
  FyTensors list = {0, s->items};
  char word[16];
  for (const char *p = need(s, name); *p && list.count < MAX_RESULTS; p += *p == ',') {
    size_t n = strcspn(p, ",");
    snprintf(word, sizeof word, "%.*s", (int)n, p);
    int slot = slot_of(word);
    if (slot >= 0)
      s->items[list.count++] = machine.tensors[slot];
    p += n;
  }
  return list;
}

static FyTensorList *named_argument(Statement *s, const char *name) {
  const char *value = need(s, name);
  if (value[0] == 'm')
    return fy_parameters_of(machine.modules[slot_of(value)]);
  FyTensors tensors = list_argument(s, name);
  FyTensorList *list = fy_tensor_list_new();
  for (int i = 0; i < tensors.count; i++)
    fy_list_add(list, "p", tensors.items[i]);
  return list;
}

static FySize size_argument(const Statement *s, const char *name) {
  FySize size = {.ndim = 0};
  const char *p = need(s, name);
  char *end;
  while (*p && strcmp(p, "-") != 0 && size.ndim < FY_MAX_DIM) {
    size.dim[size.ndim++] = strtoll(p, &end, 10);
    p = *end == ',' ? end + 1 : end;
  }
  return size;
}

static FyReduction reduction_argument(const Statement *s, const char *name) {
  const char *value = need(s, name);
  return strcmp(value, "sum") == 0 ? FY_REDUCE_SUM : strcmp(value, "none") == 0 ? FY_REDUCE_NONE : FY_REDUCE_MEAN;
}

static double number_argument(const Statement *s, const char *name) {
  return strtod(need(s, name), NULL);
}

#define T(name) tensor_argument(s, #name)
#define LIST(name) list_argument(s, #name)
#define NAMED(name) named_argument(s, #name)
#define I(name) ((int)strtol(need(s, #name), NULL, 10))
#define N(name) number_argument(s, #name)
#define B(name) (need(s, #name)[0] == '1')
#define S(name) size_argument(s, #name)
#define D(name) device_named(need(s, #name))
#define Y(name) dtype_named(need(s, #name))
#define R(name) reduction_argument(s, #name)
#define M(name) machine.modules[slot_of(need(s, #name))]
#define O(name) machine.optimizers[slot_of(need(s, #name))]
#define OUT s->results

// ---- what calls.def needs beside Ferry -----------------------------------------------------------------------------------

static FyTensor *new_leaf(Statement *s) {
  FySize shape = size_argument(s, "shape");
  int64_t numel = 1;
  for (int i = 0; i < shape.ndim; i++)
    numel *= shape.dim[i];
  double *values = calloc((size_t)numel + 1, sizeof *values);
  char *p = (char *)(uintptr_t)(s->values ? s->values : "");
  for (int64_t i = 0; i < numel; i++)
    values[i] = strtod(p, &p);
  const char *wants = argument(s, "requires_grad");
  FyTensor *t = fy_tensor(values, shape, .dtype = dtype_named(need(s, "dtype")),
                          .device = device_named(need(s, "device")), .requires_grad = wants && wants[0] == '1');
  free(values);
  return t;
}

static void note(Hook *hook, FyTensor *grad) {
  FyTensor *copy = NULL;
  fy_no_grad
    copy = fy_clone(grad);
  fy_release(hook->seen[0]);
  hook->seen[0] = hook->seen[1];
  hook->seen[1] = fy_retain(copy);
  hook->calls++;
}

static FyTensor *scale_gradient(FyTensor *grad, void *context) {
  Hook *hook = context;
  note(hook, grad);
  return hook->scale != 0 ? fy_mul_scalar(grad, hook->scale) : NULL;
}

static void look_at_leaf(FyTensor *leaf, void *context) {
  note(context, fy_grad(leaf));
}

static Hook *new_hook(double scale) {
  fy_check(machine.n_hooks < MAX_OBJECTS, FY_VALUE_ERROR, "fuzz: more than %d hooks", MAX_OBJECTS);
  Hook *hook = calloc(1, sizeof *hook);
  hook->scale = scale;
  return machine.hooks[machine.n_hooks++] = hook;
}

static void scaling_hook(FyTensor *t, double scale) {
  fy_register_hook(t, scale_gradient, new_hook(scale), NULL);
}

static void leaf_hook(FyTensor *t) {
  fy_register_post_accumulate_grad_hook(t, look_at_leaf, new_hook(0), NULL);
}

static void hold_grad_of(FyTensor *t) {
  fy_check(machine.n_given < MAX_OBJECTS, FY_VALUE_ERROR, "fuzz: more than %d gradients held", MAX_OBJECTS);
  machine.given[machine.n_given++] = fy_retain(t);
}

static void give_grad(FyTensor *t, FyTensor *grad) {
  fy_set_grad(t, grad);
  hold_grad_of(t);
}

// A program that holds a gradient may tie a knot: make it a view of its tensor, or compute it from that. It is no leak of
// Ferry's, and is cut when the program has ended.
static void untie(void) {
  for (int i = 0; i < machine.n_given; i++) {
    fy_set_grad(machine.given[i], NULL);
    fy_release(machine.given[i]);
  }
}

static FyTensor *gradient_of(FyTensor *t) {
  hold_grad_of(t);
  return fy_adopt(fy_retain(fy_grad(t)));
}

// A gradient may be the tensor that was given as one, or that of another input: each gets memory of its own here, so that a
// program that changes one does not depend on it.
static int captured(FyTensor *gradient, int count, FyTensor **grads) {
  for (int i = 0; i < count; i++) {
    bool shared = gradient && grads[i] && fy_shares_storage(grads[i], gradient);
    for (int k = 0; k < i; k++)
      shared |= grads[i] && grads[k] && fy_shares_storage(grads[i], grads[k]);
    if (shared)
      fy_no_grad
        grads[i] = fy_clone(grads[i]);
  }
  return count;
}

static FyTensor *parameter_of(FyModule *m, int index) {
  FyTensorList *list = fy_parameters_of(m);
  fy_check(index < list->count, FY_INDEX_ERROR, "list index out of range");
  return fy_adopt(fy_retain(list->items[index]));
}

// Parameters that are the same everywhere: small, different, of both signs.
static void set_parameters(FyModule *m) {
  FyTensorList *list = fy_parameters_of(m);
  fy_no_grad {
    for (int i = 0; i < list->count; i++) {
      int64_t n = fy_numel(list->items[i]);
      double *values = calloc((size_t)n + 1, sizeof *values);
      for (int64_t k = 0; k < n; k++)
        values[k] = (double)((k * 7 + i * 3) % 11 - 5) / 8;
      fy_copy_(list->items[i], fy_tensor(values, fy_size(list->items[i])));
      free(values);
    }
  }
}

static void changed_in_place(Statement *s, FyTensor *result) {
  if (result != tensor_argument(s, "a"))
    fy_panic("%s returned another tensor than the one it changed", s->name);
}

static void made(Statement *s, FyTensor *result) {
  s->results[s->n_results++] = result;
}

// ---- the table -----------------------------------------------------------------------------------------------------------

#define FUNCTION(name, ...)                                                                                            \
  static void run_##name(Statement *s) {                                                                               \
    __VA_ARGS__;                                                                                                       \
  }
#define CALL(name, draw, c, python) FUNCTION(name, made(s, c))
#define VIEW CALL
#define PAIR(name, draw, c, python)                                                                                    \
  FUNCTION(name, FyValuesIndices pair = c; made(s, pair.values); made(s, pair.indices))
#define SEVERAL(name, draw, c, python) FUNCTION(name, s->n_results = (c))
#define IN_PLACE(name, draw, c, python) FUNCTION(name, changed_in_place(s, c))
#define DO(name, draw, c, python) FUNCTION(name, c)
#define MODULE(name, draw, c, python) FUNCTION(name, s->object = (c); set_parameters(s->object))
#define OPTIMIZER(name, draw, c, python) FUNCTION(name, s->object = (c))
#include "calls.def"
#undef CALL
#undef PAIR
#undef SEVERAL
#undef IN_PLACE
#undef DO
#undef MODULE
#undef OPTIMIZER

// ---- guards, streams, dropping -------------------------------------------------------------------------------------------

// Stream 0 is the device's default one.
static FyStream *stream_argument(const Statement *s, const char *name) {
  FyDevice device = device_named(need(s, "device"));
  int number = (int)strtol(need(s, name), NULL, 10);
  fy_check(number >= 0 && number < MAX_STREAMS && device.index < MAX_DEVICES, FY_VALUE_ERROR, "fuzz: stream %d",
           number);
  if (number == 0)
    return fy_default_stream(device);
  FyStream **stream = &machine.streams[device.index][number];
  if (!*stream)
    *stream = fy_retain(fy_stream_new(device, 0));
  return *stream;
}

static Guard *open_guard(int kind) {
  fy_check(machine.n_guards < MAX_OBJECTS, FY_VALUE_ERROR, "fuzz: more than %d blocks", MAX_OBJECTS);
  machine.guards[machine.n_guards].kind = kind;
  return &machine.guards[machine.n_guards];
}

static void run_no_grad(Statement *s) {
  (void)s;
  open_guard(GRAD_GUARD)->grad = fy_grad_guard_open(false);
  machine.n_guards++;
}

static void run_enable_grad(Statement *s) {
  (void)s;
  open_guard(GRAD_GUARD)->grad = fy_grad_guard_open(true);
  machine.n_guards++;
}

static bool on_cpu(const Statement *s) {
  return device_named(need(s, "device")).type == FY_CPU;
}

static void run_stream(Statement *s) {
  if (on_cpu(s))
    open_guard(GRAD_GUARD)->grad = fy_grad_guard_open(fy_is_grad_enabled());
  else
    open_guard(STREAM_GUARD)->stream = fy_stream_guard_open(stream_argument(s, "number"));
  machine.n_guards++;
}

static void run_end(Statement *s) {
  (void)s;
  if (machine.n_guards == 0)
    return;
  Guard *guard = &machine.guards[--machine.n_guards];
  if (guard->kind == GRAD_GUARD)
    fy_grad_guard_close(&guard->grad);
  else
    fy_stream_guard_close(&guard->stream);
}

static void run_wait(Statement *s) {
  if (!on_cpu(s))
    fy_stream_wait_stream(stream_argument(s, "number"), stream_argument(s, "other"));
}

static void run_record(Statement *s) {
  if (!on_cpu(s))
    fy_record_stream(T(a), stream_argument(s, "number"));
}

static void run_synchronize(Statement *s) {
  fy_synchronize(device_named(need(s, "device")));
}

// `del`: an object goes with the last of its names.
static void run_drop(Statement *s) {
  FyTensor **slot = &machine.tensors[slot_of(need(s, "a"))], *t = *slot;
  *slot = NULL;
  for (int i = 0; i < MAX_TENSORS; i++)
    if (machine.tensors[i] == t)
      return;
  fy_drop(t);
}

typedef struct Row {
  const char *name;
  void (*run)(Statement *s);
} Row;

static const Row rows[] = {
#define CALL(name, draw, c, python) {#name, run_##name},
#define PAIR CALL
#define SEVERAL CALL
#define IN_PLACE CALL
#define DO CALL
#define MODULE CALL
#define OPTIMIZER CALL
#include "calls.def"
    CALL(no_grad, , , ) CALL(enable_grad, , , ) CALL(stream, , , ) CALL(end, , , ) CALL(wait, , , ) CALL(record, , , )
        CALL(synchronize, , , ) CALL(drop, , , )};

static const Row *row_named(const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].name, name) == 0)
      return &rows[i];
  return NULL;
}

// ---- one statement -------------------------------------------------------------------------------------------------------

static bool is_defined(const char *name) {
  int slot = slot_of(name);
  if (slot < 0)
    return false;
  return name[0] == 't'   ? machine.tensors[slot] != NULL
         : name[0] == 'm' ? machine.modules[slot] != NULL
                          : machine.optimizers[slot] != NULL;
}

// A statement is skipped when something it names is not there: dropped, or its maker raised.
static bool all_defined(const Statement *s) {
  char word[16];
  for (int i = 0; i < s->n_arguments; i++) {
    for (const char *p = s->arguments[i].value; *p; p += *p == ',') {
      size_t n = strcspn(p, ",");
      snprintf(word, sizeof word, "%.*s", (int)(n < 15 ? n : 15), p);
      if (slot_of(word) >= 0 && !is_defined(word))
        return false;
      p += n;
    }
  }
  return true;
}

static void store(Statement *s) {
  for (int i = 0; i < s->n_outputs; i++) {
    int slot = slot_of(s->outputs[i]);
    if (s->outputs[i][0] == 'm')
      machine.modules[slot] = s->object;
    else if (s->outputs[i][0] == 'o')
      machine.optimizers[slot] = s->object;
    else
      machine.tensors[slot] = i < s->n_results ? s->results[i] : NULL;
  }
}

static void write_text(FILE *out, const char *text) { // on one line
  for (; *text; text++)
    fputc(*text == '\n' ? ' ' : *text, out);
  fputc('\n', out);
}

void write_made(FILE *out, const Statement *s, int index);

void run_statement(Statement *s, int index, FILE *out) {
  FyError error;
  const Row *row = row_named(s->name);
  if (!row) {
    fprintf(out, "raise %d KeyError fuzz: no call is named %s\n", index, s->name);
    return;
  }
  if (!all_defined(s)) {
    fprintf(out, "skip %d\n", index);
    return;
  }
  // The cache of a region would go on with the values of before a change in place: programs have many of those.
  fy_trap(error)
    fy_autocast(FY_CPU, .enabled = getenv("FUZZ_AUTOCAST") != NULL, .cache_enabled = false) row->run(s);
  if (error.kind) {
    fprintf(out, "raise %d %s ", index, fy_error_name(error.kind));
    write_text(out, error.message);
    return;
  }
  store(s);
  write_made(out, s, index);
}

void clear_machine(void) {
  untie();
  while (machine.n_guards > 0)
    run_end(NULL);
  for (int i = 0; i < machine.n_hooks; i++) {
    fy_release(machine.hooks[i]->seen[0]);
    fy_release(machine.hooks[i]->seen[1]);
    free(machine.hooks[i]);
  }
  for (int d = 0; d < MAX_DEVICES; d++)
    for (int i = 0; i < MAX_STREAMS; i++)
      fy_release(machine.streams[d][i]);
  memset(&machine, 0, sizeof machine);
}
