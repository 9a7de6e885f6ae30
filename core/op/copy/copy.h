// The parameters of copy and fill.
#ifndef FERRY_OP_COPY_H
#define FERRY_OP_COPY_H

#include "op/launch.h"

typedef enum FyCopyKind { FY_COPY_TO, FY_COPY_CLONE } FyCopyKind;

typedef struct FyCopy {
  int kind;  // FyCopyKind: only for the name in the graph
  int dtype; // of the result
} FyCopy;

typedef struct FyFill {
  double value;
} FyFill;

#endif
