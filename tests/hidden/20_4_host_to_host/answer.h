// What an answer to exercise 20.4 defines.
#include <cuda_runtime.h>

extern "C" void scale_on_device(float *y, const float *x, float a, int n, int *error);

#ifdef FERRY_SIM
extern "C" cudaError_t note_free(void *memory); // the driver's: it may return an error
#define cudaFree note_free
#endif
