// SPDX-License-Identifier: MIT
// Calls the library's kernels, each at a size at which it has something to do: what `./ferry inspect --program` looks at for the
// table of their counts (test_library.sh).
#include "ferry.h"
#include "op/convolution/conv.h"
#include "op/elementwise/chain.h"
#include "op/op.h"

static FyDevice device;

static FyTensor *device_randn(FySize size) {
  return fy_randn_with((FyFactory){.size = size, .device = device, .requires_grad = true});
}

static void elementwise(void) {
  FyTensor *a = device_randn(fy_shape(96, 200)), *b = device_randn(fy_shape(96, 200)),
           *row = device_randn(fy_shape(200));
  fy_add(a, b);
  fy_add(a, row);
  fy_gelu(a);
  fy_where(fy_gt(a, b), a, b);
  fy_half(a);
  fy_sum(a);
  fy_fill_(fy_detach(a), 1);
}

// What a traced module makes of relu(a + b).
static void chain(void) {
  FyTensor *a = fy_detach(device_randn(fy_shape(96, 200))), *b = fy_detach(device_randn(fy_shape(96, 200)));
  FyChainParams p = {.count = 2,
                     .links = {{FY_CHAIN_ADD, 0, 1, 0, 0}, {FY_CHAIN_RELU, FY_CHAIN_LAST, 0, 0, 0}},
                     .ndim = 2,
                     .shape = {96, 200}};
  fy_run(&fy_op_pointwise_chain, &p, 2, (FyTensor *[]){a, b});
}

static void layouts(void) {
  FyTensor *a = fy_detach(device_randn(fy_shape(640, 544)));
  fy_contiguous(fy_t(a));
  fy_contiguous(fy_slice(a, 1, 0, 500, 2));
  fy_cat(fy_list(a, a), 1);
  fy_index_select(a, 0, fy_randint(0, 640, fy_shape(100), .device = device));
  FyTensor *words = device_randn(fy_shape(50, 64));
  FyTensor *found = fy_embedding(fy_randint(0, 50, fy_shape(300), .device = device), words);
  fy_backward(fy_sum(found));
  FyTensor *halves = fy_half(words), *indices = fy_randint(0, 50, fy_shape(300), .device = device);
  fy_backward(fy_sum(fy_embedding(indices, halves)));
}

static void made_there(void) {
  fy_arange(5000, .device = device);
  fy_eye(70, .device = device);
  fy_uniform_(fy_empty(fy_shape(5000), .device = device), 0, 1);
  fy_backward(fy_sum(fy_dropout(device_randn(fy_shape(64, 80)), 0.5, true)));
}

static void reductions(void) {
  FyTensor *a = fy_detach(device_randn(fy_shape(192, 320)));
  fy_sum_dim(a, 0, false);
  fy_sum_dim(a, 1, false);
  fy_max_dim(a, 1, false);
  fy_argmax_dim(a, 0, false);
  fy_softmax(a, 1);
  fy_softmax(a, 0);
  fy_softmax(fy_detach(device_randn(fy_shape(4, 6000))), 1);
}

static void losses(void) {
  FyTensor *x = device_randn(fy_shape(128, 100)), *y = fy_detach(device_randn(fy_shape(128, 100)));
  fy_backward(fy_cross_entropy(x, fy_randint(0, 100, fy_shape(128), .device = device)));
  fy_backward(fy_mse_loss(x, y));
  fy_mse_loss(x, y, .reduction = FY_REDUCE_NONE);
  FyTensor *w = device_randn(fy_shape(64, 100)), *bias = device_randn(fy_shape(64));
  fy_backward(fy_sum(fy_linear_relu(x, w, bias)));
  fy_backward(fy_sum(fy_linear(x, w, bias)));
}

static void implicit(FyTensor *x, FyTensor *w) {
  FyConv2dParams p = {.stride = 1, .padding = 1, .dilation = 1, .groups = 1, .algorithm = FY_CONV_IMPLICIT_GEMM};
  fy_run(&fy_op_conv2d, &p, 3, (FyTensor *[]){x, w, NULL});
}

static void images(void) {
  FyTensor *x = device_randn(fy_shape(4, 8, 24, 24)), *w = device_randn(fy_shape(16, 8, 3, 3));
  FyTensor *bias = device_randn(fy_shape(16));
  fy_backward(fy_sum(fy_conv2d(x, w, bias, .padding = 1)));
  fy_backward(fy_sum(fy_max_pool2d(x, 2)));
  fy_backward(fy_sum(fy_avg_pool2d(x, 2)));
  fy_backward(
      fy_sum(fy_conv2d_relu_max_pool2d(x, w, (FyConv2d){.bias = bias, .padding = 1}, (FyPool2d){.kernel_size = 2})));
  FyTensor *mean = fy_zeros(fy_shape(8), .device = device), *var = fy_ones(fy_shape(8), .device = device);
  FyTensor *scale = device_randn(fy_shape(8)), *shift = device_randn(fy_shape(8));
  fy_backward(fy_sum(fy_batch_norm(x, mean, var, scale, shift, true, 0.1, 1e-5)));
  fy_batch_norm(x, mean, var, scale, shift, false, 0.1, 1e-5);
  for (int64_t n = 100; n < 700; n += 500) { // a warp for each row, and a block
    FyTensor *rows = device_randn(fy_shape(60, n)), *weight = device_randn(fy_shape(n));
    fy_backward(fy_sum(fy_layer_norm(rows, fy_shape(n), weight, fy_zeros_like(weight), 1e-5)));
  }
  FyTensor *heads = device_randn(fy_shape(3, 150, 20)); // two tiles
  fy_backward(fy_sum(fy_scaled_dot_product_attention(heads, heads, fy_neg(heads), .is_causal = true)));
  implicit(fy_detach(x), fy_detach(w));
}

static void train(FyModule *model, FyOptimizer *optimizer) {
  FyGradScaler *scaler = fy_grad_scaler(FY_CUDA, .init_scale = 4);
  for (int step = 0; step < 2; step++) {
    fy_zero_grad(optimizer);
    FyTensor *out = fy_forward(model, fy_detach(device_randn(fy_shape(32, 64))));
    fy_backward(fy_scaler_scale(scaler, fy_sum(out)));
    fy_scaler_step(scaler, optimizer);
    fy_scaler_update(scaler);
  }
}

static void training(void) {
  FyModule *model = fy_module_to(fy_nn_linear(64, 48), device);
  train(model, fy_sgd(fy_parameters(model), .lr = 0.1, .momentum = 0.9));
  train(model, fy_adam(fy_parameters(model)));
  train(model, fy_adam(fy_parameters(model), .capturable = true));
}

int main(void) {
  void (*const calls[])(void) = {elementwise, chain, layouts, made_there, reductions, losses, images, training};
  device = fy_device("cuda");
  fy_manual_seed(1); // how a row's largest so far changes depends on its values
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    fy_scope {
      calls[i]();
    }
  fy_synchronize(device);
  return 0;
}
