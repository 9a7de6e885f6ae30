// SPDX-License-Identifier: MIT
// Tensors and their properties. op/creation/factory.h creates tensors; op/ops.h views, moves and computes with them;
// op/host/host.h prints and saves them.
//
// Every function that returns a tensor returns one owned by the innermost open scope (scope.h), unless it says otherwise.
// The caller's tensors are never consumed. Functions with options take them as designated initializers after the
// positional arguments:
//
//   FyTensor *x = fy_randn(fy_shape(3, 3), .device = device, .requires_grad = true);
//
// Every function that makes one raises FY_OUT_OF_MEMORY_ERROR when memory runs out, and FY_RUNTIME_ERROR when a device is
// not there.
#ifndef FERRY_TENSOR_TENSOR_H
#define FERRY_TENSOR_TENSOR_H

#include "device/device.h"
#include "tensor/array.h"

typedef struct FyTensor FyTensor;

// torch.Size: up to FY_MAX_DIM dimensions, by value. fy_shape(2, 3) makes one; FY_SCALAR is the shape of a 0-dim tensor.
typedef struct FySize {
  int ndim;
  int64_t dim[FY_MAX_DIM];
} FySize;
#define FY_COUNT_OF(...) ((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
#define fy_shape(...) ((FySize){.ndim = FY_COUNT_OF(__VA_ARGS__), .dim = {__VA_ARGS__}})
#define FY_SCALAR ((FySize){.ndim = 0})

// What macros with options put before them, so that the compiler refuses numbers where a size or a named option belongs. Without
// it C would take `fy_zeros(3, 3)` for the first members of a size, and `fy_arange(1, 10)` for an end of 1. A call of
// fy_sizes_are_written_fy_shape is an error of the compiler; a number is no pointer to what is not even declared.
#define FY_SIZE_AND_OPTIONS(...) .size = FY_FIRST_SIZE(__VA_ARGS__, ~), FY_AFTER_FIRST(__VA_ARGS__, )
#define FY_FIRST_SIZE(first, ...) _Generic((first), FySize : (first), default : fy_sizes_are_written_fy_shape())
#define FY_AFTER_FIRST(first, ...) __VA_ARGS__
FySize fy_sizes_are_written_fy_shape(void)
    __attribute__((error("write sizes as fy_shape(3, 3): fy_zeros(fy_shape(3, 3))")));
typedef const struct fy_options_are_written_with_their_names *FyNamedOptions;
#ifndef __cplusplus
#pragma GCC diagnostic error "-Wint-conversion" // as gcc 14 and clang 15 have it anyway
#endif

// A list of tensors by value: fy_cat(fy_list(a, b), 0). The array is borrowed.
typedef struct FyTensors {
  int count;
  FyTensor **items;
} FyTensors;
#define fy_list(...)                                                                                                   \
  ((FyTensors){.count = (int)(sizeof((FyTensor *[]){__VA_ARGS__}) / sizeof(FyTensor *)),                               \
               .items = (FyTensor *[]){__VA_ARGS__}})

// ---- looking -----------------------------------------------------------------------------------------------------------

FY_API FyDevice fy_device_of(const FyTensor *t);       // tensor.device
FY_API bool fy_is_cuda(const FyTensor *t);             // tensor.is_cuda
FY_API int fy_get_device(const FyTensor *t);           // tensor.get_device(): the CUDA index, -1 on the CPU
FY_API FyDType fy_dtype_of(const FyTensor *t);         // tensor.dtype
FY_API FySize fy_size(const FyTensor *t);              // tensor.shape
FY_API int fy_dim(const FyTensor *t);                  // tensor.dim()
FY_API int64_t fy_size_at(const FyTensor *t, int dim); // tensor.size(dim); negative counts from the end; FY_INDEX_ERROR
FY_API int64_t fy_stride_at(const FyTensor *t, int dim);             // tensor.stride(dim), in elements
FY_API int64_t fy_storage_offset(const FyTensor *t);                 // tensor.storage_offset(), in elements
FY_API int64_t fy_numel(const FyTensor *t);                          // tensor.numel()
FY_API size_t fy_nbytes(const FyTensor *t);                          // tensor.nbytes
FY_API bool fy_is_contiguous(const FyTensor *t);                     // tensor.is_contiguous()
FY_API bool fy_is_pinned(const FyTensor *t);                         // tensor.is_pinned()
FY_API bool fy_shares_storage(const FyTensor *a, const FyTensor *b); // same untyped_storage().data_ptr()?
FY_API uint32_t fy_version_of(const FyTensor *t);                    // tensor._version

// tensor.data_ptr(): the first element. On a CUDA device it is a device address, never to be dereferenced by the host.
FY_API void *fy_data_ptr(const FyTensor *t);

// tensor.item(): the value of a one-element tensor as a double (int64 beyond 2^53 loses digits: fy_item_int64). Waits
// for the device. Raises FY_RUNTIME_ERROR unless there is exactly one element.
FY_API double fy_item(const FyTensor *t);
FY_API int64_t fy_item_int64(const FyTensor *t);

// str(tensor.shape): "torch.Size([2, 3])". Static buffer of the thread, valid until eight further calls.
FY_API const char *fy_shape_string(const FyTensor *t);

// ---- storage -----------------------------------------------------------------------------------------------------------

// tensor.detach(): shares storage and version counter, cut off from the graph.
FY_API FyTensor *fy_detach(const FyTensor *t);

// tensor.record_stream(stream): its memory is not reused before the work queued on `stream` at its end has passed.
FY_API void fy_record_stream(FyTensor *t, FyStream *stream);

// tensor.numpy(), which here is a row-major host array: the address of the elements of a contiguous CPU tensor, borrowed
// from it. Raises FY_TYPE_ERROR on a CUDA tensor ("can't convert cuda:0 device type tensor to numpy. Use ...cpu() ...")
// and FY_RUNTIME_ERROR on one that requires grad ("Can't call numpy() on Tensor that requires grad. Use ...detach()...").
FY_API void *fy_numpy(FyTensor *t);

#endif
