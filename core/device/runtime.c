// SPDX-License-Identifier: MIT
// Which CUDA runtime this process uses, decided once, when a CUDA function is first called.
#include "device/impl.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef FERRY_PLUGIN_PATH
#define FERRY_PLUGIN_PATH ""
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const FyBackend *backend;
static int device_count;
static atomic_bool chosen;
static char description[800]; // fy_cuda_description
static char missing[768];     // when there is no device: why, and what to do about it

// ---- a real GPU ------------------------------------------------------------------------------------------------------

// The candidates for the shared object, in order of preference; returns how many paths were written.
static int plugin_paths(char paths[3][4096]) {
  const char *given = getenv("FERRY_CUDA_PLUGIN");
  if (given && given[0]) {
    snprintf(paths[0], 4096, "%s", given);
    return 1;
  }
  int count = 0;
  if (FERRY_PLUGIN_PATH[0])
    snprintf(paths[count++], 4096, "%s", FERRY_PLUGIN_PATH);
  ssize_t length = readlink("/proc/self/exe", paths[count], 4000);
  if (length > 0) {
    paths[count][length] = '\0';
    char *slash = strrchr(paths[count], '/');
    if (slash)
      strcpy(slash, "/libferry-cuda.so");
    count++;
  }
  return count;
}

static const FyBackend *open_plugin(const char *path, char why[512]) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(why, 512, "%.200s cannot be loaded (%.250s)", path, dlerror());
    return NULL;
  }
  const FyBackend *(*table)(void) = NULL;
  *(void **)&table = dlsym(library, "fy_backend_table"); // as POSIX has it: ISO C cannot cast to a function
  const FyBackend *found = table ? table() : NULL;
  if (found && found->abi == FY_BACKEND_ABI)
    return found;
  if (found)
    snprintf(why, 512,
             "%.200s is of another version of Ferry (its interface is %d, this program's %d): build both again", path,
             found->abi, FY_BACKEND_ABI);
  else
    snprintf(why, 512, "%.200s is not a CUDA backend of Ferry (it has no fy_backend_table)", path);
  dlclose(library);
  return NULL;
}

// Without NVIDIA's driver the CUDA libraries, hundreds of megabytes of them, need not be opened at all.
static bool has_driver(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver)
    dlclose(driver);
  return driver != NULL;
}

// NULL, and why, unless there is a real GPU to work on.
static const FyBackend *find_real(int *count, char why[512]) {
  char paths[3][4096];
  int n = plugin_paths(paths);
  const char *path = NULL;
  for (int i = 0; i < n && !path; i++)
    if (access(paths[i], R_OK) == 0)
      path = paths[i];
  if (!path) {
    snprintf(
        why, 512,
        "the CUDA backend libferry-cuda.so was not built (looked for %.200s); install NVIDIA's CUDA toolkit and run "
        "`make`",
        n ? paths[0] : "it");
    return NULL;
  }
  if (!has_driver()) {
    snprintf(why, 512, "there is no NVIDIA driver (libcuda.so.1 cannot be loaded); install one and try nvidia-smi");
    return NULL;
  }
  const FyBackend *real = open_plugin(path, why);
  if (!real)
    return NULL;
  int error = real->device_count(count);
  if (error || *count == 0) {
    snprintf(why, 512,
             "the NVIDIA driver finds no device (%.200s); try nvidia-smi, and see that CUDA_VISIBLE_DEVICES hides none",
             error ? real->error_string(error) : "0 devices");
    return NULL;
  }
  return real;
}

// ---- the choice ------------------------------------------------------------------------------------------------------

typedef enum Mode { MODE_UNSET, MODE_REAL, MODE_SIM, MODE_OFF } Mode;

static Mode mode_wanted(void) {
  const char *value = getenv("FERRY_CUDA");
  if (!value || !value[0])
    return MODE_UNSET;
  if (strcmp(value, "real") == 0)
    return MODE_REAL;
  if (strcmp(value, "sim") == 0)
    return MODE_SIM;
  if (strcmp(value, "off") == 0)
    return MODE_OFF;
  fflush(stdout);
  fprintf(stderr, "ferry: FERRY_CUDA=%s is not one of real, sim, off (unset: a real GPU if there is one, else sim)\n",
          value);
  exit(2);
}

static void use_backend(const FyBackend *table, int count) {
  backend = fy_watched_backend(table);
  table->observe(fy_count_launch, fy_count_copy);
  device_count = count < FY_MAX_DEVICES ? count : FY_MAX_DEVICES;
}

static void use_simulator(const char *because) {
  const FyBackend *simulator = fy_backend_table();
  int count = 0;
  int error = simulator->device_count(&count);
  if (error || count == 0) {
    snprintf(missing, sizeof missing, "the simulator has no devices: set FERRY_SIM_DEVICES to 1 or more");
    return;
  }
  use_backend(simulator, count);
  snprintf(description, sizeof description, "simulated CUDA on the CPU with %d device%s%s", device_count,
           device_count == 1 ? "" : "s", because);
}

static void choose(void) {
  Mode mode = mode_wanted();
  char why[512] = "";
  int count = 0;
  if (mode == MODE_OFF)
    snprintf(missing, sizeof missing, "CUDA is switched off by FERRY_CUDA=off");
  if (mode == MODE_SIM)
    use_simulator(" (FERRY_CUDA=sim)");
  if (mode == MODE_REAL || mode == MODE_UNSET) {
    const FyBackend *real = find_real(&count, why);
    if (real) {
      use_backend(real, count);
      snprintf(description, sizeof description, "NVIDIA's CUDA with %d device%s", device_count,
               device_count == 1 ? "" : "s");
    } else if (mode == MODE_REAL) {
      snprintf(missing, sizeof missing, "FERRY_CUDA=real, but %s, or use FERRY_CUDA=sim", why);
    } else {
      char because[600];
      snprintf(because, sizeof because, " (no real GPU: %s)", why);
      use_simulator(because);
    }
  }
  if (!backend)
    snprintf(description, sizeof description, "no CUDA: %s", missing);
  atomic_store_explicit(&chosen, true, memory_order_release);
}

const FyBackend *fy_backend(void) {
  if (!atomic_load_explicit(&chosen, memory_order_acquire))
    pthread_once(&once, choose);
  return backend;
}

const FyBackend *fy_backend_if_chosen(void) {
  return atomic_load_explicit(&chosen, memory_order_acquire) ? backend : NULL;
}

int fy_device_count_chosen(void) {
  return fy_backend_if_chosen() ? device_count : 0;
}

const FyBackend *fy_backend_required(void) {
  const FyBackend *table = fy_backend();
  if (!table)
    fy_raise(FY_RUNTIME_ERROR, "No CUDA GPUs are available: %s", missing);
  return table;
}

bool fy_cuda_is_available(void) {
  return fy_backend() != NULL;
}

int fy_cuda_device_count(void) {
  return fy_backend() ? device_count : 0;
}

bool fy_cuda_is_simulated(void) {
  const FyBackend *table = fy_backend();
  return table && table->simulated;
}

const char *fy_cuda_model(void) {
  const FyBackend *table = fy_backend();
  return table && table->model_label ? table->model_label() : NULL;
}

double fy_device_seconds(FyDevice device) {
  const FyBackend *table = device.type == FY_CUDA ? fy_backend() : NULL;
  if (table && table->model_label && table->model_label())
    return table->model_seconds();
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

const char *fy_cuda_description(void) {
  fy_backend();
  return description;
}

int fy_trace_devices(void (*queued)(const FyActivity *activity), void (*ran)(const FyActivity *activity)) {
  const FyBackend *table = fy_backend();
  const int error = table && table->trace ? table->trace(queued, ran) : FY_BACKEND_NOT_SUPPORTED;
  static bool warned;
  const char *why = error && table && table->why_not_traced ? table->why_not_traced() : NULL;
  if (why)
    fy_warn_once(&warned, "profiles have no times of the GPU: %s", why);
  return error;
}

bool fy_device_range_push(const char *name) {
  const FyBackend *table = fy_backend_if_chosen();
  if (!table || !table->range_push)
    return false;
  table->range_push(name);
  return true;
}

void fy_device_range_pop(void) {
  fy_backend_if_chosen()->range_pop();
}

void fy_drain_devices(unsigned devices) {
  const FyBackend *table = fy_backend_if_chosen();
  int before = 0;
  if (!devices || !table || table->get_device(&before) != 0)
    return;
  for (int d = 0; d < device_count; d++)
    if (devices >> d & 1 && table->set_device(d) == 0)
      table->synchronize();
  table->set_device(before);
}

int fy_check_cuda_index(int index) {
  fy_backend_required();
  if (index < 0 || index >= device_count)
    fy_raise(FY_RUNTIME_ERROR,
             "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs? cuda:%d was "
             "asked for, and there %s %d, from cuda:0.",
             index, device_count == 1 ? "is" : "are", device_count);
  return index;
}

// ---- errors ----------------------------------------------------------------------------------------------------------

// A failed call also stays behind as the runtime's last error, where the next launch would find it and take the blame.
void fy_cuda_check(int error) {
  if (error == 0)
    return;
  if (error == FY_LAUNCH_NO_MEMORY)
    fy_raise(FY_OUT_OF_MEMORY_ERROR, "CUDA out of memory. A kernel could not get its workspace.");
  const FyBackend *table = fy_backend_required();
  if (error <= FY_LAUNCH_BLAS)
    fy_raise(FY_RUNTIME_ERROR, "CUDA error: %s (%s)", table->error_name(error), table->error_string(error));
  table->last_error();
  if (error == FY_BACKEND_OUT_OF_MEMORY)
    fy_raise(FY_OUT_OF_MEMORY_ERROR, "CUDA error: %s", table->error_string(error));
  fy_raise(FY_RUNTIME_ERROR,
           "CUDA error: %s\nCUDA kernel errors might be asynchronously reported at some other API call, so the "
           "stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1",
           table->error_string(error));
}
