// Exercise 15.2: find the bug, ever new shapes                                     (chapter 15, docs/15_tracing.md)
//
// score_all gives the scores of a trained model for pictures that arrive in groups. The scores are right, and the
// program has benchmark mode on, so that convolutions use the fastest algorithm. It got many times slower by that: the
// groups differ in size, and for each size that is new every convolution times all of its algorithms before it
// computes.
//
// Mend it, so that no more is timed than is of use: at most two sizes for each of the model's two convolutions.
//
//   PyTorch:  torch.backends.cudnn.benchmark = True             # on, elsewhere in the program
//             with torch.no_grad():
//                 scores = torch.cat([model(group) for group in groups])
//
// Given: a model on the CPU, with two convolutions, whose scores of a picture do not depend on the others; `count`
// groups, 1 to 256, each (n, C, H, W) float32 on the CPU with an n of its own, from 1 to `batch`, some of them perhaps
// equal; batch, the most pictures that the model may be given at once, itself at most 256.
// Returned: the scores of all pictures (as many as there are in all groups together, classes), in their order, and of
// nothing else. No graph is recorded.
// Counted: searches (fy_backends_benchmark_counts), at most 4 in a call; forward passes, at most `count`; pictures in a
// pass, from 1 to `batch`. Benchmark mode is on before, and has to be on afterwards, and deterministic mode off: other
// parts of the program rely on it. During the call either may be switched: a way that meets the counts is right.
#include "ferry.h"

FyTensor *score_all(FyModule *model, FyTensor *const *groups, int count, int64_t batch) {
  FyTensor *scores = NULL;
  fy_no_grad {
    // [answer]
    FyTensor *all = fy_cat((FyTensors){.items = (FyTensor **)groups, .count = count}, 0);
    const int64_t pictures = fy_size_at(all, 0);
    FyTensor *parts[4096];
    int part_count = 0;
    for (int64_t i = 0; i < pictures; i += batch) { // two sizes at most: the batch, and what is left
      const int64_t rows = i + batch < pictures ? batch : pictures - i;
      parts[part_count++] = fy_forward(model, fy_narrow(all, 0, i, rows));
    }
    scores = fy_cat((FyTensors){.items = parts, .count = part_count}, 0);
    // [stub]
    //| (void)batch;
    //| FyTensor *parts[4096];
    //| for (int i = 0; i < count; i++) {
    //|   parts[i] = fy_forward(model, groups[i]);
    //| }
    //| scores = fy_cat((FyTensors){.items = parts, .count = count}, 0);
    // [end]
  }
  return scores;
}
