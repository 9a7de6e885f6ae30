// Exercise 9.1: Monte Carlo dropout                 lesson 9 · medium · 25 min
//
// Task      Each module has its own training flag. Predict in evaluation mode,
//           and with only dropout active, to estimate the uncertainty:
//               net.eval(); net.dropout.train()
//               with torch.no_grad():
//                   return torch.stack([net(x) for _ in range(passes)]).mean(0)
// Example   passes = 2, outputs [[1], [3]] and [[2], [5]]   ->   [[1.5], [4]]
// Write     predict             one call, all modules in evaluation mode
//           mean_with_dropout   the mean of `passes` calls, with dropout active
//                               and BatchNorm in evaluation mode
// Inputs    net     a Net on any device; its modules may be in different modes
//           x       (N, features) float32, N at least 1, on that device, any
//                   strides
//           passes  1 to 64
// Required  - correct results (N, outputs), on the device of the network
//           - predict calls the network once, mean_with_dropout `passes` times
//           - afterward, the network and each of its modules are in the same
//             mode as before, and BatchNorm's statistics are unchanged
// Stars     ** no graph is recorded
#include "ferry.h"

#ifndef ANSWER_H // for your editor: the tests include a header that declares this
typedef struct Net {
  FyModule base;
  FyModule *first, *norm, *dropout, *last; // Linear, BatchNorm1d, Dropout, Linear
} Net;
#endif

FyTensor *predict(Net *net, FyTensor *x) {
  return NULL;
}

FyTensor *mean_with_dropout(Net *net, FyTensor *x, int passes) {
  return NULL;
}
