// The parameters of fill.
#ifndef FERRY_OP_COPY_H
#define FERRY_OP_COPY_H

#include "op/launch.h"

typedef struct FyFill {
  double value;
} FyFill;

#endif
