// SPDX-License-Identifier: MIT
// The environment, read and checked once.
#include "sim/base/config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/gpu.h"

static void reject(const char *variable, const char *value, const char *allowed) {
  fprintf(stderr, "ferry: %s=%s is not valid: use %s\n", variable, value, allowed);
  exit(2);
}

static bool parse_number(const char *text, long *number) {
  char *end;
  errno = 0;
  *number = strtol(text, &end, 10);
  return end != text && *end == '\0' && errno == 0;
}

static long read_number(const char *variable, long low, long high, long otherwise) {
  const char *value = getenv(variable);
  if (value == NULL || *value == '\0')
    return otherwise;
  long number;
  if (!parse_number(value, &number) || number < low || number > high) {
    char allowed[80];
    snprintf(allowed, sizeof allowed, "a whole number from %ld to %ld", low, high);
    reject(variable, value, allowed);
  }
  return number;
}

static enum sim_mode read_mode(void) {
  const char *value = getenv("FERRY_SIM_MODE");
  if (value == NULL || *value == '\0' || strcmp(value, "threads") == 0)
    return SIM_THREADS;
  if (strcmp(value, "lazy") == 0)
    return SIM_LAZY;
  if (strcmp(value, "sync") != 0)
    reject("FERRY_SIM_MODE", value, "threads, lazy or sync");
  return SIM_SYNC;
}

static enum sim_order read_order(const char *variable, unsigned int *seed) {
  const char *value = getenv(variable);
  if (value == NULL || *value == '\0' || strcmp(value, "ascending") == 0)
    return SIM_ASCENDING;
  if (strcmp(value, "descending") == 0)
    return SIM_DESCENDING;
  long number = 1;
  bool random = strcmp(value, "random") == 0;
  if (!random && strncmp(value, "random:", 7) == 0)
    random = parse_number(value + 7, &number);
  if (!random)
    reject(variable, value, "ascending, descending, random or random:SEED");
  *seed = (unsigned int)number;
  return SIM_RANDOM;
}

// The index of the variable's value among `names`, of which the first is the default.
static unsigned int read_name(const char *variable, const char *const *names, const char *allowed) {
  const char *value = getenv(variable);
  if (value == NULL || *value == '\0')
    return 0;
  for (unsigned int i = 0; names[i]; i++)
    if (strcmp(value, names[i]) == 0)
      return i;
  reject(variable, value, allowed);
  return 0;
}

static bool is_set(const char *variable) {
  const char *value = getenv(variable);
  return value && *value != '\0';
}

// FERRY_SIM_EDGE and FERRY_SIM_WEAK are deprecated aliases with values of their own: README.md.
static enum sim_guard_page read_guard_page(void) {
  static const char *const names[] = {"none", "after", "before", NULL}, *const old[] = {"none", "behind", "before",
                                                                                        NULL};
  const unsigned int index = is_set("FERRY_SIM_GUARD_PAGE")
                                 ? read_name("FERRY_SIM_GUARD_PAGE", names, "none, after or before")
                                 : read_name("FERRY_SIM_EDGE", old, "none, behind or before");
  return (enum sim_guard_page)index;
}

static unsigned int read_store_buffer(void) {
  static const char *const names[] = {"none", "shared", "global", "both", NULL}, *const old[] = {"none", "within",
                                                                                                 "between", "both",
                                                                                                 NULL};
  return is_set("FERRY_SIM_STORE_BUFFER") ? read_name("FERRY_SIM_STORE_BUFFER", names, "none, shared, global or both")
                                          : read_name("FERRY_SIM_WEAK", old, "none, within, between or both");
}

static void list_gpus(FILE *out) {
  for (int i = 0; i < model_gpu_count; i++) {
    const struct model_gpu *gpu = &model_gpus[i];
    if (model_gpu_can_be_simulated(gpu))
      fprintf(out, "  %-16s %-24s %3.0f multiprocessors, %5.0f GB/s, %3.0f GiB\n", gpu->id, gpu->name, gpu->sms.value,
              gpu->dram.value, gpu->memory.value / 1024);
  }
}

static const struct model_gpu *read_gpu(void) {
  const char *value = getenv("FERRY_SIM_GPU");
  if (value == NULL || *value == '\0')
    return NULL;
  if (strcmp(value, "list") == 0) {
    printf("GPUs that a simulated device can model (FERRY_SIM_GPU):\n");
    list_gpus(stdout);
    exit(0);
  }
  const struct model_gpu *gpu = model_gpu_named(value);
  if (gpu && model_gpu_can_be_simulated(gpu))
    return gpu;
  fprintf(stderr, "ferry: FERRY_SIM_GPU=%s is not valid: use one of\n", value);
  list_gpus(stderr);
  exit(2);
}

// The converted program defines it (cudasim_program.h).
extern void (*const cudasim_is_program)(void) __attribute__((weak));

bool sim_config_is_program(void) {
  return &cudasim_is_program != NULL;
}

struct sim_config sim_config_read(void) {
  struct sim_config config = {.mode = read_mode()};
  config.order = read_order("FERRY_SIM_ORDER", &config.seed);
  config.blocks = read_order("FERRY_SIM_BLOCKS", &config.blocks_seed);
  config.guard_page = read_guard_page();
  config.store_buffer = read_store_buffer();
  config.ahead = read_number("FERRY_SIM_AHEAD", 0, 1, 0) != 0;
  config.polls = (int)read_number("FERRY_SIM_POLLS", 0, 1 << 20, 0);
  config.delays = (unsigned int)read_number("FERRY_SIM_DELAYS", 0, INT_MAX, 0);
  config.devices = (int)read_number("FERRY_SIM_DEVICES", 1, SIM_MAX_DEVICES, 2);
  config.gpu = read_gpu();
  const long memory = config.gpu ? (long)config.gpu->memory.value : 4096;
  config.memory_bytes = (size_t)read_number("FERRY_SIM_MEMORY_MB", 1, 1 << 20, memory) << 20;
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  long workers = cores < 2 ? 2 : cores > SIM_MAX_WORKERS ? SIM_MAX_WORKERS : cores;
  config.workers = (int)read_number("FERRY_SIM_THREADS", 1, SIM_MAX_WORKERS, workers);
  config.guard =
      (enum sim_guard)read_number("FERRY_SIM_GUARD", 0, 1, config.mode == SIM_THREADS ? SIM_CHEAP_GUARD : SIM_GUARD);
  config.zeroed = read_number("FERRY_SIM_ZERO", 0, 1, 0) != 0;
  config.split = read_number("FERRY_SIM_SPLIT", 0, 1, 1) != 0;
  config.check = read_number("FERRY_SIM_CHECK", 0, 1, 1) != 0;
  config.count = read_number("FERRY_SIM_COUNT", 0, 1, 0) != 0;
  config.nccl_seconds = (int)read_number("FERRY_SIM_NCCL_SECONDS", 1, 86400, 30);
  config.report_seconds = (int)read_number("FERRY_SIM_WATCHDOG", 0, 86400, 10);
  config.end_seconds = (int)read_number("FERRY_SIM_SECONDS", 0, 86400, 0);
  return config;
}
