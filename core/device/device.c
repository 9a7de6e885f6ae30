// SPDX-License-Identifier: MIT
// Devices: their names, which one is current, what they are.
#include "device/capture.h"
#include "device/impl.h"
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INDEX = 127 }; // as PyTorch's DeviceIndex

// ---- names -----------------------------------------------------------------------------------------------------------

// The index after "type:", -1 when there is none, -2 when it is malformed. No sign and no leading zero, as in PyTorch.
static int parse_index(const char *text) {
  if (text[0] == '\0')
    return -1;
  const char *digits = text + 1;
  size_t count = strspn(digits, "0123456789");
  if (text[0] != ':' || count == 0 || count > 3 || digits[count] != '\0' || (digits[0] == '0' && count > 1))
    return -2;
  int index = atoi(digits);
  return index <= MAX_INDEX ? index : -2;
}

FyDevice fy_device(const char *name) {
  static const struct {
    const char *name;
    FyDeviceType type;
  } types[] = {{"cpu", FY_CPU}, {"cuda", FY_CUDA}, {"mps", FY_MPS}};
  fy_check(name && name[0], FY_RUNTIME_ERROR, "Device string must not be empty");
  size_t length = 0;
  while (isalpha((unsigned char)name[length]) || name[length] == '_')
    length++;
  int index = parse_index(name + length);
  fy_check(length > 0 && index != -2, FY_RUNTIME_ERROR, "Invalid device string: '%.100s'", name);
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    if (strlen(types[i].name) != length || strncmp(types[i].name, name, length) != 0)
      continue;
    if (types[i].type == FY_CUDA)
      return (FyDevice){FY_CUDA, (int16_t)index};
    fy_check(index <= 0, FY_RUNTIME_ERROR, "%s device index must be -1 or zero, got %d", types[i].name, index);
    return (FyDevice){(int16_t)types[i].type, 0};
  }
  fy_raise(FY_RUNTIME_ERROR, "Expected one of cpu, cuda, mps device type at start of device string: %.*s",
           (int)(length < 100 ? length : 100), name);
}

FyDevice fy_cuda_device(int index) {
  fy_check(index >= -1 && index <= MAX_INDEX, FY_RUNTIME_ERROR,
           "Device index must be -1 (the current device) or from 0 to %d, got %d", MAX_INDEX, index);
  return (FyDevice){FY_CUDA, (int16_t)index};
}

static char cuda_names[MAX_INDEX + 1][9];

static void write_names(void) {
  for (int i = 0; i <= MAX_INDEX; i++)
    snprintf(cuda_names[i], sizeof cuda_names[i], "cuda:%d", i & MAX_INDEX);
}

const char *fy_device_name_of(FyDevice device) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (device.type != FY_CUDA)
    return device.type == FY_MPS ? "mps" : "cpu";
  if (device.index < 0 || device.index > MAX_INDEX)
    return "cuda";
  pthread_once(&once, write_names);
  return cuda_names[device.index];
}

bool fy_device_equal(FyDevice a, FyDevice b) {
  return a.type == b.type && a.index == b.index;
}

bool fy_mps_is_available(void) {
  return false;
}

// ---- which one is current --------------------------------------------------------------------------------------------

void fy_synchronize(FyDevice device) {
  if (device.type == FY_CPU)
    return;
  fy_use_device(fy_cuda_index(device));
  fy_count_synchronization();
  fy_cuda_check(fy_backend_required()->synchronize());
}

// NVIDIA's runtime obeys CUDA_LAUNCH_BLOCKING itself, but reports through the next call all the same.
static bool launches_block(void) {
  static atomic_int known; // 0: not asked yet, 1: no, 2: yes
  int answer = atomic_load_explicit(&known, memory_order_relaxed);
  if (answer == 0) {
    const char *value = getenv("CUDA_LAUNCH_BLOCKING");
    answer = value && value[0] && strcmp(value, "0") != 0 ? 2 : 1;
    atomic_store_explicit(&known, answer, memory_order_relaxed);
  }
  return answer == 2;
}

// What a capture writes down has not run, and cannot be waited for.
void fy_op_launched(void) {
  if (fy_thread_is_capturing())
    return;
  fy_count_op();
  if (launches_block())
    fy_cuda_check(fy_backend_required()->synchronize());
}

bool fy_cuda_can_device_access_peer(int device, int peer) {
  fy_check_cuda_index(device);
  fy_check_cuda_index(peer);
  int can = 0;
  fy_cuda_check(fy_backend_required()->can_access_peer(device, peer, &can));
  return can != 0;
}

// ---- what they are ---------------------------------------------------------------------------------------------------

// float32 units ("CUDA cores") of one multiprocessor, by compute capability.
static int cores_per_multi_processor(int major, int minor) {
  switch (major) {
  case 7:
    return 64;
  case 8:
    return minor == 0 ? 64 : 128;
  case 9:
  case 10:
  case 11:
  case 12:
    return 128;
  default:
    return 0;
  }
}

static FyDeviceProperties properties[FY_MAX_DEVICES];
static bool properties_known[FY_MAX_DEVICES];
static pthread_mutex_t properties_lock = PTHREAD_MUTEX_INITIALIZER;

// A device that models a GPU has the GPU's clocks. The clocks of other simulated devices have no meaning.
static void read_properties(const FyBackendProperties *from, bool simulated, FyDeviceProperties *to) {
  *to = (FyDeviceProperties){
      .major = from->major,
      .minor = from->minor,
      .multi_processor_count = from->multi_processor_count,
      .warp_size = from->warp_size,
      .max_threads_per_block = from->max_threads_per_block,
      .max_threads_per_multi_processor = from->max_threads_per_multi_processor,
      .total_memory = from->total_memory,
      .shared_memory_per_block = from->shared_memory_per_block,
      .l2_cache_size = from->l2_cache_size,
      .simulated = simulated,
  };
  memcpy(to->name, from->name, sizeof to->name);
  if (simulated && !fy_cuda_model())
    return;
  to->cuda_cores = from->multi_processor_count * cores_per_multi_processor(from->major, from->minor);
  // Two transfers per clock, of bus-width bits each.
  to->memory_bandwidth = 2.0 * from->memory_clock_khz * 1e3 * from->memory_bus_bits / 8;
  to->clock_rate = from->clock_khz * 1e3;
}

static const FyDeviceProperties *properties_of(int index) {
  const FyBackend *backend = fy_backend_required();
  if (index == -1)
    index = fy_cuda_current_device();
  fy_check_cuda_index(index);
  int error = 0;
  pthread_mutex_lock(&properties_lock);
  if (!properties_known[index]) {
    FyBackendProperties from;
    error = backend->properties(index, &from);
    if (!error)
      read_properties(&from, backend->simulated, &properties[index]);
    properties_known[index] = !error;
  }
  pthread_mutex_unlock(&properties_lock);
  fy_cuda_check(error);
  return &properties[index];
}

// Asked for at every launch, so it must not take the lock each time.
int fy_multi_processors(int device) {
  static atomic_int known[FY_MAX_DEVICES];
  int count = atomic_load_explicit(&known[device], memory_order_relaxed);
  if (count == 0) {
    count = properties_of(device)->multi_processor_count;
    atomic_store_explicit(&known[device], count, memory_order_relaxed);
  }
  return count;
}

FyDeviceProperties fy_cuda_get_device_properties(int index) {
  return *properties_of(index);
}

const char *fy_cuda_get_device_name(int index) {
  return properties_of(index)->name;
}

bool fy_cuda_has_capability(int index, int major, int minor) {
  const FyDeviceProperties *p = properties_of(index);
  return p->major > major || (p->major == major && p->minor >= minor);
}

// ---- versions --------------------------------------------------------------------------------------------------------

static int version(int which) {
  int versions[3] = {0, 0, 0};
  const FyBackend *backend = fy_backend();
  if (backend && backend->versions(&versions[0], &versions[1], &versions[2]) != 0)
    backend->last_error();
  return versions[which];
}

int fy_cuda_runtime_version(void) {
  return version(0);
}

int fy_cuda_driver_version(void) {
  return version(1);
}

int fy_cublas_version(void) {
  return version(2);
}

const char *fy_version(void) {
  return "0.1.0";
}
