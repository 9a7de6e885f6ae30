// The parameters of fill.
#ifndef FERRY_OP_COPY_H
#define FERRY_OP_COPY_H

#include "op/launch.h"

typedef struct FyFill {
  double value;
  bool zero; // called as zero_: the name in the graph
} FyFill;

#endif
