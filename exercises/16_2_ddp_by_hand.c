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
}
