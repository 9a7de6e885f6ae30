// SPDX-License-Identifier: MIT
// Tensors and their properties. The functions in op/creation/factory.h create tensors. Those in op/ops.h view, move and
// compute with them, and those in op/host/host.h print and save them.
//
// A function that returns a tensor returns one that is owned by the innermost open scope (scope.h), unless its comment
// says otherwise. No function takes ownership of the caller's tensors. Functions with options take them as designated
// initializers after the positional arguments:
//
//   FyTensor *x = fy_randn(fy_shape(3, 3), .device = device, .requires_grad = true);
//
// Every function that creates a tensor raises FY_OUT_OF_MEMORY_ERROR if memory runs out, and FY_RUNTIME_ERROR if the
// device does not exist.
#ifndef FERRY_TENSOR_TENSOR_H
#define FERRY_TENSOR_TENSOR_H

#include "device/device.h"
#include "tensor/array.h"

typedef struct FyTensor FyTensor;

// A shape of up to FY_MAX_DIM dimensions, passed by value. fy_shape(2, 3) creates one; FY_SCALAR is the shape of a
// 0-dim tensor. PyTorch: torch.Size.
typedef struct FySize {
  int ndim;
  int64_t dim[FY_MAX_DIM];
} FySize;
#define FY_COUNT_OF(...) ((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
#define fy_shape(...) ((FySize){.ndim = FY_COUNT_OF(__VA_ARGS__), .dim = {__VA_ARGS__}})
#define FY_SCALAR ((FySize){.ndim = 0})

// Macros with options use the following definitions to make the compiler reject a number instead of a size or a named
// option. Without them, C would accept `fy_zeros(3, 3)` as the first members of a size, and `fy_arange(1, 10)` as an
// end of 1. A call of fy_sizes_are_written_fy_shape is a compile-time error. A number does not convert to
// FyNamedOptions, a pointer to an undefined struct.
#define FY_SIZE_AND_OPTIONS(...) .size = FY_FIRST_SIZE(__VA_ARGS__, ~), FY_AFTER_FIRST(__VA_ARGS__, )
#define FY_FIRST_SIZE(first, ...) _Generic((first), FySize : (first), default : fy_sizes_are_written_fy_shape())
#define FY_AFTER_FIRST(first, ...) __VA_ARGS__
FySize fy_sizes_are_written_fy_shape(void)
    __attribute__((error("write sizes as fy_shape(3, 3): fy_zeros(fy_shape(3, 3))")));
typedef const struct fy_options_are_written_with_their_names *FyNamedOptions;
#ifndef __cplusplus
#pragma GCC diagnostic error "-Wint-conversion" // the default since gcc 14 and clang 15
#endif

// A list of tensors, passed by value: fy_cat(fy_list(a, b), 0). The array is borrowed.
typedef struct FyTensors {
  int count;
  FyTensor **items;
} FyTensors;
#define fy_list(...)                                                                                                   \
  ((FyTensors){.count = (int)(sizeof((FyTensor *[]){__VA_ARGS__}) / sizeof(FyTensor *)),                               \
               .items = (FyTensor *[]){__VA_ARGS__}})

// ---- properties --------------------------------------------------------------------------------------------------------
// fy_size_at and fy_stride_at raise FY_INDEX_ERROR if the dimension is out of range.

FY_API FyDevice fy_device_of(const FyTensor *t);         // tensor.device
FY_API bool fy_is_cuda(const FyTensor *t);               // tensor.is_cuda
FY_API int fy_get_device(const FyTensor *t);             // tensor.get_device(): the CUDA index, -1 on the CPU
FY_API FyDType fy_dtype_of(const FyTensor *t);           // tensor.dtype
FY_API FySize fy_size(const FyTensor *t);                // tensor.shape
FY_API int fy_dim(const FyTensor *t);                    // tensor.dim()
FY_API int64_t fy_size_at(const FyTensor *t, int dim);   // tensor.size(dim); dim < 0 counts from the end
FY_API int64_t fy_stride_at(const FyTensor *t, int dim); // tensor.stride(dim), in elements
FY_API int64_t fy_storage_offset(const FyTensor *t);     // tensor.storage_offset(), in elements
FY_API int64_t fy_numel(const FyTensor *t);              // tensor.numel()
FY_API size_t fy_nbytes(const FyTensor *t);              // tensor.nbytes
FY_API bool fy_is_contiguous(const FyTensor *t);         // tensor.is_contiguous()
FY_API bool fy_is_pinned(const FyTensor *t);             // tensor.is_pinned()
FY_API bool fy_shares_storage(const FyTensor *a, const FyTensor *b); // do both use the same storage?
FY_API uint32_t fy_version_of(const FyTensor *t);                    // tensor._version

// Returns the address of the first element. For a tensor on a CUDA device it is a device address, which the host must
// not dereference. PyTorch: tensor.data_ptr().
FY_API void *fy_data_ptr(const FyTensor *t);

// Return the value of a tensor with one element: fy_item as a double, fy_item_int64 as an int64. (A double cannot
// represent all integers beyond 2^53.) They wait for the device. Raise FY_RUNTIME_ERROR unless the tensor has exactly
// one element. PyTorch: tensor.item().
FY_API double fy_item(const FyTensor *t);
FY_API int64_t fy_item_int64(const FyTensor *t);

// Returns the shape as text, like str(tensor.shape) in PyTorch: "torch.Size([2, 3])". The buffer belongs to the thread,
// and is valid until the thread has called the function eight more times.
FY_API const char *fy_shape_string(const FyTensor *t);

// ---- storage -----------------------------------------------------------------------------------------------------------

// Returns a tensor that shares storage and version counter with t but is not part of the graph. PyTorch:
// tensor.detach().
FY_API FyTensor *fy_detach(const FyTensor *t);

// Tells the allocator that `stream` uses the tensor: after the tensor is freed, its memory is not reused until the work
// enqueued on `stream` at that time has completed. PyTorch: tensor.record_stream(stream).
FY_API void fy_record_stream(FyTensor *t, FyStream *stream);

// Returns the address of the elements of a contiguous CPU tensor, a row-major array that is borrowed from the tensor.
// Raises FY_TYPE_ERROR for a CUDA tensor ("can't convert cuda:0 device type tensor to numpy. Use fy_cpu(tensor) ...").
// Raises FY_RUNTIME_ERROR for a tensor that requires grad ("Can't call numpy() on Tensor that requires grad. Use
// fy_numpy(fy_detach(tensor)) ...") or is not contiguous. PyTorch: tensor.numpy().
FY_API void *fy_numpy(FyTensor *t);

#endif
