// What an answer to exercise 9.1 defines, and its network.
#ifndef ANSWER_H
#define ANSWER_H
#include "ferry.h"

typedef struct Net {
  FyModule base;
  FyModule *first, *norm, *dropout, *last; // Linear, BatchNorm1d, Dropout, Linear
} Net;

FyTensor *predict(Net *net, FyTensor *x);
FyTensor *mean_with_dropout(Net *net, FyTensor *x, int passes);

#endif
