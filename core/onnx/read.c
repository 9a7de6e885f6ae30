// SPDX-License-Identifier: MIT
// Reading ONNX files, which may be hostile: protobuf-c unpacks into memory that the file's size bounds; the graph is read from
// there into a program.
#include "onnx/read.h"
#include "autograd/autograd.h"
#include "op/copy/copy.h"
#include "op/ops.h"
#include "trace/traced.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- the bytes -------------------------------------------------------------------------------------------------------------

typedef struct Bytes {
  FyObject object;
  int file;
  size_t count;
  uint8_t *bytes;
} Bytes;

static void destroy_bytes(void *object) {
  Bytes *b = object;
  if (b->file >= 0)
    close(b->file);
  free(b->bytes);
  free(b);
}

static Bytes *read_file(const char *path) {
  Bytes *b = fy_object_new(sizeof *b, destroy_bytes);
  struct stat status;
  b->file = -1;
  b->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  fy_check(b->file >= 0 && fstat(b->file, &status) == 0, FY_OS_ERROR, "[Errno %d] %s: '%s'", errno, strerror(errno),
           path);
  fy_check(S_ISREG(status.st_mode), FY_OS_ERROR, "%s: is not a regular file", path);
  fy_check(status.st_size <= INT32_MAX, FY_VALUE_ERROR, "%s: has more than 2 GB, the most that protobuf allows", path);
  b->count = (size_t)status.st_size;
  b->bytes = malloc(b->count + 1);
  fy_check(b->bytes, FY_OUT_OF_MEMORY_ERROR, "%s: out of host memory for its %zu bytes", path, b->count);
  for (size_t done = 0; done < b->count;) {
    const ssize_t n = read(b->file, b->bytes + done, b->count - done);
    if (n < 0 && errno == EINTR)
      continue;
    fy_check(n > 0, FY_OS_ERROR, "%s: cannot be read: %s", path,
             n < 0 ? strerror(errno) : "it has become shorter meanwhile");
    done += (size_t)n;
  }
  return b;
}

// ---- unpacking -------------------------------------------------------------------------------------------------------------

static void *pool_allocate(void *pool, size_t bytes) {
  return fy_pool_try(pool, bytes);
}
static void pool_free(void *pool, void *memory) { // with the pool
  (void)pool;
  (void)memory;
}

static const Onnx__ModelProto *unpack(FyPool *pool, const char *path) {
  const Onnx__ModelProto *model = NULL;
  fy_scope {
    const Bytes *file = read_file(path);
    ProtobufCAllocator allocator = {.alloc = pool_allocate, .free = pool_free, .allocator_data = pool};
    pool->limit = FY_ONNX_BYTES_BESIDE + FY_ONNX_BYTES_PER_BYTE * file->count;
    model = onnx__model_proto__unpack(&allocator, file->count, file->bytes);
  }
  fy_check(model && model->graph, FY_VALUE_ERROR, "%s: is no ONNX file: it cannot be unpacked as a model with a graph",
           path);
  return model;
}

// ---- versions --------------------------------------------------------------------------------------------------------------

static int64_t opset_of(const char *path, const Onnx__ModelProto *model) {
  int64_t opset = -1;
  for (size_t i = 0; i < model->n_opset_import; i++) {
    const char *domain = model->opset_import[i]->domain;
    if (!domain || !*domain || strcmp(domain, "ai.onnx") == 0)
      opset = model->opset_import[i]->version;
  }
  fy_check(model->ir_version <= FY_ONNX_NEWEST_IR && opset <= FY_ONNX_NEWEST_OPSET, FY_NOT_IMPLEMENTED_ERROR,
           "%s: is of opset %lld and IR version %lld; up to %d and %d are supported: export for an older opset", path,
           (long long)opset, (long long)model->ir_version, FY_ONNX_NEWEST_OPSET, FY_ONNX_NEWEST_IR);
  fy_check(opset >= FY_ONNX_OLDEST_OPSET, FY_NOT_IMPLEMENTED_ERROR,
           "%s: is of opset %lld; from %d on they are supported: export for a newer opset", path, (long long)opset,
           FY_ONNX_OLDEST_OPSET);
  return opset;
}

// ---- the input -------------------------------------------------------------------------------------------------------------

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The names of the initializers, sorted: older files list them among the inputs.
static const char **initializer_names(FyPool *pool, const Onnx__GraphProto *graph) {
  const char **names = fy_pool_take(pool, (graph->n_initializer + 1) * sizeof *names);
  for (size_t i = 0; i < graph->n_initializer; i++)
    names[i] = graph->initializer[i]->name ? graph->initializer[i]->name : "";
  qsort(names, graph->n_initializer, sizeof *names, by_text);
  return names;
}

static const Onnx__ValueInfoProto *find_input(FyPool *pool, const char *path, const Onnx__GraphProto *graph) {
  const char **initializers = initializer_names(pool, graph);
  const Onnx__ValueInfoProto *found = NULL;
  for (size_t i = 0; i < graph->n_input; i++) {
    const char *name = graph->input[i]->name;
    fy_check(name && *name, FY_VALUE_ERROR, "%s: input %zu has no name", path, i);
    if (bsearch(&name, initializers, graph->n_initializer, sizeof *initializers, by_text))
      continue;
    fy_check(!found, FY_NOT_IMPLEMENTED_ERROR,
             "%s: has several inputs, \"%.80s\" and \"%.80s\" among them; a module's forward has one", path,
             found->name, name);
    found = graph->input[i];
  }
  fy_check(found, FY_NOT_IMPLEMENTED_ERROR, "%s: has no input; a module's forward has one", path);
  fy_check(graph->n_output == 1, FY_NOT_IMPLEMENTED_ERROR, "%s: has %zu outputs; a module's forward has one", path,
           graph->n_output);
  return found;
}

typedef struct Input {
  const char *name;
  FyDType dtype;
  FySize shape;
  bool open; // its batch
} Input;

// What the file fixes, and of the rest what was given; a batch of one where nothing says anything.
static Input read_input(FyPool *pool, const char *path, const Onnx__GraphProto *graph, FySize given) {
  const Onnx__ValueInfoProto *info = find_input(pool, path, graph);
  const Onnx__TypeProto__Tensor *type = info->type ? info->type->tensor_type : NULL;
  fy_check(type && type->shape, FY_NOT_IMPLEMENTED_ERROR, "%s: its input \"%.80s\" is no tensor of a known rank", path,
           info->name);
  Input input = {.name = info->name, .dtype = fy_onnx_dtype(type->elem_type)};
  fy_check(input.dtype, FY_NOT_IMPLEMENTED_ERROR, "%s: its input \"%.80s\" is of type %s, which Ferry does not have",
           path, info->name, fy_onnx_type_name(type->elem_type));
  const int ndim = (int)type->shape->n_dim;
  fy_check(type->shape->n_dim <= FY_MAX_DIM, FY_NOT_IMPLEMENTED_ERROR,
           "%s: its input has %zu dimensions, at most %d are supported", path, type->shape->n_dim, FY_MAX_DIM);
  fy_check(!given.ndim || given.ndim == ndim, FY_VALUE_ERROR, "%s: its input has %d dimensions, but .shape has %d",
           path, ndim, given.ndim);
  input.shape.ndim = ndim;
  for (int d = 0; d < ndim; d++) {
    const Onnx__TensorShapeProto__Dimension *dim = type->shape->dim[d];
    const bool fixed = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    const int64_t size = fixed ? dim->dim_value : given.ndim ? given.dim[d] : 1;
    fy_check(fixed || d == 0 || given.ndim, FY_VALUE_ERROR,
             "%s: leaves dimension %d of its input open: give the whole shape, .shape = fy_shape(...)", path, d);
    fy_check(size >= 0 && (!given.ndim || given.dim[d] == size), FY_VALUE_ERROR,
             "%s: dimension %d of its input is %lld, but .shape has %lld", path, d, (long long)size,
             (long long)(given.ndim ? given.dim[d] : size));
    input.open |= d == 0 && !fixed && !given.ndim;
    input.shape.dim[d] = size;
  }
  return input;
}

// ---- the program -----------------------------------------------------------------------------------------------------------

// Takes out the steps that the output does not depend on.
static void prune(FyPool *pool, FyProgram *program) {
  bool *needed = fy_pool_take(pool, (size_t)program->value_count);
  int kept = program->step_count;
  needed[program->output] = true;
  for (int i = program->step_count - 1; i >= 0; i--) {
    const FyProgramStep step = program->steps[i];
    bool used = false;
    for (int k = 0; k < step.n_out; k++)
      used |= step.out[k] >= 0 && needed[step.out[k]];
    if (!used) {
      free(step.params);
      continue;
    }
    for (int k = 0; k < step.n_in; k++)
      if (step.in[k] >= 0)
        needed[step.in[k]] = true;
    program->steps[--kept] = step;
  }
  program->step_count -= kept;
  memmove(program->steps, program->steps + kept, (size_t)program->step_count * sizeof *program->steps);
}

static FyProgram *program_for(FyOnnxReader *r, const Input *input, int64_t batch) {
  FySize shape = input->shape;
  if (input->open)
    shape.dim[0] = batch;
  FyProgram *program = fy_onnx_read_graph(r, shape, input->dtype, input->name);
  prune(r->pool, program);
  return program;
}

// For a batch that is open: read for two, and for three. (A batch of one would be taken for a dimension that broadcasts.) NULL
// where the nodes do not take these.
static FyProgram *program_for_any(FyOnnxReader *r, const Input *input) {
  FyProgram *volatile program = NULL, *volatile other = NULL;
  FyOnnxKnown **volatile known = NULL;
  FyError error;
  fy_trap(error) {
    program = program_for(r, input, 2);
    known = r->known;
    other = program_for(r, input, 3);
  }
  if (error.kind == FY_OUT_OF_MEMORY_ERROR)
    fy_raise_again(&error);
  if (error.kind) { // what was made meanwhile is gone
    memset(r->initializers, 0, r->graph->n_initializer * sizeof *r->initializers);
    return NULL;
  }
  fy_onnx_open_batch(r->path, program, other);
  r->known = known;
  return program;
}

// Named numbers are parameters, but for running statistics.
static void mark_parameters(const FyOnnxReader *r) {
  const FyProgram *program = r->program;
  for (int i = 0; i < program->value_count; i++) {
    const FyProgramValue *value = &program->values[i];
    if (value->name && value->constant && fy_dtype_is_floating(value->dtype) && !r->known[i]->is_buffer)
      fy_set_requires_grad(value->constant, true);
  }
}

static void move_to(FyProgram *program, FyDevice device) {
  program->device = device;
  for (int i = 0; i < program->value_count; i++) {
    FyProgramValue *value = &program->values[i];
    if (!value->constant || device.type == FY_CPU)
      continue;
    FyTensor *moved = fy_retain(fy_to(fy_detach(value->constant), device));
    fy_release(value->constant);
    value->constant = moved;
  }
  for (int i = 0; i < program->step_count; i++)
    if (program->steps[i].op == &fy_op_copy)
      ((FyCopyParams *)program->steps[i].params)->device = device;
}

static void name_output(FyProgram *program, const char *name) {
  FyProgramValue *output = &program->values[program->output];
  if (output->name || output->constant || !name || !*name)
    return;
  output->name = strdup(name);
  fy_check(output->name, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the name of an output");
}

FyProgram *fy_onnx_read_program(FyOnnxLoad options) {
  const char *path = options.path;
  fy_check(path, FY_TYPE_ERROR, "fy_onnx_load: the path is NULL");
  const FyDevice device = fy_resolve_device(options.device);
  const int scope = fy_scope_open();
  FyOnnxReader r = {.path = path, .pool = fy_pool_new(0)};
  const Onnx__ModelProto *model = unpack(r.pool, path);
  r.opset = opset_of(path, model);
  r.graph = model->graph;
  r.folding = r.pool->limit;
  r.initializers = fy_pool_take(r.pool, (r.graph->n_initializer + 1) * sizeof *r.initializers);
  const Input input = read_input(r.pool, path, r.graph, options.shape);
  FyProgram *program = input.open ? program_for_any(&r, &input) : NULL;
  r.program = program = program ? program : program_for(&r, &input, 1);
  move_to(program, device);
  mark_parameters(&r);
  name_output(program, r.graph->output[0]->name);
  fy_keep(program);
  fy_scope_close(scope);
  return program;
}

FyModule *fy_onnx_load_with(FyOnnxLoad options) {
  const int scope = fy_scope_open();
  FyModule *module = fy_keep(fy_traced_new(fy_onnx_read_program(options)));
  fy_scope_close(scope);
  return module;
}
