// Exercise 16.2: DDP by hand                        lesson 16 · medium · 30 min
//
// Task      Write a step of data-parallel training by hand. Use the gradient of
//           the mean loss over the samples of all ranks. Each rank runs its
//           batch through the model in parts. In PyTorch:
//               for i in range(parts):
//                   with ddp.no_sync() if i < parts - 1 else nullcontext():
//                       (F.mse_loss(ddp(x[i]), target[i]) / parts).backward()
// Example   gradients 2 and 4 on two ranks, 1 part   ->   both step with 3
// Write     ddp_step, which every rank calls.
// Inputs    model, optimizer    the same on all ranks; any optimizer; there may
//                               be gradients of an earlier step
//           x, target           this rank's batch: (rows, in) and (rows, out);
//                               rows is equal on all ranks, a multiple of parts
//           parts, ranks        1 or more, 2 or more
//           all_reduce(t)       replaces t by its sum over all ranks, in place
// Required  - on all ranks, the parameters equal those after one step with the
//             gradient of fy_mse_loss over the samples of all ranks
//           - the optimizer steps once, after the gradients are reduced
// Stars     ** all_reduce gets each gradient once, not once per part
//           *** each forward pass has the rows of one part, and each row runs
//           once
#include "ferry.h"

void ddp_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, int parts, int ranks,
              void (*all_reduce)(FyTensor *t)) {
}
