// Exercise 5.1: a model on its device                                            (chapter 5, docs/05_model_moves.md)
//
// Write simple_net: a module of one linear layer, which is its child `fc`, with weight and bias. Its input is
// (N, in_features).
//
//   PyTorch:  class SimpleNet(nn.Module):
//                 def __init__(self, in_features, out_features):
//                     super().__init__()
//                     self.fc = nn.Linear(in_features, out_features)
//                 def forward(self, x):
//                     return self.fc(x)
//
// Then write run_on: move the model to `device`, make a dummy input there, and return what the model says to it. The
// input is (batch, in_features) float32 and counts row by row: 0, 1, 2, ...
//
//   PyTorch:  model.to(device)
//             x = torch.arange(batch * in_features, dtype=torch.float32, device=device).view(batch, in_features)
//             return model(x)
//
// Given: any device, the CPU or any GPU, whichever GPU is current; the model, all of it in one place, may be there
// already, on the CPU, or on another GPU.
// Judged: the parameters' names, the device of parameters and output, the output's values; also with other models made
// beside the first, and of run_on called again with other sizes or another device.
// Counted: copies. Weight and bias have to cross, once and directly, unless they are there; nothing else does, in
// neither direction.
#include "ferry.h"

typedef struct SimpleNet {
  FyModule base;
  FyModule *fc;
} SimpleNet;

// a forward function goes here

FyModule *simple_net(int in_features, int out_features) {
  (void)in_features;
  (void)out_features;
  return NULL;
}

FyTensor *run_on(FyModule *model, FyDevice device, int64_t batch, int64_t in_features) {
  (void)model;
  (void)device;
  (void)batch;
  (void)in_features;
  return NULL;
}
