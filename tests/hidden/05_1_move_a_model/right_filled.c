// Registers the child by name, and adds two ranges for the input.
#include "ferry.h"

typedef struct SimpleNet {
  FyModule base;
} SimpleNet;

static FyTensor *simple_net_forward(FyModule *self, FyTensor *x) {
  FyTensorList *state = fy_parameters(self);
  return fy_linear(x, fy_list_get(state, "fc.weight"), fy_list_get(state, "fc.bias"));
}

FyModule *simple_net(int in_features, int out_features) {
  FyModule *net = (FyModule *)fy_module_new(SimpleNet, simple_net_forward);
  fy_module_add_child(net, "fc", fy_nn_linear(in_features, out_features), -1);
  return net;
}

FyTensor *run_on(FyModule *model, FyDevice device, int64_t batch, int64_t in_features) {
  FyTensor *columns = fy_linspace(0, (double)(in_features - 1), in_features, .device = device);
  FyTensor *rows = fy_mul_scalar(fy_linspace(0, (double)(batch - 1), batch, .device = device), (double)in_features);
  FyTensor *x = fy_add(fy_unsqueeze(rows, 1), columns);
  if (device.type == FY_CUDA && device.index < 0)
    fy_module_cuda(model);
  else
    fy_module_to(model, device);
  return fy_forward(model, x);
}
