// SPDX-License-Identifier: MIT
// oneDNN's convolutions, made once per shape: for conv_dnn.c.
#ifndef FERRY_OP_CONV_DNN_H
#define FERRY_OP_CONV_DNN_H

#include "op/convolution/conv.h"
#include "op/kernel/dnn.h"
#include "tensor/dtype.h"

typedef enum FyDnnKind { FY_DNN_FORWARD, FY_DNN_BACKWARD_INPUT, FY_DNN_BACKWARD_WEIGHT } FyDnnKind;

// The arrays of a convolution, in the forward's words; a pass reads two of them and writes the third.
enum { FY_DNN_X, FY_DNN_WEIGHT, FY_DNN_OUT, FY_DNN_ROLES };

typedef struct FyDnnKey {
  int64_t kind, dtype, serial, bias; // float32 or bfloat16
  int64_t channels_last;             // x and the output have their channels last, rather than a layout of oneDNN's own;
  int64_t x_channels_last;           // and x is stored so
  FyConvShape shape;
} FyDnnKey;

// One array: as Ferry stores it (row-major, or channels last), as oneDNN wants it, and the way from the one to the other. `reorder` is NULL
// where they are the same.
typedef struct FyDnnArray {
  FyDnnDesc plain, inner;
  dnnl_primitive_t reorder; // towards `inner` for what is read, towards `plain` for what is written
  size_t inner_bytes;       // 0 without a reorder, unless channels_last
  size_t met_bytes;         // of the output as a hook meets it, where that is not how the primitive has it
} FyDnnArray;

typedef struct FyDnnPlan {
  FyDnnCached cached;
  FyDnnKey key;
  FyDnnArray arrays[FY_DNN_ROLES];
  FyDnnDesc bias, scratchpad;
  dnnl_primitive_t convolution;
  dnnl_primitive_desc_t description; // owns the inner and scratchpad descriptions
  size_t scratchpad_bytes;
} FyDnnPlan;

// The plan for a convolution: from the cache, which keeps those used last, or made now. `serial` plans run on the calling
// thread alone. NULL where oneDNN cannot do it. To be released. Any thread.
FyDnnPlan *fy_dnn_plan(FyDnnKind kind, FyDType dtype, const FyConvShape *shape, bool bias, bool serial,
                       bool channels_last, bool x_channels_last);

// Whether the processor multiplies bfloat16 numbers, and a pass takes this convolution in bfloat16: without a hook.
bool fy_dnn_convolves_bfloat16(FyDnnKind kind, const FyConvShape *s, bool bias);

static inline void fy_dnn_plan_release(FyDnnPlan *plan) { // NULL is allowed
  fy_dnn_cached_release(plan ? &plan->cached : NULL);
}

// The dtype of an array. Of bfloat16 convolutions what is added up, or pooled, afterwards is float32: the weight's gradient, and
// an output that a hook meets.
static inline FyDType fy_dnn_dtype(const FyDnnKey *key, int role) {
  bool gradient = key->kind == FY_DNN_BACKWARD_WEIGHT && role == FY_DNN_WEIGHT;
  bool met = key->kind == FY_DNN_FORWARD && role == FY_DNN_OUT && key->channels_last;
  return gradient || met ? FY_FLOAT32 : (FyDType)key->dtype;
}

// The array that a kind of pass writes.
static inline int fy_dnn_result(FyDnnKind kind) {
  return kind == FY_DNN_FORWARD ? FY_DNN_OUT : kind == FY_DNN_BACKWARD_INPUT ? FY_DNN_X : FY_DNN_WEIGHT;
}

#endif
