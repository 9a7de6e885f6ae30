// SPDX-License-Identifier: MIT
// Benchmark mode: convolutions time their algorithms and use the fastest. torch.backends.cudnn.benchmark.
//
//   fy_backends_set_benchmark(true);  // PyTorch: torch.backends.cudnn.benchmark = True
//   train(...);                       // the first step takes longer: the algorithms are timed for each shape
//   fputs(fy_backends_benchmark_report(), stdout);
//
// A convolution, and its gradient with respect to the input or the weight, can be computed by several algorithms. Which
// one is fastest depends on the sizes and on the machine. Without benchmark mode, a heuristic chooses by the sizes. In
// benchmark mode, the first call of each configuration runs a search: it times every algorithm on the data of the call,
// once as a warm-up and then in rounds, alternating between the algorithms, until the same algorithm has been the fastest
// in four rounds in a row (at most 40 rounds). The best time of each counts. The heuristic's choice is timed as well, and
// another algorithm replaces it only if it takes at least 3 % less time. The result is stored, and later calls of the
// configuration use it at no cost.
//
// A configuration consists of the direction (forward, gradient of the input, gradient of the weight), the sizes of
// input and weight, stride, padding, dilation, groups, bias, dtype, memory layout, device, and, on the CPU, the number
// of threads. If the sizes change in every step of a program, every step pays for a search. Leave the mode off in such
// a program.
//
// Algorithms on the CPU: a matrix product of columns of pixels (im2col); oneDNN's direct convolution, in chunks or on
// the whole batch; Winograd's algorithm (3x3 kernels, float32); and a direct algorithm for the fused op of convolution,
// ReLU and pooling. Algorithms on CUDA: an explicit and an implicit matrix product, and, if cuDNN is installed, those
// of its algorithms that give bit-identical results in every run. An algorithm is skipped if it does not support the
// convolution or cannot allocate its workspace. The fused op uses one algorithm for both gradients.
//
// Results: each algorithm gives the same bits in every run, but the algorithms differ from each other in rounding.
// Winograd's algorithm differs the most, by about 2e-6 of the largest value. A search may choose a different algorithm
// in the next run, so the results of two runs in benchmark mode may differ in the last bits. In deterministic mode, the
// heuristic chooses even if benchmark mode is on. To exclude Winograd's algorithm, call fy_backends_set_winograd.
//
// While a CUDA graph is being captured (fy_cuda_graph_capture), stored results are used and nothing is timed, so warm
// up before the capture. Traced modules (fy_trace) always use the heuristic. So do simulated devices, because their
// times say nothing about a GPU; the report then says so.
//
// Any thread may call these functions. The settings and the stored results are those of the whole process.
#ifndef FERRY_OP_BENCHMARK_H
#define FERRY_OP_BENCHMARK_H

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

// Turn benchmark mode on or off, and return whether it is on. It is off at first. Stored results are kept while it is
// off. Never raise. PyTorch: torch.backends.cudnn.benchmark.
FY_API void fy_backends_set_benchmark(bool on);
FY_API bool fy_backends_benchmark(void);

// Turn deterministic mode on or off, and return whether it is on. It is off at first. While it is on, benchmark mode
// has no effect, so two runs of a program compute the same bits. (PyTorch's mode excludes algorithms whose results
// differ from run to run, of which Ferry has none, but does not turn off benchmark mode.) Never raise. PyTorch:
// torch.backends.cudnn.deterministic.
FY_API void fy_backends_set_deterministic(bool on);
FY_API bool fy_backends_deterministic(void);

// Turn Winograd's algorithm for 3x3 convolutions on or off, and return whether it is on. It is on at first. If it is
// off, neither the heuristic nor benchmark mode uses it, and cuDNN's versions are excluded as well.
//
// The heuristic uses it only on the CPU, where it is clearly faster by costs measured on this machine
// (core/op/convolution/conv_costs.h; fixed ones in deterministic mode): for float32, stride 1, padding of at most 2, no
// dilation or groups, 16 or more input and output channels (whose product is at most 256 * 256), and at least 128 tiles
// of 4 by 4 outputs, of which the images fill most. Its error is 2 to 4 times that of a direct convolution, and depends
// on the largest products in a tile (core/op/convolution/winograd.h). Infinities, NaN and overflow give the same
// results as a direct convolution, because a call with an element of magnitude 2^32 or more is computed directly.
//
// Never raise. PyTorch: torch.backends.nnpack.set_flags. (NNPACK's convolutions, which PyTorch has on the CPU in
// addition to oneDNN's, also use Winograd's algorithm.)
FY_API void fy_backends_set_winograd(bool on);
FY_API bool fy_backends_winograd(void);

// Returns the number of searches since the program started, and the time that they took. A call whose configuration is
// already stored does not search. Never raises.
typedef struct FyBenchmarkCounts {
  int64_t searches;
  double seconds; // measured, the sum over all searches
} FyBenchmarkCounts;
FY_API FyBenchmarkCounts fy_backends_benchmark_counts(void);

// Returns the stored results as a table: for each configuration, the chosen algorithm and the times of all algorithms
// that were timed. At most 256 configurations are stored; after that, a new one replaces the least recently used one.
// The text is valid until the innermost scope closes. Raises FY_OUT_OF_MEMORY_ERROR.
FY_API const char *fy_backends_benchmark_report(void);

// Deletes all stored results, so that the next call of each configuration searches again. Never raises.
FY_API void fy_backends_benchmark_clear(void);

#endif
