// mistake: all passes in one call
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
  fy_eval(net);
  fy_train(net->dropout);
  fy_no_grad {
    int64_t rows = fy_size_at(x, 0), features = fy_size_at(x, 1);
    FyTensor *many =
        fy_reshape(fy_expand(fy_unsqueeze(x, 0), fy_shape(passes, rows, features)), fy_shape(passes * rows, features));
    FyTensor *output = fy_forward(net, many);
    sum = fy_mean_dim(fy_view(output, fy_shape(passes, rows, fy_size_at(output, 1))), 0, false);
  }
  restore(net, modes);
  return sum;
}
