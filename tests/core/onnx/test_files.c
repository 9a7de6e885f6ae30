// SPDX-License-Identifier: MIT
// Files that other exporters wrote (make_files.py), and files with one thing in them that is not supported or not right: each is
// refused with what it is, where it is and what to do.
// run check: FERRY_CUDA=off
#include "../nn/check.h"
#include "arena.h"
#include "networks.h"
#include "onnx/file.h"
#include <glob.h>
#include <stdio.h>
#include <unistd.h>

static char path[64];

static int make_path(void **state) {
  (void)state;
  snprintf(path, sizeof path, "/tmp/ferry-onnx-files-%ld.onnx", (long)getpid());
  return 0;
}
static int remove_path(void **state) {
  (void)state;
  unlink(path);
  return 0;
}

static void check_file(const char *file) {
  fy_scope {
    char numbers[256];
    const int stem = (int)strlen(file) - 5;
    FyModule *module = fy_onnx_load(file);
    snprintf(numbers, sizeof numbers, "%.*s.x.npy", stem, file);
    FyTensor *x = fy_npy_load(numbers);
    snprintf(numbers, sizeof numbers, "%.*s.y.npy", stem, file);
    FyTensor *y = fy_npy_load(numbers);
    if (!fy_allclose(fy_forward(module, x), y, 1e-5, 1e-5))
      fail_msg("%s: another result than PyTorch's", file);
    // Part of the batch is part of the result, where the batch is open.
    if (!strstr(file, "fixed"))
      assert_true(fy_allclose(fy_forward(module, fy_narrow(x, 0, 1, 1)), fy_narrow(y, 0, 1, 1), 1e-5, 1e-5));
  }
}

static void test_files_of_pytorch(void **state) {
  (void)state;
  glob_t found;
  assert_int_equal(glob("tests/core/onnx/files/*.onnx", 0, NULL, &found), 0);
  assert_int_equal(found.gl_pathc, 18);
  for (size_t i = 0; i < found.gl_pathc; i++)
    check_file(found.gl_pathv[i]);
  globfree(&found);
}

static void test_state_dict_names(void **state) {
  (void)state;
  FyTensorList *dict = fy_state_dict(fy_onnx_load("tests/core/onnx/files/cnn_dynamo_20.onnx"));
  assert_non_null(fy_list_get(dict, "features.0.weight"));
  assert_non_null(fy_list_get(dict, "classifier.4.bias"));
  assert_string_equal(fy_shape_string(fy_list_get(dict, "features.3.running_mean")), "torch.Size([4])");
}

// A traced module checks what its kernels must not meet, as the calls do that it stands for.
static void test_an_index_out_of_range(void **state) {
  (void)state;
  FyModule *module = fy_onnx_load("tests/core/onnx/files/tokens_dynamo_20.onnx");
  FyTensor *x = fy_full(19, fy_shape(3, 4), .dtype = FY_INT64);
  fy_forward(module, x);
  assert_raises(FY_INDEX_ERROR, "index out of range in self", fy_forward(module, fy_add_scalar(x, 1)));
  assert_raises(FY_INDEX_ERROR, "index out of range in self", fy_forward(module, fy_neg(x)));
}

// ---- one thing is changed ------------------------------------------------------------------------------------------------------

// A copy that goes with the model.
static char *text(const char *string) {
  return strcpy(arena_take(NULL, strlen(string) + 1), string);
}

// The model of a saved network, to be changed. The one before is gone.
static Onnx__ModelProto *model_of(const char *name) {
  static uint8_t bytes[1 << 20];
  for (int i = 0; i < network_count; i++) {
    if (strcmp(networks[i].name, name) != 0)
      continue;
    FyModule *model = network_new(&networks[i], 1);
    fy_onnx_save(fy_trace(model, network_input(&networks[i], networks[i].shape.dim[0])), path);
    FILE *file = fopen(path, "rb");
    const size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return arena_unpack(bytes, length);
  }
  fail_msg("there is no network %s", name);
  return NULL;
}

static void save_model(const Onnx__ModelProto *model) {
  static uint8_t bytes[1 << 20];
  FILE *file = fopen(path, "wb");
  fwrite(bytes, 1, onnx__model_proto__pack(model, bytes), file);
  fclose(file);
}

static Onnx__NodeProto *node_of(const Onnx__ModelProto *model, const char *op) {
  for (size_t i = 0; i < model->graph->n_node; i++)
    if (strcmp(model->graph->node[i]->op_type, op) == 0)
      return model->graph->node[i];
  fail_msg("there is no %s", op);
  return NULL;
}

static Onnx__AttributeProto *attribute_of(const Onnx__NodeProto *node, const char *name) {
  for (size_t i = 0; i < node->n_attribute; i++)
    if (strcmp(node->attribute[i]->name, name) == 0)
      return node->attribute[i];
  fail_msg("there is no attribute %s", name);
  return NULL;
}

static void set_text(Onnx__AttributeProto *a, const char *name, const char *value) {
  a->name = text(name);
  a->type = 3;
  a->n_ints = 0;
  a->has_i = false;
  a->has_s = true;
  a->s = (ProtobufCBinaryData){strlen(value), (uint8_t *)text(value)};
}
static void set_int(Onnx__AttributeProto *a, const char *name, int64_t value) {
  a->name = text(name);
  a->type = 2;
  a->n_ints = 0;
  a->has_i = true;
  a->i = value;
}

static void auto_pad(Onnx__ModelProto *model) {
  set_text(attribute_of(node_of(model, "Conv"), "pads"), "auto_pad", "SAME_UPPER");
}
static void lopsided_pads(Onnx__ModelProto *model) {
  attribute_of(node_of(model, "Conv"), "pads")->ints[3] = 0;
}
static void other_kernel(Onnx__ModelProto *model) {
  attribute_of(node_of(model, "Conv"), "kernel_shape")->ints[0] = 5;
}
static void unknown_attribute(Onnx__ModelProto *model) {
  attribute_of(node_of(model, "Conv"), "dilations")->name = text("secret");
}
static void ceiling(Onnx__ModelProto *model) {
  Onnx__NodeProto *pool = node_of(model, "MaxPool");
  set_int(attribute_of(pool, "pads"), "ceil_mode", 1);
  for (int i = 0; i < 2; i++) // of 6 rows, two at 0 and two at 3, and one that hangs over
    attribute_of(pool, "strides")->ints[i] = 3;
}
static void no_such_op(Onnx__ModelProto *model) {
  node_of(model, "Relu")->op_type = text("Celu");
}
static void other_domain(Onnx__ModelProto *model) {
  node_of(model, "Relu")->domain = text("com.microsoft");
}
static void old_opset(Onnx__ModelProto *model) {
  model->opset_import[0]->version = 6;
}
static void future_opset(Onnx__ModelProto *model) {
  model->opset_import[0]->version = 99;
}
static void future_format(Onnx__ModelProto *model) {
  model->ir_version = 99;
}
static void training(Onnx__ModelProto *model) {
  set_int(attribute_of(node_of(model, "BatchNormalization"), "epsilon"), "training_mode", 1);
}
static void unknown_name(Onnx__ModelProto *model) {
  node_of(model, "Relu")->input[0] = text("nobody");
}
static void own_input(Onnx__ModelProto *model) {
  node_of(model, "Relu")->input[0] = node_of(model, "Relu")->output[0];
}
static void name_twice(Onnx__ModelProto *model) {
  model->graph->node[1]->output[0] = text(model->graph->node[0]->output[0]);
}
static void lone_erf(Onnx__ModelProto *model) {
  node_of(model, "Relu")->op_type = text("Erf");
}
static void complex_weight(Onnx__ModelProto *model) {
  model->graph->initializer[0]->data_type = 14;
}
static void huge_weight(Onnx__ModelProto *model) {
  model->graph->initializer[0]->dims[0] = (int64_t)1 << 40;
}
static void cut_weight(Onnx__ModelProto *model) {
  model->graph->initializer[0]->raw_data.len -= 4;
}
static void second_input(Onnx__ModelProto *model) {
  Onnx__ValueInfoProto **inputs = arena_take(NULL, 2 * sizeof *inputs);
  inputs[0] = model->graph->input[0];
  inputs[1] = arena_take(NULL, sizeof **inputs);
  *inputs[1] = *inputs[0];
  inputs[1]->name = text("mask");
  model->graph->input = inputs;
  model->graph->n_input = 2;
}
static void open_width(Onnx__ModelProto *model) {
  model->graph->input[0]->type->tensor_type->shape->dim[3]->value_case = 0;
}
static void outside(Onnx__ModelProto *model, const char *location) {
  static Onnx__StringStringEntryProto entry, *entries[] = {&entry};
  Onnx__TensorProto *weight = model->graph->initializer[0];
  onnx__string_string_entry_proto__init(&entry);
  entry.key = text("location");
  entry.value = text(location);
  weight->has_raw_data = false;
  weight->has_data_location = true;
  weight->data_location = 1;
  weight->external_data = entries;
  weight->n_external_data = 1;
}
static void outside_above(Onnx__ModelProto *model) {
  outside(model, "../etc/passwd");
}
static void outside_root(Onnx__ModelProto *model) {
  outside(model, "/etc/passwd");
}
static void outside_parent(Onnx__ModelProto *model) {
  outside(model, "..");
}
static void outside_missing(Onnx__ModelProto *model) {
  outside(model, "no-such-file.data");
}

static void test_refused(void **state) {
  (void)state;
  static const struct {
    void (*change)(Onnx__ModelProto *);
    FyErrorKind kind;
    const char *text;
  } cases[] = {
      {auto_pad, FY_NOT_IMPLEMENTED_ERROR, "\"Conv_0\" (Conv): auto_pad is not supported: export with explicit pads"},
      {lopsided_pads, FY_NOT_IMPLEMENTED_ERROR, "(Conv): pads differs from side to side (1 and 0)"},
      {other_kernel, FY_VALUE_ERROR, "(Conv): kernel_shape is not that of its weight, [8, 2, 3, 3]"},
      {unknown_attribute, FY_NOT_IMPLEMENTED_ERROR, "(Conv): attribute secret is not supported here"},
      {ceiling, FY_NOT_IMPLEMENTED_ERROR, "(MaxPool): ceil_mode is not supported"},
      {no_such_op, FY_NOT_IMPLEMENTED_ERROR, "(Celu): this op is not supported"},
      {other_domain, FY_NOT_IMPLEMENTED_ERROR, "(Relu): ops of the domain \"com.microsoft\" are not supported"},
      {old_opset, FY_NOT_IMPLEMENTED_ERROR, "is of opset 6; from 9 on they are supported: export for a newer opset"},
      {future_opset, FY_NOT_IMPLEMENTED_ERROR, "is of opset 99"},
      {future_format, FY_NOT_IMPLEMENTED_ERROR, "IR version 99"},
      {training, FY_NOT_IMPLEMENTED_ERROR, "(BatchNormalization): it is in training mode"},
      {unknown_name, FY_VALUE_ERROR, "(Relu): \"nobody\" is used before any node computes it"},
      {own_input, FY_VALUE_ERROR, "is used before any node computes it"},
      {name_twice, FY_VALUE_ERROR, "two values are named"},
      {lone_erf, FY_NOT_IMPLEMENTED_ERROR, "(Erf): Erf is supported only as the part of a GELU: export for opset 20"},
      {complex_weight, FY_NOT_IMPLEMENTED_ERROR, "initializer \"0.weight\": its type is COMPLEX64"},
      {huge_weight, FY_NOT_IMPLEMENTED_ERROR, "initializer \"0.weight\": a tensor would have more than 2^31 elements"},
      {cut_weight, FY_VALUE_ERROR, "initializer \"0.weight\": its shape and type take 576 bytes, but it has 572"},
      {second_input, FY_NOT_IMPLEMENTED_ERROR, "has several inputs, \"input\" and \"mask\" among them"},
      {open_width, FY_VALUE_ERROR, "leaves dimension 3 of its input open: give the whole shape"},
      {outside_above, FY_NOT_IMPLEMENTED_ERROR, "its elements are in \"../etc/passwd\""},
      {outside_root, FY_NOT_IMPLEMENTED_ERROR, "its elements are in \"/etc/passwd\""},
      {outside_parent, FY_NOT_IMPLEMENTED_ERROR, "its elements are in \"..\""},
      {outside_missing, FY_OS_ERROR, "its file of weights \"no-such-file.data\" cannot be opened: No such file"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Onnx__ModelProto *model = model_of("convolutions");
    cases[i].change(model);
    save_model(model);
    FyError error;
    fy_trap(error) {
      fy_onnx_load(path);
    }
    if (error.kind != cases[i].kind || !strstr(error.message, cases[i].text) || !strstr(error.message, path))
      fail_msg("expected an error about '%s', but got %s: %s", cases[i].text, fy_error_name(error.kind), error.message);
  }
}

// A link beside the model is not followed, and a part of another file is not more than the file has.
static void test_files_beside(void **state) {
  (void)state;
  char beside[96];
  snprintf(beside, sizeof beside, "%s.data", path);
  const char *name = strrchr(beside, '/') + 1;
  Onnx__ModelProto *model = model_of("convolutions");
  outside(model, name);
  save_model(model);
  assert_int_equal(symlink("/etc/passwd", beside), 0);
  assert_raises_about(FY_OS_ERROR, "cannot be opened", fy_onnx_load(path));
  unlink(beside);
  FILE *file = fopen(beside, "wb");
  for (int i = 0; i < 576; i++)
    fputc(0, file);
  fclose(file);
  FyTensor *weight = fy_list_get(fy_state_dict(fy_onnx_load(path)), "0.weight");
  assert_int_equal(fy_item(fy_sum(fy_abs(weight))), 0);
  assert_int_equal(truncate(beside, 572), 0);
  assert_raises_about(FY_VALUE_ERROR, "has 572 bytes, too few", fy_onnx_load(path));
  unlink(beside);
}

// The whole shape of the input, where a file leaves it open.
static void test_open_width(void **state) {
  (void)state;
  Onnx__ModelProto *model = model_of("convolutions");
  open_width(model);
  save_model(model);
  FyModule *module = fy_onnx_load(path, .shape = fy_shape(2, 4, 15, 19));
  assert_int_equal(fy_dim(fy_forward(module, fy_ones(fy_shape(2, 4, 15, 19)))), 4);
}

// A batch that is said to be open where only that of one goes with the other operand.
static void test_a_batch_of_one_alone(void **state) {
  (void)state;
  Onnx__ModelProto *model = model_of("fixed_batch"); // x + [[0, 1, 2, 3], [4, ...], [8, ...]]
  model->graph->input[0]->type->tensor_type->shape->dim[0]->value_case = 0;
  save_model(model);
  FyTensor *y = fy_forward(fy_onnx_load(path), fy_ones(fy_shape(1, 4)));
  assert_values(y, (double[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 12, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_files_of_pytorch),      cmocka_unit_test(test_state_dict_names),
      cmocka_unit_test(test_an_index_out_of_range), cmocka_unit_test(test_refused),
      cmocka_unit_test(test_files_beside),          cmocka_unit_test(test_open_width),
      cmocka_unit_test(test_a_batch_of_one_alone),
  };
  return cmocka_run_group_tests(tests, make_path, remove_path);
}
