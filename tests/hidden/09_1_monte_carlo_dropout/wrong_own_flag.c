// mistake: missing evaluation mode
#include "ferry.h"

#ifndef ANSWER_H
typedef struct Net {
  FyModule base;
  FyModule *first, *norm, *dropout, *last;
} Net;
#endif

typedef struct Modes {
  bool whole, first, norm, dropout, last;
} Modes;

static Modes remember(const Net *net) {
  return (Modes){.whole = net->base.training,
                 .first = net->first->training,
                 .norm = net->norm->training,
                 .dropout = net->dropout->training,
                 .last = net->last->training};
}

static void bring_back(Net *net, Modes modes) {
  fy_set_training_of(&net->base, modes.whole); // this one also sets the children, which follow
  fy_set_training_of(net->first, modes.first);
  fy_set_training_of(net->norm, modes.norm);
  fy_set_training_of(net->dropout, modes.dropout);
  fy_set_training_of(net->last, modes.last);
}

FyTensor *predict(Net *net, FyTensor *x) {
  Modes came = remember(net);
  FyTensor *scores = NULL;
  if (net->base.training)
    fy_eval(net);
  fy_no_grad {
    scores = fy_forward(net, x);
  }
  bring_back(net, came);
  return scores;
}

FyTensor *mean_with_dropout(Net *net, FyTensor *x, int passes) {
  Modes came = remember(net);
  FyTensor *mean = NULL;
  fy_eval(net);
  fy_train(net->dropout);
  int scope = fy_scope_open();
  fy_no_grad {
    FyTensor *sum = fy_clone(fy_forward(net, x));
    for (int pass = 1; pass < passes; pass++) {
      fy_scope {
        fy_add_(sum, fy_forward(net, x));
      }
    }
    mean = fy_div_scalar(sum, passes);
  }
  fy_keep(mean);
  fy_scope_close(scope);
  bring_back(net, came);
  return mean;
}
