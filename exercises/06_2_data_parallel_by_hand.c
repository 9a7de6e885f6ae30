// Exercise 6.2: Data parallelism by hand            lesson 6 · medium · 30 min
//
// Task      Do one training step on several GPUs, as nn.DataParallel does:
//               chunks = scatter(x, ids)
//               replicas = replicate(model, ids[:len(chunks)])
//               output = gather(parallel_apply(replicas, chunks), ids[0])
//               loss = F.mse_loss(output, target)
//               optimizer.zero_grad(); loss.backward(); optimizer.step()
//               return loss.detach()
// Example   N = 5, ids = 2 0   ->   3 rows on cuda:2, then 2 rows on cuda:0
// Write     parallel_step, without fy_nn_data_parallel. It returns the loss.
// Inputs    model, x (N, in), target (N, out)   on GPU ids[0]; N at least 1
//           optimizer   for the model's parameters, which may have gradients
//           ids, count  1 to 8 different GPUs, in any order
// Required  - the loss (on ids[0], without a graph) and the parameters are
//             correct, including after a second step and when N < count
//           - as many GPUs compute rows as fy_scatter returns chunks
// Stars     ** concurrent: all replicas compute at the same time
//           *** balanced: at most N / count rows on a GPU, rounded up
#include "ferry.h"

FyTensor *parallel_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, const int *ids,
                        int count) {
  return NULL;
}
