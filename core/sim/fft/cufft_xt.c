// SPDX-License-Identifier: MIT
// Simulated cuFFT: what cufftXt.h adds. A transform on several devices is gathered, computed as one, and spread again.
#include <stdio.h>
#include <stdlib.h>

#include "sim/fft/cufft_impl.h"
#include "sim/base/sim.h"

// ---- plans ----

static bool type_of(cudaDataType in, cudaDataType out, cudaDataType execution, cufftType *type) {
  static const struct {
    cudaDataType in, out;
    cufftType type;
  } known[] = {{CUDA_C_32F, CUDA_C_32F, CUFFT_C2C}, {CUDA_R_32F, CUDA_C_32F, CUFFT_R2C},
               {CUDA_C_32F, CUDA_R_32F, CUFFT_C2R}, {CUDA_C_64F, CUDA_C_64F, CUFFT_Z2Z},
               {CUDA_R_64F, CUDA_C_64F, CUFFT_D2Z}, {CUDA_C_64F, CUDA_R_64F, CUFFT_Z2D}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].in == in && known[i].out == out &&
        execution == (sim_cufft_in_double(known[i].type) ? CUDA_C_64F : CUDA_C_32F)) {
      *type = known[i].type;
      return true;
    }
  return false;
}

// False where a size does not fit.
static bool shorten(const long long *from, int rank, int *to) {
  for (int d = 0; from && d < rank; d++) {
    if (from[d] < 0 || from[d] > INT32_MAX)
      return false;
    to[d] = (int)from[d];
  }
  return true;
}

cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride,
                                long long idist, long long *onembed, long long ostride, long long odist, cufftType type,
                                long long batch, size_t *workSize) {
  int sizes[CUFFT_MAX_RANK], in[CUFFT_MAX_RANK], out[CUFFT_MAX_RANK], others[5];
  if (rank < 1 || rank > CUFFT_MAX_RANK || n == NULL)
    return CUFFT_INVALID_VALUE;
  if (!shorten(n, rank, sizes) || !shorten(inembed, rank, in) || !shorten(onembed, rank, out) ||
      !shorten((long long[]){istride, idist, ostride, odist, batch}, 5, others))
    return CUFFT_INVALID_SIZE;
  return cufftMakePlanMany(plan, rank, sizes, inembed ? in : NULL, others[0], others[1], onembed ? out : NULL,
                           others[2], others[3], type, others[4], workSize);
}

cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride,
                                long long idist, cudaDataType inputtype, long long *onembed, long long ostride,
                                long long odist, cudaDataType outputtype, long long batch, size_t *workSize,
                                cudaDataType executiontype) {
  cufftType type;
  if (!type_of(inputtype, outputtype, executiontype, &type))
    return CUFFT_NOT_SUPPORTED;
  return cufftMakePlanMany64(plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, workSize);
}

cufftResult cufftXtExec(cufftHandle handle, void *input, void *output, int direction) {
  const struct cufft_plan *plan = sim_cufft_find(handle);
  if (plan == NULL || !plan->made)
    return CUFFT_INVALID_PLAN;
  const int sign = sim_cufft_from_real(plan->type) ? CUFFT_FORWARD
                   : sim_cufft_to_real(plan->type) ? CUFFT_INVERSE
                                                   : direction;
  return sim_cufft_execute(handle, plan->type, input, output, sign);
}

// ---- callbacks ----

static struct cufft_callback *callback_of(struct cufft_plan *plan, cufftXtCallbackType type) {
  const bool loads = type <= CUFFT_CB_LD_REAL_DOUBLE;
  const bool real = loads ? sim_cufft_from_real(plan->type) : sim_cufft_to_real(plan->type);
  const cufftXtCallbackType right = (cufftXtCallbackType)((loads ? CUFFT_CB_LD_COMPLEX : CUFFT_CB_ST_COMPLEX) +
                                                          2 * real + sim_cufft_in_double(plan->type));
  return type != right ? NULL : loads ? &plan->load : &plan->store;
}

static cufftResult set_callback(cufftHandle handle, cufftXtCallbackType type, struct cufft_callback callback) {
  struct cufft_plan *plan = sim_cufft_find(handle);
  if (plan == NULL || !plan->made)
    return CUFFT_INVALID_PLAN;
  if (plan->gpus) {
    fputs("cudasim: callbacks of a plan on several devices (cufftXtSetGPUs) are not simulated\n", stderr);
    return CUFFT_NOT_SUPPORTED;
  }
  struct cufft_callback *place = callback_of(plan, type);
  if (place == NULL)
    return CUFFT_INVALID_TYPE;
  *place = callback;
  return CUFFT_SUCCESS;
}

cufftResult cufftXtSetCallback(cufftHandle plan, void **routine, cufftXtCallbackType type, void **info) {
  if (routine == NULL || *routine == NULL)
    return CUFFT_INVALID_VALUE;
  struct cufft_callback callback = {.info = info ? *info : NULL};
  *(void **)&callback.routine = *routine;
  return set_callback(plan, type, callback);
}

cufftResult cufftXtClearCallback(cufftHandle plan, cufftXtCallbackType type) {
  return set_callback(plan, type, (struct cufft_callback){0});
}

cufftResult cufftXtSetCallbackSharedSize(cufftHandle handle, cufftXtCallbackType type, size_t bytes) {
  struct cufft_plan *plan = sim_cufft_find(handle);
  if (plan == NULL || !plan->made)
    return CUFFT_INVALID_PLAN;
  if (callback_of(plan, type) == NULL)
    return CUFFT_INVALID_TYPE;
  if (bytes > 16 * 1024)
    return CUFFT_INVALID_VALUE;
  plan->shared = bytes > plan->shared ? bytes : plan->shared;
  return CUFFT_SUCCESS;
}

// ---- several devices ----

cufftResult cufftXtSetGPUs(cufftHandle handle, int nGPUs, int *whichGPUs) {
  struct cufft_plan *plan = sim_cufft_find(handle);
  int devices = 0;
  if (plan == NULL || plan->made)
    return CUFFT_INVALID_PLAN;
  if (nGPUs < 1 || nGPUs > CUFFT_MAX_GPUS || whichGPUs == NULL)
    return CUFFT_INVALID_VALUE;
  if (cudaGetDeviceCount(&devices) != cudaSuccess)
    return CUFFT_SETUP_FAILED;
  for (int i = 0; i < nGPUs; i++) {
    if (whichGPUs[i] < 0 || whichGPUs[i] >= devices)
      return CUFFT_INVALID_DEVICE;
    plan->gpu[i] = whichGPUs[i];
  }
  plan->gpus = nGPUs;
  return CUFFT_SUCCESS;
}

// The part of n things that device i of `parts` has: as even as it goes, the first ones one more.
struct part {
  size_t begin, count;
};
static struct part part_of(int n, int i, int parts) {
  const size_t each = (size_t)(n / parts), more = (size_t)(n % parts), at = (size_t)i;
  return (struct part){each * at + (at < more ? at : more), each + (at < more)};
}

// A part as rows of an array in order: `height` rows of `width` elements, `pitch` from one row's beginning to the next one's.
struct region {
  size_t begin, width, height, pitch;
};
static struct region region_of(const struct cufft_plan *plan, int i, bool shuffled) {
  size_t rest = 1; // elements of one step of the dimension that is divided
  for (int d = shuffled ? 2 : 1; d < plan->rank; d++)
    rest *= (size_t)plan->n[d];
  if (plan->batch > 1) {
    rest *= (size_t)plan->n[0];
    const struct part part = part_of(plan->batch, i, plan->gpus);
    return (struct region){part.begin * rest, part.count * rest, 1, part.count * rest};
  }
  const struct part part = part_of(plan->n[shuffled], i, plan->gpus);
  return (struct region){part.begin * rest, part.count * rest, shuffled ? (size_t)plan->n[0] : 1,
                         shuffled ? (size_t)plan->n[1] * rest : part.count * rest};
}

static bool is_shuffled(const struct cufft_plan *plan, const cudaLibXtDesc *descriptor) {
  return descriptor->subFormat == CUFFT_XT_FORMAT_INPLACE_SHUFFLED && plan->batch == 1 && plan->rank > 1;
}

static size_t element_bytes(const struct cufft_plan *plan) {
  return sim_cufft_in_double(plan->type) ? sizeof(cufftDoubleComplex) : sizeof(cufftComplex);
}

static struct cufft_plan *of_several(cufftHandle handle) {
  struct cufft_plan *plan = sim_cufft_find(handle);
  return plan && plan->made && plan->gpus ? plan : NULL;
}

static bool fits(const struct cufft_plan *plan, const cudaLibXtDesc *descriptor) {
  if (descriptor == NULL || descriptor->descriptor == NULL || descriptor->descriptor->nGPUs != plan->gpus)
    return false;
  for (int i = 0; i < plan->gpus; i++) {
    const struct region region = region_of(plan, i, is_shuffled(plan, descriptor));
    if (descriptor->descriptor->size[i] < region.width * region.height * element_bytes(plan))
      return false;
  }
  return true;
}

cufftResult cufftXtFree(cudaLibXtDesc *descriptor) {
  if (descriptor == NULL)
    return CUFFT_SUCCESS;
  for (int i = 0; i < descriptor->descriptor->nGPUs; i++)
    cudaFree(descriptor->descriptor->data[i]);
  free(descriptor->descriptor);
  free(descriptor);
  return CUFFT_SUCCESS;
}

cufftResult cufftXtMalloc(cufftHandle handle, cudaLibXtDesc **descriptor, cufftXtSubFormat format) {
  const struct cufft_plan *plan = of_several(handle);
  if (plan == NULL)
    return CUFFT_INVALID_PLAN;
  if (descriptor == NULL || (format != CUFFT_XT_FORMAT_INPUT && format != CUFFT_XT_FORMAT_INPLACE &&
                             format != CUFFT_XT_FORMAT_INPLACE_SHUFFLED && format != CUFFT_XT_FORMAT_OUTPUT))
    return CUFFT_INVALID_VALUE;
  cudaLibXtDesc *made = sim_allocate(sizeof *made);
  cudaXtDesc *parts = sim_allocate(sizeof *parts);
  *parts = (cudaXtDesc){.nGPUs = plan->gpus};
  *made = (cudaLibXtDesc){.descriptor = parts, .library = LIB_FORMAT_CUFFT, .subFormat = (int)format};
  int before = 0;
  cudaGetDevice(&before);
  cufftResult result = CUFFT_SUCCESS;
  for (int i = 0; i < plan->gpus && result == CUFFT_SUCCESS; i++) {
    size_t most = 0; // both formats need room
    for (int shuffled = 0; shuffled <= (plan->batch == 1 && plan->rank > 1); shuffled++) {
      const struct region region = region_of(plan, i, shuffled);
      most = region.width * region.height > most ? region.width * region.height : most;
    }
    parts->GPUs[i] = plan->gpu[i];
    parts->size[i] = most * element_bytes(plan);
    cudaSetDevice(plan->gpu[i]);
    if (cudaMalloc(&parts->data[i], parts->size[i]) != cudaSuccess)
      result = CUFFT_ALLOC_FAILED;
  }
  cudaSetDevice(before);
  if (result == CUFFT_SUCCESS)
    *descriptor = made;
  else
    cufftXtFree(made);
  return result;
}

// Between the devices' parts and an array in order, which lies on the host; waits for everything before it.
static cufftResult move(const struct cufft_plan *plan, cudaLibXtDesc *descriptor, char *whole, bool gather) {
  const size_t bytes = element_bytes(plan);
  int before = 0;
  cudaGetDevice(&before);
  cudaError_t error = cudaSuccess;
  for (int i = 0; i < plan->gpus && error == cudaSuccess; i++) {
    const struct region region = region_of(plan, i, is_shuffled(plan, descriptor));
    void *part = descriptor->descriptor->data[i], *place = whole + region.begin * bytes;
    const size_t width = region.width * bytes, pitch = region.pitch * bytes;
    cudaSetDevice(descriptor->descriptor->GPUs[i]);
    error = cudaDeviceSynchronize();
    if (error == cudaSuccess && width != 0)
      error = gather ? cudaMemcpy2D(place, pitch, part, width, width, region.height, cudaMemcpyDeviceToHost)
                     : cudaMemcpy2D(part, width, place, pitch, width, region.height, cudaMemcpyHostToDevice);
  }
  cudaSetDevice(before);
  return error == cudaSuccess ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
}

static size_t whole_bytes(const struct cufft_plan *plan) {
  size_t bytes = (size_t)plan->batch * element_bytes(plan);
  for (int d = 0; d < plan->rank; d++)
    bytes *= (size_t)plan->n[d];
  return bytes;
}

cufftResult cufftXtMemcpy(cufftHandle handle, void *to, void *from, cufftXtCopyType type) {
  const struct cufft_plan *plan = of_several(handle);
  if (plan == NULL)
    return CUFFT_INVALID_PLAN;
  if (to == NULL || from == NULL || type >= CUFFT_COPY_UNDEFINED)
    return CUFFT_INVALID_VALUE;
  cudaLibXtDesc *source = type == CUFFT_COPY_HOST_TO_DEVICE ? NULL : from;
  cudaLibXtDesc *target = type == CUFFT_COPY_DEVICE_TO_HOST ? NULL : to;
  if ((source && !fits(plan, source)) || (target && !fits(plan, target)))
    return CUFFT_INVALID_VALUE;
  if (target)
    target->subFormat = CUFFT_XT_FORMAT_INPLACE;
  if (source == NULL)
    return move(plan, target, from, false);
  if (target == NULL)
    return move(plan, source, to, true);
  char *between = sim_allocate(whole_bytes(plan));
  cufftResult result = move(plan, source, between, true);
  if (result == CUFFT_SUCCESS)
    result = move(plan, target, between, false);
  free(between);
  return result;
}

static cufftResult execute_parts(cufftHandle handle, cufftType type, cudaLibXtDesc *input, cudaLibXtDesc *output,
                                 int sign) {
  const struct cufft_plan *plan = of_several(handle);
  if (plan == NULL)
    return CUFFT_INVALID_PLAN;
  if (plan->type != type)
    return CUFFT_INVALID_TYPE;
  if (input != output || input == NULL || !fits(plan, input))
    return CUFFT_INVALID_VALUE;
  void *whole = NULL;
  int before = 0;
  cudaGetDevice(&before);
  if (cudaMallocHost(&whole, whole_bytes(plan)) != cudaSuccess)
    return CUFFT_ALLOC_FAILED;
  cufftResult result = move(plan, input, whole, true);
  cudaSetDevice(plan->gpu[0]);
  if (result == CUFFT_SUCCESS)
    result = sim_cufft_execute(handle, type, whole, whole, sign);
  if (result == CUFFT_SUCCESS && cudaDeviceSynchronize() != cudaSuccess)
    result = CUFFT_EXEC_FAILED;
  cudaSetDevice(before);
  if (result == CUFFT_SUCCESS) {
    input->subFormat = input->subFormat == CUFFT_XT_FORMAT_INPLACE_SHUFFLED ? CUFFT_XT_FORMAT_INPLACE
                                                                            : CUFFT_XT_FORMAT_INPLACE_SHUFFLED;
    result = fits(plan, input) ? move(plan, input, whole, false) : CUFFT_INVALID_VALUE;
  }
  cudaFreeHost(whole);
  return result;
}

cufftResult cufftXtExecDescriptorC2C(cufftHandle plan, cudaLibXtDesc *input, cudaLibXtDesc *output, int direction) {
  return execute_parts(plan, CUFFT_C2C, input, output, direction);
}
cufftResult cufftXtExecDescriptorZ2Z(cufftHandle plan, cudaLibXtDesc *input, cudaLibXtDesc *output, int direction) {
  return execute_parts(plan, CUFFT_Z2Z, input, output, direction);
}
