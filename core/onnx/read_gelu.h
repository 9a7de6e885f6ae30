// SPDX-License-Identifier: MIT
// GELU as exporters before opset 20 write it: for onnx/ only.
//
// x / 2 (1 + erf(x / sqrt 2)) comes as five nodes, in one of several orders. Ferry has no erf by itself: what an Erf computes is
// a value that no step makes, and that only the further nodes of such a GELU may take.
#ifndef FERRY_ONNX_READ_GELU_H
#define FERRY_ONNX_READ_GELU_H

#include "onnx/read.h"

// Reads r->node, an Erf. Raises unless it is of x / sqrt 2.
void fy_onnx_read_erf(FyOnnxReader *r);

// Reads r->node, an Add or Mul of these values, if it is a part of such a GELU.
bool fy_onnx_reads_as_gelu(FyOnnxReader *r, int a, int b);

#endif
