// Exercise 9.1: dropout on, BatchNorm off                                 (chapter 9, docs/09_training_a_classifier.md)
//
// "Training mode" is a flag in each module, and two kinds of layers read it. Dropout drops in it. BatchNorm goes by the
// batch in it, and changes what it has learned; in evaluation mode it goes by what it has learned. Write two functions:
//
//   predict             what a network says of x, in evaluation mode: nothing is dropped, BatchNorm goes by what it has
//                       learned
//   mean_with_dropout   the mean of `passes` predictions, each with dropout on, as in training, and everything else
//                       (the network itself, too) in evaluation mode. How far such predictions lie apart tells how sure
//                       a network is.
//
//   PyTorch:  net.eval()
//             net.dropout.train()
//             with torch.no_grad():
//                 return torch.stack([net(x) for _ in range(passes)]).mean(0)
//
// Given: typedef struct Net { FyModule base; FyModule *first, *norm, *dropout, *last; }, on any device; x (N, features)
// float32 on the same one, any strides; passes, 1 to 64. The network and its parts are in training or in evaluation
// mode, not all in the same. Dropout draws from the process's generator, which goes on from one call to the next.
// Returned: float32 (N, outputs) on that device, without a graph.
// Judged: the results; how often the network is called (once, and `passes` times); in which mode each part is then; and
// that afterwards the network and each part are in the mode in which it came, and BatchNorm's buffers are what they
// were.
#include "ferry.h"

#ifndef ANSWER_H // the tests declare it all before they compile your file; here it is for you and your editor
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

// fy_set_training_of goes down to the children: the network first, its parts after.
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
  //| (void)net;
  //| (void)x;
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
  //| (void)net;
  //| (void)x;
  //| (void)passes;
  //| return NULL;
  // [end]
}
