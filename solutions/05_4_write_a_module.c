// Exercise 5.4: a module of one's own                                            (chapter 5, docs/05_model_moves.md)
//
// Write centered_linear: a module that takes a known mean from its input, scales each feature by a factor that it
// learns, and then applies a linear layer.
//
//   PyTorch:  class CenteredLinear(nn.Module):
//                 def __init__(self, in_features, out_features):
//                     super().__init__()
//                     self.scale = nn.Parameter(torch.ones(in_features))
//                     self.register_buffer("mean", torch.zeros(in_features))
//                     self.fc = nn.Linear(in_features, out_features)
//                 def forward(self, x):
//                     return self.fc((x - self.mean) * self.scale)
//
// A parameter is learnt; a buffer belongs to the model without being learnt. Both, and the child, have to be registered
// under these names, so that .to, parameters() and state_dict() find them.
//
// Given: x of (N, in_features), where N may be 0, on any device, the module moved there before. No value is above 1000
// in size, so that it is as good to scale first and to take the scaled mean away then.
// Judged: the names of parameters and buffers, first values, output and gradients (of scale, fc and x; mean has none),
// where everything is after a move, a module that another's state was loaded into, two modules beside each other, and
// outputs after its tensors were changed, with and without recording, in training and in evaluation mode, which is the
// same to this module. x stays as it is.
// Counted: copies between host and device. forward needs none.
#include "ferry.h"

typedef struct CenteredLinear {
  FyModule base;
  FyTensor *scale, *mean; // (in_features)
  FyModule *fc;
} CenteredLinear;

// [answer]
static FyTensor *centered_linear_forward(FyModule *self, FyTensor *x) {
  CenteredLinear *m = (CenteredLinear *)self;
  return fy_forward(m->fc, fy_mul(fy_sub(x, m->mean), m->scale));
}
// [stub]
//| // a forward function goes here
// [end]

FyModule *centered_linear(int in_features, int out_features) {
  // [answer]
  CenteredLinear *m = fy_module_new(CenteredLinear, centered_linear_forward);
  fy_register_parameter(m, scale, fy_ones(fy_shape(in_features)));
  fy_register_buffer(m, mean, fy_zeros(fy_shape(in_features)));
  fy_register_module(m, fc, fy_nn_linear(in_features, out_features));
  return &m->base;
  // [stub]
  //| (void)in_features;
  //| (void)out_features;
  //| return NULL;
  // [end]
}
