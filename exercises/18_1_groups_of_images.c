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
    FyTensor *parts[256];
    for (int i = 0; i < count; i++) {
      parts[i] = fy_forward(model, groups[i]);
    }
    scores = fy_cat((FyTensors){.items = parts, .count = count}, 0);
  }
  return scores;
}
