// mistake: current device instead of the argument
// devices: 2
#include "ferry.h"

typedef struct SimpleNet {
  FyModule base;
  FyModule *fc;
} SimpleNet;

static FyTensor *simple_net_forward(FyModule *self, FyTensor *x) {
  return fy_forward(((SimpleNet *)self)->fc, x);
}

FyModule *simple_net(int in_features, int out_features) {
  SimpleNet *net = fy_module_new(SimpleNet, simple_net_forward);
  fy_register_module(net, fc, fy_nn_linear(in_features, out_features));
  return &net->base;
}

FyTensor *run_on(FyModule *model, FyDevice device, int64_t batch, int64_t in_features) {
  FyDevice gpu = device.type == FY_CUDA ? fy_device("cuda") : device;
  fy_module_to(model, gpu);
  FyTensor *x = fy_arange((double)(batch * in_features), .dtype = FY_FLOAT32, .device = gpu);
  return fy_forward(model, fy_view(x, fy_shape(batch, in_features)));
}
