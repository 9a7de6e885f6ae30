// SPDX-License-Identifier: MIT
// The parameters of copy and fill.
#ifndef FERRY_OP_COPY_H
#define FERRY_OP_COPY_H

#include "op/launch.h"

typedef struct FyFill {
  double value;
  bool zero; // called as zero_: the name in the graph
} FyFill;

#ifndef __cplusplus
#include "device/device.h"

typedef enum FyCopyKind { FY_COPY_TO, FY_COPY_CLONE } FyCopyKind; // only for the name in the graph

typedef struct FyCopyParams {
  FyCopyKind kind;
  FyDType dtype; // of a new tensor, as is the device
  FyDevice device;
  bool non_blocking;
} FyCopyParams;
#endif

#endif
