// Exercise 12.1: a training step in float16                          (chapter 12, docs/12_mixed_precision.md)
//
// Write train_step: one step of training under autocast in float16, with a gradient scaler, and with gradients that are
// clipped. Every part is one call; the order is the exercise.
//
//   PyTorch:  optimizer.zero_grad()
//             with torch.autocast(device.type, dtype=torch.float16):
//                 loss = F.mse_loss(model(x), y)
//             scaler.scale(loss).backward()
//             ... the gradients, clipped to max_norm, a step if they are finite, the scale for the next one ...
//             return loss.detach()
//
// Given: a model of at most 32 parameters, an optimizer of its parameters, a scaler that is enabled; x (rows, in) and y
// (rows, out), float32 on the model's device, which may be the CPU. Gradients that the parameters have already are of
// another step. The total norm of the gradients, as they are without the scale, is to be at most max_norm, which may be
// 0 (fy_clip_grad_norm_); not all gradients are 0. A step with gradients that are not finite is left out, and the scale
// is updated after every step.
// Returned: the loss, not scaled, of no dimensions, on the device and without a graph.
// The loss may be taken within the region of autocast or behind it.
// Judged: several steps, one after the other: losses, parameters and scales; that the model runs under autocast in
// float16, and that backward runs outside of it. Some steps have a target that is far too large.
// Counted: nothing is copied to the device, and it is waited for at most once a step, as the scaler's step does.
#include "ferry.h"

FyTensor *train_step(FyModule *model, FyOptimizer *optimizer, FyGradScaler *scaler, FyTensor *x, FyTensor *y,
                     double max_norm) {
  // [answer]
  FyTensor *loss = NULL;
  fy_zero_grad(optimizer);
  fy_autocast(fy_device_of(x).type, .dtype = FY_FLOAT16) {
    loss = fy_mse_loss(fy_forward(model, x), y);
  }
  fy_backward(fy_scaler_scale(scaler, loss));
  fy_scaler_unscale_(scaler, optimizer); // before anything looks at the gradients
  fy_clip_grad_norm_(fy_parameters(model), max_norm);
  fy_scaler_step(scaler, optimizer);
  fy_scaler_update(scaler);
  return fy_detach(loss);
  // [stub]
  //| (void)model;
  //| (void)optimizer;
  //| (void)scaler;
  //| (void)x;
  //| (void)y;
  //| (void)max_norm;
  //| return NULL;
  // [end]
}
