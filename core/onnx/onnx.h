// SPDX-License-Identifier: MIT
// ONNX files: export of traced networks for other programs, and import of networks from other programs. torch.onnx.
//
// A file contains the ops of a traced module (trace/trace.h), its parameters and buffers under their names in
// state_dict, and the shapes of intermediate results. onnxruntime can run the file, and Netron can draw it. Ferry
// writes opset 20, and reads opsets 9 to 26. A file has no gradients, random numbers or changes of state.
//
// Ferry reads and writes the files with protobuf-c, not with protobuf's C++ library. The C++ library would add
// generated C++ code, whose exceptions do not work together with Ferry's errors (longjmp). It also has 3.3 MB of code,
// and protobuf-c 43 kB (Debian 12, amd64).
#ifndef FERRY_ONNX_ONNX_H
#define FERRY_ONNX_ONNX_H

#include "nn/nn.h"

// Writes the ops of a traced module, on any device, to a file. The batch size (dimension 0 of the input) is variable in
// the file, with the name "batch", if the ops work with a different batch size; otherwise it is the example's. On an
// error, no incomplete file remains.
//
// Raises FY_TYPE_ERROR for a module that is not traced; FY_NOT_IMPLEMENTED_ERROR, with the op's name, for an op that
// ONNX cannot express or that is not allowed in a forward pass; FY_VALUE_ERROR for names that occur twice and for a
// network of more than 2 GB, protobuf's limit; and FY_OS_ERROR if the file cannot be written. PyTorch:
// torch.onnx.export(traced, args, path).
#define fy_onnx_save(traced, path) fy_onnx_save_of((FyModule *)(traced), (path))
FY_API void fy_onnx_save_of(FyModule *traced, const char *path);

typedef struct FyOnnxLoad {
  const char *path;
  FyDevice device; // of the parameters and of the input; the CPU by default
  // The shape of the input. Required if the file leaves more than the batch size variable. The file is then read only
  // for this shape.
  FySize shape;
} FyOnnxLoad;

// Reads a file, and returns a traced module that computes its network, owned by the innermost scope:
//
//   fy_onnx_load("net.onnx")
//   fy_onnx_load("net.onnx", .device = device)
//
// The network must have one input and one output. The module's parameters and buffers are the file's initializers, with
// the same names. If the batch size is variable in the file, the module accepts any batch size (trace/trace.h).
//
// You can load files that you do not trust: no code from a file runs, the size of the file limits the memory, and
// weights outside the file are read only from a file in the same folder. Raises FY_OS_ERROR if a file cannot be read;
// FY_VALUE_ERROR, with the path and the fault, for malformed files; and FY_NOT_IMPLEMENTED_ERROR, with the node's name,
// for ops, attributes and versions that Ferry does not support. PyTorch has no such function.
#define fy_onnx_load(...) fy_onnx_load_with((FyOnnxLoad){.path = __VA_ARGS__})
FY_API FyModule *fy_onnx_load_with(FyOnnxLoad options);

#endif
