// SPDX-License-Identifier: MIT
// Writing ONNX files: a program's steps become nodes, its constants initializers. All of it is put together before the file is
// opened, so that what cannot be said is refused before anything is written.
#include "onnx/write.h"
#include "base/atomic_file.h"
#include "base/json_text.h"
#include "trace/traced.h"
#include <stdlib.h>
#include <string.h>

// ---- which ops -------------------------------------------------------------------------------------------------------------

static bool is_random(const FyOp *op) {
  return op == &fy_op_uniform || op == &fy_op_normal || op == &fy_op_randint || op == &fy_op_dropout;
}

static _Noreturn void refuse(const FyOp *op) {
  fy_check(
      op != &fy_op_dropout, FY_NOT_IMPLEMENTED_ERROR,
      "fy_onnx_save: dropout draws random numbers, which a file for inference has no place for: call fy_eval(model) "
      "before fy_trace");
  fy_check(!is_random(op), FY_NOT_IMPLEMENTED_ERROR,
           "fy_onnx_save: %s draws random numbers, which a file for inference has no place for: draw them outside of "
           "forward",
           op->name);
  fy_raise(
      FY_NOT_IMPLEMENTED_ERROR,
      "fy_onnx_save: %s is no part of a forward pass that ONNX can say: trace a module whose forward does without it",
      op->name);
}

static FyOnnxWrite *writer_of(const FyOp *op) {
  FyOnnxWrite *write = fy_onnx_pointwise_writer(op);
  write = write ? write : fy_onnx_layer_writer(op);
  write = write ? write : fy_onnx_shape_writer(op);
  if (!write)
    refuse(op);
  return write;
}

// ---- which steps: those that the output depends on -------------------------------------------------------------------------

static bool *find_needed(const FyOnnxWriter *w) {
  const FyProgram *program = w->program;
  bool *needed = fy_pool_take(w->pool, (size_t)program->value_count),
       *steps = fy_pool_take(w->pool, (size_t)program->step_count + 1);
  needed[program->output] = true;
  for (int i = program->step_count - 1; i >= 0; i--) {
    const FyProgramStep *step = &program->steps[i];
    for (int k = 0; k < step->n_out; k++)
      steps[i] |= step->out[k] >= 0 && needed[step->out[k]];
    for (int k = 0; k < step->n_in; k++)
      if (steps[i] && step->in[k] >= 0)
        needed[step->in[k]] = true;
  }
  return steps;
}

// ---- the graph -------------------------------------------------------------------------------------------------------------

static Onnx__ValueInfoProto **one_info(FyOnnxWriter *w, const char *name, int value) {
  const FyProgramValue *v = fy_onnx_value(w, value);
  Onnx__ValueInfoProto **list = fy_pool_take(w->pool, sizeof *list);
  list[0] = fy_onnx_info(w, name, v->dtype, v->ndim, v->shape, &w->open[value * FY_MAX_DIM]);
  return list;
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// A name stands for one value in all of the file.
static void check_names(const FyOnnxWriter *w) {
  const Onnx__GraphProto *graph = &w->graph;
  const char **names = fy_pool_take(w->pool, (1 + graph->n_initializer + graph->n_node) * sizeof *names);
  size_t count = 0;
  names[count++] = graph->input[0]->name;
  for (size_t i = 0; i < graph->n_initializer; i++)
    names[count++] = graph->initializer[i]->name;
  for (size_t i = 0; i < graph->n_node; i++)
    names[count++] = graph->node[i]->output[0];
  qsort(names, count, sizeof *names, by_text);
  for (size_t i = 0; i < count; i++) {
    fy_check(fy_is_utf8(names[i], strlen(names[i])), FY_VALUE_ERROR,
             "fy_onnx_save: the name \"%.80s\" is not UTF-8 text", names[i]);
    fy_check(i == 0 || strcmp(names[i - 1], names[i]) != 0, FY_VALUE_ERROR,
             "fy_onnx_save: two values are named \"%.80s\": name a parameter, or the input, otherwise", names[i]);
  }
}

static void write_steps(FyOnnxWriter *w) {
  const FyProgram *program = w->program;
  const bool *needed = find_needed(w);
  for (int i = 0; i < program->step_count; i++) {
    const FyProgramStep *step = &program->steps[i];
    if (needed[i])
      writer_of(step->op)(w, step);
  }
}

static void build_graph(FyOnnxWriter *w) {
  const FyProgram *program = w->program;
  onnx__graph_proto__init(&w->graph);
  w->graph.name = (char *)(uintptr_t) "traced";
  w->names = fy_pool_take(w->pool, (size_t)program->value_count * sizeof *w->names);
  w->names[program->input] = program->values[program->input].name ? program->values[program->input].name : "input";
  fy_onnx_find_open(w);
  write_steps(w);
  const char *output = w->names[program->output];
  const FyProgramValue *result = fy_onnx_value(w, program->output);
  if (program->output == program->input || result->constant) { // nothing was computed
    Onnx__NodeProto *node = fy_onnx_node(w, "Identity", FY_NAMES(fy_onnx_name(w, program->output)));
    output = fy_onnx_output(node);
  }
  w->graph.n_input = w->graph.n_output = 1;
  w->graph.input = one_info(w, w->names[program->input], program->input);
  w->graph.output = one_info(w, output, program->output);
  check_names(w);
}

// ---- the file --------------------------------------------------------------------------------------------------------------

enum { BUFFER = 1 << 16 };

// What protobuf-c packs into: pieces of a few bytes, most of them, gathered before they are written.
typedef struct Output {
  ProtobufCBuffer base;
  FyAtomicFile *file;
  size_t used;
  uint8_t bytes[BUFFER];
} Output;

static void flush(Output *output) {
  fy_atomic_file_write(output->file, output->bytes, output->used);
  output->used = 0;
}

static void append(ProtobufCBuffer *buffer, size_t length, const uint8_t *bytes) {
  Output *output = (Output *)buffer;
  if (length > BUFFER - output->used)
    flush(output);
  if (length > BUFFER) {
    fy_atomic_file_write(output->file, bytes, length);
  } else {
    memcpy(output->bytes + output->used, bytes, length);
    output->used += length;
  }
}

static void write_model(FyOnnxWriter *w, const char *path) {
  Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT, *opsets[] = {&opset};
  Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
  opset.domain = (char *)(uintptr_t) "";
  opset.has_version = model.has_ir_version = true;
  opset.version = FY_ONNX_OPSET;
  model.ir_version = FY_ONNX_IR;
  model.producer_name = (char *)(uintptr_t) "Ferry";
  model.producer_version = (char *)(uintptr_t)fy_version();
  model.graph = &w->graph;
  model.opset_import = opsets;
  model.n_opset_import = 1;
  const size_t bytes = onnx__model_proto__get_packed_size(&model);
  fy_check(
      bytes <= INT32_MAX, FY_VALUE_ERROR,
      "%s: the network takes %zu bytes, but an ONNX file has at most 2 GB: save its weights by fy_safetensors_save",
      path, bytes);
  Output *output = fy_pool_take(w->pool, sizeof *output);
  output->base.append = append;
  output->file = fy_atomic_file_open(path);
  onnx__model_proto__pack_to_buffer(&model, &output->base);
  flush(output);
  fy_atomic_file_commit(output->file);
}

void fy_onnx_write_program(const FyProgram *program, const char *path) {
  fy_check(path, FY_TYPE_ERROR, "fy_onnx_save: the path is NULL");
  fy_scope {
    FyOnnxWriter w = {.program = program, .pool = fy_pool_new(SIZE_MAX / 2)};
    build_graph(&w);
    write_model(&w, path);
  }
}

void fy_onnx_save_of(FyModule *traced, const char *path) {
  fy_onnx_write_program(fy_traced_program(traced), path);
}
