// Exercise 5.5: find the bug, a constant that learns                              (chapter 5, docs/05_model_moves.md)
//
// scaler makes a module that standardizes its input with a mean and a standard deviation that are known beforehand, and
// multiplies by a gain that is trained. It works, on every device, and it is saved whole. But after some epochs its
// input is no longer standardized: mean and std are not what they were.
//
// Mend it: mean and std go where the module goes, they are in its state_dict under these names, and training leaves
// them alone.
//
//   PyTorch:  def forward(self, x):
//                 return self.gain * (x - self.mean) / self.std
//
// Given: mean and std (features), float32 on the CPU, which require no gradient; std is at least 1e-6. The input of the
// module, x (N, features), is on the module's device. Judged: results before and after load_state_dict, also with a
// second module beside it; the gradients of gain and x; what fy_state_dict, fy_buffers and fy_parameters list, and
// where it is. Counted: copies between host and device in the forward pass. There is no need for one. The call and the
// forward pass leave x, gain, mean and std as they are. The module may keep mean and std themselves or copies of them:
// register_buffer keeps them, in PyTorch as here. They stay the caller's, who may need them longer than the module, and
// nothing of it is left in memory when the scope that it was made in has ended.
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
  // [answer]
  fy_register_buffer(s, mean, mean);
  fy_register_buffer(s, std, std);
  // [stub]
  //| fy_register_parameter(s, mean, mean);
  //| fy_register_parameter(s, std, std);
  // [end]
  return &s->base;
}
