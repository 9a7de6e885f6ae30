// Exercise 5.1: Move a model                          lesson 5 · easy · 15 min
//
// Task      Write a module with one linear layer, and run it on any device. Its
//           parameters and its input must be on the same device.
//               def __init__(self, in_features, out_features):
//                   self.fc = nn.Linear(in_features, out_features)
//               def run_on(model, device, batch, in_features):
//                   x = torch.arange(batch * in_features, device=device)
//                   x = x.float().view(batch, in_features)
//                   return model.to(device)(x)
// Example   run_on(model, device, 2, 3)   ->   output for 0 1 2 and 3 4 5
// Write     simple_net, with its forward function, and run_on
// Inputs    in_features, out_features, batch   at least 1
//           model    a model from simple_net, on any device
//           device   the CPU or any CUDA device, not always the current one
// Required  - each model has two parameters of its own: fc.weight and fc.bias
//           - the output is correct; the output and the model are on `device`
// Stars     ** one transfer per parameter that moves, and no other transfers
#include "ferry.h"

typedef struct SimpleNet {
  FyModule base;
  FyModule *fc;
} SimpleNet;

// [answer]
// (N, in_features) -> (N, out_features)
static FyTensor *simple_net_forward(FyModule *self, FyTensor *x) {
  return fy_forward(((SimpleNet *)self)->fc, x);
}
// [stub]
//| // write the forward function here
// [end]

FyModule *simple_net(int in_features, int out_features) {
  // [answer]
  SimpleNet *net = fy_module_new(SimpleNet, simple_net_forward);
  fy_register_module(net, fc, fy_nn_linear(in_features, out_features));
  return &net->base;
  // [stub]
  //| return NULL;
  // [end]
}

FyTensor *run_on(FyModule *model, FyDevice device, int64_t batch, int64_t in_features) {
  // [answer]
  fy_module_to(model, device);
  FyTensor *x = fy_arange((double)(batch * in_features), .dtype = FY_FLOAT32, .device = device);
  return fy_forward(model, fy_view(x, fy_shape(batch, in_features)));
  // [stub]
  //| return NULL;
  // [end]
}
