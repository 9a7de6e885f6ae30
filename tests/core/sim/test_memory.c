// SPDX-License-Identifier: MIT
// Device memory, pinned memory and copies of every kind, from C.
// run: FERRY_SIM_MODE=lazy FERRY_SIM_MEMORY_MB=64
// run check: FERRY_SIM_MODE=threads FERRY_SIM_MEMORY_MB=64
// run: FERRY_SIM_MODE=sync FERRY_SIM_MEMORY_MB=64 FERRY_SIM_GUARD=1
#include "check.h"

static void fresh_memory_is_nan(void **state) {
  (void)state;
  float host[100], *device = device_copy(NULL, sizeof host);
  to_host(host, device, sizeof host);
  for (int i = 0; i < 100; i++)
    assert_true(isnan(host[i]));
  check_cuda(cudaMemset(device, 0, sizeof host));
  check_cuda(cudaFree(device));
  device = device_copy(NULL, sizeof host); // the same piece, used before
  to_host(host, device, sizeof host);
  assert_true(isnan(host[0]) && isnan(host[99]));
  check_cuda(cudaFree(device));
}

static void memory_runs_out_and_comes_back(void **state) {
  (void)state;
  enum { MB = 1 << 20 };
  void *pieces[64], *large = NULL;
  size_t before, total, after;
  int count = 0;
  check_cuda(cudaMemGetInfo(&before, &total));
  assert_int_equal(total, 64 * MB);
  cudaError_t error = cudaSuccess;
  while (count < 64 && (error = cudaMalloc(&pieces[count], 4 * MB)) == cudaSuccess)
    count++;
  assert_int_equal(error, cudaErrorMemoryAllocation);
  assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
  assert_int_equal(cudaGetLastError(), cudaSuccess);
  assert_in_range(count, 12, 16);
  for (int i = 0; i < count; i += 2) // holes between pieces in use do not add up
    check_cuda(cudaFree(pieces[i]));
  check_error(cudaMalloc(&large, 20 * MB), cudaErrorMemoryAllocation);
  assert_null(large);
  for (int i = 1; i < count; i += 2)
    check_cuda(cudaFree(pieces[i]));
  check_cuda(cudaMalloc(&large, 50 * MB)); // neighbors that are free do
  check_cuda(cudaFree(large));
  check_cuda(cudaMemGetInfo(&after, &total));
  assert_int_equal(after, before);
  check_error(cudaMalloc(&large, (size_t)1 << 46), cudaErrorMemoryAllocation);
}

static void nothing_is_allocated_for_zero_bytes(void **state) {
  (void)state;
  int byte;
  void *device = &byte;
  check_cuda(cudaMalloc(&device, 0));
  assert_null(device);
  check_cuda(cudaFree(NULL));
  check_cuda(cudaFreeHost(NULL));
  check_cuda(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice));
}

static void wrong_frees(void **state) {
  (void)state;
  char host[16], *device = device_copy(NULL, 1000);
  check_error(cudaFree(host), cudaErrorInvalidValue);
  check_error(cudaFree(device + 256), cudaErrorInvalidValue);
  check_cuda(cudaFree(device));
  check_error(cudaFree(device), cudaErrorInvalidValue);
  check_error(cudaFreeHost(host), cudaErrorInvalidValue);
  check_error(cudaHostUnregister(host), cudaErrorHostMemoryNotRegistered);
}

static void copies_check_their_ranges_and_directions(void **state) {
  (void)state;
  char host[300] = {0}, *device = device_copy(NULL, 200);
  check_error(cudaMemcpy(host, device, 201, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  check_error(cudaMemcpy(host, device + 100, 101, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  check_error(cudaMemcpy(device, host, 300, cudaMemcpyDefault), cudaErrorInvalidValue);
  check_error(cudaMemcpy(device, host, 10, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  check_error(cudaMemcpy(host, host, 10, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  check_error(cudaMemcpy(device, host, 10, (enum cudaMemcpyKind)17), cudaErrorInvalidMemcpyDirection);
  check_error(cudaMemset(device, 0, 201), cudaErrorInvalidValue);
  check_error(cudaMemset(host, 0, 10), cudaErrorInvalidValue);
  check_cuda(cudaMemcpy(host, device + 100, 100, cudaMemcpyDefault));
  check_cuda(cudaFree(device));
  check_error(cudaMemcpy(host, device, 10, cudaMemcpyDeviceToHost), cudaErrorInvalidValue); // freed
}

static void rectangles(void **state) {
  (void)state;
  enum { ROWS = 7, WIDTH = 5, PITCH = 16, DEVICE_PITCH = 32 };
  unsigned char host[ROWS * PITCH], back[ROWS * PITCH], *device = device_copy(NULL, ROWS * DEVICE_PITCH);
  for (int i = 0; i < ROWS * PITCH; i++)
    host[i] = (unsigned char)i;
  memset(back, 0xee, sizeof back);
  check_cuda(cudaMemcpy2DAsync(device, DEVICE_PITCH, host, PITCH, WIDTH, ROWS, cudaMemcpyHostToDevice, NULL));
  check_cuda(cudaMemcpy2D(back, PITCH, device, DEVICE_PITCH, WIDTH, ROWS, cudaMemcpyDeviceToHost));
  for (int i = 0; i < ROWS * PITCH; i++)
    assert_int_equal(back[i], i % PITCH < WIDTH ? host[i] : 0xee);
  check_error(cudaMemcpy2D(back, WIDTH - 1, device, DEVICE_PITCH, WIDTH, ROWS, cudaMemcpyDeviceToHost),
              cudaErrorInvalidPitchValue);
  check_error(cudaMemcpy2D(back, PITCH, device, DEVICE_PITCH, WIDTH, ROWS + 2, cudaMemcpyDeviceToHost),
              cudaErrorInvalidValue);
  check_cuda(cudaFree(device));
}

// As (n - 1) * sizeof(float) for n = 0: no size that wraps is taken for a small one.
static void sizes_that_wrap(void **state) {
  (void)state;
  const size_t most = SIZE_MAX, half = SIZE_MAX / 2 + 1;
  char host[64], *device = device_copy(NULL, 64);
  void *pointer = NULL;
  size_t pitch;
  check_error(cudaMallocPitch(&pointer, &pitch, most - 3, 1), cudaErrorMemoryAllocation);
  check_error(cudaMallocPitch(&pointer, &pitch, half, 2), cudaErrorMemoryAllocation);
  check_error(cudaMallocPitch(&pointer, &pitch, 512, half / 256), cudaErrorMemoryAllocation);
  struct cudaPitchedPtr box;
  check_error(cudaMalloc3D(&box, make_cudaExtent(64, half, 2)), cudaErrorMemoryAllocation);
  const struct cudaChannelFormatDesc one_float = {32, 0, 0, 0, cudaChannelFormatKindFloat};
  cudaArray_t array;
  check_error(cudaMallocArray(&array, &one_float, ((size_t)1 << 32) + 4, 4, 0), cudaErrorInvalidValue);
  check_error(cudaMemcpy2D(device, half, host, half, 64, 3, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  check_error(cudaMemcpy2D(device, half, host, half, half, 2, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  check_error(cudaMemcpy2DAsync(device, half, host, half, half, 2, cudaMemcpyHostToDevice, NULL),
              cudaErrorInvalidValue);
  check_error(cudaMemset2D(device, half, 0, half, 2), cudaErrorInvalidValue);
  check_error(cudaMemset2D(device, half, 0, 64, 3), cudaErrorInvalidValue);
  check_error(cudaMemset3D(make_cudaPitchedPtr(device, half, 8, 2), 0, make_cudaExtent(8, 1, 2)),
              cudaErrorInvalidValue);

  check_cuda(cudaMallocArray(&array, &one_float, 4, 4, 0));
  check_error(cudaMemcpy2DToArray(array, most - 3, 0, host, 16, 4, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  check_error(cudaMemcpy2DFromArray(host, 16, array, 0, most, 16, 1, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  struct cudaMemcpy3DParms copy = {.dstArray = array,
                                   .dstPos = {most - 1, 0, 0},
                                   .srcPtr = make_cudaPitchedPtr(host, 16, 4, 4),
                                   .extent = {2, 1, 1},
                                   .kind = cudaMemcpyHostToDevice};
  check_error(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
  copy.dstPos.x = 0;
  copy.extent = make_cudaExtent(0, 1, most); // nothing, at once
  check_error(cudaMemcpy3D(&copy), cudaErrorInvalidValue);
  check_cuda(cudaFreeArray(array));
  check_cuda(cudaFree(device));
}

static void copies_between_devices(void **state) {
  (void)state;
  int devices, can = 0;
  check_cuda(cudaGetDeviceCount(&devices));
  if (devices < 2)
    skip();
  float host[50], back[50];
  fill_random(host, 50, 1);
  void *first = device_copy(host, sizeof host);
  check_cuda(cudaSetDevice(1));
  void *second = device_copy(NULL, sizeof host);
  check_cuda(cudaMemcpyPeer(second, 1, first, 0, sizeof host));
  to_host(back, second, sizeof back);
  assert_memory_equal(back, host, sizeof back);
  check_cuda(cudaMemset(first, 0, sizeof host)); // device 0's memory, from device 1's stream
  check_cuda(cudaDeviceSynchronize());
  check_cuda(cudaMemcpyPeerAsync(first, 0, second, 1, sizeof host, NULL));
  check_cuda(cudaDeviceSynchronize());
  check_cuda(cudaMemcpy(back, first, sizeof back, cudaMemcpyDeviceToHost));
  assert_memory_equal(back, host, sizeof back);
  check_error(cudaMemcpyPeer(second, 0, first, 0, sizeof host), cudaErrorInvalidValue);
  check_error(cudaMemcpyPeer(second, devices, first, 0, sizeof host), cudaErrorInvalidDevice);
  check_cuda(cudaDeviceCanAccessPeer(&can, 0, 1));
  assert_true(can);
  check_cuda(cudaDeviceEnablePeerAccess(0, 0));
  check_error(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
  check_cuda(cudaDeviceDisablePeerAccess(0));
  check_error(cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);
  check_error(cudaDeviceEnablePeerAccess(1, 0), cudaErrorInvalidDevice);
  check_cuda(cudaFree(second));
  check_cuda(cudaSetDevice(0));
  check_cuda(cudaFree(first));
}

static void pointers_know_what_they_are(void **state) {
  (void)state;
  struct cudaPointerAttributes attributes;
  char stack[4096], *pinned, *device = device_copy(NULL, 100);
  void *mapped;
  check_cuda(cudaHostAlloc((void **)&pinned, 100, cudaHostAllocPortable));
  check_cuda(cudaPointerGetAttributes(&attributes, device + 50));
  assert_int_equal(attributes.type, cudaMemoryTypeDevice);
  assert_int_equal(attributes.device, 0);
  check_cuda(cudaPointerGetAttributes(&attributes, pinned + 99));
  assert_int_equal(attributes.type, cudaMemoryTypeHost);
  check_cuda(cudaPointerGetAttributes(&attributes, stack));
  assert_int_equal(attributes.type, cudaMemoryTypeUnregistered);
  check_cuda(cudaHostGetDevicePointer(&mapped, pinned, 0));
  assert_ptr_equal(mapped, pinned);
  check_error(cudaHostGetDevicePointer(&mapped, stack, 0), cudaErrorInvalidValue);

  check_cuda(cudaHostRegister(stack, sizeof stack, cudaHostRegisterDefault));
  check_error(cudaHostRegister(stack + 10, 10, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
  check_cuda(cudaPointerGetAttributes(&attributes, stack + 100));
  assert_int_equal(attributes.type, cudaMemoryTypeHost);
  check_error(cudaFreeHost(stack), cudaErrorInvalidValue);
  check_cuda(cudaHostUnregister(stack));
  check_cuda(cudaFreeHost(pinned));
  check_cuda(cudaFree(device));
}

static void devices_describe_themselves(void **state) {
  (void)state;
  struct cudaDeviceProp properties;
  int devices, value, version;
  check_cuda(cudaGetDeviceCount(&devices));
  check_cuda(cudaGetDeviceProperties(&properties, devices - 1));
  assert_string_equal(properties.name, "Simulated CUDA device (CPU)");
  assert_int_equal(properties.totalGlobalMem, 64 << 20);
  assert_int_equal(properties.warpSize, 32);
  check_cuda(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
  assert_int_equal(value, properties.major);
  check_cuda(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  assert_int_equal(value, properties.multiProcessorCount);
  check_cuda(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryClockRate, 0));
  assert_true(value > 0);
  check_cuda(cudaRuntimeGetVersion(&version));
  assert_int_equal(version, CUDART_VERSION);
  check_error(cudaGetDeviceProperties(&properties, devices), cudaErrorInvalidDevice);
  check_error(cudaSetDevice(-1), cudaErrorInvalidDevice);
  check_error(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)9999, 0), cudaErrorInvalidValue);
  assert_string_equal(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  assert_string_equal(cudaGetErrorString(cudaErrorIllegalAddress), "an illegal memory access was encountered");
}

// As on a GPU, where a number in the wrong place would go unnoticed until then.
static void flags_that_nobody_knows(void **state) {
  (void)state;
  const unsigned int unknown = 1 << 30;
  void *pointer = NULL, *memory = malloc(4096);
  cudaEvent_t event;
  cudaStream_t stream;
  cudaArray_t array;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  const struct cudaChannelFormatDesc one_float = {32, 0, 0, 0, cudaChannelFormatKindFloat};
  check_error(cudaHostAlloc(&pointer, 64, unknown), cudaErrorInvalidValue);
  check_error(cudaHostRegister(memory, 4096, unknown), cudaErrorInvalidValue);
  check_error(cudaMallocManaged(&pointer, 64, unknown), cudaErrorInvalidValue);
  check_error(cudaMallocArray(&array, &one_float, 4, 4, unknown), cudaErrorInvalidValue);
  check_error(cudaStreamCreateWithFlags(&stream, unknown), cudaErrorInvalidValue);
  check_error(cudaEventCreateWithFlags(&event, unknown), cudaErrorInvalidValue);
  check_error(cudaEventCreateWithFlags(&event, cudaEventInterprocess), cudaErrorInvalidValue);
  check_error(cudaSetDeviceFlags(unknown), cudaErrorInvalidValue);
  check_error(cudaInitDevice(0, 0, unknown), cudaErrorInvalidValue);
  assert_null(pointer);

  check_cuda(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
  check_cuda(cudaStreamCreate(&stream));
  check_cuda(cudaEventRecord(event, stream));
  check_error(cudaStreamWaitEvent(stream, event, unknown), cudaErrorInvalidValue);
  check_error(cudaStreamWaitEvent(stream, event, cudaEventWaitExternal), cudaErrorInvalidValue);
  check_error(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal), cudaErrorInvalidValue);
  check_error(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)3), cudaErrorInvalidValue);
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  check_error(cudaStreamWaitEvent(stream, event, cudaEventWaitExternal), cudaErrorNotSupported);
  check_error(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  check_cuda(cudaStreamEndCapture(stream, &graph));
  check_error(cudaGraphInstantiate(&exec, graph, unknown), cudaErrorInvalidValue);
  check_error(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagUpload), cudaErrorInvalidValue);
  check_error(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch), cudaErrorNotSupported);
  check_cuda(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  check_cuda(cudaGraphExecDestroy(exec));
  check_cuda(cudaGraphDestroy(graph));
  check_cuda(cudaStreamDestroy(stream));
  check_cuda(cudaEventDestroy(event));
  free(memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fresh_memory_is_nan),
      cmocka_unit_test(memory_runs_out_and_comes_back),
      cmocka_unit_test(nothing_is_allocated_for_zero_bytes),
      cmocka_unit_test(wrong_frees),
      cmocka_unit_test(copies_check_their_ranges_and_directions),
      cmocka_unit_test(rectangles),
      cmocka_unit_test(sizes_that_wrap),
      cmocka_unit_test(copies_between_devices),
      cmocka_unit_test(pointers_know_what_they_are),
      cmocka_unit_test(devices_describe_themselves),
      cmocka_unit_test(flags_that_nobody_knows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
