// SPDX-License-Identifier: MIT
// Functions that read the elements of a tensor on the host: copying, comparing, printing and .npy files. For a CUDA
// tensor, they wait for the device.
#ifndef FERRY_OP_HOST_H
#define FERRY_OP_HOST_H

#include "tensor/tensor.h"
#include <stdio.h>

// Copies the elements in row-major order to `host`, which has at least fy_nbytes(t) bytes. Waits for the device.
FY_API void fy_copy_to_host(const FyTensor *t, void *host);

// Return whether two tensors are equal. For fy_equal, dtype, shape, device and all elements must be equal; NaN is not
// equal to NaN. For fy_allclose, |a - b| <= atol + rtol * |b| must hold for all elements; it raises FY_RUNTIME_ERROR if
// the shapes differ. Both wait for the device. PyTorch: torch.equal(a, b) and torch.allclose(a, b, rtol, atol).
FY_API bool fy_equal(const FyTensor *a, const FyTensor *b);
FY_API bool fy_allclose(const FyTensor *a, const FyTensor *b, double rtol, double atol);

// Print a tensor to standard output or to `file`, exactly as print(tensor) does in PyTorch 2, including device, dtype,
// requires_grad and grad_fn. A newline follows.
FY_API void fy_print(const FyTensor *t);
FY_API void fy_fprint(FILE *file, const FyTensor *t);

// Returns the text that fy_print prints, without the newline. The caller frees it with free(). PyTorch: repr(tensor).
FY_API char *fy_repr(const FyTensor *t);

// Save a tensor to a .npy file, and load a tensor from one. The dtypes are bool, uint8, int32, int64, float16, float32
// and float64. bfloat16 is saved in the form of ml_dtypes ("<V2"), but cannot be loaded. fy_npy_save writes version 1.0
// of the format in little-endian byte order. fy_npy_load reads versions 1.0 to 3.0 in either byte order
// (torch.from_numpy accepts only the machine's), and returns a CPU tensor, owned by the innermost scope.
//
// fy_npy_save raises the errors of fy_numpy for a CUDA tensor and for a tensor that requires grad. The file is never
// incomplete. If several threads save to the same path, the last one wins. Both raise FY_OS_ERROR if a file operation
// fails. fy_npy_load raises FY_VALUE_ERROR if the file is malformed, has a different element type or a structured type,
// or contains a bool that is neither 0 nor 1; the message names the path, the offset and the expected content. PyTorch:
// numpy.save(path, array) and torch.from_numpy(numpy.load(path)).
FY_API void fy_npy_save(const char *path, FyTensor *t);
FY_API FyTensor *fy_npy_load(const char *path);

#endif
