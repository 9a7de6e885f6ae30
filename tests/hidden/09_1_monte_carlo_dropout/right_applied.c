// Modes noted and put back by fy_module_apply, whatever parts there are; results in a list, and their mean.
#include "ferry.h"

typedef struct Noted {
  FyModule *module[16];
  bool training[16];
  int count;
} Noted;

static void note(FyModule *module, void *context) {
  Noted *noted = context;
  noted->module[noted->count] = module;
  noted->training[noted->count++] = module->training;
  module->training = false;
}

static void put_back(const Noted *noted) {
  for (int i = 0; i < noted->count; i++)
    noted->module[i]->training = noted->training[i];
}

FyTensor *predict(Net *net, FyTensor *x) {
  Noted noted = {.count = 0};
  FyTensor *said = NULL;
  fy_module_apply(net, note, &noted);
  fy_no_grad {
    said = fy_forward(net, x);
  }
  put_back(&noted);
  return said;
}

FyTensor *mean_with_dropout(Net *net, FyTensor *x, int passes) {
  Noted noted = {.count = 0};
  FyTensor *mean = NULL;
  fy_module_apply(net, note, &noted);
  net->dropout->training = true;
  fy_no_grad {
    FyTensor *said[64];
    for (int i = 0; i < passes; i++)
      said[i] = fy_unsqueeze(fy_forward(net, x), 0);
    mean = fy_div_scalar(fy_sum_dim(fy_cat((FyTensors){passes, said}, 0), 0, false), passes);
  }
  put_back(&noted);
  return mean;
}
