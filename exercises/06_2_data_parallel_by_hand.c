// Exercise 6.2: a step on several GPUs, by hand                                   (chapter 6, docs/06_several_gpus.md)
//
// What nn.DataParallel does in a training step, out of its four parts and without it. Write parallel_step: the batch in
// pieces, a replica for each piece, all replicas at once (fy_parallel_apply), the outputs together on the first of the
// GPUs; then the mean squared error of the whole, backward, and a step of the optimizer. It returns the loss, without a
// graph.
//
//   PyTorch:  pieces = scatter(x, ids)
//             replicas = replicate(model, ids[:len(pieces)])
//             output = gather(parallel_apply(replicas, pieces), ids[0])
//             loss = F.mse_loss(output, target)
//             optimizer.zero_grad(); loss.backward(); optimizer.step()
//             return loss.detach()
//
// Given: a model on GPU ids[0]; x (N, in) and target (N, out), float32 on ids[0]; ids, `count` numbers of GPUs, 8 at
// most, in any order; an optimizer of the model's parameters, which may have a .grad from before. No GPU comes twice in
// ids. N is at least 1, need not divide by count, and may be less.
// Judged: two steps, one after the other: both losses (without a graph), the parameters after them, that each GPU that
// has a piece computed, and all of them at once, and that the others were left alone. A parameter that the model does
// not use has no .grad afterwards.
#include "ferry.h"

FyTensor *parallel_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, const int *ids,
                        int count) {
  (void)model;
  (void)optimizer;
  (void)x;
  (void)target;
  (void)ids;
  (void)count;
  return NULL;
}
