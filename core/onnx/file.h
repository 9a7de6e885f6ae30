// SPDX-License-Identifier: MIT
// What the reader and the writer of ONNX files agree on: the format's numbers. For onnx/ only.
#ifndef FERRY_ONNX_FILE_H
#define FERRY_ONNX_FILE_H

#include "onnx/onnx.h"
#include "trace/program.h"

enum {
  FY_ONNX_OPSET = 20, // written: the first that has Gelu
  FY_ONNX_IR = 9,     // the format of files that came with it
  FY_ONNX_OLDEST_OPSET = 9,
  FY_ONNX_NEWEST_OPSET = 26,
  FY_ONNX_NEWEST_IR = 13,
};

// AttributeProto.type
enum {
  FY_ONNX_FLOAT = 1,
  FY_ONNX_INT = 2,
  FY_ONNX_STRING = 3,
  FY_ONNX_TENSOR = 4,
  FY_ONNX_FLOATS = 6,
  FY_ONNX_INTS = 7
};

// TensorProto.data_location
enum { FY_ONNX_EXTERNAL = 1 };

// TensorProto.data_type of a dtype, and back: FY_DEFAULT_DTYPE for those that Ferry does not have.
int fy_onnx_type(FyDType dtype);
FyDType fy_onnx_dtype(int type);

// "FLOAT16", as the format calls it; "type 99" otherwise. Static buffer of the thread.
const char *fy_onnx_type_name(int type);

// ---- programs, for tests too -------------------------------------------------------------------------------------------

void fy_onnx_write_program(const FyProgram *program, const char *path);
FyProgram *fy_onnx_read_program(FyOnnxLoad options);

// ---- what is known of a call before it runs (infer.c) --------------------------------------------------------------------

// A tensor on the CPU that has a shape and a dtype and no elements, row-major.
void fy_onnx_stand_in(FyTensor *t, FyDType dtype, int ndim, const int64_t *shape);

// What the record of `op` says of its outputs for these inputs. NULL inputs are not given. Raises what a call would.
void fy_onnx_infer(const FyOp *op, const void *params, int n_in, FyTensor *const *in, int n_out, FyOutput *out);

#endif
