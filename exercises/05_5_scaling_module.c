// Exercise 5.5: Find the bug: a scaling module      lesson 5 · medium · 20 min
//
// Task      scaler creates a module that standardizes its input with a known
//           mean and standard deviation, and multiplies it by a learned gain:
//               def forward(self, x):
//                   return self.gain * (x - self.mean) / self.std
//           It works on every device, and its state dict is complete. But after
//           a few epochs of training, mean and std have changed.
// Example   x = 5, mean = 1, std = 2, gain = 3   ->   6
// Fix       scaler
// Inputs    mean, std   float32, (features), on the CPU; std is at least 1
//           x           float32, (N, features), on the module's device; N may
//                       be 0, and x may be a view
// Required  - training changes gain, but not mean or std
//           - the module moves, saves and loads mean and std under these names;
//             creating another module does not affect it
//           - the output and the gradients of x and gain are correct
//           - the caller can still use mean and std; no memory leaks
// Stars     ** no transfer and no synchronization in the forward pass
#include "ferry.h"

typedef struct Scaler {
  FyModule base;
  FyTensor *gain, *mean, *std; // (features) each
} Scaler;

static FyTensor *scaler_forward(FyModule *self, FyTensor *x) {
  Scaler *s = (Scaler *)self;
  return fy_mul(s->gain, fy_div(fy_sub(x, s->mean), s->std));
}

FyModule *scaler(FyTensor *mean, FyTensor *std) {
  Scaler *s = fy_module_new(Scaler, scaler_forward);
  fy_register_parameter(s, gain, fy_ones(fy_size(mean)));
  fy_register_parameter(s, mean, mean);
  fy_register_parameter(s, std, std);
  return &s->base;
}
