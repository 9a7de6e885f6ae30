// SPDX-License-Identifier: MIT
// Simulated cuFFT: transforms of one to three dimensions, complex and real, in float and double, many at a time, with the layouts of
// cufftPlanMany. They are computed in double. Several devices and callbacks: cufftXt.h. Not there: half.
#ifndef CUDASIM_CUFFT_H
#define CUDASIM_CUFFT_H
#define _CUFFT_H_ // what helper headers ask for

#include "cuComplex.h"
#include "cuda_runtime_api.h"

#define CUFFT_FORWARD -1
#define CUFFT_INVERSE 1
#define CUFFT_VERSION 12000

typedef enum cufftResult_t {
  CUFFT_SUCCESS = 0,
  CUFFT_INVALID_PLAN = 1,
  CUFFT_ALLOC_FAILED = 2,
  CUFFT_INVALID_TYPE = 3,
  CUFFT_INVALID_VALUE = 4,
  CUFFT_INTERNAL_ERROR = 5,
  CUFFT_EXEC_FAILED = 6,
  CUFFT_SETUP_FAILED = 7,
  CUFFT_INVALID_SIZE = 8,
  CUFFT_UNALIGNED_DATA = 9,
  CUFFT_INVALID_DEVICE = 11,
  CUFFT_NO_WORKSPACE = 13,
  CUFFT_NOT_IMPLEMENTED = 14,
  CUFFT_NOT_SUPPORTED = 16,
  CUFFT_MISSING_DEPENDENCY = 17,
  CUFFT_NVRTC_FAILURE = 18,
  CUFFT_NVJITLINK_FAILURE = 19,
  CUFFT_NVSHMEM_FAILURE = 20
} cufftResult;

typedef enum cufftType_t {
  CUFFT_R2C = 0x2a,
  CUFFT_C2R = 0x2c,
  CUFFT_C2C = 0x29,
  CUFFT_D2Z = 0x6a,
  CUFFT_Z2D = 0x6c,
  CUFFT_Z2Z = 0x69
} cufftType;

typedef float cufftReal;
typedef double cufftDoubleReal;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;
typedef int cufftHandle;

CUDASIM_BEGIN_C

// A plan by a call, or created first and made afterwards; workSize is 0, for none is needed.
cufftResult cufftPlan1d(cufftHandle *plan, int nx, cufftType type, int batch) CUDASIM_SYMBOL(cufftPlan1d);
cufftResult cufftPlan2d(cufftHandle *plan, int nx, int ny, cufftType type) CUDASIM_SYMBOL(cufftPlan2d);
cufftResult cufftPlan3d(cufftHandle *plan, int nx, int ny, int nz, cufftType type) CUDASIM_SYMBOL(cufftPlan3d);
cufftResult cufftPlanMany(cufftHandle *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                          int ostride, int odist, cufftType type, int batch) CUDASIM_SYMBOL(cufftPlanMany);
cufftResult cufftCreate(cufftHandle *plan) CUDASIM_SYMBOL(cufftCreate);
cufftResult cufftMakePlan1d(cufftHandle plan, int nx, cufftType type, int batch, size_t *workSize)
    CUDASIM_SYMBOL(cufftMakePlan1d);
cufftResult cufftMakePlan2d(cufftHandle plan, int nx, int ny, cufftType type, size_t *workSize)
    CUDASIM_SYMBOL(cufftMakePlan2d);
cufftResult cufftMakePlan3d(cufftHandle plan, int nx, int ny, int nz, cufftType type, size_t *workSize)
    CUDASIM_SYMBOL(cufftMakePlan3d);
cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                              int ostride, int odist, cufftType type, int batch, size_t *workSize)
    CUDASIM_SYMBOL(cufftMakePlanMany);
cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride,
                                long long idist, long long *onembed, long long ostride, long long odist, cufftType type,
                                long long batch, size_t *workSize) CUDASIM_SYMBOL(cufftMakePlanMany64);
cufftResult cufftDestroy(cufftHandle plan) CUDASIM_SYMBOL(cufftDestroy);
cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream) CUDASIM_SYMBOL(cufftSetStream);
cufftResult cufftGetSize(cufftHandle plan, size_t *workSize) CUDASIM_SYMBOL(cufftGetSize);
cufftResult cufftEstimate1d(int nx, cufftType type, int batch, size_t *workSize) CUDASIM_SYMBOL(cufftEstimate1d);
cufftResult cufftEstimate2d(int nx, int ny, cufftType type, size_t *workSize) CUDASIM_SYMBOL(cufftEstimate2d);
cufftResult cufftEstimate3d(int nx, int ny, int nz, cufftType type, size_t *workSize) CUDASIM_SYMBOL(cufftEstimate3d);
cufftResult cufftSetAutoAllocation(cufftHandle plan, int automatic) CUDASIM_SYMBOL(cufftSetAutoAllocation);
cufftResult cufftSetWorkArea(cufftHandle plan, void *area) CUDASIM_SYMBOL(cufftSetWorkArea);
cufftResult cufftGetVersion(int *version) CUDASIM_SYMBOL(cufftGetVersion);

// In the plan's stream; in place where both are the same. None is divided by the number of elements.
cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *in, cufftComplex *out, int direction)
    CUDASIM_SYMBOL(cufftExecC2C);
cufftResult cufftExecR2C(cufftHandle plan, cufftReal *in, cufftComplex *out) CUDASIM_SYMBOL(cufftExecR2C);
cufftResult cufftExecC2R(cufftHandle plan, cufftComplex *in, cufftReal *out) CUDASIM_SYMBOL(cufftExecC2R);
cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleComplex *out, int direction)
    CUDASIM_SYMBOL(cufftExecZ2Z);
cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal *in, cufftDoubleComplex *out) CUDASIM_SYMBOL(cufftExecD2Z);
cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleReal *out) CUDASIM_SYMBOL(cufftExecZ2D);

CUDASIM_END_C

#endif
