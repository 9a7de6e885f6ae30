// SPDX-License-Identifier: MIT
// Simulated cuFFT: plans by types and long sizes, functions of the program's own that load and store elements, and complex transforms
// that lie on several devices. Not there: half, real transforms on several devices, callbacks compiled at run time.
#ifndef CUDASIM_CUFFTXT_H
#define CUDASIM_CUFFTXT_H
#define _CUFFTXT_H_

#include "cufft.h"
#include "library_types.h"

enum { MAX_CUDA_DESCRIPTOR_GPUS = 64 };

typedef enum libFormat_t { LIB_FORMAT_CUFFT = 0, LIB_FORMAT_UNDEFINED = 1 } libFormat;

// Where the parts of an array lie: part i on device GPUs[i], size[i] bytes from data[i].
typedef struct cudaXtDesc_t {
  int version, nGPUs;
  int GPUs[MAX_CUDA_DESCRIPTOR_GPUS];
  void *data[MAX_CUDA_DESCRIPTOR_GPUS];
  size_t size[MAX_CUDA_DESCRIPTOR_GPUS];
  void *cudaXtState;
} cudaXtDesc;

typedef struct cudaLibXtDesc_t {
  int version;
  cudaXtDesc *descriptor;
  libFormat library;
  int subFormat; // a cufftXtSubFormat
  void *libDescriptor;
} cudaLibXtDesc;

typedef enum cufftXtSubFormat_t {
  CUFFT_XT_FORMAT_INPUT = 0,
  CUFFT_XT_FORMAT_OUTPUT = 1,
  CUFFT_XT_FORMAT_INPLACE = 2, // in order, divided along the first dimension
  CUFFT_XT_FORMAT_INPLACE_SHUFFLED =
      3, // as a transform leaves it: divided along the second dimension, where there is one
  CUFFT_XT_FORMAT_1D_INPUT_SHUFFLED = 4,
  CUFFT_FORMAT_UNDEFINED = 7
} cufftXtSubFormat;

typedef enum cufftXtCopyType_t {
  CUFFT_COPY_HOST_TO_DEVICE = 0,
  CUFFT_COPY_DEVICE_TO_HOST = 1,
  CUFFT_COPY_DEVICE_TO_DEVICE = 2,
  CUFFT_COPY_UNDEFINED = 3
} cufftXtCopyType;

typedef enum cufftXtCallbackType_t {
  CUFFT_CB_LD_COMPLEX = 0,
  CUFFT_CB_LD_COMPLEX_DOUBLE = 1,
  CUFFT_CB_LD_REAL = 2,
  CUFFT_CB_LD_REAL_DOUBLE = 3,
  CUFFT_CB_ST_COMPLEX = 4,
  CUFFT_CB_ST_COMPLEX_DOUBLE = 5,
  CUFFT_CB_ST_REAL = 6,
  CUFFT_CB_ST_REAL_DOUBLE = 7,
  CUFFT_CB_UNDEFINED = 8
} cufftXtCallbackType;

// offset: the element's, in elements, from data; info: what the program gave; shared: cufftXtSetCallbackSharedSize bytes.
typedef cufftComplex (*cufftCallbackLoadC)(void *data, size_t offset, void *info, void *shared);
typedef cufftDoubleComplex (*cufftCallbackLoadZ)(void *data, size_t offset, void *info, void *shared);
typedef cufftReal (*cufftCallbackLoadR)(void *data, size_t offset, void *info, void *shared);
typedef cufftDoubleReal (*cufftCallbackLoadD)(void *data, size_t offset, void *info, void *shared);
typedef void (*cufftCallbackStoreC)(void *data, size_t offset, cufftComplex value, void *info, void *shared);
typedef void (*cufftCallbackStoreZ)(void *data, size_t offset, cufftDoubleComplex value, void *info, void *shared);
typedef void (*cufftCallbackStoreR)(void *data, size_t offset, cufftReal value, void *info, void *shared);
typedef void (*cufftCallbackStoreD)(void *data, size_t offset, cufftDoubleReal value, void *info, void *shared);

CUDASIM_BEGIN_C

// ---- plans ----
// The types of what is read, written and computed are those of one of cuFFT's six transforms; others: CUFFT_NOT_SUPPORTED.
cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride,
                                long long idist, cudaDataType inputtype, long long *onembed, long long ostride,
                                long long odist, cudaDataType outputtype, long long batch, size_t *workSize,
                                cudaDataType executiontype) CUDASIM_SYMBOL(cufftXtMakePlanMany);
// direction counts for complex transforms alone.
cufftResult cufftXtExec(cufftHandle plan, void *input, void *output, int direction) CUDASIM_SYMBOL(cufftXtExec);

// ---- callbacks ----
// routine[0]: a device function of the kind that the type names, which must be that of the plan's input or output; info[0]: its info.
cufftResult cufftXtSetCallback(cufftHandle plan, void **routine, cufftXtCallbackType type, void **info)
    CUDASIM_SYMBOL(cufftXtSetCallback);
cufftResult cufftXtClearCallback(cufftHandle plan, cufftXtCallbackType type) CUDASIM_SYMBOL(cufftXtClearCallback);
cufftResult cufftXtSetCallbackSharedSize(cufftHandle plan, cufftXtCallbackType type, size_t bytes)
    CUDASIM_SYMBOL(cufftXtSetCallbackSharedSize);

// ---- several devices ----
// Before the plan is made. Calls that copy and transform have done so when they return.
cufftResult cufftXtSetGPUs(cufftHandle plan, int nGPUs, int *whichGPUs) CUDASIM_SYMBOL(cufftXtSetGPUs);
// The plan's elements in parts, one on each of its devices; the caller frees them.
cufftResult cufftXtMalloc(cufftHandle plan, cudaLibXtDesc **descriptor, cufftXtSubFormat format)
    CUDASIM_SYMBOL(cufftXtMalloc);
cufftResult cufftXtFree(cudaLibXtDesc *descriptor) CUDASIM_SYMBOL(cufftXtFree);
// Host arrays are in order; so is what lies on devices after a copy to them, whatever it was copied from.
cufftResult cufftXtMemcpy(cufftHandle plan, void *to, void *from, cufftXtCopyType type) CUDASIM_SYMBOL(cufftXtMemcpy);
// In place alone (input is output); afterwards the format is the other of INPLACE and INPLACE_SHUFFLED.
cufftResult cufftXtExecDescriptorC2C(cufftHandle plan, cudaLibXtDesc *input, cudaLibXtDesc *output, int direction)
    CUDASIM_SYMBOL(cufftXtExecDescriptorC2C);
cufftResult cufftXtExecDescriptorZ2Z(cufftHandle plan, cudaLibXtDesc *input, cudaLibXtDesc *output, int direction)
    CUDASIM_SYMBOL(cufftXtExecDescriptorZ2Z);

CUDASIM_END_C

#endif
