// SPDX-License-Identifier: MIT
// Making tensors: torch.tensor, zeros, randn, arange and their family.
//
// What is returned belongs to the innermost open scope. Every function here raises FY_OUT_OF_MEMORY_ERROR when memory runs
// out, and FY_RUNTIME_ERROR when a device is not there.
#ifndef FERRY_OP_FACTORY_H
#define FERRY_OP_FACTORY_H

#include "tensor/tensor.h"

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
  FyNamedOptions no_number_here; // .dtype = ..., .device = ...
  FyDType dtype;
  FyDevice device;
  bool requires_grad, pin_memory;
} FyFactory;

// torch.tensor(data, ...): copies row-major host data of `size`, FySize, whose element type is that of the pointer:
//   fy_tensor(fy_floats(1, 2, 3, 4), fy_shape(2, 2), .device = device)
// Without .dtype the result has the pointer's element type. On a CUDA device the copy is complete when the call returns.
#define fy_tensor(data, ...) fy_tensor_with((data), FY_DTYPE_OF(data), (FyFactory){FY_SIZE_AND_OPTIONS(__VA_ARGS__)})
#define fy_floats(...) ((float[]){__VA_ARGS__})
#define fy_doubles(...) ((double[]){__VA_ARGS__})
#define fy_longs(...) ((int64_t[]){__VA_ARGS__})
#define fy_ints(...) ((int[]){__VA_ARGS__})
FY_API FyTensor *fy_tensor_with(const void *data, FyDType data_dtype, FyFactory options);

// torch.empty: uninitialized (on a simulated device: NaN).
#define fy_empty(...) fy_empty_with((FyFactory){FY_SIZE_AND_OPTIONS(__VA_ARGS__)})
FY_API FyTensor *fy_empty_with(FyFactory options);

// torch.zeros, torch.ones: fy_zeros(fy_shape(3, 3), .device = device).
#define fy_zeros(...) fy_zeros_with((FyFactory){FY_SIZE_AND_OPTIONS(__VA_ARGS__)})
FY_API FyTensor *fy_zeros_with(FyFactory options);
#define fy_ones(...) fy_ones_with((FyFactory){FY_SIZE_AND_OPTIONS(__VA_ARGS__)})
FY_API FyTensor *fy_ones_with(FyFactory options);

// torch.full(size, value): fy_full(3.5, fy_shape(2, 2)). The value comes first here.
#define fy_full(value, ...) fy_full_with((value), (FyFactory){FY_SIZE_AND_OPTIONS(__VA_ARGS__)})
FY_API FyTensor *fy_full_with(double value, FyFactory options);

// torch.rand: uniform in [0, 1). torch.randn: standard normal. Floating dtypes only (FY_TYPE_ERROR).
#define fy_rand(...) fy_rand_with((FyFactory){FY_SIZE_AND_OPTIONS(__VA_ARGS__)})
FY_API FyTensor *fy_rand_with(FyFactory options);
#define fy_randn(...) fy_randn_with((FyFactory){FY_SIZE_AND_OPTIONS(__VA_ARGS__)})
FY_API FyTensor *fy_randn_with(FyFactory options);

// torch.randint(low, high, size): integers in [low, high). Raises FY_RUNTIME_ERROR unless low < high.
#define fy_randint(low, high, ...) fy_randint_with((low), (high), (FyFactory){FY_SIZE_AND_OPTIONS(__VA_ARGS__)})
FY_API FyTensor *fy_randint_with(int64_t low, int64_t high, FyFactory options);

// torch.randperm(n): a random permutation of 0..n-1, int64. Raises FY_TYPE_ERROR unless n is whole, FY_RUNTIME_ERROR below 0;
// so does fy_eye. Options after n: fy_randperm(10, .device = device).
#define fy_randperm(...) fy_randperm_with((FyRange){.end = __VA_ARGS__})
// torch.arange(end): fy_arange(10), fy_arange(1, .start = 0, .step = 0.25). int64 when start, end and step are whole
// numbers and no dtype is given, else float32.
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

#endif
