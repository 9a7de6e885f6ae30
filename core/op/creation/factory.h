// SPDX-License-Identifier: MIT
// Functions that create tensors: torch.tensor, torch.zeros, torch.randn, torch.arange and related functions.
//
// The innermost scope owns each new tensor. Functions that create a tensor raise FY_OUT_OF_MEMORY_ERROR if memory runs
// out, and FY_RUNTIME_ERROR if the device does not exist or if .requires_grad is set for an integer dtype.
#ifndef FERRY_OP_FACTORY_H
#define FERRY_OP_FACTORY_H

#include "tensor/tensor.h"

// ---- random numbers -------------------------------------------------------------------------------------------------

// Sets the seed of the process's random number generator. It is a counter-based generator (Philox): the same seed gives
// the same numbers on every device and for any number of threads. Any thread may call it. Raises FY_RUNTIME_ERROR while
// the current stream is being captured into a CUDA graph. PyTorch: torch.manual_seed(seed).
FY_API void fy_manual_seed(uint64_t seed);

// Return and set the state of the process's generator: its seed and its position in the sequence of random numbers.
// Raise the error of fy_manual_seed. PyTorch: torch.get_rng_state() and torch.set_rng_state(state).
typedef struct FyRngState {
  uint64_t seed, offset;
} FyRngState;
FY_API FyRngState fy_get_rng_state(void);
FY_API void fy_set_rng_state(FyRngState state);

// ---- factories ------------------------------------------------------------------------------------------------------

// Options of the functions that create a tensor of a given size.
typedef struct FyFactory {
  FySize size;
  FyNamedOptions no_number_here;  // .dtype = ..., .device = ...
  FyDType dtype;                  // default: float32; int64 for fy_randint; the type of the data for fy_tensor
  FyDevice device;                // default: the CPU
  bool requires_grad, pin_memory; // pin_memory: allocate page-locked host memory; only for the CPU
} FyFactory;

// Creates a tensor with a copy of row-major host data. The size is an FySize:
//
//   fy_tensor(fy_floats(1, 2, 3, 4), fy_shape(2, 2), .device = device)
//
// The element type of the data is that of the pointer, and is also the dtype of the tensor unless .dtype is set. On a
// CUDA device, the copy is complete when the function returns. PyTorch: torch.tensor(data, ...).
#define fy_tensor(data, ...) fy_tensor_with((data), FY_DTYPE_OF(data), (FyFactory){FY_SIZE_AND_OPTIONS(__VA_ARGS__)})
#define fy_floats(...) ((float[]){__VA_ARGS__})
#define fy_doubles(...) ((double[]){__VA_ARGS__})
#define fy_longs(...) ((int64_t[]){__VA_ARGS__})
#define fy_ints(...) ((int[]){__VA_ARGS__})
FY_API FyTensor *fy_tensor_with(const void *data, FyDType data_dtype, FyFactory options);

// Creates a tensor without initializing its elements. On a simulated device, they are NaN. PyTorch: torch.empty(size).
#define fy_empty(...) fy_empty_with((FyFactory){FY_SIZE_AND_OPTIONS(__VA_ARGS__)})
FY_API FyTensor *fy_empty_with(FyFactory options);

// Create a tensor of zeros or ones: fy_zeros(fy_shape(3, 3), .device = device). PyTorch: torch.zeros(size) and
// torch.ones(size).
#define fy_zeros(...) fy_zeros_with((FyFactory){FY_SIZE_AND_OPTIONS(__VA_ARGS__)})
FY_API FyTensor *fy_zeros_with(FyFactory options);
#define fy_ones(...) fy_ones_with((FyFactory){FY_SIZE_AND_OPTIONS(__VA_ARGS__)})
FY_API FyTensor *fy_ones_with(FyFactory options);

// Creates a tensor in which every element is `value`: fy_full(3.5, fy_shape(2, 2)). Unlike in PyTorch, the value is the
// first argument. PyTorch: torch.full(size, value).
#define fy_full(value, ...) fy_full_with((value), (FyFactory){FY_SIZE_AND_OPTIONS(__VA_ARGS__)})
FY_API FyTensor *fy_full_with(double value, FyFactory options);

// Create a tensor of random numbers: fy_rand draws from the uniform distribution in [0, 1), and fy_randn from the
// standard normal distribution. Raise FY_TYPE_ERROR if the dtype is not a floating-point type. PyTorch:
// torch.rand(size) and torch.randn(size).
#define fy_rand(...) fy_rand_with((FyFactory){FY_SIZE_AND_OPTIONS(__VA_ARGS__)})
FY_API FyTensor *fy_rand_with(FyFactory options);
#define fy_randn(...) fy_randn_with((FyFactory){FY_SIZE_AND_OPTIONS(__VA_ARGS__)})
FY_API FyTensor *fy_randn_with(FyFactory options);

// Creates a tensor of random integers in [low, high). Raises FY_RUNTIME_ERROR unless low < high, and if the dtype
// cannot represent these integers. PyTorch: torch.randint(low, high, size).
#define fy_randint(low, high, ...) fy_randint_with((low), (high), (FyFactory){FY_SIZE_AND_OPTIONS(__VA_ARGS__)})
FY_API FyTensor *fy_randint_with(int64_t low, int64_t high, FyFactory options);

// Creates a random permutation of 0 to n - 1, int64 by default: fy_randperm(10, .device = device). Raises FY_TYPE_ERROR
// if n is not a whole number, and FY_RUNTIME_ERROR if it is negative. PyTorch: torch.randperm(n).
#define fy_randperm(...) fy_randperm_with((FyRange){.end = __VA_ARGS__})

// Creates a 1-D tensor of the numbers from start to end, without end: fy_arange(10), fy_arange(1, .start = 0, .step =
// 0.25). If start, end and step are whole numbers, the default dtype is int64, otherwise float32. Raises
// FY_RUNTIME_ERROR if the sign of step does not match start and end, and FY_TYPE_ERROR for fractional numbers with an
// integer dtype. PyTorch: torch.arange(start, end, step).
#define fy_arange(...) fy_arange_with((FyRange){.end = __VA_ARGS__})
typedef struct FyRange {
  double end;
  FyNamedOptions no_number_here; // .start = ..., .step = ...
  double start, step;            // a step of 0 means 1
  FyDType dtype;
  FyDevice device;
  bool requires_grad;
} FyRange;
FY_API FyTensor *fy_randperm_with(FyRange options);
FY_API FyTensor *fy_arange_with(FyRange options);

// Creates a 1-D tensor of `steps` equally spaced numbers from start to end, including both, float32 by default:
// fy_linspace(0, 1, 5), fy_linspace(0, 1, 5, .device = device). Raises FY_RUNTIME_ERROR if steps is negative. PyTorch:
// torch.linspace(start, end, steps).
#define fy_linspace(start, end, ...) fy_linspace_with((start), (end), (FyLinspace){.steps = __VA_ARGS__})
typedef struct FyLinspace {
  int64_t steps;
  FyDType dtype;
  FyDevice device;
  bool requires_grad;
} FyLinspace;
FY_API FyTensor *fy_linspace_with(double start, double end, FyLinspace options);

// Creates an n by n matrix with ones on the diagonal and zeros elsewhere, float32 by default. Raises the same errors as
// fy_randperm. PyTorch: torch.eye(n).
#define fy_eye(...) fy_eye_with((FyRange){.end = __VA_ARGS__})
FY_API FyTensor *fy_eye_with(FyRange options);

// Create a tensor with the shape, dtype and device of `like`.
FY_API FyTensor *fy_zeros_like(const FyTensor *like);              // torch.zeros_like(like)
FY_API FyTensor *fy_ones_like(const FyTensor *like);               // torch.ones_like(like)
FY_API FyTensor *fy_empty_like(const FyTensor *like);              // torch.empty_like(like)
FY_API FyTensor *fy_full_like(const FyTensor *like, double value); // torch.full_like(like, value)
FY_API FyTensor *fy_rand_like(const FyTensor *like);               // torch.rand_like(like)
FY_API FyTensor *fy_randn_like(const FyTensor *like);              // torch.randn_like(like)

// Return a number as a 0-dim CPU tensor that acts like a Python number in type promotion: fy_add(x, fy_number(1)) keeps
// the dtype of a floating-point x, like x + 1.0 in Python. fy_number returns a float64 tensor, fy_integer an int64
// tensor.
FY_API FyTensor *fy_number(double value);
FY_API FyTensor *fy_integer(int64_t value);

#endif
