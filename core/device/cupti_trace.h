// SPDX-License-Identifier: MIT
// What a real GPU did, and when, told by NVIDIA's CUPTI: FyBackend.trace of the plugin. For cuda_backend.cu, and for a test
// that stands functions of its own in CUPTI's place, in C and C++.
//
// CUPTI is compiled against where its header is, and found by its soname when a trace is taken; its functions are a table.
// What is queued is known from CUPTI's callbacks around the runtime's and the driver's calls, on the thread that makes them;
// what has run from its activity records, which come in buffers and bear the same correlation id.
#ifndef FERRY_DEVICE_CUPTI_TRACE_H
#define FERRY_DEVICE_CUPTI_TRACE_H

#include "device/backend.h"
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct FyCupti {
  CUptiResult (*subscribe)(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *context);
  CUptiResult (*unsubscribe)(CUpti_SubscriberHandle subscriber);
  CUptiResult (*enable_callback)(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                 CUpti_CallbackId id);
  CUptiResult (*register_callbacks)(CUpti_BuffersCallbackRequestFunc requested,
                                    CUpti_BuffersCallbackCompleteFunc completed);
  CUptiResult (*enable)(CUpti_ActivityKind kind);
  CUptiResult (*disable)(CUpti_ActivityKind kind);
  CUptiResult (*flush_all)(uint32_t flags);
  CUptiResult (*next_record)(uint8_t *buffer, size_t bytes, CUpti_Activity **record);
  CUptiResult (*timestamp)(uint64_t *nanoseconds);
  CUptiResult (*result_string)(CUptiResult result, const char **text);
} FyCupti;

enum { FY_CUPTI_WHY = 512 };

// ---- finding it ---------------------------------------------------------------------------------------------------------

// Opens the first of the names (NULL after the last) that can be, for good. Returns false and says why.
static inline bool fy_cupti_load(FyCupti *cupti, const char *const *names, char why[FY_CUPTI_WHY]) {
  static const char *const symbols[] = {
      "cuptiSubscribe",      "cuptiUnsubscribe",     "cuptiEnableCallback",   "cuptiActivityRegisterCallbacks",
      "cuptiActivityEnable", "cuptiActivityDisable", "cuptiActivityFlushAll", "cuptiActivityGetNextRecord",
      "cuptiGetTimestamp",   "cuptiGetResultString"};
  void *functions[sizeof symbols / sizeof *symbols], *library = NULL;
  const char *name = *names;
  for (; name && !(library = dlopen(name, RTLD_NOW | RTLD_LOCAL)); name = *++names)
    snprintf(why, FY_CUPTI_WHY,
             "CUPTI, which tells when something ran on a GPU, cannot be loaded (%.200s): it is a part of NVIDIA's CUDA "
             "toolkit; add the folder of %.80s to LD_LIBRARY_PATH",
             dlerror(), name);
  for (size_t i = 0; library && i < sizeof symbols / sizeof *symbols; i++)
    if (!(functions[i] = dlsym(library, symbols[i]))) {
      snprintf(why, FY_CUPTI_WHY, "%.200s is no CUPTI that can be used: it has no %s", name, symbols[i]);
      dlclose(library);
      return false;
    }
  if (library)
    memcpy(cupti, functions, sizeof functions); // the table has them in this order
  return library != NULL;
}

// ---- clocks -------------------------------------------------------------------------------------------------------------

static inline int64_t fy_cupti_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// What is to be added to a time of CUPTI's: of a few readings of both clocks, the one that took the shortest. False when CUPTI
// has no time to tell.
static inline bool fy_cupti_offset(const FyCupti *cupti, int64_t *offset) {
  int64_t shortest = INT64_MAX;
  for (int i = 0; i < 8; i++) {
    uint64_t there;
    const int64_t before = fy_cupti_now();
    if (cupti->timestamp(&there) != CUPTI_SUCCESS)
      return false;
    const int64_t took = fy_cupti_now() - before;
    if (took < shortest) {
      shortest = took;
      *offset = before + took / 2 - (int64_t)there;
    }
  }
  return true;
}

// ---- records ------------------------------------------------------------------------------------------------------------

// "relu<float>" of "void ns::relu<float>(float *, int)": without result, namespaces of no name and parameters. In place.
static inline char *fy_cupti_shorten(char *name) {
  size_t length = strlen(name);
  int depth = 0;
  for (size_t i = length; length && name[length - 1] == ')' && i-- > 0;) {
    depth += name[i] == ')' ? 1 : name[i] == '(' ? -1 : 0;
    if (depth == 0) {
      name[i] = '\0';
      break;
    }
  }
  static const char unnamed[] = "(anonymous namespace)::";
  for (char *at = strstr(name, unnamed); at; at = strstr(at, unnamed))
    memmove(at, at + sizeof unnamed - 1, strlen(at + sizeof unnamed - 1) + 1);
  return strncmp(name, "void ", 5) == 0 ? name + 5 : name;
}

static inline int fy_cupti_copy_kind(unsigned kind) {
  return kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD   ? FY_COPY_HOST_TO_DEVICE
         : kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? FY_COPY_DEVICE_TO_HOST
                                                   : FY_COPY_DEVICE_TO_DEVICE;
}

static inline void fy_cupti_place(FyActivity *a, uint32_t id, uint32_t device, uint32_t stream, uint64_t begin,
                                  uint64_t end, int64_t offset) {
  a->id = a->launch = id; // all that a graph has run has one
  a->device = (int)device;
  a->stream = stream; // CUPTI's number of it
  a->begin = (int64_t)begin + offset;
  a->end = (int64_t)end + offset;
}

// A record as an activity; false where it is of another kind, or of something that has not ended. `name` gives a kernel's
// name, mangled by the compiler, as one that stays. The types are the first that have these members: later ones begin with
// the same bytes.
static inline bool fy_cupti_convert(const CUpti_Activity *record, int64_t offset,
                                    const char *(*name)(const char *mangled), FyActivity *a) {
  memset(a, 0, sizeof *a);
  if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
    const CUpti_ActivityKernel4 *k = (const CUpti_ActivityKernel4 *)record;
    a->kind = FY_ACTIVITY_KERNEL;
    a->name = name(k->name ? k->name : "a kernel");
    const int32_t sizes[6] = {k->gridX, k->gridY, k->gridZ, k->blockX, k->blockY, k->blockZ};
    for (int i = 0; i < 3; i++) {
      a->grid[i] = (unsigned)sizes[i];
      a->block[i] = (unsigned)sizes[3 + i];
    }
    fy_cupti_place(a, k->correlationId, k->deviceId, k->streamId, k->start, k->end, offset);
    return k->end != 0;
  }
  if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    const CUpti_ActivityMemcpy3 *m = (const CUpti_ActivityMemcpy3 *)record;
    a->kind = FY_ACTIVITY_COPY;
    a->copy_kind = fy_cupti_copy_kind(m->copyKind);
    a->bytes = (size_t)m->bytes;
    fy_cupti_place(a, m->correlationId, m->deviceId, m->streamId, m->start, m->end, offset);
    return m->end != 0;
  }
  if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY2) { // between two devices
    const CUpti_ActivityMemcpyPtoP2 *m = (const CUpti_ActivityMemcpyPtoP2 *)record;
    a->kind = FY_ACTIVITY_COPY;
    a->copy_kind = FY_COPY_DEVICE_TO_DEVICE;
    a->bytes = (size_t)m->bytes;
    fy_cupti_place(a, m->correlationId, m->deviceId, m->streamId, m->start, m->end, offset);
    return m->end != 0;
  }
  if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    const CUpti_ActivityMemset2 *m = (const CUpti_ActivityMemset2 *)record;
    a->kind = FY_ACTIVITY_FILL;
    a->bytes = (size_t)m->bytes;
    fy_cupti_place(a, m->correlationId, m->deviceId, m->streamId, m->start, m->end, offset);
    return m->end != 0;
  }
  return false;
}

// ---- a trace ------------------------------------------------------------------------------------------------------------

typedef void FyActivityTold(const FyActivity *activity);

// One in a program.
static struct FyCuptiTrace {
  FyCupti cupti;
  const char *(*name)(const char *mangled);
  int (*current_device)(void);
  CUpti_SubscriberHandle subscriber;
  pthread_mutex_t lock; // of who is told: a buffer may come at any time, from CUPTI's thread
  FyActivityTold *queued, *ran;
} fy_cupti_trace = {{NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL},
                    NULL,
                    NULL,
                    NULL,
                    PTHREAD_MUTEX_INITIALIZER,
                    NULL,
                    NULL};

#ifdef __cplusplus
#define FY_CUPTI_THREAD_LOCAL thread_local
#else
#define FY_CUPTI_THREAD_LOCAL _Thread_local
#endif

enum { FY_CUPTI_BUFFER_BYTES = 1 << 20 };

static void CUPTIAPI fy_cupti_buffer_requested(uint8_t **buffer, size_t *bytes, size_t *most_records) {
  *buffer = (uint8_t *)aligned_alloc(64, FY_CUPTI_BUFFER_BYTES); // NULL: CUPTI drops what it would have held
  *bytes = *buffer ? FY_CUPTI_BUFFER_BYTES : 0;
  *most_records = 0; // as many as fit
}

static void CUPTIAPI fy_cupti_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
                                               size_t used) {
  (void)context;
  (void)stream;
  (void)bytes;
  struct FyCuptiTrace *t = &fy_cupti_trace;
  CUpti_Activity *record = NULL;
  int64_t offset = 0; // read anew for each buffer, so that the clocks have no time to part
  pthread_mutex_lock(&t->lock);
  bool known = t->ran && used && fy_cupti_offset(&t->cupti, &offset);
  while (known && t->cupti.next_record(buffer, used, &record) == CUPTI_SUCCESS) {
    FyActivity activity;
    if (fy_cupti_convert(record, offset, t->name, &activity))
      t->ran(&activity);
  }
  pthread_mutex_unlock(&t->lock);
  free(buffer);
}

// The runtime's calls make calls of the driver, which are not to be told again: the outermost counts.
static void CUPTIAPI fy_cupti_called(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                     const void *about) {
  static FY_CUPTI_THREAD_LOCAL int depth;
  static FY_CUPTI_THREAD_LOCAL int64_t begin;
  const CUpti_CallbackData *data = (const CUpti_CallbackData *)about;
  (void)context;
  (void)domain;
  (void)id;
  if (data->callbackSite == CUPTI_API_ENTER) {
    if (depth++ == 0)
      begin = fy_cupti_now();
    return;
  }
  if (depth == 0 || --depth > 0) // 0: it began before the trace
    return;
  FyActivity activity;
  memset(&activity, 0, sizeof activity);
  activity.id = activity.launch = data->correlationId;
  activity.device = fy_cupti_trace.current_device();
  activity.begin = begin;
  activity.end = fy_cupti_now();
  pthread_mutex_lock(&fy_cupti_trace.lock);
  FyActivityTold *tell = fy_cupti_trace.queued;
  pthread_mutex_unlock(&fy_cupti_trace.lock);
  if (tell)
    tell(&activity);
}

// The calls that queue work: Ferry's own go through the runtime, some of cuBLAS's through the driver.
static const struct {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
} fy_cupti_calls[] = {
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyPeerAsync_v4000},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000},
#if CUPTI_API_VERSION >= 17 // CUDA 11.8
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx},
#endif
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel},
};

static const CUpti_ActivityKind fy_cupti_kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                                    CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};

static inline void fy_cupti_tell(FyActivityTold *queued, FyActivityTold *ran) {
  pthread_mutex_lock(&fy_cupti_trace.lock);
  fy_cupti_trace.queued = queued;
  fy_cupti_trace.ran = ran;
  pthread_mutex_unlock(&fy_cupti_trace.lock);
}

// Ends a trace: what has run is told before it returns, provided that the devices have been waited for.
static inline void fy_cupti_stop(void) {
  struct FyCuptiTrace *t = &fy_cupti_trace;
  if (!t->subscriber)
    return;
  t->cupti.unsubscribe(t->subscriber);
  t->subscriber = NULL;
  for (size_t i = 0; i < sizeof fy_cupti_kinds / sizeof *fy_cupti_kinds; i++)
    t->cupti.disable(fy_cupti_kinds[i]);
  t->cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  fy_cupti_tell(NULL, NULL);
}

static inline bool fy_cupti_failed(CUptiResult result, const char *what, char why[FY_CUPTI_WHY]) {
  const char *text = NULL;
  if (result == CUPTI_SUCCESS)
    return false;
  fy_cupti_trace.cupti.result_string(result, &text);
  snprintf(why, FY_CUPTI_WHY, "CUPTI refuses to %s: %.200s%s", what, text ? text : "unknown error",
           result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
               ? " (another profiler, such as nsys, has it: its report has the device's times)"
               : "");
  return true;
}

// Begins a trace with the table's functions. `name` as for fy_cupti_convert; `current_device` of the calling thread. Returns
// false and says why, with nothing begun. Not by two threads at once.
static inline bool fy_cupti_start(FyActivityTold *queued, FyActivityTold *ran, char why[FY_CUPTI_WHY]) {
  struct FyCuptiTrace *t = &fy_cupti_trace;
  fy_cupti_stop();
  if (fy_cupti_failed(t->cupti.subscribe(&t->subscriber, (CUpti_CallbackFunc)fy_cupti_called, NULL), "tell of calls",
                      why)) {
    t->subscriber = NULL;
    return false;
  }
  bool failed = fy_cupti_failed(t->cupti.register_callbacks(fy_cupti_buffer_requested, fy_cupti_buffer_completed),
                                "hand over records", why);
  for (size_t i = 0; !failed && i < sizeof fy_cupti_kinds / sizeof *fy_cupti_kinds; i++)
    failed = fy_cupti_failed(t->cupti.enable(fy_cupti_kinds[i]), "record what runs", why);
  for (size_t i = 0; !failed && i < sizeof fy_cupti_calls / sizeof *fy_cupti_calls; i++)
    failed = fy_cupti_failed(t->cupti.enable_callback(1, t->subscriber, fy_cupti_calls[i].domain, fy_cupti_calls[i].id),
                             "tell of calls", why);
  if (failed) {
    fy_cupti_stop();
    return false;
  }
  fy_cupti_tell(queued, ran);
  return true;
}

#endif
