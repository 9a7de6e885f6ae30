// SPDX-License-Identifier: MIT
// Networks saved and loaded again: what they compute is the same to the bit. As a tool of the tests against other programs:
//   test_onnx save FOLDER SEED COUNT   writes every network, and COUNT random ones, with inputs and results
//   test_onnx run                      for each line `FILE X Y`: loads FILE, and writes to Y what it makes of the input in X
// run: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1
#include "../nn/check.h"
#include "networks.h"
#include "onnx/file.h"
#include "trace/traced.h"
#include <stdio.h>
#include <unistd.h>

static char path[64];

static int make_path(void **state) {
  (void)state;
  snprintf(path, sizeof path, "/tmp/ferry-onnx-%ld.onnx", (long)getpid());
  return 0;
}
static int remove_path(void **state) {
  (void)state;
  unlink(path);
  return 0;
}

// Layers go to a GPU where there is one; the functions have constants of their own, on the CPU.
static FyDevice device_for(const Network *network) {
  return network->make && fy_cuda_is_available() ? fy_cuda_device(0) : FY_CPU_DEVICE;
}

// ---- there and back ----------------------------------------------------------------------------------------------------------

// To the bit, of NaN too.
static bool are_same(FyTensor *a, FyTensor *b) {
  FyTensor *x = fy_contiguous(fy_cpu(a)), *y = fy_contiguous(fy_cpu(b));
  return fy_dtype_of(x) == fy_dtype_of(y) && strcmp(fy_shape_string(x), fy_shape_string(y)) == 0 &&
         memcmp(fy_data_ptr(x), fy_data_ptr(y), fy_nbytes(x)) == 0;
}

static void check_same(const char *name, FyModule *a, FyModule *b, FyTensor *x) {
  if (!are_same(fy_forward(a, x), fy_forward(b, x)))
    fail_msg("%s, batch %lld: the file computes something else", name, (long long)fy_size_at(x, 0));
}

static void check_network(const Network *network, FyModule *a, FyModule *b, FyTensor *x) {
  if (!network->in_parts)
    check_same(network->name, a, b, x);
  else if (!fy_allclose(fy_forward(a, x), fy_forward(b, x), 1e-5, 1e-6))
    fail_msg("%s, batch %lld: the file computes something else", network->name, (long long)fy_size_at(x, 0));
}

static void round_trip(const Network *network) {
  const FyDevice device = device_for(network);
  FyModule *model = fy_module_to(network_new(network, 7), device);
  FyTensor *example = fy_to(network_input(network, network->shape.dim[0]), device);
  FyModule *traced = fy_trace(model, example);
  fy_onnx_save(traced, path);
  FyModule *loaded = fy_onnx_load(path, .device = device);
  check_network(network, traced, loaded, example);
  for (int64_t batch = 1; batch < 6 && !network->fixed; batch += 2)
    check_network(network, traced, loaded, fy_to(network_input(network, batch), device));
  FyTensorList *before = fy_state_dict(traced), *after = fy_state_dict(loaded);
  for (int i = 0; i < before->count; i++)
    if (!strstr(before->names[i], "num_batches_tracked"))
      assert_true(fy_equal(before->items[i], fy_list_get(after, before->names[i])));
}

static void test_round_trips(void **state) {
  (void)state;
  for (int i = 0; i < network_count; i++) {
    FyError error;
    fy_trap(error) {
      fy_scope {
        round_trip(&networks[i]);
      }
    }
    if (error.kind)
      fail_msg("%s: %s", networks[i].name, error.message);
  }
}

static void test_random_round_trips(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 300; seed++) {
    fy_scope {
      FySize shape;
      FyModule *model = random_network(seed, &shape);
      fy_manual_seed(seed);
      FyTensor *x = fy_randn(shape);
      FyModule *traced = fy_trace(model, x, .no_check = true);
      fy_onnx_save(traced, path);
      char name[32];
      snprintf(name, sizeof name, "random %d", (int)seed);
      FyModule *loaded = fy_onnx_load(path);
      check_same(name, traced, loaded, x);
      shape.dim[0] = 7;
      check_same(name, traced, loaded, fy_randn(shape));
    }
  }
}

// What was loaded can be saved again, to the same file.
static void test_saved_again(void **state) {
  (void)state;
  char again[80];
  snprintf(again, sizeof again, "%s.again", path);
  for (int i = 0; i < network_count; i++) {
    fy_scope {
      FyModule *model = network_new(&networks[i], 3);
      FyTensor *x = network_input(&networks[i], networks[i].shape.dim[0]);
      fy_onnx_save(fy_trace(model, x), path);
      FyModule *loaded = fy_onnx_load(path);
      fy_onnx_save(loaded, again);
      check_same(networks[i].name, loaded, fy_onnx_load(again), x);
      unlink(again);
    }
  }
}

// ---- dtypes ------------------------------------------------------------------------------------------------------------------

static void test_half_types(void **state) {
  (void)state;
  const FyDType dtypes[] = {FY_FLOAT16, FY_BFLOAT16, FY_FLOAT64};
  for (int i = 0; i < 3; i++) {
    FyModule *model = fy_nn_sequential(fy_nn_linear(6, 4), fy_nn_relu(), fy_nn_linear(4, 2));
    fy_eval(model);
    fy_module_to_dtype(model, dtypes[i]);
    FyTensor *x = fy_to_dtype(fy_randn(fy_shape(3, 6)), dtypes[i]);
    FyModule *traced = fy_trace(model, x);
    fy_onnx_save(traced, path);
    check_same("of another dtype", traced, fy_onnx_load(path), x);
  }
}

static FyTensor *fused_forward(FyModule *self, FyTensor *x) {
  (void)self;
  FyTensor *weight = fy_reshape(fy_arange(18, .dtype = FY_FLOAT32), fy_shape(2, 1, 3, 3));
  return fy_conv2d_relu_max_pool2d(x, weight, (FyConv2d){.padding = 1}, (FyPool2d){.kernel_size = 2});
}

// What Ferry runs as one op is several in the file.
static void test_fused_ops_are_parts(void **state) {
  (void)state;
  FyModule *model = fy_module_new_with(sizeof(FyModule), "Fused", fused_forward);
  FyTensor *x = fy_randn(fy_shape(2, 1, 8, 8));
  FyProgram *program = fy_program_new(FY_CPU_DEVICE);
  FyTensor *weight = fy_ones(fy_shape(4, 8)), *bias = fy_ones(fy_shape(4));
  program->input = fy_program_add_value(program, "x", FY_FLOAT32, 2, (int64_t[]){2, 8}, NULL);
  const int in[] = {program->input, fy_program_add_value(program, "w", FY_FLOAT32, 2, (int64_t[]){4, 8}, weight),
                    fy_program_add_value(program, "b", FY_FLOAT32, 1, (int64_t[]){4}, bias)};
  program->output = fy_program_add_value(program, "y", FY_FLOAT32, 2, (int64_t[]){2, 4}, NULL);
  const struct { int bias, relu; } linear = {1, 1};
  fy_program_add_step(program, &fy_op_linear, &linear, 3, in, 1, &program->output);
  fy_onnx_write_program(program, path);
  FyProgram *read = fy_onnx_read_program((FyOnnxLoad){.path = path});
  assert_int_equal(read->step_count, 2);
  assert_ptr_equal(read->steps[0].op, &fy_op_linear);
  assert_ptr_equal(read->steps[1].op, &fy_op_relu);
  assert_string_equal(read->values[read->input].name, "x");
  assert_string_equal(read->values[read->output].name, "y");
  FyModule *traced = fy_trace(model, x);
  fy_onnx_save(traced, path);
  check_same("fused", traced, fy_onnx_load(path), x);
}

// ---- what is loaded ------------------------------------------------------------------------------------------------------------

static void test_parameters_and_buffers(void **state) {
  (void)state;
  FyModule *model = fy_nn_sequential(fy_nn_conv2d(1, 2, 3), fy_nn_batch_norm2d(2));
  fy_eval(model);
  fy_onnx_save(fy_trace(model, fy_randn(fy_shape(1, 1, 5, 5))), path);
  FyModule *loaded = fy_onnx_load(path);
  FyTensorList *parameters = fy_parameters(loaded), *buffers = fy_buffers(loaded);
  assert_int_equal(parameters->count, 4);
  assert_int_equal(buffers->count, 2);
  assert_true(fy_requires_grad(fy_list_get(parameters, "0.weight")));
  assert_false(fy_requires_grad(fy_list_get(buffers, "1.running_var")));
  // A change of a parameter is one of what it computes.
  FyTensor *x = fy_randn(fy_shape(1, 1, 5, 5)), *before = fy_forward(loaded, x);
  fy_fill_(fy_list_get(fy_state_dict(loaded), "1.bias"), 5);
  assert_false(fy_equal(before, fy_forward(loaded, x)));
}

static void test_batch(void **state) {
  (void)state;
  FyModule *model = fy_nn_sequential(fy_nn_flatten(), fy_nn_linear(6, 2));
  fy_eval(model);
  fy_onnx_save(fy_trace(model, fy_randn(fy_shape(4, 2, 3))), path);
  FyModule *loaded = fy_onnx_load(path);
  assert_string_equal(fy_shape_string(fy_forward(loaded, fy_randn(fy_shape(9, 2, 3)))), "torch.Size([9, 2])");
  FyProgram *fixed = fy_onnx_read_program((FyOnnxLoad){.path = path, .shape = fy_shape(5, 2, 3)});
  assert_int_equal(fixed->values[fixed->input].shape[0], 5);
  assert_raises_about(FY_VALUE_ERROR, "dimension 2 of its input is 3, but .shape has 4",
                      fy_onnx_load(path, .shape = fy_shape(5, 2, 4)));
  assert_raises_about(FY_VALUE_ERROR, "its input has 3 dimensions, but .shape has 2",
                      fy_onnx_load(path, .shape = fy_shape(5, 2)));
}

// ---- what is refused ---------------------------------------------------------------------------------------------------------

static FyTensor *dropout_forward(FyModule *self, FyTensor *x) {
  (void)self;
  return fy_dropout(x, 0.5, true);
}
static FyTensor *noise_forward(FyModule *self, FyTensor *x) {
  (void)self;
  return fy_add(x, fy_normal_(fy_clone(x), 0, 1));
}

static void test_refused_before_anything_is_written(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(2, 3));
  FyModule *dropout = fy_module_new_with(sizeof(FyModule), "Dropout", dropout_forward);
  FyModule *noise = fy_module_new_with(sizeof(FyModule), "Noise", noise_forward);
  unlink(path);
  assert_raises_about(FY_NOT_IMPLEMENTED_ERROR, "dropout draws random numbers",
                      fy_onnx_save(fy_trace(dropout, x, .no_check = true), path));
  assert_raises_about(FY_NOT_IMPLEMENTED_ERROR, "normal draws random numbers",
                      fy_onnx_save(fy_trace(noise, x, .no_check = true), path));
  assert_int_not_equal(access(path, F_OK), 0);
  assert_raises_about(FY_TYPE_ERROR, "is not a traced module", fy_onnx_save(dropout, path));
  FyModule *traced = fy_trace(fy_nn_relu(), x);
  assert_raises_about(FY_OS_ERROR, "No such file", fy_onnx_save(traced, "/no/such/folder/net.onnx"));
  assert_raises_about(FY_TYPE_ERROR, "the path is NULL", fy_onnx_save(traced, NULL));
}

static void test_steps_that_do_not_matter(void **state) {
  (void)state;
  FyProgram *program = fy_program_new(FY_CPU_DEVICE);
  const int64_t shape[] = {2};
  program->input = fy_program_add_value(program, "x", FY_FLOAT32, 1, shape, NULL);
  const int random = fy_program_add_value(program, NULL, FY_FLOAT32, 1, shape, NULL);
  program->output = fy_program_add_value(program, NULL, FY_FLOAT32, 1, shape, NULL);
  fy_program_add_step(program, &fy_op_dropout, (char[256]){0}, 1, &program->input, 1, &random);
  fy_program_add_step(program, &fy_op_relu, NULL, 1, &program->input, 1, &program->output);
  fy_onnx_write_program(program, path);
  assert_int_equal(fy_onnx_read_program((FyOnnxLoad){.path = path})->step_count, 1);
}

// Many nodes, of few bytes each.
static void test_a_long_chain(void **state) {
  (void)state;
  enum { STEPS = 20000 };
  FyProgram *program = fy_program_new(FY_CPU_DEVICE);
  const int64_t shape[] = {2};
  int value = program->input = fy_program_add_value(program, "x", FY_FLOAT32, 1, shape, NULL);
  for (int i = 0; i < STEPS; i++) {
    const int next = fy_program_add_value(program, NULL, FY_FLOAT32, 1, shape, NULL);
    fy_program_add_step(program, i % 2 ? &fy_op_relu : &fy_op_neg, NULL, 1, &value, 1, &next);
    value = next;
  }
  program->output = value;
  fy_onnx_write_program(program, path);
  assert_int_equal(fy_onnx_read_program((FyOnnxLoad){.path = path})->step_count, STEPS);
}

static void test_names_that_come_twice(void **state) {
  (void)state;
  FyProgram *program = fy_program_new(FY_CPU_DEVICE);
  const int64_t shape[] = {2};
  FyTensor *two = fy_ones(fy_shape(2));
  program->input = fy_program_add_value(program, "x", FY_FLOAT32, 1, shape, NULL);
  const int in[] = {program->input, fy_program_add_value(program, "x", FY_FLOAT32, 1, shape, two)};
  program->output = fy_program_add_value(program, NULL, FY_FLOAT32, 1, shape, NULL);
  fy_program_add_step(program, &fy_op_add, (double[2]){0}, 2, in, 1, &program->output);
  assert_raises_about(FY_VALUE_ERROR, "two values are named \"x\"", fy_onnx_write_program(program, path));
}

static void test_no_file(void **state) {
  (void)state;
  assert_raises_about(FY_OS_ERROR, "No such file or directory: '/no/such/net.onnx'", fy_onnx_load("/no/such/net.onnx"));
  assert_raises_about(FY_OS_ERROR, "is not a regular file", fy_onnx_load("/tmp"));
  assert_raises_about(FY_TYPE_ERROR, "the path is NULL", fy_onnx_load(NULL));
  FILE *file = fopen(path, "w");
  fputs("no network", file);
  fclose(file);
  assert_raises_about(FY_VALUE_ERROR, "is no ONNX file", fy_onnx_load(path));
}

// ---- as a tool -----------------------------------------------------------------------------------------------------------------

static void save_with_numbers(const char *folder, const char *name, FyModule *traced, FyTensor *x, FyTensor *y) {
  char file[512];
  snprintf(file, sizeof file, "%s/%s.onnx", folder, name);
  fy_onnx_save(traced, file);
  snprintf(file, sizeof file, "%s/%s.x.npy", folder, name);
  fy_npy_save(file, x);
  snprintf(file, sizeof file, "%s/%s.y.npy", folder, name);
  fy_npy_save(file, fy_contiguous(fy_detach(y)));
}

// Inputs have another batch than the example, where it is open.
static int save_all(const char *folder, uint64_t seed, int count) {
  char name[32];
  for (int i = 0; i < network_count; i++) {
    fy_scope {
      FyModule *model = network_new(&networks[i], seed);
      const int64_t batch = networks[i].shape.dim[0];
      FyModule *traced = fy_trace(model, network_input(&networks[i], batch));
      FyTensor *x = network_input(&networks[i], networks[i].fixed ? batch : 5);
      FyTensor *y = fy_forward(model, x);
      save_with_numbers(folder, networks[i].name, traced, x, y);
    }
  }
  for (int i = 0; i < count; i++) {
    fy_scope {
      FySize shape;
      FyModule *model = random_network(seed + (uint64_t)i, &shape);
      FyModule *traced = fy_trace(model, fy_randn(shape), .no_check = true);
      shape.dim[0]++;
      FyTensor *x = fy_randn(shape);
      snprintf(name, sizeof name, "random_%d", (int)(seed + (uint64_t)i));
      save_with_numbers(folder, name, traced, x, fy_forward(model, x));
    }
  }
  return 0;
}

static bool run_file(const char *file, const char *x, const char *y) {
  FyError error;
  fy_trap(error) {
    fy_scope {
      fy_npy_save(y, fy_contiguous(fy_forward(fy_onnx_load(file), fy_npy_load(x))));
    }
  }
  if (error.kind)
    fprintf(stderr, "%s: %s\n", fy_error_name(error.kind), error.message);
  return error.kind == FY_NO_ERROR;
}

static int run_files(void) {
  char file[256], x[256], y[256];
  bool good = true;
  while (scanf("%255s %255s %255s", file, x, y) == 3)
    good &= run_file(file, x, y);
  return !good;
}

int main(int argc, char **argv) {
  if (argc == 5 && strcmp(argv[1], "save") == 0)
    return save_all(argv[2], strtoull(argv[3], NULL, 10), atoi(argv[4]));
  if (argc == 2 && strcmp(argv[1], "run") == 0)
    return run_files();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trips),
      cmocka_unit_test(test_random_round_trips),
      cmocka_unit_test(test_saved_again),
      cmocka_unit_test(test_half_types),
      cmocka_unit_test(test_fused_ops_are_parts),
      cmocka_unit_test(test_parameters_and_buffers),
      cmocka_unit_test(test_batch),
      cmocka_unit_test(test_refused_before_anything_is_written),
      cmocka_unit_test(test_steps_that_do_not_matter),
      cmocka_unit_test(test_a_long_chain),
      cmocka_unit_test(test_names_that_come_twice),
      cmocka_unit_test(test_no_file),
  };
  return cmocka_run_group_tests(tests, make_path, remove_path);
}
