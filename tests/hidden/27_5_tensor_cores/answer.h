// What an answer to exercise 27.5 defines. On simulated devices the driver counts the products of fragments, and the fragments whose
// address or stride tensor cores do not accept.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

extern "C" void matmul_on_device(float *c, const half *a, const half *b, int m, int n, int k);

#ifdef FERRY_SIM
#include <stdint.h>

extern "C" void note_product(void);
extern "C" void note_fragment(bool accepted);

// At 32 bytes, with a stride of a multiple of 16 bytes.
template <class T> static __device__ inline T *noted(T *address, unsigned int stride, int = 0) {
  note_fragment((uintptr_t)address % 32 == 0 && stride * sizeof(T) % 16 == 0);
  return address;
}
#define load_matrix_sync(fragment, from, ...) load_matrix_sync(fragment, noted(from, __VA_ARGS__), __VA_ARGS__)
#define store_matrix_sync(to, fragment, stride, layout) store_matrix_sync(noted(to, stride), fragment, stride, layout)
#define mma_sync(sum, ...) mma_sync((note_product(), sum), __VA_ARGS__)
#endif
