// mistake: wrong input values
#include "ferry.h"

typedef struct SimpleNet {
  FyModule base;
  FyModule *fc;
} SimpleNet;

static FyTensor *through(FyModule *self, FyTensor *x) {
  SimpleNet *net = (SimpleNet *)self;
  return fy_forward(net->fc, x);
}

FyModule *simple_net(int in_features, int out_features) {
  SimpleNet *net = fy_module_new(SimpleNet, through);
  fy_register_module(net, fc, fy_nn_linear(in_features, out_features));
  return &net->base;
}

FyTensor *run_on(FyModule *model, FyDevice device, int64_t batch, int64_t in_features) {
  FyTensor *numbers = fy_arange((double)(in_features * batch), .device = device, .dtype = FY_FLOAT32);
  FyTensor *columns = fy_transpose(fy_reshape(numbers, fy_shape(in_features, batch)), 0, 1);
  return fy_forward(fy_module_to(model, device), columns);
}
