// SPDX-License-Identifier: MIT
// repr() against PyTorch's, character for character.
//
// run: FERRY_CUDA=off
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
#include "ferry.h"
#include "support/golden.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static FyTensor *tensor_of(char *line, char *values) {
  char dtype[32], shape[64];
  FyDType type = FY_DEFAULT_DTYPE;
  FySize size = {.ndim = 0};
  assert_int_equal(sscanf(line, "tensor %31s %63s", dtype, shape), 2);
  for (int d = FY_BOOL; d < FY_DTYPE_COUNT; d++)
    if (strcmp(fy_dtype_name((FyDType)d) + strlen("torch."), dtype) == 0)
      type = (FyDType)d;
  int64_t n = 1;
  for (char *at = shape, *end; strcmp(shape, "-") != 0 && *at; at = *end ? end + 1 : end) {
    size.dim[size.ndim++] = strtoll(at, &end, 10);
    n *= size.dim[size.ndim - 1];
  }
  double *data = calloc((size_t)n + 1, sizeof *data);
  for (int64_t i = 0; i < n; i++)
    data[i] = strtod(values, &values);
  FyTensor *t = fy_tensor(data, size, .dtype = type);
  free(data);
  return t;
}

static void check_text(const FyTensor *t, const char *expected) {
  char *text = fy_repr(t);
  assert_string_equal(text, expected);
  free(text);
}

static void test_golden(void **state) {
  (void)state;
  char path[1024], expected[65536] = "", *line = NULL;
  size_t size = 0;
  int count = 0;
  FyTensor *t = NULL;
  snprintf(path, sizeof path, "%s/print.txt", golden_directory());
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  while (getline(&line, &size, file) > 0) {
    if (line[0] == '|') {
      strcat(expected, line + 1);
      continue;
    }
    if (t) {
      expected[strlen(expected) - 1] = '\0';
      check_text(t, expected);
    }
    expected[0] = '\0';
    t = tensor_of(line, strstr(line, " :") + 2);
    count++;
  }
  expected[strlen(expected) - 1] = '\0';
  check_text(t, expected);
  free(line);
  fclose(file);
  assert_in_range(count, 40, 100);
}

static void test_suffixes(void **state) {
  (void)state;
  FyTensor *x = fy_tensor(fy_floats(1, -2), fy_shape(2), .requires_grad = true);
  check_text(x, "tensor([ 1., -2.], requires_grad=True)");
  check_text(fy_relu(x), "tensor([1., 0.], grad_fn=<ReluBackward0>)");
  check_text(fy_add_scalar(x, 1), "tensor([ 2., -1.], grad_fn=<AddBackward0>)");
  FyTensor *wide = fy_tensor(fy_doubles(0.123456, 2, 3, 4, 5, 6), fy_shape(6), .requires_grad = true);
  check_text(wide, "tensor([0.1235, 2.0000, 3.0000, 4.0000, 5.0000, 6.0000], dtype=torch.float64,\n"
                   "       requires_grad=True)");
}

static void test_on_a_device(void **state) {
  (void)state;
  if (!fy_cuda_is_available()) {
    print_message("this run has no CUDA\n");
    skip();
  }
  FyTensor *x = fy_tensor(fy_floats(0.1234f, -1.2345f, 0.5678f, 1, 2, 3), fy_shape(2, 3), .device = fy_device("cuda"));
  check_text(x, "tensor([[ 0.1234, -1.2345,  0.5678],\n"
                "        [ 1.0000,  2.0000,  3.0000]], device='cuda:0')");
  check_text(fy_tensor(fy_longs(3), FY_SCALAR, .device = fy_device("cuda:0")), "tensor(3, device='cuda:0')");
  fy_set_requires_grad(x, true);
  check_text(fy_select(fy_relu(x), 0, 1), "tensor([1., 2., 3.], device='cuda:0', grad_fn=<SelectBackward0>)");
}

static void test_strided(void **state) {
  (void)state;
  check_text(fy_t(fy_reshape(fy_arange(6), fy_shape(2, 3))), "tensor([[0, 3],\n        [1, 4],\n        [2, 5]])");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_golden),
      cmocka_unit_test(test_suffixes),
      cmocka_unit_test(test_on_a_device),
      cmocka_unit_test(test_strided),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
