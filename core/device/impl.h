// SPDX-License-Identifier: MIT
// What the files of this folder share: for core/device/ only.
#ifndef FERRY_DEVICE_IMPL_H
#define FERRY_DEVICE_IMPL_H

#include "device/runtime.h"
#include <stdatomic.h>

// ---- runtime.c -------------------------------------------------------------------------------------------------------

// Like fy_backend and fy_cuda_device_count, but never choose a runtime: NULL and 0 before one is used. Never raise.
const FyBackend *fy_backend_if_chosen(void);
int fy_device_count_chosen(void);

// The same table, whose calls tell a profiler: for one backend in a program. Never raises (watched_backend.c).
const FyBackend *fy_watched_backend(const FyBackend *backend);

// The index of a CUDA device: -1 becomes the current one. Raise for a device that is not there, and the first for mps.
int fy_cuda_index(FyDevice device);
int fy_check_cuda_index(int index);

// fy_use_device, but returns the backend's error code. The backend has been chosen. Never raises.
int fy_try_use_device(int device);

// ---- counters.c: none raises -----------------------------------------------------------------------------------------

void fy_count_launch(void); // these two are what the backend calls (FyBackend.observe)
void fy_count_copy(int kind, size_t bytes);
void fy_count_synchronization(void);
void fy_count_op(void);
void fy_count_graph_launch(int64_t nodes);

// ---- memory_history.c: none raises -------------------------------------------------------------------------------------

// Who asked for memory: the thread's last public call.
typedef struct FyPlace {
  const char *file;
  int line;
} FyPlace;
static inline FyPlace fy_place_here(void) {
  return (FyPlace){fy_where_file, fy_where_line};
}

// The index of the CPU's events beside the devices'.
enum { FY_HISTORY_CPU = FY_MAX_DEVICES };

// Is anything recorded, or a profiler told? To be asked before each fy_record_memory_event, so that nobody else pays for it.
extern atomic_bool fy_memory_is_recorded;
static inline bool fy_records_memory(void) {
  return atomic_load_explicit(&fy_memory_is_recorded, memory_order_relaxed);
}

// Adds the place and the time. Locks of allocators may be held: this one is the last to be taken.
void fy_record_memory_event(int device, FyMemoryEvent event);

// ---- stream.c, current.c, thread.c ----------------------------------------------------------------------------------------------

struct FyStream {
  FyObject object;
  int device; // CUDA index, -1: the CPU's
  int priority;
  void *raw;                        // cudaStream_t; NULL: the device's default stream
  struct FyStream *previous, *next; // in the list of those alive
};

// What one thread has made current. A NULL stream is the default one.
typedef struct FyThreadDevices {
  int device;  // as set by the user, -1 when never set
  int applied; // what the runtime was last told, -1 before the first call
  FyStream *stream[FY_MAX_DEVICES];
  void *blas[FY_MAX_DEVICES];        // cublasHandle_t; NULL until the thread first multiplies matrices there
  void *blas_stream[FY_MAX_DEVICES]; // what each handle was last set to
  struct FyGuard *guards;            // open guards, innermost last
  int guard_count, guard_capacity;
  bool registered; // fy_thread_devices_end will run when the thread ends
} FyThreadDevices;

extern _Thread_local FyThreadDevices fy_thread_devices;

// current.c. The first is called before a thread first holds something that its end must give back; when the thread ends,
// fy_end_thread_devices runs. fy_apply_device makes a device current that was current before (-1: none was set), without choosing a
// runtime. None raises.
FyThreadDevices *fy_thread_devices_registered(void);
void fy_end_thread_devices(void *thread); // thread.c
void fy_apply_device(int device);

// guard.c. Closes the calling thread's guards until `count` are left; drops all of a thread that ends, whose state is not put back.
// Neither raises.
void fy_close_guards(int count);
void fy_drop_guards(FyThreadDevices *t);
void fy_release_blas_handles(FyThreadDevices *t); // blas.c: to the pool. Never raises

// None of these raises. A NULL stream is the default one.
FyStream *fy_current_stream_of(int device); // borrowed
void fy_make_stream_current(int device, FyStream *stream);
FyStream *fy_stream_if_alive(void *stream); // a new reference to it, NULL when it is gone

// What is queued on `then` from here on runs after all that is queued on `first` now. Returns an error code of the backend,
// which has been chosen; never raises.
int fy_order_streams(int first_device, void *first, int then_device, void *then);
void fy_forget_blas_streams(void); // of the calling thread's handles: each is set anew when it is next asked for
void fy_thread_devices_end(void);  // the calling thread gives back what it holds; never raises

// ---- the allocators: none of these raises ----------------------------------------------------------------------------

FyMemoryStats fy_cuda_memory_stats(int device);
FyMemoryStats fy_host_memory_stats(void);
FyMemoryStats fy_pinned_memory_stats(void);
void fy_cuda_reset_peak(int device);
void fy_host_reset_peak(void);
void fy_cuda_reset_accumulated(int device);
void fy_host_reset_accumulated(void);
size_t fy_cuda_memory_blocks(int device, FyMemoryBlock *blocks, size_t capacity);
size_t fy_host_memory_blocks(FyMemoryBlock *blocks, size_t capacity);
void fy_cuda_limit_memory(int device, size_t bytes); // to be reserved at most; SIZE_MAX: no limit
void fy_cuda_empty_cache(void);
void fy_host_empty_cache(void);
void fy_pinned_empty_cache(void);

// Pools of events without timing for the allocators: `take` returns an error code of the backend. The device is current.
int fy_event_take(int device, void **event);
void fy_event_give_back(int device, void *event);

#endif
