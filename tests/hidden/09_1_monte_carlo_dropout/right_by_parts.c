// The forward pass written out, so that only the two parts that read the flag have to be switched.
#include "ferry.h"

static FyTensor *through(Net *net, FyTensor *x, bool dropping) {
  bool norm = net->norm->training, dropout = net->dropout->training;
  fy_eval(net->norm);
  fy_set_training_of(net->dropout, dropping);
  FyTensor *output = NULL;
  fy_no_grad {
    FyTensor *inner = fy_relu(fy_forward(net->norm, fy_forward(net->first, x)));
    output = fy_forward(net->last, fy_forward(net->dropout, inner));
  }
  fy_set_training_of(net->norm, norm);
  fy_set_training_of(net->dropout, dropout);
  return output;
}

FyTensor *predict(Net *net, FyTensor *x) {
  return through(net, x, false);
}

FyTensor *mean_with_dropout(Net *net, FyTensor *x, int passes) {
  FyTensor *sum = through(net, x, true);
  for (int i = 1; i < passes; i++)
    sum = fy_add(sum, through(net, x, true));
  return fy_div_scalar(sum, passes);
}
