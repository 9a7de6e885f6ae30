// SPDX-License-Identifier: MIT
// Tensors: shapes and strides, views on shared memory, single values and comparisons, numpy's rules.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy -- cuda:1
#include "core/nn/check.h"
#include "tensor/impl.h"

static FyDevice device;

// 0, 1, 2, ... in the given shape, float32.
static FyTensor *counted(FySize shape) {
  int64_t n = 1;
  for (int d = 0; d < shape.ndim; d++)
    n *= shape.dim[d];
  return fy_view(fy_arange((double)n, .dtype = FY_FLOAT32, .device = device), shape);
}

static void assert_layout(FyTensor *t, FySize shape, FySize stride, int64_t offset) {
  assert_int_equal(fy_dim(t), shape.ndim);
  for (int d = 0; d < shape.ndim; d++) {
    assert_int_equal(fy_size_at(t, d), shape.dim[d]);
    assert_int_equal(fy_stride_at(t, d), stride.dim[d]);
  }
  assert_int_equal(fy_storage_offset(t), offset);
}

// A view of `base`, which counts from 0: each element is its own place in the storage, by offset and strides.
static void assert_view(FyTensor *t, FyTensor *base, FySize shape, FySize stride, int64_t offset) {
  assert_layout(t, shape, stride, offset);
  assert_true(fy_shares_storage(t, base));
  assert_int_equal(fy_version_of(t), fy_version_of(base));
  float *got = malloc((fy_nbytes(t) + 1));
  fy_copy_to_host(t, got);
  for (int64_t i = 0; i < fy_numel(t); i++) {
    int64_t rest = i, place = offset;
    for (int d = shape.ndim - 1; d >= 0; d--) {
      place += rest % shape.dim[d] * stride.dim[d];
      rest /= shape.dim[d];
    }
    assert_true(got[i] == (float)place);
  }
  free(got);
}

// ---- shapes --------------------------------------------------------------------------------------------------------------

static void sizes_and_strides(void **state) {
  (void)state;
  FyTensor *t = counted(fy_shape(2, 3, 4));
  assert_layout(t, fy_shape(2, 3, 4), fy_shape(12, 4, 1), 0);
  assert_int_equal(fy_size_at(t, -1), 4);
  assert_int_equal(fy_stride_at(t, -3), 12);
  assert_int_equal(fy_numel(t), 24);
  assert_int_equal(fy_nbytes(t), 96);
  assert_int_equal(fy_nbytes(fy_half(t)), 48);
  assert_int_equal(fy_size(t).dim[1], 3);
  assert_raises(FY_INDEX_ERROR, "Dimension out of range (expected to be in range of [-3, 2], but got 3)",
                fy_size_at(t, 3));
  assert_raises(FY_INDEX_ERROR, "Dimension out of range (expected to be in range of [-3, 2], but got -4)",
                fy_stride_at(t, -4));
  assert_raises(FY_INDEX_ERROR, "dimension specified as 0 but tensor has no dimensions",
                fy_size_at(fy_zeros(FY_SCALAR, .device = device), 0));
}

static void shape_strings(void **state) {
  (void)state;
  assert_string_equal(fy_shape_string(fy_zeros(FY_SCALAR)), "torch.Size([])");
  assert_string_equal(fy_shape_string(fy_zeros(fy_shape(5))), "torch.Size([5])");
  assert_string_equal(fy_shape_string(fy_zeros(fy_shape(0, 2, 3))), "torch.Size([0, 2, 3])");
  const char *texts[8];
  for (int i = 0; i < 8; i++)
    texts[i] = fy_shape_string(fy_zeros(fy_shape(i, 1)));
  for (int i = 0; i < 8; i++) { // eight of them are good at once
    char expected[32];
    snprintf(expected, sizeof expected, "torch.Size([%d, 1])", i);
    assert_string_equal(texts[i], expected);
  }
}

static void the_longest_sizes_have_room(void **state) {
  (void)state;
  int64_t sizes[FY_MAX_DIM];
  char expected[512] = "[";
  for (int d = 0; d < FY_MAX_DIM; d++) {
    sizes[d] = INT64_MIN;
    strcat(expected, d ? ", -9223372036854775808" : "-9223372036854775808");
  }
  strcat(expected, "]");
  const char *oldest = fy_sizes_string(2, (int64_t[]){2, 3}); // good for seven more
  for (int i = 0; i < 7; i++)
    assert_string_equal(fy_sizes_string(FY_MAX_DIM, sizes), expected);
  assert_string_equal(oldest, "[2, 3]");
}

// ---- views ---------------------------------------------------------------------------------------------------------------

static void views_share_memory(void **state) {
  (void)state;
  FyTensor *t = counted(fy_shape(2, 3, 4));
  assert_view(fy_view(t, fy_shape(6, 4)), t, fy_shape(6, 4), fy_shape(4, 1), 0);
  assert_view(fy_view(t, fy_shape(2, -1)), t, fy_shape(2, 12), fy_shape(12, 1), 0);
  assert_view(fy_reshape(t, fy_shape(4, 6)), t, fy_shape(4, 6), fy_shape(6, 1), 0);
  assert_view(fy_flatten(t, 1, 2), t, fy_shape(2, 12), fy_shape(12, 1), 0);
  assert_view(fy_transpose(t, 0, 2), t, fy_shape(4, 3, 2), fy_shape(1, 4, 12), 0);
  assert_view(fy_transpose(t, -1, -2), t, fy_shape(2, 4, 3), fy_shape(12, 1, 4), 0);
  assert_view(fy_permute(t, fy_shape(2, 0, 1)), t, fy_shape(4, 2, 3), fy_shape(1, 12, 4), 0);
  assert_view(fy_permute(t, fy_shape(-1, 0, -2)), t, fy_shape(4, 2, 3), fy_shape(1, 12, 4), 0);
  assert_view(fy_select(t, 1, 2), t, fy_shape(2, 4), fy_shape(12, 1), 8);
  assert_view(fy_select(t, -1, -1), t, fy_shape(2, 3), fy_shape(12, 4), 3);
  assert_view(fy_slice(t, 2, 1, 4, 2), t, fy_shape(2, 3, 2), fy_shape(12, 4, 2), 1);
  assert_view(fy_slice(t, 1, -2, 99, 1), t, fy_shape(2, 2, 4), fy_shape(12, 4, 1), 4);
  assert_view(fy_narrow(t, 1, 1, 2), t, fy_shape(2, 2, 4), fy_shape(12, 4, 1), 4);
  assert_view(fy_narrow(t, 2, -2, 2), t, fy_shape(2, 3, 2), fy_shape(12, 4, 1), 2);
  assert_view(fy_unsqueeze(t, 1), t, fy_shape(2, 1, 3, 4), fy_shape(12, 12, 4, 1), 0);
  assert_view(fy_unsqueeze(t, -1), t, fy_shape(2, 3, 4, 1), fy_shape(12, 4, 1, 1), 0);
  assert_view(fy_expand(fy_unsqueeze(t, 0), fy_shape(5, -1, 3, 4)), t, fy_shape(5, 2, 3, 4), fy_shape(0, 12, 4, 1), 0);
  assert_view(fy_view_as(t, fy_zeros(fy_shape(3, 8))), t, fy_shape(3, 8), fy_shape(8, 1), 0);
  assert_view(fy_detach(fy_select(t, 0, 1)), t, fy_shape(3, 4), fy_shape(4, 1), 12);
}

static void views_of_views(void **state) {
  (void)state;
  FyTensor *t = counted(fy_shape(4, 6));
  FyTensor *columns = fy_slice(fy_t(t), 0, 1, 6, 2); // 3 by 4, strides 2 and 6
  assert_view(columns, t, fy_shape(3, 4), fy_shape(2, 6), 1);
  assert_view(fy_view(columns, fy_shape(3, 2, 2)), t, fy_shape(3, 2, 2), fy_shape(2, 12, 6), 1);
  assert_view(fy_view(columns, fy_shape(1, 3, 1, 4)), t, fy_shape(1, 3, 1, 4), fy_shape(6, 2, 24, 6), 1);
  assert_view(fy_select(columns, 1, 3), t, fy_shape(3), fy_shape(2), 19);
  FyTensor *ones = fy_view(t, fy_shape(1, 4, 1, 6));
  assert_view(fy_squeeze(ones), t, fy_shape(4, 6), fy_shape(6, 1), 0);
  assert_view(fy_squeeze_dim(ones, 2), t, fy_shape(1, 4, 6), fy_shape(24, 6, 1), 0);
  assert_view(fy_squeeze_dim(ones, 1), t, fy_shape(1, 4, 1, 6), fy_shape(24, 6, 6, 1), 0);
  FyTensor *rows = fy_view(t, fy_shape(2, 2, 6));
  assert_view(fy_view(fy_narrow(rows, 2, 0, 3), fy_shape(4, 3)), t, fy_shape(4, 3), fy_shape(6, 1), 0);
}

static void reshape_copies_where_it_must(void **state) {
  (void)state;
  FyTensor *t = counted(fy_shape(2, 3)), *turned = fy_t(t);
  assert_raises(FY_RUNTIME_ERROR,
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across "
                "two contiguous subspaces). Use .reshape(...) instead.",
                fy_view(turned, fy_shape(6)));
  FyTensor *copy = fy_reshape(turned, fy_shape(6));
  assert_false(fy_shares_storage(copy, t));
  assert_values(copy, fy_doubles(0, 3, 1, 4, 2, 5), 6, 0);
  assert_values(fy_flatten(turned, 0, -1), fy_doubles(0, 3, 1, 4, 2, 5), 6, 0);
  assert_true(fy_shares_storage(fy_reshape(turned, fy_shape(3, 1, 2)), t));
}

static void changes_are_seen_through_views(void **state) {
  (void)state;
  FyTensor *t = fy_zeros(fy_shape(3, 3), .device = device);
  uint32_t version = fy_version_of(t);
  fy_fill_(fy_select(t, 1, 0), 1);
  fy_add_scalar_(fy_slice(fy_view(t, fy_shape(9)), 0, 0, 9, 4), 5);
  assert_values(t, fy_doubles(6, 0, 0, 1, 5, 0, 1, 0, 5), 9, 0);
  assert_int_equal(fy_version_of(t), version + 2);
  FyTensor *clone = fy_clone(t);
  fy_zero_(clone);
  assert_values(fy_select(t, 0, 0), fy_doubles(6, 0, 0), 3, 0);
  assert_int_equal(fy_version_of(t), version + 2);
}

static void contiguous_and_clone(void **state) {
  (void)state;
  FyTensor *t = counted(fy_shape(2, 3));
  assert_ptr_equal(fy_contiguous(t), t);
  FyTensor *row = fy_select(t, 0, 1);
  assert_ptr_equal(fy_contiguous(row), row); // without gaps, if not from the beginning
  FyTensor *turned = fy_t(t), *copy = fy_contiguous(turned);
  assert_false(fy_is_contiguous(turned));
  assert_layout(copy, fy_shape(3, 2), fy_shape(2, 1), 0);
  assert_false(fy_shares_storage(copy, t));
  assert_true(fy_equal(copy, turned));
  FyTensor *column = fy_narrow(t, 1, 1, 1), *single = fy_narrow(fy_t(t), 0, 1, 1);
  assert_false(fy_is_contiguous(column));
  assert_false(fy_is_contiguous(single)); // 1 by 2 with a stride of 3
  assert_true(fy_is_contiguous(fy_narrow(column, 0, 0, 1)));
  assert_true(fy_is_contiguous(fy_narrow(t, 1, 1, 0)));
  FyTensor *clone = fy_clone(row);
  assert_false(fy_shares_storage(clone, t));
  assert_layout(clone, fy_shape(3), fy_shape(1), 0);
  assert_values(clone, fy_doubles(3, 4, 5), 3, 0);
}

static void detach_shares_the_version(void **state) {
  (void)state;
  FyTensor *x = fy_ones(fy_shape(2), .device = device, .requires_grad = true);
  FyTensor *y = fy_mul_scalar(x, 2), *d = fy_detach(y);
  assert_false(fy_requires_grad(d));
  assert_null(fy_grad_fn_name(d));
  fy_zero_(d);
  assert_int_equal(fy_version_of(y), 1);
  assert_values(y, fy_doubles(0, 0), 2, 0);
}

static void empty_views(void **state) {
  (void)state;
  FyTensor *t = counted(fy_shape(3, 4));
  assert_string_equal(fy_shape_string(fy_slice(t, 0, 2, 1, 1)), "torch.Size([0, 4])");
  assert_string_equal(fy_shape_string(fy_slice(t, 0, 7, 9, 1)), "torch.Size([0, 4])");
  assert_string_equal(fy_shape_string(fy_view(fy_narrow(t, 1, 4, 0), fy_shape(0, 7))), "torch.Size([0, 7])");
  assert_string_equal(fy_shape_string(fy_transpose(fy_narrow(t, 1, 0, 0), 0, 1)), "torch.Size([0, 3])");
  assert_true(fy_item(fy_sum(fy_narrow(t, 0, 3, 0))) == 0);
  assert_int_equal(fy_storage_offset(fy_narrow(t, 0, 3, 0)), 0);
}

static void views_refuse(void **state) {
  (void)state;
  FyTensor *t = counted(fy_shape(2, 3));
  assert_raises(FY_RUNTIME_ERROR, "shape '[4, 2]' is invalid for input of size 6", fy_view(t, fy_shape(4, 2)));
  assert_raises(FY_RUNTIME_ERROR, "shape '[-1, 4]' is invalid for input of size 6", fy_view(t, fy_shape(-1, 4)));
  assert_raises(FY_RUNTIME_ERROR, "only one dimension can be inferred", fy_reshape(t, fy_shape(-1, -1)));
  assert_raises(FY_RUNTIME_ERROR, "invalid shape dimension -2", fy_view(t, fy_shape(-2, 3)));
  assert_raises_about(FY_RUNTIME_ERROR, "cannot reshape tensor of 0 elements into shape [-1, 0]",
                      fy_view(fy_narrow(t, 0, 0, 0), fy_shape(-1, 0)));
  assert_raises(FY_INDEX_ERROR, "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
                fy_transpose(t, 0, 2));
  assert_raises(FY_RUNTIME_ERROR, "t() expects a tensor with <= 2 dimensions, but self is 3D",
                fy_t(fy_unsqueeze(t, 0)));
  assert_raises(FY_RUNTIME_ERROR, "permute(): duplicate dims are not allowed.", fy_permute(t, fy_shape(0, 0)));
  assert_raises_about(FY_RUNTIME_ERROR, "input.dim() = 2 is not equal to len(dims) = 3",
                      fy_permute(t, fy_shape(0, 1, 2)));
  assert_raises(FY_INDEX_ERROR, "select(): index 3 out of range for tensor of size [2, 3] at dimension 1",
                fy_select(t, 1, 3));
  assert_raises(FY_INDEX_ERROR, "select() cannot be applied to a 0-dim tensor.",
                fy_select(fy_zeros(FY_SCALAR, .device = device), 0, 0));
  assert_raises(FY_RUNTIME_ERROR, "slice step must be positive", fy_slice(t, 0, 0, 2, 0));
  assert_raises(FY_RUNTIME_ERROR, "start (1) + length (3) exceeds dimension size (3).", fy_narrow(t, 1, 1, 3));
  assert_raises(FY_RUNTIME_ERROR, "narrow(): length must be non-negative.", fy_narrow(t, 1, 1, -1));
  assert_raises(FY_RUNTIME_ERROR,
                "The expanded size of the tensor (5) must match the existing size (3) at non-singleton dimension 1.  "
                "Target sizes: [2, 5].  Tensor sizes: [2, 3]",
                fy_expand(t, fy_shape(2, 5)));
  assert_raises_about(FY_RUNTIME_ERROR, "the number of sizes provided (1) must be greater or equal to the number of",
                      fy_expand(t, fy_shape(3)));
  assert_raises(FY_RUNTIME_ERROR, "flatten() has invalid args: start_dim cannot come after end_dim",
                fy_flatten(t, 1, 0));
}

static void chunks(void **state) {
  (void)state;
  FyTensor *t = counted(fy_shape(7, 2)), *out[8];
  assert_int_equal(fy_chunk(t, 3, 0, out), 3); // 3, 3 and 1 rows
  assert_view(out[1], t, fy_shape(3, 2), fy_shape(2, 1), 6);
  assert_view(out[2], t, fy_shape(1, 2), fy_shape(2, 1), 12);
  assert_int_equal(fy_chunk(t, 5, 0, out), 4); // fewer than asked for: twos
  assert_view(out[3], t, fy_shape(1, 2), fy_shape(2, 1), 12);
  assert_int_equal(fy_chunk(fy_narrow(t, 0, 0, 6), 3, 0, out), 3); // 2, 2 and 2
  assert_view(out[2], t, fy_shape(2, 2), fy_shape(2, 1), 8);
  assert_int_equal(fy_chunk(t, 8, -2, out), 7);
  assert_int_equal(fy_chunk(t, 1, 1, out), 1);
  assert_int_equal(fy_chunk(t, 4, 1, out), 2);
  assert_view(out[1], t, fy_shape(7, 1), fy_shape(2, 1), 1);
  assert_int_equal(fy_chunk(fy_narrow(t, 0, 0, 0), 3, 0, out), 3);
  assert_raises(FY_RUNTIME_ERROR, "chunk expects `chunks` to be greater than 0, got: 0", fy_chunk(t, 0, 0, out));
  assert_raises(FY_RUNTIME_ERROR, "chunk expects at least a 1-dimensional tensor",
                fy_chunk(fy_zeros(FY_SCALAR, .device = device), 1, 0, out));
}

// ---- values ----------------------------------------------------------------------------------------------------------------

static void items(void **state) {
  (void)state;
  FyTensor *t = counted(fy_shape(2, 3));
  assert_true(fy_item(fy_select(fy_select(t, 0, 1), 0, 1)) == 4);
  assert_true(fy_item(fy_view(fy_select(fy_select(t, 0, 1), 0, 2), fy_shape(1, 1, 1))) == 5);
  assert_true(fy_item_int64(fy_full(9, FY_SCALAR, .dtype = FY_UINT8, .device = device)) == 9);
  assert_true(fy_item(fy_full(1, FY_SCALAR, .dtype = FY_BOOL, .device = device)) == 1);
  assert_true(fy_item(fy_full(1.5, FY_SCALAR, .dtype = FY_BFLOAT16, .device = device)) == 1.5);
  int64_t big = ((int64_t)1 << 53) + 1;
  assert_true(fy_item_int64(fy_tensor(&big, FY_SCALAR, .device = device)) == big);
  assert_true(fy_item_int64(fy_full(-2.9, FY_SCALAR, .device = device)) == -2);
  assert_true(fy_item(fy_ones(fy_shape(1), .device = device, .requires_grad = true)) == 1);
  assert_raises(FY_RUNTIME_ERROR, "a Tensor with 6 elements cannot be converted to Scalar", fy_item(t));
  assert_raises(FY_RUNTIME_ERROR, "a Tensor with 0 elements cannot be converted to Scalar",
                fy_item_int64(fy_narrow(t, 0, 0, 0)));
}

static void equality(void **state) {
  (void)state;
  FyTensor *a = counted(fy_shape(2, 3)), *b = counted(fy_shape(2, 3));
  assert_true(fy_equal(a, b));
  assert_true(fy_equal(fy_t(a), fy_contiguous(fy_t(b))));
  assert_false(fy_equal(a, fy_view(b, fy_shape(3, 2))));
  assert_false(fy_equal(a, fy_view(b, fy_shape(6))));
  assert_false(fy_equal(a, fy_double(b)));
  fy_fill_(fy_select(fy_select(b, 0, 1), 0, 2), 5.0000005);
  assert_false(fy_equal(a, b)); // the very last element, by one unit in the last place
  FyTensor *nan = fy_full((double)NAN, fy_shape(1), .device = device);
  assert_false(fy_equal(nan, nan));
  FyTensor *zero = fy_zeros(fy_shape(1), .device = device);
  assert_true(fy_equal(zero, fy_neg(zero)));
  int64_t big[] = {((int64_t)1 << 53), ((int64_t)1 << 53) + 1}; // one double, two integers
  FyTensor *wide = fy_tensor(big, fy_shape(2), .device = device);
  assert_false(fy_equal(fy_narrow(wide, 0, 0, 1), fy_narrow(wide, 0, 1, 1)));
  assert_true(fy_equal(fy_narrow(a, 0, 0, 0), fy_narrow(b, 0, 2, 0)));
  if (device.type == FY_CUDA)
    assert_false(fy_equal(a, fy_cpu(a)));
}

static void closeness(void **state) {
  (void)state;
  FyTensor *a = fy_tensor(fy_floats(100, 0, INFINITY), fy_shape(3), .device = device);
  FyTensor *b = fy_tensor(fy_floats(100.5f, 0.25f, INFINITY), fy_shape(3), .device = device);
  assert_true(fy_allclose(a, b, 0, 0.5));
  assert_false(fy_allclose(a, b, 0, 0.25));
  assert_false(fy_allclose(a, b, 0.1, 0)); // 0 against 0.25 is no question of scale
  assert_true(fy_allclose(fy_narrow(a, 0, 0, 1), fy_narrow(b, 0, 0, 1), 0.005, 0));
  assert_false(fy_allclose(fy_neg(a), b, 1, 1000)); // infinities of two signs
  FyTensor *finite = fy_full(1, fy_shape(3), .device = device);
  assert_false(fy_allclose(finite, b, 1, 1000));
  FyTensor *nan = fy_full((double)NAN, fy_shape(3), .device = device);
  assert_false(fy_allclose(nan, nan, 1, 1));
  // relative to the second
  FyTensor *small = fy_full(1, fy_shape(1), .device = device), *large = fy_full(2, fy_shape(1), .device = device);
  assert_true(fy_allclose(small, large, 0.5, 0));
  assert_false(fy_allclose(large, small, 0.5, 0));
  assert_raises(FY_RUNTIME_ERROR, "fy_allclose: the shapes torch.Size([3]) and torch.Size([1]) differ",
                fy_allclose(a, small, 0, 0));
}

static void copies_to_the_host_are_row_major(void **state) {
  (void)state;
  float out[7] = {9, 9, 9, 9, 9, 9, 9};
  fy_copy_to_host(fy_t(counted(fy_shape(2, 3))), out);
  const float expected[7] = {0, 3, 1, 4, 2, 5, 9};
  assert_memory_equal(out, expected, sizeof out);
  fy_copy_to_host(fy_narrow(counted(fy_shape(2, 3)), 0, 0, 0), NULL); // nothing is nothing
}

// ---- numpy -----------------------------------------------------------------------------------------------------------------

static void numpy_lends_the_memory(void **state) {
  (void)state;
  FyTensor *t = fy_view(fy_arange(6, .dtype = FY_FLOAT32), fy_shape(2, 3));
  float *array = fy_numpy(t);
  assert_ptr_equal(array, fy_data_ptr(t));
  array[4] = 40;
  assert_values(t, fy_doubles(0, 1, 2, 3, 40, 5), 6, 0);
  assert_ptr_equal(fy_numpy(fy_select(t, 0, 1)), array + 3);
}

static void numpy_refuses(void **state) {
  (void)state;
  FyTensor *leaf = fy_ones(fy_shape(3), .device = device, .requires_grad = true);
  const char *grad = "Can't call numpy() on Tensor that requires grad. Use fy_numpy(fy_detach(tensor)) instead.";
  assert_raises(FY_RUNTIME_ERROR, grad, fy_numpy(leaf));
  assert_raises(FY_RUNTIME_ERROR, grad, fy_numpy(fy_mul_scalar(leaf, 2)));
  assert_raises_about(FY_RUNTIME_ERROR, "this tensor of shape torch.Size([3, 2]) is not contiguous",
                      fy_numpy(fy_t(fy_zeros(fy_shape(2, 3)))));
  if (device.type == FY_CPU) {
    assert_non_null(fy_numpy(fy_detach(leaf)));
    return;
  }
  char text[200];
  snprintf(text, sizeof text,
           "can't convert %s device type tensor to numpy. Use fy_cpu(tensor) to copy the tensor to host memory first.",
           fy_device_name_of(device));
  assert_raises(FY_TYPE_ERROR, text, fy_numpy(fy_detach(leaf)));
  assert_true(*(float *)fy_numpy(fy_cpu(fy_detach(leaf))) == 1);
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  if (device.type == FY_CUDA && device.index < 0)
    device = fy_cuda_device(0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_and_strides),
      cmocka_unit_test(shape_strings),
      cmocka_unit_test(the_longest_sizes_have_room),
      cmocka_unit_test(views_share_memory),
      cmocka_unit_test(views_of_views),
      cmocka_unit_test(reshape_copies_where_it_must),
      cmocka_unit_test(changes_are_seen_through_views),
      cmocka_unit_test(contiguous_and_clone),
      cmocka_unit_test(detach_shares_the_version),
      cmocka_unit_test(empty_views),
      cmocka_unit_test(views_refuse),
      cmocka_unit_test(chunks),
      cmocka_unit_test(items),
      cmocka_unit_test(equality),
      cmocka_unit_test(closeness),
      cmocka_unit_test(copies_to_the_host_are_row_major),
      cmocka_unit_test(numpy_lends_the_memory),
      cmocka_unit_test(numpy_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
