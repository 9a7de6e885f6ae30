// Exercise 5.4: Write a module                      lesson 5 · medium · 30 min
//
// Task      Write a module that subtracts a known mean from its input, scales
//           the difference by learned factors, and applies a linear layer:
//               self.scale = nn.Parameter(torch.ones(in_features))
//               self.register_buffer("mean", torch.zeros(in_features))
//               self.fc = nn.Linear(in_features, out_features)
//               def forward(self, x):
//                   return self.fc((x - self.mean) * self.scale)
// Example   x = 2 4, mean = 1 2, scale = 3 10   ->   fc(3 20)
// Write     centered_linear, with its forward function
// Inputs    in_features, out_features   at least 1
//           x   float32, (N, in_features), on the module's device; N may be 0,
//               and x may be a view
// Required  - the module moves, saves and loads scale, mean, fc.weight and
//             fc.bias under these names; every module has its own tensors
//           - the output and the gradients of x and all parameters are correct
//           - x is unchanged
// Stars     ** no transfer in the forward pass
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
//| // write the forward function here
// [end]

FyModule *centered_linear(int in_features, int out_features) {
  // [answer]
  CenteredLinear *m = fy_module_new(CenteredLinear, centered_linear_forward);
  fy_register_parameter(m, scale, fy_ones(fy_shape(in_features)));
  fy_register_buffer(m, mean, fy_zeros(fy_shape(in_features)));
  fy_register_module(m, fc, fy_nn_linear(in_features, out_features));
  return &m->base;
  // [stub]
  //| return NULL;
  // [end]
}
