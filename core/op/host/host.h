// SPDX-License-Identifier: MIT
// Tensors read on the host: their elements, comparing, printing, .npy files. All of it waits for the device.
#ifndef FERRY_OP_HOST_H
#define FERRY_OP_HOST_H

#include "tensor/tensor.h"
#include <stdio.h>

// Copies the elements, row-major, to host memory of at least fy_nbytes(t) bytes; waits for the device.
FY_API void fy_copy_to_host(const FyTensor *t, void *host);

// Are dtype, shape, device and every element equal? torch.equal; NaN is unequal. fy_allclose is torch.allclose:
// |a - b| <= atol + rtol * |b|, on tensors of equal shape and dtype. Both wait for the device.
FY_API bool fy_equal(const FyTensor *a, const FyTensor *b);
FY_API bool fy_allclose(const FyTensor *a, const FyTensor *b, double rtol, double atol);

// print(tensor), exactly as PyTorch 2 prints it, device, dtype, requires_grad and grad_fn included, newline at the end.
FY_API void fy_print(const FyTensor *t);
FY_API void fy_fprint(FILE *file, const FyTensor *t);

// repr(tensor): the same text without the newline. The caller frees it.
FY_API char *fy_repr(const FyTensor *t);

// numpy.save(path, array) and torch.from_numpy(numpy.load(path)): .npy files, versions 1.0 to 3.0, of bool, uint8, int32,
// int64, float16, float32 and float64. Files are written little-endian and read in either byte order (torch.from_numpy takes
// the machine's alone). bfloat16 is saved as its bytes would be by ml_dtypes ("<V2"), and not read. fy_npy_save follows
// fy_numpy's rule (CPU, no grad); the file appears whole or not at all, and of several threads that save under one name the
// last one wins. Raise FY_OS_ERROR for the file system, FY_VALUE_ERROR naming path, offset and what was expected for a
// malformed file: other element types, structured ones, and bools that are neither 0 nor 1 among them.
FY_API void fy_npy_save(const char *path, FyTensor *t);
FY_API FyTensor *fy_npy_load(const char *path);

#endif
