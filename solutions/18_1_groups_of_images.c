// Exercise 18.1: Find the bug: groups of images    lesson 18 · medium · 30 min
//
// Task      score_all computes the scores of a trained model for images that
//           arrive in groups. In PyTorch:
//               with torch.no_grad():
//                   scores = torch.cat([model(group) for group in groups])
//           The scores are correct. But another part of the program now sets
//           torch.backends.cudnn.benchmark = True for better performance, and
//           score_all has become many times slower.
// Example   groups of 2, 1 and 3 images  ->  scores (6, classes), same order
// Fix       score_all, so that benchmark mode does not slow it down.
// Inputs    model     2 convolutions; the scores of an image do not depend on
//                     the other images in its batch
//           groups    `count` tensors (1 to 256), float32 (n, C, H, W) on the
//                     CPU, with n from 1 to batch
//           batch     maximum number of images in a forward pass, 1 to 256
// Required  - correct scores of all images, in order
//           - at most 4 algorithm searches, as counted by
//             fy_backends_benchmark_counts().searches
//           - benchmark mode on and deterministic mode off after the call
// Stars     ** at most `count` forward passes, none of them empty
//           *** no autograd graph
#include "ferry.h"

FyTensor *score_all(FyModule *model, FyTensor *const *groups, int count, int64_t batch) {
  FyTensor *scores = NULL;
  fy_no_grad {
    // [answer]
    FyTensor *all = fy_cat((FyTensors){.items = (FyTensor **)groups, .count = count}, 0);
    const int64_t images = fy_size_at(all, 0);
    FyTensor *parts[256]; // enough, because no group has more than `batch` images
    int part_count = 0;
    for (int64_t i = 0; i < images; i += batch) { // at most two sizes: batch and the rest
      const int64_t rows = i + batch < images ? batch : images - i;
      parts[part_count++] = fy_forward(model, fy_narrow(all, 0, i, rows));
    }
    scores = fy_cat((FyTensors){.items = parts, .count = part_count}, 0);
    // [stub]
    //| FyTensor *parts[256];
    //| for (int i = 0; i < count; i++) {
    //|   parts[i] = fy_forward(model, groups[i]);
    //| }
    //| scores = fy_cat((FyTensors){.items = parts, .count = count}, 0);
    // [end]
  }
  return scores;
}
