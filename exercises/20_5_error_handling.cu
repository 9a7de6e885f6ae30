// Exercise 20.5: whose error?                                                   (chapter 20, docs/20_the_first_kernel.md)
//
// Write mark_on_device, which launches the kernel `mark`, waits for it if it began, and says what went wrong, and when:
//
//   *before   the error that was there already when the function was called, of a launch or another call: nobody asked.
//             A kernel that is still running then has made none; no earlier kernel goes wrong here
//   *launch   the error of this launch: it could not begin
//   *kernel   the error of this kernel while it ran; cudaSuccess if it never began
//
// Each is a cudaError_t as a number, cudaSuccess (0) where there was none.
//
// Given: d_out in device memory, blocks * threads elements; in one test it is NULL, and the kernel goes wrong. blocks
// and threads may be what no launch can have. How many launches are possible is the runtime's to say, not yours to
// guess. Nothing is to be left behind: who asks for the last error afterwards finds none (but for that of a kernel that
// went wrong, which stays whatever one does).
//
//   PyTorch does the first two for every kernel of its own: C10_CUDA_KERNEL_LAUNCH_CHECK().
#include <cuda_runtime.h>

__global__ void mark(int *out, int value) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

extern "C" void mark_on_device(int *d_out, int value, int blocks, int threads, int *before, int *launch, int *kernel) {
  (void)d_out;
  (void)value;
  (void)blocks;
  (void)threads;
  *before = *launch = *kernel = -1;
}
