// Training mode everywhere but in BatchNorm.
#include "ferry.h"

enum { PARTS = 5 };

typedef struct Modes {
  bool training[PARTS];
} Modes;

static FyModule *part_of(Net *net, int i) {
  FyModule *parts[PARTS] = {&net->base, net->first, net->norm, net->dropout, net->last};
  return parts[i];
}

static Modes modes_of(Net *net) {
  Modes modes;
  for (int i = 0; i < PARTS; i++)
    modes.training[i] = part_of(net, i)->training;
  return modes;
}

static void restore(Net *net, Modes modes) {
  for (int i = 0; i < PARTS; i++)
    part_of(net, i)->training = modes.training[i];
}

FyTensor *predict(Net *net, FyTensor *x) {
  FyTensor *result = NULL;
  Modes modes = modes_of(net);
  fy_eval(net);
  fy_no_grad {
    result = fy_forward(net, x);
  }
  restore(net, modes);
  return result;
}

FyTensor *mean_with_dropout(Net *net, FyTensor *x, int passes) {
  FyTensor *sum = NULL;
  Modes modes = modes_of(net);
  fy_train(net);
  fy_eval(net->norm);
  fy_no_grad {
    for (int i = 0; i < passes; i++) {
      FyTensor *output = fy_forward(net, x);
      sum = sum ? fy_add(sum, output) : output;
    }
    sum = fy_div_scalar(sum, passes);
  }
  restore(net, modes);
  return sum;
}
