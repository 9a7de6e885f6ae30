// SPDX-License-Identifier: MIT
// ONNX files: traced networks that other programs open, and networks that other programs wrote. torch.onnx.
//
// A file holds the ops of a traced module (trace/trace.h), its parameters and buffers under their names of state_dict, and
// the shapes in between. onnxruntime runs it, Netron draws it. What is written is opset 20; what is read is opset 9 to 26.
// Gradients, random numbers and changes of state are no part of it.
//
// Files are packed and unpacked by protobuf-c and not by protobuf's C++ library: that would bring generated C++ and its exceptions,
// which do not work with errors that jump, and 3.3 MB of library where protobuf-c has 43 kB (Debian 12, amd64).
#ifndef FERRY_ONNX_ONNX_H
#define FERRY_ONNX_ONNX_H

#include "nn/nn.h"

// torch.onnx.export(traced, args, path): writes the program of a traced module, from any device. The batch (dimension 0 of the
// input) stays open, as "batch", where the program runs with another one; else it is the example's. The file appears whole or
// not at all.
//
// Raises FY_TYPE_ERROR for a module that is not traced, FY_NOT_IMPLEMENTED_ERROR, naming it, for an op that ONNX cannot say or
// that is not allowed in a forward pass, FY_VALUE_ERROR for names that come twice and for a network of more than 2 GB, the most that
// protobuf allows, FY_OS_ERROR when the file system refuses: nothing is written then.
#define fy_onnx_save(traced, path) fy_onnx_save_of((FyModule *)(traced), (path))
FY_API void fy_onnx_save_of(FyModule *traced, const char *path);

typedef struct FyOnnxLoad {
  const char *path;
  FyDevice device; // of the parameters and of the input; the CPU by default
  FySize shape;    // of the input, where the file leaves more open than the batch: it is read for this shape only
} FyOnnxLoad;

// A traced module that computes what the file says: one input, one output. fy_onnx_load("net.onnx"), fy_onnx_load("net.onnx",
// .device = device). Its parameters and buffers are the file's initializers, by name. A batch that the file leaves open may be
// any at a call (trace/trace.h).
//
// Files may be hostile: nothing of them is trusted or run, memory is bounded by the file's size, and weights outside of
// the file are read only from a file beside it. Raises FY_OS_ERROR when a file cannot be read; FY_VALUE_ERROR, naming the path
// and what is wrong, for anything malformed; FY_NOT_IMPLEMENTED_ERROR, naming the node, for ops, attributes and versions that Ferry
// does not have.
#define fy_onnx_load(...) fy_onnx_load_with((FyOnnxLoad){.path = __VA_ARGS__})
FY_API FyModule *fy_onnx_load_with(FyOnnxLoad options);

#endif
