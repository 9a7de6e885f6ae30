// What an answer to exercise 25.1 defines. On simulated devices its atomic additions are counted by the driver, those on global
// memory and those elsewhere.
#include <cuda_runtime.h>

extern "C" void histogram_on_device(unsigned int *counts, const int *x, int n, int bins);

#ifdef FERRY_SIM
extern "C" void note_atomic(const void *address);
extern "C" void note_barrier(void);

template <class T, class V> static inline T counted_add(T *address, V value) {
  note_atomic(address);
  return atomicAdd(address, static_cast<T>(value));
}
template <class T> static inline T counted_increment(T *address, T limit) {
  note_atomic(address);
  return atomicInc(address, limit);
}
#define atomicAdd counted_add
#define atomicInc counted_increment
#define __syncthreads(...) (note_barrier(), __syncthreads(__VA_ARGS__)) // arguments: in cooperative_groups.h
#endif
