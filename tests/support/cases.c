// SPDX-License-Identifier: MIT
#include "cases.h"
#include "op/ops.h"
#include <math.h>
#include <string.h>

#define UNARY(name)                                                                                                    \
  static int run_##name(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {                                    \
    (void)c;                                                                                                           \
    out[0] = fy_##name(in[0]);                                                                                         \
    return 1;                                                                                                          \
  }
#define BINARY(name)                                                                                                   \
  static int run_##name(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {                                    \
    (void)c;                                                                                                           \
    out[0] = fy_##name(in[0], in[1]);                                                                                  \
    return 1;                                                                                                          \
  }
#define UNARY_IN_PLACE(name)                                                                                           \
  static FyTensor *inplace_##name(const GoldenCase *c, FyTensor *const *in) {                                          \
    (void)c;                                                                                                           \
    return fy_##name##_(in[0]);                                                                                        \
  }
#define BINARY_IN_PLACE(name)                                                                                          \
  static FyTensor *inplace_##name(const GoldenCase *c, FyTensor *const *in) {                                          \
    (void)c;                                                                                                           \
    return fy_##name##_(in[0], in[1]);                                                                                 \
  }
#define SCALAR(name)                                                                                                   \
  static int run_##name##_scalar(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {                           \
    out[0] = fy_##name##_scalar(in[0], golden_number(c, "value", 0));                                                  \
    return 1;                                                                                                          \
  }                                                                                                                    \
  static FyTensor *inplace_##name##_scalar(const GoldenCase *c, FyTensor *const *in) {                                 \
    return fy_##name##_scalar_(in[0], golden_number(c, "value", 0));                                                   \
  }

UNARY(neg)
UNARY(abs)
UNARY(exp)
UNARY(log)
UNARY(sqrt)
UNARY(tanh)
UNARY(sigmoid)
UNARY(relu)
UNARY(gelu)
UNARY(isfinite)
UNARY_IN_PLACE(neg)
UNARY_IN_PLACE(exp)
UNARY_IN_PLACE(log)
UNARY_IN_PLACE(sqrt)
UNARY_IN_PLACE(tanh)
UNARY_IN_PLACE(sigmoid)
UNARY_IN_PLACE(relu)
BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(div)
BINARY(pow)
BINARY(eq)
BINARY(ne)
BINARY(lt)
BINARY(le)
BINARY(gt)
BINARY(ge)
BINARY_IN_PLACE(add)
BINARY_IN_PLACE(sub)
BINARY_IN_PLACE(mul)
BINARY_IN_PLACE(div)
SCALAR(add)
SCALAR(sub)
SCALAR(mul)
SCALAR(div)
SCALAR(pow)

static int run_clamp(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_clamp(in[0], golden_number(c, "min", -INFINITY), golden_number(c, "max", INFINITY));
  return 1;
}
static FyTensor *inplace_clamp(const GoldenCase *c, FyTensor *const *in) {
  return fy_clamp_(in[0], golden_number(c, "min", -INFINITY), golden_number(c, "max", INFINITY));
}
static int run_where(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  (void)c;
  out[0] = fy_where(in[0], in[1], in[2]);
  return 1;
}

// ---- reductions --------------------------------------------------------------------------------------------------------

#define REDUCE_DIM(name)                                                                                               \
  static int run_##name##_dim(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {                              \
    out[0] = fy_##name##_dim(in[0], (int)golden_number(c, "dim", 0), golden_number(c, "keepdim", 0) != 0);             \
    return 1;                                                                                                          \
  }
#define REDUCE_DIMS(name)                                                                                              \
  static int run_##name##_dims(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {                             \
    out[0] = fy_##name##_dims(in[0], golden_shape(c, "dims"), golden_number(c, "keepdim", 0) != 0);                    \
    return 1;                                                                                                          \
  }
#define EXTREMUM_DIM(name)                                                                                             \
  static int run_##name##_dim(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {                              \
    FyValuesIndices r = fy_##name##_dim(in[0], (int)golden_number(c, "dim", 0), golden_number(c, "keepdim", 0) != 0);  \
    out[0] = r.values;                                                                                                 \
    out[1] = r.indices;                                                                                                \
    return 2;                                                                                                          \
  }

UNARY(sum)
UNARY(mean)
UNARY(max)
UNARY(min)
UNARY(argmax)
UNARY(argmin)
REDUCE_DIM(sum)
REDUCE_DIM(mean)
REDUCE_DIM(argmax)
REDUCE_DIM(argmin)
REDUCE_DIMS(sum)
REDUCE_DIMS(mean)
EXTREMUM_DIM(max)
EXTREMUM_DIM(min)

static int run_softmax(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_softmax(in[0], (int)golden_number(c, "dim", 0));
  return 1;
}
static int run_log_softmax(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_log_softmax(in[0], (int)golden_number(c, "dim", 0));
  return 1;
}

static FyReduction reduction_of(const GoldenCase *c) {
  return golden_has(c, "reduction", "sum")    ? FY_REDUCE_SUM
         : golden_has(c, "reduction", "none") ? FY_REDUCE_NONE
                                              : FY_REDUCE_MEAN;
}
static int run_cross_entropy(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  double ignore = golden_number(c, "ignore_index", -100);
  out[0] = fy_cross_entropy(in[0], in[1], .reduction = reduction_of(c), .set_ignore_index = ignore != -100,
                            .ignore_index = (int64_t)ignore);
  return 1;
}
static int run_mse_loss(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_mse_loss(in[0], in[1], .reduction = reduction_of(c));
  return 1;
}

// ---- products, images --------------------------------------------------------------------------------------------------

BINARY(matmul)

static int run_linear(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  FyTensor *bias = c->n_in > 2 ? in[2] : NULL;
  out[0] = golden_number(c, "relu", 0) != 0 ? fy_linear_relu(in[0], in[1], bias) : fy_linear(in[0], in[1], bias);
  return 1;
}
static int run_conv2d(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_conv2d(in[0], in[1], c->n_in > 2 ? in[2] : NULL, .stride = (int)golden_number(c, "stride", 0),
                     .padding = (int)golden_number(c, "padding", 0), .dilation = (int)golden_number(c, "dilation", 0),
                     .groups = (int)golden_number(c, "groups", 0));
  return 1;
}
static FyPool2d pool_of(const GoldenCase *c) {
  return (FyPool2d){.kernel_size = (int)golden_number(c, "kernel_size", 0),
                    .stride = (int)golden_number(c, "stride", 0),
                    .padding = (int)golden_number(c, "padding", 0)};
}
static int run_max_pool2d(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_max_pool2d_with(in[0], pool_of(c));
  return 1;
}
static int run_conv2d_relu_max_pool2d(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  FyConv2d conv = {.bias = c->n_in > 2 ? in[2] : NULL,
                   .stride = (int)golden_number(c, "stride", 0),
                   .padding = (int)golden_number(c, "padding", 0),
                   .dilation = (int)golden_number(c, "dilation", 0)};
  out[0] = fy_conv2d_relu_max_pool2d(in[0], in[1], conv, (FyPool2d){(int)golden_number(c, "kernel_size", 0), 0, 0});
  return 1;
}
static int run_avg_pool2d(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_avg_pool2d_with(in[0], pool_of(c));
  return 1;
}
static int run_batch_norm(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  FyTensor *mean = fy_clone(in[1]), *var = fy_clone(in[2]);
  bool training = golden_number(c, "training", 0) != 0;
  out[0] =
      fy_batch_norm(in[0], mean, var, c->n_in > 3 ? in[3] : NULL, c->n_in > 4 ? in[4] : NULL, training, 0.25, 1e-5);
  out[1] = mean;
  out[2] = var;
  return training ? 3 : 1;
}

static int run_layer_norm(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  const bool no_weight = golden_number(c, "no_weight", 0) != 0;
  FyTensor *weight = c->n_in > 1 && !no_weight ? in[1] : NULL;
  FyTensor *bias = no_weight ? in[1] : c->n_in > 2 ? in[2] : NULL;
  out[0] = fy_layer_norm(in[0], golden_shape(c, "shape"), weight, bias, 1e-5);
  return 1;
}

static int run_scaled_dot_product_attention(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_scaled_dot_product_attention(in[0], in[1], in[2], .is_causal = golden_number(c, "is_causal", 0) != 0,
                                           .scale = golden_number(c, "scale", 0));
  return 1;
}

// ---- joining and picking -----------------------------------------------------------------------------------------------

static int run_cat(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  FyTensor *items[GOLDEN_INPUTS];
  memcpy(items, in, sizeof items);
  out[0] = fy_cat((FyTensors){c->n_in, items}, (int)golden_number(c, "dim", 0));
  return 1;
}
static int run_stack(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  FyTensor *items[GOLDEN_INPUTS];
  memcpy(items, in, sizeof items);
  out[0] = fy_stack((FyTensors){c->n_in, items}, (int)golden_number(c, "dim", 0));
  return 1;
}
static int run_index_select(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_index_select(in[0], (int)golden_number(c, "dim", 0), in[1]);
  return 1;
}
static int run_embedding(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  (void)c;
  out[0] = fy_embedding(in[1], in[0]);
  return 1;
}

// ---- views ---------------------------------------------------------------------------------------------------------------

static FyTensor *maybe_transposed(const GoldenCase *c, FyTensor *t) {
  return golden_number(c, "t", 0) != 0 ? fy_t(t) : t;
}

static int run_view(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  FyTensor *t = golden_number(c, "t", 0) != 0 ? fy_t(fy_contiguous(in[0])) : fy_contiguous(in[0]);
  out[0] = fy_view(t, golden_shape(c, "shape"));
  return 1;
}
static int run_reshape(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_reshape(maybe_transposed(c, in[0]), golden_shape(c, "shape"));
  return 1;
}
static int run_flatten(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_flatten(in[0], (int)golden_number(c, "start", 0), (int)golden_number(c, "end", -1));
  return 1;
}
static int run_transpose(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_transpose(in[0], (int)golden_number(c, "dim0", 0), (int)golden_number(c, "dim1", 0));
  return 1;
}
static int run_permute(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_permute(in[0], golden_shape(c, "dims"));
  return 1;
}
static int run_select(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_select(in[0], (int)golden_number(c, "dim", 0), (int64_t)golden_number(c, "index", 0));
  return 1;
}
static int run_slice(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_slice(in[0], (int)golden_number(c, "dim", 0), (int64_t)golden_number(c, "start", 0),
                    (int64_t)golden_number(c, "end", 0), (int64_t)golden_number(c, "step", 1));
  return 1;
}
static int run_narrow(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_narrow(in[0], (int)golden_number(c, "dim", 0), (int64_t)golden_number(c, "start", 0),
                     (int64_t)golden_number(c, "length", 0));
  return 1;
}
static int run_expand(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_expand(in[0], golden_shape(c, "shape"));
  return 1;
}
UNARY(squeeze)
static int run_squeeze_dim(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_squeeze_dim(in[0], (int)golden_number(c, "dim", 0));
  return 1;
}
static int run_unsqueeze(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_unsqueeze(in[0], (int)golden_number(c, "dim", 0));
  return 1;
}
static int run_contiguous(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  (void)c;
  out[0] = fy_contiguous(fy_t(in[0]));
  return 1;
}
UNARY(clone)
static int run_chunk(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  return fy_chunk(in[0], (int)golden_number(c, "chunks", 0), (int)golden_number(c, "dim", 0), out);
}

// ---- a gradient scaler's ops ---------------------------------------------------------------------------------------------

static FyTensor *inplace_amp_unscale(const GoldenCase *c, FyTensor *const *in) {
  (void)c;
  fy_amp_foreach_non_finite_check_and_unscale_(fy_list(in[0]), in[1], in[2]);
  return in[0];
}
static int run_amp_unscale(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_clone(in[0]);
  out[1] = fy_clone(in[1]);
  inplace_amp_unscale(c, (FyTensor *[]){out[0], out[1], in[2]});
  return 2;
}
static FyTensor *inplace_amp_update_scale(const GoldenCase *c, FyTensor *const *in) {
  return fy_amp_update_scale_(in[0], in[1], in[2], golden_number(c, "growth", 0), golden_number(c, "backoff", 0),
                              (int64_t)golden_number(c, "interval", 0));
}
static int run_amp_update_scale(const GoldenCase *c, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_clone(in[0]);
  out[1] = fy_clone(in[1]);
  inplace_amp_update_scale(c, (FyTensor *[]){out[0], out[1], in[2]});
  return 2;
}

#define ROW(name) {#name, run_##name, NULL},
#define BOTH(name) {#name, run_##name, inplace_##name},
const CaseAdapter case_adapters[] = {
    BOTH(neg) ROW(abs) BOTH(exp) BOTH(log) BOTH(sqrt) BOTH(tanh) BOTH(sigmoid) BOTH(relu) ROW(gelu) ROW(isfinite)
        BOTH(add) BOTH(sub) BOTH(mul) BOTH(div) ROW(pow) ROW(eq) ROW(ne) ROW(lt) ROW(le) ROW(gt) ROW(ge)
            BOTH(add_scalar) BOTH(sub_scalar) BOTH(mul_scalar) BOTH(div_scalar) BOTH(pow_scalar) BOTH(clamp) ROW(where)
                ROW(sum) ROW(mean) ROW(max) ROW(min) ROW(argmax) ROW(argmin) ROW(sum_dim) ROW(mean_dim) ROW(max_dim)
                    ROW(min_dim) ROW(argmax_dim) ROW(argmin_dim) ROW(sum_dims) ROW(mean_dims) ROW(softmax)
                        ROW(log_softmax) ROW(cross_entropy) ROW(mse_loss) ROW(matmul) ROW(linear) ROW(conv2d)
                            ROW(conv2d_relu_max_pool2d) ROW(conv2d_relu_max_pool2d) ROW(max_pool2d) ROW(avg_pool2d)
                                ROW(batch_norm) ROW(layer_norm) ROW(scaled_dot_product_attention) ROW(cat) ROW(stack)
                                    ROW(index_select) ROW(embedding) ROW(view) ROW(reshape) ROW(flatten) ROW(transpose)
                                        ROW(permute) ROW(select) ROW(slice) ROW(narrow) ROW(expand) ROW(squeeze)
                                            ROW(squeeze_dim) ROW(unsqueeze) ROW(contiguous) ROW(clone) ROW(chunk)
                                                BOTH(amp_unscale) BOTH(amp_update_scale)};
const int case_adapter_count = sizeof case_adapters / sizeof *case_adapters;

const CaseAdapter *case_adapter(const char *op) {
  for (int i = 0; i < case_adapter_count; i++)
    if (strcmp(case_adapters[i].op, op) == 0)
      return &case_adapters[i];
  return NULL;
}
