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

// [answer]
typedef struct Modes {
  bool net, first, norm, dropout, last;
} Modes;

static Modes modes_of(const Net *net) {
  return (Modes){net->base.training, net->first->training, net->norm->training, net->dropout->training,
                 net->last->training};
}

// fy_set_training_of also sets the mode of all submodules, so set the mode of the network first.
static void set_modes(Net *net, Modes modes) {
  fy_set_training_of(&net->base, modes.net);
  fy_set_training_of(net->first, modes.first);
  fy_set_training_of(net->norm, modes.norm);
  fy_set_training_of(net->dropout, modes.dropout);
  fy_set_training_of(net->last, modes.last);
}

// [stub]
// [end]
FyTensor *predict(Net *net, FyTensor *x) {
  // [answer]
  FyTensor *output = NULL;
  Modes before = modes_of(net);
  fy_eval(net);
  fy_no_grad {
    output = fy_forward(net, x);
  }
  set_modes(net, before);
  return output;
  // [stub]
  //| return NULL;
  // [end]
}

FyTensor *mean_with_dropout(Net *net, FyTensor *x, int passes) {
  // [answer]
  FyTensor *sum = NULL;
  Modes before = modes_of(net);
  fy_eval(net);
  fy_train(net->dropout);
  fy_no_grad {
    sum = fy_forward(net, x);
    for (int i = 1; i < passes; i++)
      fy_add_(sum, fy_forward(net, x));
    fy_mul_scalar_(sum, 1.0 / passes);
  }
  set_modes(net, before);
  return sum;
  // [stub]
  //| return NULL;
  // [end]
}
