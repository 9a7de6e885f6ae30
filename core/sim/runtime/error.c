// SPDX-License-Identifier: MIT
// Errors: the calling thread's last one, and what they are called.
#include "sim/base/sim.h"
#include "sim/runtime/unchecked_error.h"

static __thread cudaError_t last_error;

// A failed device keeps its error itself, and other devices have none of it.
static bool belongs_to_a_device(cudaError_t error) {
  return error == cudaErrorIllegalAddress || error == cudaErrorLaunchFailure || error == cudaErrorAssert;
}

cudaError_t sim_fail(cudaError_t error) {
  if (error != cudaSuccess && !belongs_to_a_device(error))
    last_error = error;
  return error;
}

cudaError_t cudaPeekAtLastError(void) {
  if (sim_enter() != cudaSuccess)
    return cudaErrorInitializationError;
  cudaError_t sticky = sim_sticky(sim_current_device);
  if (last_error)
    sim_error_checked();
  return sticky ? sticky : last_error;
}

cudaError_t cudaGetLastError(void) {
  cudaError_t error = cudaPeekAtLastError();
  last_error = cudaSuccess;
  return error;
}

static const struct {
  cudaError_t error;
  const char *name, *text;
} descriptions[] = {
#define ERROR(name, text)                                                                                              \
  { name, #name, text }
    ERROR(cudaSuccess, "no error"),
    ERROR(cudaErrorInvalidValue, "invalid argument"),
    ERROR(cudaErrorMemoryAllocation, "out of memory"),
    ERROR(cudaErrorInitializationError, "initialization error"),
    ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    ERROR(cudaErrorInvalidHostPointer, "invalid host pointer"),
    ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ERROR(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    ERROR(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    ERROR(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    ERROR(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    ERROR(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ERROR(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    ERROR(cudaErrorNotReady, "device not ready"),
    ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    ERROR(cudaErrorContextIsDestroyed, "context is destroyed"),
    ERROR(cudaErrorAssert, "device-side assert triggered"),
    ERROR(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    ERROR(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    ERROR(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    ERROR(cudaErrorNotPermitted, "operation not permitted"),
    ERROR(cudaErrorNotSupported, "operation not supported"),
    ERROR(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    ERROR(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    ERROR(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"),
    ERROR(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    ERROR(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    ERROR(cudaErrorStreamCaptureImplicit,
          "operation would make the legacy stream depend on a capturing blocking stream"),
    ERROR(cudaErrorGraphExecUpdateFailure,
          "the graph update was not performed because it included changes which violated constraints specific to "
          "instantiated graph update"),
    ERROR(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    ERROR(cudaErrorUnknown, "unknown error"),
#undef ERROR
};

enum { DESCRIPTIONS = sizeof descriptions / sizeof *descriptions };

const char *cudaGetErrorName(cudaError_t error) {
  for (int i = 0; i < DESCRIPTIONS; i++)
    if (descriptions[i].error == error)
      return descriptions[i].name;
  return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
  for (int i = 0; i < DESCRIPTIONS; i++)
    if (descriptions[i].error == error)
      return descriptions[i].text;
  return "unrecognized error code";
}
