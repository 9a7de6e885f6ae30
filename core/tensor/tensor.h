// Tensors: making them, looking at them, viewing and moving them.
//
// Every function that returns a tensor returns one owned by the innermost open scope (scope.h), unless it says otherwise.
// The caller's tensors are never consumed. Functions with options take them as designated initialisers after the
// positional arguments:
//
//   FyTensor *x = fy_randn(fy_shape(3, 3), .device = device, .requires_grad = true);
//
// Every function here raises FY_OUT_OF_MEMORY_ERROR when memory runs out, and FY_RUNTIME_ERROR when a device is not there.
#ifndef FERRY_TENSOR_TENSOR_H
#define FERRY_TENSOR_TENSOR_H

#include "device/device.h"
#include "tensor/array.h"
#include <stdio.h>

typedef struct FyTensor FyTensor;

// torch.Size: up to FY_MAX_DIM dimensions, by value. fy_shape(2, 3) makes one; FY_SCALAR is the shape of a 0-dim tensor.
typedef struct FySize {
  int ndim;
  int64_t dim[FY_MAX_DIM];
} FySize;
#define FY_COUNT_OF(...) ((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
#define fy_shape(...) ((FySize){.ndim = FY_COUNT_OF(__VA_ARGS__), .dim = {__VA_ARGS__}})
#define FY_SCALAR ((FySize){.ndim = 0})

// A list of tensors by value: fy_cat(fy_list(a, b), 0). The array is borrowed.
typedef struct FyTensors {
  int count;
  FyTensor **items;
} FyTensors;
#define fy_list(...)                                                                                                   \
  ((FyTensors){.count = (int)(sizeof((FyTensor *[]){__VA_ARGS__}) / sizeof(FyTensor *)),                               \
               .items = (FyTensor *[]){__VA_ARGS__}})

// ---- random numbers ----------------------------------------------------------------------------------------------------

// torch.manual_seed(seed). One counter-based generator (Philox) per process: the same seed gives the same numbers on
// every device, whatever the number of threads.
FY_API void fy_manual_seed(uint64_t seed);

// torch.get_rng_state() and torch.set_rng_state(state): the seed and the position of the generator.
typedef struct FyRngState {
  uint64_t seed, offset;
} FyRngState;
FY_API FyRngState fy_get_rng_state(void);
FY_API void fy_set_rng_state(FyRngState state);

// ---- factories ---------------------------------------------------------------------------------------------------------

// Options of every factory. dtype: float32 when not given (int64 for fy_randint, fy_randperm and integral fy_arange).
// device: the CPU when not given. pin_memory: page-locked host memory, CPU only.
typedef struct FyFactory {
  FySize size;
  FyDType dtype;
  FyDevice device;
  bool requires_grad, pin_memory;
} FyFactory;

// torch.tensor(data, ...): copies row-major host data of `size`, FySize, whose element type is that of the pointer:
//   fy_tensor(fy_floats(1, 2, 3, 4), fy_shape(2, 2), .device = device)
// Without .dtype the result has the pointer's element type. On a CUDA device the copy is complete when the call returns.
#define fy_tensor(data, ...) fy_tensor_with((data), FY_DTYPE_OF(data), (FyFactory){.size = __VA_ARGS__})
#define fy_floats(...) ((float[]){__VA_ARGS__})
#define fy_doubles(...) ((double[]){__VA_ARGS__})
#define fy_longs(...) ((int64_t[]){__VA_ARGS__})
#define fy_ints(...) ((int[]){__VA_ARGS__})
FY_API FyTensor *fy_tensor_with(const void *data, FyDType data_dtype, FyFactory options);

// torch.empty: uninitialised (on a simulated device: NaN).
#define fy_empty(...) fy_empty_with((FyFactory){.size = __VA_ARGS__})
FY_API FyTensor *fy_empty_with(FyFactory options);

// torch.zeros, torch.ones: fy_zeros(fy_shape(3, 3), .device = device).
#define fy_zeros(...) fy_zeros_with((FyFactory){.size = __VA_ARGS__})
FY_API FyTensor *fy_zeros_with(FyFactory options);
#define fy_ones(...) fy_ones_with((FyFactory){.size = __VA_ARGS__})
FY_API FyTensor *fy_ones_with(FyFactory options);

// torch.full(size, value): fy_full(3.5, fy_shape(2, 2)). The value comes first here.
#define fy_full(value, ...) fy_full_with((value), (FyFactory){.size = __VA_ARGS__})
FY_API FyTensor *fy_full_with(double value, FyFactory options);

// torch.rand: uniform in [0, 1). torch.randn: standard normal. Floating dtypes only (FY_TYPE_ERROR).
#define fy_rand(...) fy_rand_with((FyFactory){.size = __VA_ARGS__})
FY_API FyTensor *fy_rand_with(FyFactory options);
#define fy_randn(...) fy_randn_with((FyFactory){.size = __VA_ARGS__})
FY_API FyTensor *fy_randn_with(FyFactory options);

// torch.randint(low, high, size): integers in [low, high). Raises FY_RUNTIME_ERROR unless low < high.
#define fy_randint(low, high, ...) fy_randint_with((low), (high), (FyFactory){.size = __VA_ARGS__})
FY_API FyTensor *fy_randint_with(int64_t low, int64_t high, FyFactory options);

// torch.randperm(n): a random permutation of 0..n-1, int64. Options after n: fy_randperm(10, .device = device).
#define fy_randperm(...) fy_randperm_with((FyRange){.end = __VA_ARGS__})
// torch.arange(end): fy_arange(10), fy_arange(1, .start = 0, .step = 0.25). int64 when start, end and step are whole
// numbers and no dtype is given, else float32.
#define fy_arange(...) fy_arange_with((FyRange){.end = __VA_ARGS__})
typedef struct FyRange {
  double end, start, step; // a step of 0 stands for 1
  FyDType dtype;
  FyDevice device;
  bool requires_grad;
} FyRange;
FY_API FyTensor *fy_randperm_with(FyRange options);
FY_API FyTensor *fy_arange_with(FyRange options);

// torch.linspace(start, end, steps): fy_linspace(0, 1, 5) or fy_linspace(0, 1, 5, .device = device).
#define fy_linspace(start, end, ...) fy_linspace_with((start), (end), (FyLinspace){.steps = __VA_ARGS__})
typedef struct FyLinspace {
  int64_t steps;
  FyDType dtype;
  FyDevice device;
  bool requires_grad;
} FyLinspace;
FY_API FyTensor *fy_linspace_with(double start, double end, FyLinspace options);

// torch.eye(n): n ones on the diagonal of an n by n matrix.
#define fy_eye(...) fy_eye_with((FyRange){.end = __VA_ARGS__})
FY_API FyTensor *fy_eye_with(FyRange options);

// torch.zeros_like, ones_like, empty_like, rand_like, randn_like, full_like: shape, dtype and device of `like`.
FY_API FyTensor *fy_zeros_like(const FyTensor *like);
FY_API FyTensor *fy_ones_like(const FyTensor *like);
FY_API FyTensor *fy_empty_like(const FyTensor *like);
FY_API FyTensor *fy_full_like(const FyTensor *like, double value);
FY_API FyTensor *fy_rand_like(const FyTensor *like);
FY_API FyTensor *fy_randn_like(const FyTensor *like);

// A number as a 0-dim CPU tensor that does not take part in type promotion beyond its kind, as a Python number in
// `x + 1`: fy_add(x, fy_number(1)). float64 inside; fy_integer gives an int64 one.
FY_API FyTensor *fy_number(double value);
FY_API FyTensor *fy_integer(int64_t value);

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

// str(tensor.shape): "torch.Size([2, 3])". Static buffer of the thread, valid until eight further calls.
FY_API const char *fy_shape_string(const FyTensor *t);

// ---- views: they share storage, and gradients flow through -----------------------------------------------------------

// tensor.view(shape): one dimension may be -1. Raises FY_RUNTIME_ERROR ("view size is not compatible with input tensor's
// size and stride ...") when the strides do not allow it, and "shape '[...]' is invalid for input of size N".
FY_API FyTensor *fy_view(FyTensor *t, FySize shape);
// tensor.reshape(shape): a view where possible, else a copy.
FY_API FyTensor *fy_reshape(FyTensor *t, FySize shape);
FY_API FyTensor *fy_flatten(FyTensor *t, int start_dim, int end_dim); // torch.flatten(t, start_dim, end_dim)
FY_API FyTensor *fy_transpose(FyTensor *t, int dim0, int dim1);       // tensor.transpose(dim0, dim1)
FY_API FyTensor *fy_t(FyTensor *t);                                   // tensor.t(), 2-D at most
FY_API FyTensor *fy_permute(FyTensor *t, FySize dims);                // tensor.permute(dims)
FY_API FyTensor *fy_select(FyTensor *t, int dim, int64_t index);      // tensor.select(dim, index): t[index] for dim 0
FY_API FyTensor *fy_slice(FyTensor *t, int dim, int64_t start, int64_t end, int64_t step); // t[start:end:step] on dim
FY_API FyTensor *fy_narrow(FyTensor *t, int dim, int64_t start, int64_t length);           // torch.narrow
FY_API FyTensor *fy_expand(FyTensor *t, FySize shape); // tensor.expand(shape); -1 keeps a size
FY_API FyTensor *fy_squeeze(FyTensor *t);              // torch.squeeze(t): all dimensions of size 1
FY_API FyTensor *fy_squeeze_dim(FyTensor *t, int dim);
FY_API FyTensor *fy_unsqueeze(FyTensor *t, int dim);
FY_API FyTensor *fy_view_as(FyTensor *t, const FyTensor *other);
// tensor.detach(): shares storage and version counter, cut off from the graph.
FY_API FyTensor *fy_detach(const FyTensor *t);

// torch.chunk(t, chunks, dim): at most `chunks` views; returns how many and stores them in `out`.
FY_API int fy_chunk(FyTensor *t, int chunks, int dim, FyTensor **out);

// ---- copies and moves --------------------------------------------------------------------------------------------------

FY_API FyTensor *fy_contiguous(FyTensor *t); // itself when contiguous already, else a copy
FY_API FyTensor *fy_clone(FyTensor *t);

// tensor.to(device, ...): fy_to(x, device), fy_to(x, device, .dtype = FY_FLOAT16, .non_blocking = true). Returns `t`
// itself (no copy) when device and dtype are already right, unless .copy. With .non_blocking a copy from pinned host
// memory to a CUDA device, or to pinned memory, returns before it is done. Gradients flow back to t's device.
typedef struct FyTo {
  FyDevice device;
  FyDType dtype;
  bool non_blocking, copy;
} FyTo;
#define fy_to(t, ...) fy_to_with((t), (FyTo){.device = __VA_ARGS__})
FY_API FyTensor *fy_to_with(FyTensor *t, FyTo options);
FY_API FyTensor *fy_to_dtype(FyTensor *t, FyDType dtype); // tensor.to(dtype)
FY_API FyTensor *fy_cuda(FyTensor *t);                    // tensor.cuda(): to the current CUDA device
FY_API FyTensor *fy_cpu(FyTensor *t);                     // tensor.cpu()
FY_API FyTensor *fy_half(FyTensor *t);                    // tensor.half()
FY_API FyTensor *fy_float(FyTensor *t);                   // tensor.float()
FY_API FyTensor *fy_double(FyTensor *t);                  // tensor.double()
FY_API FyTensor *fy_long(FyTensor *t);                    // tensor.long()
FY_API FyTensor *fy_pin_memory(FyTensor *t);              // tensor.pin_memory()

// tensor.record_stream(stream): its memory is not reused before the work queued on `stream` at its end has passed.
FY_API void fy_record_stream(FyTensor *t, FyStream *stream);

// tensor.numpy(), which here is a row-major host array: the address of the elements of a contiguous CPU tensor, borrowed
// from it. Raises FY_TYPE_ERROR on a CUDA tensor ("can't convert cuda:0 device type tensor to numpy. Use ...cpu() ...")
// and FY_RUNTIME_ERROR on one that requires grad ("Can't call numpy() on Tensor that requires grad. Use ...detach()...").
FY_API void *fy_numpy(FyTensor *t);

// numpy.save(path, array) and torch.from_numpy(numpy.load(path)): .npy files, versions 1.0 to 3.0; bfloat16 is saved as
// its bytes would be by ml_dtypes ("<V2"), and not read. fy_npy_save follows fy_numpy's rule (CPU, no grad). Raise
// FY_OS_ERROR for the file system, FY_VALUE_ERROR naming path, offset and what was expected for a malformed file.
FY_API void fy_npy_save(const char *path, FyTensor *t);
FY_API FyTensor *fy_npy_load(const char *path);

#endif
