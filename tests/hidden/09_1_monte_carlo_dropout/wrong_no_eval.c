// mistake: missing evaluation mode
#include "ferry.h"

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

FyTensor *predict(Net *net, FyTensor *x) {
  FyTensor *output = NULL;
  Modes before = modes_of(net);
  fy_no_grad {
    output = fy_forward(net, x);
  }
  set_modes(net, before);
  return output;
}

FyTensor *mean_with_dropout(Net *net, FyTensor *x, int passes) {
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
}
