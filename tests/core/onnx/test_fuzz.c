// SPDX-License-Identifier: MIT
// The reader of ONNX files under mutated input: bytes that are others, and networks whose parts are others. What is loaded and
// small runs, too.
// run: FERRY_CUDA=off
#include "../data/mutated.h"
#include "arena.h"
#include "networks.h"
#include "onnx/file.h"
#include "trace/traced.h"

enum { SEEDS = 10, RATIO = 200 };

static Input seeds[SEEDS];

static bool may_raise(FyErrorKind kind) {
  return kind == FY_VALUE_ERROR || kind == FY_NOT_IMPLEMENTED_ERROR || kind == FY_OUT_OF_MEMORY_ERROR ||
         kind == FY_OS_ERROR;
}

static void read_program(void) {
  const FyProgram *program = fy_onnx_read_program((FyOnnxLoad){.path = path});
  for (int i = 0; i < program->value_count; i++)
    if (program->values[i].constant && fy_numel(program->values[i].constant) < LARGEST)
      folded ^= (unsigned char)fy_numel(program->values[i].constant);
}

// ---- networks whose parts are others -----------------------------------------------------------------------------------------

static char *any_name(const Onnx__GraphProto *graph) {
  const Onnx__NodeProto *node = graph->n_node ? graph->node[roll(graph->n_node)] : NULL;
  if (roll(3) == 0 && graph->n_initializer)
    return graph->initializer[roll(graph->n_initializer)]->name;
  if (node && node->n_input && roll(2))
    return node->input[roll(node->n_input)];
  return node && node->n_output ? node->output[roll(node->n_output)] : graph->input[0]->name;
}

static int64_t any_number(void) {
  static const int64_t edges[] = {0, 1, -1, 2, 3, 7, 64, 65536, INT32_MAX, (int64_t)1 << 32, INT64_MAX, INT64_MIN};
  return roll(3) ? edges[roll(sizeof edges / sizeof *edges)] : (int64_t)roll(20) - 4;
}

static void change_node(const Onnx__GraphProto *graph, Onnx__NodeProto *node) {
  static const char *const ops[] = {
      "Add",       "Sub",
      "Mul",       "Div",
      "Pow",       "Relu",
      "Gelu",      "Erf",
      "Clip",      "Where",
      "Equal",     "Not",
      "Cast",      "Reshape",
      "Flatten",   "Transpose",
      "Squeeze",   "Unsqueeze",
      "Expand",    "Slice",
      "Split",     "Concat",
      "Gather",    "MatMul",
      "Gemm",      "Conv",
      "MaxPool",   "Softmax",
      "ReduceSum", "ArgMax",
      "ReduceMax", "AveragePool",
      "Constant",  "ConstantOfShape",
      "Range",     "Shape",
      "Size",      "Sum",
      "Max",       "BatchNormalization",
      "Dropout",   "LayerNormalization",
      "Identity",  "IsNaN",
  };
  switch (roll(6)) {
  case 0:
    node->op_type = (char *)(uintptr_t)ops[roll(sizeof ops / sizeof *ops)];
    break;
  case 1:
    if (node->n_input)
      node->input[roll(node->n_input)] = any_name(graph);
    break;
  case 2:
    node->n_input -= node->n_input > 0;
    break;
  case 3:
    if (node->n_input)
      node->input[roll(node->n_input)] = (char *)(uintptr_t) "";
    break;
  case 4:
    node->n_attribute -= node->n_attribute > 0;
    break;
  default:
    if (node->n_output)
      node->output[roll(node->n_output)] = any_name(graph);
  }
}

static void change_attribute(const Onnx__NodeProto *node) {
  if (!node->n_attribute)
    return;
  Onnx__AttributeProto *a = node->attribute[roll(node->n_attribute)];
  const Onnx__AttributeProto *other = node->attribute[roll(node->n_attribute)];
  if (a->n_ints)
    a->ints[roll(a->n_ints)] = any_number();
  else if (a->has_i)
    a->i = any_number();
  if (roll(8) == 0)
    a->n_ints -= a->n_ints > 0;
  if (roll(8) == 0)
    a->name = other->name;
  if (roll(8) == 0)
    a->type = (int32_t)roll(12);
}

static void change_tensor(Onnx__TensorProto *tensor) {
  switch (roll(5)) {
  case 0:
    tensor->data_type = (int32_t)roll(20);
    break;
  case 1:
    if (tensor->n_dims)
      tensor->dims[roll(tensor->n_dims)] = any_number();
    break;
  case 2:
    tensor->n_dims -= tensor->n_dims > 0;
    break;
  case 3: // of integers: another one
    if (tensor->data_type == 7 && tensor->raw_data.len >= 8) {
      const int64_t number = any_number();
      memcpy(tensor->raw_data.data + 8 * roll(tensor->raw_data.len / 8), &number, sizeof number);
    }
    break;
  default:
    tensor->raw_data.len -= tensor->raw_data.len > 0;
  }
}

static void change_input(const Onnx__GraphProto *graph) {
  Onnx__TypeProto__Tensor *type = graph->input[0]->type ? graph->input[0]->type->tensor_type : NULL;
  if (!type || !type->shape || !type->shape->n_dim)
    return;
  Onnx__TensorShapeProto__Dimension *dim = type->shape->dim[roll(type->shape->n_dim)];
  dim->value_case = roll(3) ? ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE : 0;
  if (dim->value_case)
    dim->dim_value = any_number();
  if (roll(4) == 0)
    type->elem_type = (int32_t)roll(18);
}

static void change_graph(Onnx__GraphProto *graph) {
  Onnx__NodeProto *node = graph->n_node ? graph->node[roll(graph->n_node)] : NULL;
  switch (roll(6)) {
  case 0:
    if (graph->n_input)
      change_input(graph);
    break;
  case 1:
    if (graph->n_initializer)
      change_tensor(graph->initializer[roll(graph->n_initializer)]);
    break;
  case 2:
    if (node)
      change_attribute(node);
    break;
  default:
    if (node)
      change_node(graph, node);
  }
}

// In place of mutated bytes, most times.
static void change_network(Input *in) {
  static uint8_t packed[4 * LARGEST];
  *in = seeds[roll(SEEDS)];
  Onnx__ModelProto *model = arena_unpack(in->bytes, in->length);
  for (size_t times = 1 + roll(3); times > 0; times--)
    change_graph(model->graph);
  if (roll(8) == 0)
    model->opset_import[0]->version = (int64_t)roll(28);
  const size_t length = onnx__model_proto__get_packed_size(model);
  if (length > LARGEST)
    return;
  onnx__model_proto__pack(model, packed);
  memcpy(in->bytes, packed, length);
  in->length = length;
}

// ---- the tests -----------------------------------------------------------------------------------------------------------------

static void make_seeds(void) {
  static const char *const names[SEEDS] = {"arithmetic", "comparisons", "casts",   "views",     "slices",
                                           "picked",     "extremes",    "pooling", "attention", "convolutions"};
  for (int i = 0; i < SEEDS; i++) {
    for (int k = 0; k < network_count; k++) {
      if (strcmp(networks[k].name, names[i]) != 0)
        continue;
      fy_scope {
        char name[] = "/tmp/ferry-fuzz-XXXXXX";
        close(mkstemp(name));
        FyModule *model = network_new(&networks[k], 1);
        fy_onnx_save(fy_trace(model, network_input(&networks[k], 2)), name);
        seeds[i] = of_file(name);
        unlink(name);
      }
    }
    assert_true(seeds[i].length > 0);
  }
}

static void bytes_are_others(void **state) {
  (void)state;
  Reader reader = {
      .name = "ONNX", .read = read_program, .ratio = RATIO, .seeds = SEEDS, .seed = seeds, .may_raise = may_raise};
  fuzz(&reader);
}

static void parts_are_others(void **state) {
  (void)state;
  Reader reader = {.name = "ONNX, changed networks",
                   .read = read_program,
                   .ratio = RATIO,
                   .seeds = SEEDS,
                   .seed = seeds,
                   .repair = change_network,
                   .may_raise = may_raise};
  fuzz(&reader);
}

// ---- what was loaded runs ------------------------------------------------------------------------------------------------------

static bool is_small(const FyProgram *program) {
  double elements = 0;
  for (int i = 0; i < program->value_count; i++) {
    double size = 1;
    for (int d = 0; d < program->values[i].ndim; d++)
      size *= (double)program->values[i].shape[d];
    elements += size;
  }
  return elements < 1e5;
}

static void run_it(void) {
  FyModule *module = fy_onnx_load(path);
  const FyProgram *program = fy_traced_program(module);
  const FyProgramValue *input = &program->values[program->input];
  FySize shape = {.ndim = input->ndim};
  memcpy(shape.dim, input->shape, sizeof input->shape);
  if (is_small(program))
    look_at(fy_contiguous(fy_forward(module, fy_zeros(shape, .dtype = input->dtype))));
}

static bool may_raise_in_a_run(FyErrorKind kind) {
  return may_raise(kind) || kind == FY_RUNTIME_ERROR || kind == FY_INDEX_ERROR || kind == FY_TYPE_ERROR;
}

static void changed_networks_run(void **state) {
  (void)state;
  Reader reader = {.name = "ONNX, changed networks that run",
                   .read = run_it,
                   .ratio = 1 << 20,
                   .seeds = SEEDS,
                   .seed = seeds,
                   .repair = change_network,
                   .may_raise = may_raise_in_a_run};
  fuzz(&reader);
}

static int set_up_seeds(void **state) {
  make_seeds();
  return set_up(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_are_others),
      cmocka_unit_test(parts_are_others),
      cmocka_unit_test(changed_networks_run),
  };
  return cmocka_run_group_tests(tests, set_up_seeds, NULL);
}
