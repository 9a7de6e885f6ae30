// Exercise 16.2: DDP by hand                        lesson 16 · medium · 30 min
//
// Task      Make one training step of distributed data parallelism by hand:
//           each rank has a batch of its own, processed in several parts to
//           save memory (gradient accumulation).
//           PyTorch:  optimizer.zero_grad()
//                     for xs, ts in parts:   # all but the last: no_sync
//                         (F.mse_loss(ddp(xs), ts) / len(parts)).backward()
//                     optimizer.step()
// Example   gradients 2 on rank 0 and 4 on rank 1: both ranks step with 3
// Write     ddp_step. It is called in every rank.
// Inputs    model, optimizer   equal in all ranks; may have old gradients
//           x, target   this rank's batch; rows are a multiple of parts, and
//                       the same number in all ranks
//           parts, ranks   at least 1
//           all_reduce  replaces a tensor's elements by their sums over all
//                       ranks
// Required  - the step of the mean loss over the samples of all ranks, in all
//             ranks
//           - at most rows / parts rows at once, and each row once
//           - gradients are reduced once, not once per part
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
      fy_backward(fy_div_scalar(loss, parts * ranks)); // mean over parts and ranks
    }
  }
  FyTensorList *parameters = fy_parameters(model);
  for (int i = 0; i < parameters->count; i++)
    all_reduce(fy_grad(parameters->items[i]));
  fy_step(optimizer);
  // [stub]
  // [end]
}
