// What an answer to exercise 24.1 defines. On simulated devices its atomic operations, barriers and shuffles are counted by the
// driver.
#include <cuda_runtime.h>

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n);

#ifdef FERRY_SIM
extern "C" void note_atomic(void);
extern "C" void note_barrier(void);
extern "C" void note_shuffle(void);
extern "C" void note_fence(void);

#define atomicAdd(...) (note_atomic(), atomicAdd(__VA_ARGS__))
#define atomicSub(...) (note_atomic(), atomicSub(__VA_ARGS__))
#define atomicInc(...) (note_atomic(), atomicInc(__VA_ARGS__))
#define atomicCAS(...) (note_atomic(), atomicCAS(__VA_ARGS__))
#define atomicExch(...) (note_atomic(), atomicExch(__VA_ARGS__))
#define __syncthreads(...) (note_barrier(), __syncthreads(__VA_ARGS__)) // arguments: in cooperative_groups.h
#define __threadfence() (note_fence(), __threadfence())
#define __shfl_sync(...) (note_shuffle(), __shfl_sync(__VA_ARGS__))
#define __shfl_up_sync(...) (note_shuffle(), __shfl_up_sync(__VA_ARGS__))
#define __shfl_down_sync(...) (note_shuffle(), __shfl_down_sync(__VA_ARGS__))
#define __shfl_xor_sync(...) (note_shuffle(), __shfl_xor_sync(__VA_ARGS__))
#endif
