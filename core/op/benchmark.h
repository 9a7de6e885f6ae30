// SPDX-License-Identifier: MIT
// Benchmark mode: convolutions try their algorithms and keep the fastest. torch.backends.cudnn.benchmark.
//
//   fy_backends_set_benchmark(true);  // PyTorch: torch.backends.cudnn.benchmark = True
//   train(...);                       // the first step takes longer: each shape's algorithms are timed
//   fputs(fy_backends_benchmark_report(), stdout);
//
// A convolution, or its gradient by the input or by the weight, can be computed in several ways, and which is fastest depends on
// its sizes and on the machine. Without this mode a rule chooses by the sizes. With it, the first call of each kind times every
// algorithm on its own data: once to warm up, then three to twelve times, alternating; the best time counts. What it chose is
// remembered, and further calls of the kind use it at no cost. A kind is: the pass, the sizes of input and weight, stride,
// padding, dilation, groups, bias, dtype, layout, the device, and on the CPU the number of threads. A program whose sizes are
// ever new pays for a search in every step: leave the mode off there.
//
// Algorithms: on the CPU a matrix product over columns, oneDNN's direct convolution in chunks or on the whole batch, Winograd's
// (3x3 kernels, float32), and where it runs as one op with ReLU and pooling a direct one; on CUDA explicit and
// implicit matrix products and, where cuDNN is installed, those of its algorithms that give the same bits in every run. One that
// does not do a convolution, or finds no memory, is passed over. Convolution, ReLU and pooling as one op have one algorithm for
// both gradients.
//
// Results: each algorithm gives the same bits in every run, but they differ from each other in rounding (Winograd by the most,
// about 2e-6 of the largest value), and a search may choose differently another time. So two runs of a program in this mode
// need not agree in every bit. In deterministic mode the rule chooses, whatever this mode is. Winograd's can be ruled out
// (fy_backends_set_winograd).
//
// While a CUDA graph is captured (fy_cuda_graph_capture), what is known is used and nothing is timed: warm up before. A traced
// module (fy_trace) computes by the rule.
//
// On a simulated device nothing is timed, since its times say nothing about a GPU: the rule chooses, and the report says so.
#ifndef FERRY_OP_BENCHMARK_H
#define FERRY_OP_BENCHMARK_H

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

// torch.backends.cudnn.benchmark: off at first, for all threads. What has been chosen is kept while it is off. Never raise.
FY_API void fy_backends_set_benchmark(bool on);
FY_API bool fy_backends_benchmark(void);

// After torch.backends.cudnn.deterministic: while it is on, benchmark mode chooses nothing, so that two runs of a program compute
// the same bits. (PyTorch's rules out algorithms that differ from run to run, of which Ferry has none, and does go on
// choosing.) Off at first. Never raise.
FY_API void fy_backends_set_deterministic(bool on);
FY_API bool fy_backends_deterministic(void);

// Whether 3x3 convolutions may be computed by Winograd's algorithm: on at first, for all threads. The rule takes it on the
// CPU where it is clearly faster: float32, stride 1, padding of at most 2, no dilation or groups, 16 channels and more on
// both sides (at most 256 times 256), and tiles of 4 by 4 outputs, 128 at least, that images fill well. Its error is 2 to 4
// times a direct convolution's, and is measured by the largest products of a tile (core/op/convolution/winograd.h);
// infinities, NaNs and overflow come out as in a direct one, since a call with a number of 2^32 or more is given to one. Off:
// convolutions are direct, by rule and in benchmark mode, cuDNN's too. After torch.backends.nnpack.set_flags: NNPACK's
// convolutions, which PyTorch's CPU has in addition to oneDNN's, are also Winograd's. Never raise.
FY_API void fy_backends_set_winograd(bool on);
FY_API bool fy_backends_winograd(void);

// How many times algorithms have been timed since the program began, and how many seconds that took. One search is one kind of
// call; a call that finds its kind among those remembered is none. Never raises.
typedef struct FyBenchmarkCounts {
  int64_t searches;
  double seconds; // measured, of all of them
} FyBenchmarkCounts;
FY_API FyBenchmarkCounts fy_backends_benchmark_counts(void);

// What is remembered, as a table: for each kind the algorithm chosen and the times of all that were tried. At most 256 kinds are
// remembered; then the one that was used longest ago makes room. Text, valid until the innermost scope closes. Raises
// FY_OUT_OF_MEMORY_ERROR.
FY_API const char *fy_backends_benchmark_report(void);

// Clears the cache, so that the next call of each kind is timed again. Never raises.
FY_API void fy_backends_benchmark_clear(void);

#endif
