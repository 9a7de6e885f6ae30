// Exercise 16.2: a step of data parallel training                             (chapter 16, docs/16_distributed.md)
//
// Write ddp_step: one step of the optimizer by the gradient of all ranks' samples, each rank's batch in several parts.
//
//   PyTorch:  optimizer.zero_grad()
//             for part in range(parts):
//                 with ddp.no_sync() if part < parts - 1 else nullcontext():
//                     (F.mse_loss(ddp(x[part]), target[part]) / parts).backward()
//             optimizer.step()
//
// Given: a model and its optimizer, equal in all ranks, whose settings (rate, weight decay) are right as they are; this
// rank's batch, x (rows, in) and target (rows, out), whose rows are a multiple of `parts`, and as many in all ranks;
// how many ranks there are; and all_reduce, which replaces the elements of a tensor by the sums over all ranks. All
// ranks call it the same number of times, with tensors of the same sizes in the same order. There may be gradients of
// an earlier step; each parameter requires one, and is used. The loss is fy_mse_loss(fy_forward(model, x), target), the
// mean over all elements of target: here over those of all ranks.
// Judged: the parameters afterwards, in all ranks. No more rows than one part's go through the model at once, and no
// row twice. Gradients are summed over the ranks once for all parts: all_reduce gets no more elements than the
// parameters have, and the step comes after it.
#include "ferry.h"

void ddp_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, int parts, int ranks,
              void (*all_reduce)(FyTensor *t)) {
  // [answer]
  const int64_t rows = fy_size_at(x, 0) / parts;
  fy_zero_grad(optimizer);
  for (int part = 0; part < parts; part++) {
    fy_scope {
      FyTensor *output = fy_forward(model, fy_narrow(x, 0, part * rows, rows));
      FyTensor *loss = fy_mse_loss(output, fy_narrow(target, 0, part * rows, rows));
      fy_backward(fy_div_scalar(loss, parts * ranks)); // the mean of the parts' and the ranks' means
    }
  }
  FyTensorList *parameters = fy_parameters(model);
  for (int i = 0; i < parameters->count; i++)
    all_reduce(fy_grad(parameters->items[i]));
  fy_step(optimizer);
  // [stub]
  //| (void)model;
  //| (void)optimizer;
  //| (void)x;
  //| (void)target;
  //| (void)parts;
  //| (void)ranks;
  //| (void)all_reduce;
  // [end]
}
