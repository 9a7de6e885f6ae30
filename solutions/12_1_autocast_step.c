// Exercise 12.1: A training step with autocast     lesson 12 · medium · 25 min
//
// Task      Write a training step with float16 autocast, a gradient scaler and
//           clipped gradients. Each part is one call; find the correct order:
//               optimizer.zero_grad()
//               with torch.autocast(device.type, dtype=torch.float16):
//                   loss = F.mse_loss(model(x), y)
//               scaler.scale(loss).backward()
//               ...                 # clip, step, and update the scale
//               return loss.detach()
// Example   scale 1024, a gradient of norm 3, max_norm 1: backward leaves norm
//           3072 in .grad, and the step uses a gradient of norm 1
// Write     train_step. It returns the unscaled loss, 0-dim.
// Inputs    model, optimizer, scaler    may have gradients of an earlier step
//           x, y      float32 (rows, in), (rows, out), at least 1 row, on the
//                     model's device, GPU or CPU
//           max_norm  the largest norm of the unscaled gradients; may be 0
// Required  - the forward pass runs under float16 autocast
//           - correct losses, parameters and scales over several steps
//           - a step with gradients that are not finite changes no parameter
// Stars     ** backward outside of the autocast region
//           *** the host waits at most once per step
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
  fy_scaler_unscale_(scaler, optimizer); // clipping needs the gradients without the scale
  fy_clip_grad_norm_(fy_parameters(model), max_norm);
  fy_scaler_step(scaler, optimizer);
  fy_scaler_update(scaler);
  return fy_detach(loss);
  // [stub]
  //| return NULL;
  // [end]
}
