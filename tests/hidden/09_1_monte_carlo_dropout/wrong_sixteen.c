// mistake: out-of-bounds index
#include "ferry.h"

#ifndef ANSWER_H
typedef struct Net {
  FyModule base;
  FyModule *first, *norm, *dropout, *last;
} Net;
#endif

static FyTensor *run(Net *net, FyTensor *x, int passes, bool dropout) {
  FyModule *parts[] = {&net->base, net->first, net->norm, net->dropout, net->last};
  bool was[5];
  for (int i = 0; i < 5; i++)
    was[i] = parts[i]->training;
  fy_eval(net);
  fy_set_training_of(net->dropout, dropout);
  FyTensor *result = NULL;
  fy_scope {
    fy_no_grad {
      FyTensor *said[16];
      for (int i = 0; i < passes; i++)
        said[i] = fy_forward(net, x);
      result = fy_keep(fy_mean_dim(fy_stack((FyTensors){passes, said}, 0), 0, false));
    }
  }
  for (int i = 0; i < 5; i++)
    parts[i]->training = was[i];
  return result;
}

FyTensor *predict(Net *net, FyTensor *x) {
  return run(net, x, 1, false);
}

FyTensor *mean_with_dropout(Net *net, FyTensor *x, int passes) {
  return run(net, x, passes, true);
}
