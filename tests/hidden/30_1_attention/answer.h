// What an answer to exercise 30.1 defines. On simulated devices the driver counts the memory that it allocates.
#include <cuda_runtime.h>

extern "C" void attention_on_device(float *out, const float *q, const float *k, const float *v, int heads, int n);

#ifdef FERRY_SIM
extern "C" size_t note_allocation(size_t bytes);
#define cudaMalloc(pointer, bytes) cudaMalloc(pointer, note_allocation(bytes))
#define cudaMallocAsync(pointer, bytes, ...) cudaMallocAsync(pointer, note_allocation(bytes), __VA_ARGS__)
#define cudaMallocManaged(pointer, bytes, ...) cudaMallocManaged(pointer, note_allocation(bytes), ##__VA_ARGS__)
#endif
