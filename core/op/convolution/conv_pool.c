// SPDX-License-Identifier: MIT
// max_pool2d(relu(conv2d(x, weight, bias)), window) as one op.
//
// The convolution's output is the largest array of such a layer, and ReLU's another one. Fused, neither exists: each image is
// convolved, cut off at zero and pooled while it is in the cache, and backward needs only the tap that each pooled value
// came from. The values are those of the three ops, up to the rounding of the convolution's sums.
#include "graph/place.h"
#include "op/convolution/conv_choose.h"
#include "op/convolution/conv_pool.h"
#include "op/kernel/dnn.h"
#include "op/op.h"
#include "op/ops.h"

extern FyKernel fy_cpu_conv2d_relu_max_pool2d, fy_cpu_conv2d_relu_max_pool2d_backward;

// ---- forward -----------------------------------------------------------------------------------------------------------

// An image, or the gradient of one: either layout will do on the CPU. Whether its channels stay together.
static bool settle_layout(FyOpCall *call, int i) {
  const FyArray *a = &call->in[i]->array;
  if (call->device.type == FY_CPU && fy_is_channels_last(a))
    return !a->contiguous;
  fy_call_contiguous(call, i);
  return false;
}

static void output_image(FyOpCall *call, FyDType dtype, const int64_t *shape, bool channels_last) {
  int64_t c = shape[1], h = shape[2], w = shape[3];
  if (channels_last)
    fy_call_output_strided(call, 0, dtype, 4, shape, (int64_t[]){h * w * c, 1, w * c, c});
  else
    fy_call_output(call, 0, dtype, 4, shape);
}

// The public function has checked everything. The second output, seen by backward alone, has the taps, in the order that
// the device's kernel likes.
static void conv_pool_infer(FyOpCall *call) {
  const FyConvPoolParams *p = call->params;
  FyConvPoolShape s = fy_conv_pool_shape(p, call->in[0]->array.shape, call->in[1]->array.shape);
  int64_t shape[] = {s.conv.n, s.conv.o, s.ph, s.pw};
  settle_layout(call, 0);
  fy_call_contiguous(call, 1);
  fy_call_contiguous(call, 2);
  output_image(call, (FyDType)call->in[0]->array.dtype, shape, p->channels_last);
  fy_call_output(call, 1, FY_UINT8, 4, shape);
}

// Where the processor has no tiles for bfloat16, the whole is done in float32.
static bool conv_pool_in_bfloat16(const FyOpCall *call) {
  return fy_all_bfloat16(call) && fy_dnn_has_amx();
}

static void conv_pool_save(FyOpCall *call, FyNode *node) {
  fy_save_input(node, call, 0);
  fy_save_input(node, call, 1);
  fy_save_output(node, call, 1);
}

static void conv_pool_backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyConvPoolParams p = *fy_node_params(node, FyConvPoolParams);
  FyTensor *x = fy_saved(node, 0), *weight = fy_saved(node, 1), *taps = fy_saved(node, 2);
  FyTensor *places[3];
  for (int i = 0; i < 3; i++) {
    p.needs[i] = fy_node_needs(node, i);
    places[i] = fy_node_place(node, i);
  }
  fy_run_multi_into(&fy_op_conv2d_relu_max_pool2d_backward, &p, FY_INPUTS(grad_out[0], taps, x, weight), 3, grad_in,
                    places);
}

// The product's; ReLU and pooling are done on its tiles.
static void conv_pool_cost(const FyLaunch *launch, FyOpCost *cost) {
  const FyConvPoolParams *p = launch->params;
  const FyConvShape s = fy_conv_shape(&p->conv, launch->in[0]->shape, launch->in[1]->shape);
  fy_cost_product(launch, cost, (double)(s.n * s.oh * s.ow), (double)s.o, (double)(s.c * s.kh * s.kw), 1);
}

const FyOp fy_op_conv2d_relu_max_pool2d = {
    .name = "conv2d_relu_max_pool2d",
    .grad_name = "MaxPool2DWithIndicesBackward0", // the last of the three, which PyTorch would show
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_WEIGHTED,
    .autocast = FY_AUTOCAST_EVERYWHERE(FY_AUTOCAST_LOWER),
    .infer = conv_pool_infer,
    .cpu = fy_cpu_conv2d_relu_max_pool2d,
    .choose = fy_choose_conv_pool,
    .cpu_bfloat16 = conv_pool_in_bfloat16,
    .save = conv_pool_save,
    .backward = conv_pool_backward,
    .params_size = sizeof(FyConvPoolParams),
    .cost = conv_pool_cost,
    .id = FY_OP_ID_conv2d_relu_max_pool2d,
};

// ---- backward ----------------------------------------------------------------------------------------------------------

static void conv_pool_backward_infer(FyOpCall *call) {
  const FyConvPoolParams *p = call->params;
  const FyArray *x = &call->in[2]->array, *weight = &call->in[3]->array;
  fy_call_cast(call, 0, x->dtype);
  settle_layout(call, 0);
  bool channels_last = settle_layout(call, 2);
  fy_call_contiguous(call, 3);
  if (p->needs[0])
    output_image(call, x->dtype, x->shape, channels_last);
  if (p->needs[1])
    fy_call_output(call, 1, x->dtype, 4, weight->shape);
  if (p->needs[2])
    fy_call_output(call, 2, x->dtype, 1, weight->shape);
}

static bool conv_pool_backward_in_bfloat16(const FyOpCall *call) {
  const FyArray *grad = &call->in[0]->array, *x = &call->in[2]->array;
  return grad->dtype == FY_BFLOAT16 && x->dtype == FY_BFLOAT16 && fy_dnn_has_amx();
}

// A product for each of the two gradients that may be wanted.
static void conv_pool_backward_cost(const FyLaunch *launch, FyOpCost *cost) {
  const FyConvPoolParams *p = launch->params;
  const FyConvShape s = fy_conv_shape(&p->conv, launch->in[2]->shape, launch->in[3]->shape);
  const int products = p->needs[0] + p->needs[1];
  if (products > 0)
    fy_cost_product(launch, cost, (double)s.o, (double)(s.c * s.kh * s.kw), (double)(s.n * s.oh * s.ow), products);
}

const FyOp fy_op_conv2d_relu_max_pool2d_backward = {
    .name = "conv2d_relu_max_pool2d_backward",
    .flags = FY_OP_CPU_HALF_AS_FLOAT | FY_OP_NO_GRAD,
    .infer = conv_pool_backward_infer,
    .cpu = fy_cpu_conv2d_relu_max_pool2d_backward,
    .choose = fy_choose_conv_pool_backward,
    .cpu_bfloat16 = conv_pool_backward_in_bfloat16,
    .params_size = sizeof(FyConvPoolParams),
    .cost = conv_pool_backward_cost,
    .id = FY_OP_ID_conv2d_relu_max_pool2d_backward,
};

// ---- the function --------------------------------------------------------------------------------------------------------

static FyDType computed_in(const FyTensor *t) {
  return fy_autocast_dtype_of(&fy_op_conv2d_relu_max_pool2d, t);
}

static bool same_kind(const FyTensor *x, const FyTensor *other) {
  return computed_in(other) == computed_in(x) && fy_device_equal(other->device, x->device);
}

// Whether the op does this call. The three ops do the others, and find the words for what is wrong.
static bool is_fusible(const FyTensor *x, const FyTensor *weight, const FyTensor *bias, const FyConvPoolParams *p,
                       const FyPool2d *pool) {
  const FyConv2dParams *c = &p->conv;
  const FyArray *w = &weight->array;
  bool tiles = pool->kernel_size > 0 && pool->kernel_size <= FY_MAX_TAP_WINDOW && pool->padding == 0 &&
               (pool->stride == 0 || pool->stride == pool->kernel_size);
  bool plain = c->groups == 1 && c->stride > 0 && c->dilation > 0 && c->padding >= 0;
  if (!tiles || !plain || x->array.ndim != 4 || w->ndim != 4 || !fy_dtype_is_floating(x->array.dtype))
    return false;
  if (!same_kind(x, weight) || x->array.shape[1] != w->shape[1] || x->array.numel == 0 || w->numel == 0)
    return false;
  if (bias && (!same_kind(x, bias) || bias->array.ndim != 1 || bias->array.shape[0] != w->shape[0]))
    return false;
  FyConvPoolShape s = fy_conv_pool_shape(p, x->array.shape, w->shape);
  bool fits = x->array.shape[2] + 2 * c->padding > (w->shape[2] - 1) * c->dilation &&
              x->array.shape[3] + 2 * c->padding > (w->shape[3] - 1) * c->dilation;
  return fits && s.ph > 0 && s.pw > 0;
}

static FyTensor *run(FyTensor *x, FyTensor *weight, FyConv2d conv, FyPool2d pool, bool channels_last) {
  FyTensor *out[2];
  FyConvPoolParams p = {.window = pool.kernel_size, .channels_last = channels_last && x->device.type == FY_CPU};
  p.conv.stride = conv.stride ? conv.stride : 1;
  p.conv.padding = conv.padding;
  p.conv.dilation = conv.dilation ? conv.dilation : 1;
  p.conv.groups = conv.groups ? conv.groups : 1;
  if (!is_fusible(x, weight, conv.bias, &p, &pool))
    return fy_max_pool2d_with(fy_relu(fy_conv2d_with(x, weight, conv)), pool);
  fy_run_multi(&fy_op_conv2d_relu_max_pool2d, &p, FY_INPUTS(x, weight, conv.bias), 2, out);
  fy_drop(out[1]);
  return out[0];
}

FyTensor *fy_conv2d_relu_max_pool2d(FyTensor *x, FyTensor *weight, FyConv2d conv, FyPool2d pool) {
  return run(x, weight, conv, pool, false);
}

FyTensor *fy_conv2d_relu_max_pool2d_channels_last(FyTensor *x, FyTensor *weight, FyConv2d conv, FyPool2d pool) {
  return run(x, weight, conv, pool, true);
}
