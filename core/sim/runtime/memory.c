// SPDX-License-Identifier: MIT
// Device memory: one reserved range of addresses, device after device. If an inspector is linked in, the memory that
// devices share with the host comes after them (pinned.c).
#include "sim/runtime/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sim/engine/block_internal.h"
#include "cudasim_graph.h"
#include "sim/base/plugin.h"
#include "sim/runtime/node.h"
#include "sim/engine/sanitizer.h"
#include "sim/base/sim.h"
#include "sim/runtime/stream.h"

// Huge pages make the guards cheap: protecting memory costs time for each page.
enum { PAGE = 2 << 20 };
enum { GIVE_BACK = 2 * PAGE }; // freed pieces of this size return their pages to the operating system

// ---- guards ----

static pthread_mutex_t access_lock = PTHREAD_MUTEX_INITIALIZER;
static int accesses;              // of all threads
static bool opened;               // device memory is accessible
static __thread int own_accesses; // this thread's part of `accesses`
static long long since, spent;    // nanoseconds: when that began, and how long mprotect took in all

static uintptr_t round_up(uintptr_t bytes) {
  return (bytes + PAGE - 1) / PAGE * PAGE;
}

static int protection(void) {
  return sim.config.guard != SIM_NO_GUARD && !opened ? PROT_NONE : PROT_READ | PROT_WRITE;
}

static size_t page_bytes(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

// With FERRY_SIM_GUARD_PAGE the page after the bytes of a piece, or before them, is never accessible.
static void protect_guard_pages(const struct sim_heap *heap) {
  const size_t page = page_bytes();
  for (size_t i = 0; i < heap->count; i++) {
    const struct sim_piece *piece = &heap->pieces[i];
    if (!piece->used || piece->offset == 0)
      continue;
    char *begin = piece->address + piece->offset, *end = begin + (piece->asked + 15) / 16 * 16;
    mprotect(sim.config.guard_page == SIM_GUARD_PAGE_AFTER ? end : begin - page, page, PROT_NONE);
  }
}

// access_lock is held.
static void protect_all(void) {
  for (int i = 0; i < sim.config.devices; i++) {
    struct sim_heap *heap = &sim.device[i].heap;
    if (heap->reach == 0)
      continue;
    mprotect(heap->base, round_up(heap->reach), protection());
    if (sim.config.guard_page != SIM_NO_GUARD_PAGE && protection() != PROT_NONE)
      protect_guard_pages(heap);
  }
}

static void lock_access(void) {
  if (sim_block_running()) // a kernel that allocates
    sim_critical_begin(sim_executor, NULL);
  pthread_mutex_lock(&access_lock);
}

static void unlock_access(void) {
  pthread_mutex_unlock(&access_lock);
  if (sim_block_running())
    sim_critical_end(sim_executor);
}

static long long nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

// access_lock is held.
static void set_opened(bool open) {
  const long long begin = nanoseconds();
  opened = open;
  protect_all();
  spent += nanoseconds() - begin;
}

// By default the threads mode gives the guard 50 ms, which most programs do not use up, and then a twentieth of the time.
static bool affordable(void) {
  enum { FREE_NS = 50000000, SHARE = 20 };
  return sim.config.guard == SIM_GUARD || spent < FREE_NS || spent - FREE_NS < (nanoseconds() - since) / SHARE;
}

// access_lock is held.
static void close_if_unused(void) {
  if (opened && accesses == 0 && affordable())
    set_opened(false);
}

static void change_accesses(int by) {
  lock_access();
  own_accesses += by;
  accesses += by;
  if (accesses > 0 && !opened)
    set_opened(true);
  else if (sim.config.mode != SIM_THREADS)
    close_if_unused();
  unlock_access();
}

void sim_access_begin(void) {
  if (sim.config.guard != SIM_NO_GUARD)
    change_accesses(1);
}

void sim_access_end(void) {
  if (sim.config.guard != SIM_NO_GUARD)
    change_accesses(-1);
}

void sim_access_settle(void) {
  if (sim.config.guard == SIM_NO_GUARD)
    return;
  lock_access();
  close_if_unused();
  unlock_access();
}

int sim_access_pause(void) {
  const int paused = own_accesses;
  if (paused > 0) {
    change_accesses(-paused);
    sim_access_settle();
  }
  return paused;
}

void sim_access_resume(int paused) {
  if (paused > 0)
    change_accesses(paused);
}

// ---- addresses ----

static size_t host_memory(void) {
  return round_up((size_t)sysconf(_SC_PHYS_PAGES) * page_bytes());
}

void sim_memory_init(void) {
  // The gap between devices is wider than any red zone, so that running off the end of one is no access to the next.
  enum { GAP = 64 << 20 };
  since = nanoseconds();
  sim.span = round_up(sim.config.memory_bytes) + GAP;
  const size_t devices_bytes = sim.span * (size_t)sim.config.devices, host_bytes = sim_inspector ? host_memory() : 0,
               bytes = devices_bytes + host_bytes;
  char *reserved = mmap(NULL, bytes + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) {
    fprintf(stderr, "ferry: no address space for %d simulated devices of %zu MB: set FERRY_SIM_MEMORY_MB lower\n",
            sim.config.devices, sim.config.memory_bytes >> 20);
    exit(2);
  }
  sim.arena = (char *)round_up((uintptr_t)reserved);
  madvise(sim.arena, bytes, MADV_HUGEPAGE);
  for (int i = 0; i < sim.config.devices; i++) {
    sim.device[i].heap.base = sim.arena + sim.span * (size_t)i;
    sim.device[i].heap.capacity = sim.config.memory_bytes;
  }
  sim.host_heap.base = sim.arena + devices_bytes;
  sim.host_heap.capacity = host_bytes;
}

cudaError_t sim_range_check(const void *address, size_t bytes) {
  int device = sim_device_of(address);
  if (device < 0)
    return cudaSuccess;
  sim_lock();
  const struct sim_piece *piece = sim_heap_find(&sim.device[device].heap, address);
  bool within = piece && piece->used && sim_piece_offset(piece, address) <= piece->asked &&
                bytes <= piece->asked - sim_piece_offset(piece, address);
  sim_unlock();
  return within ? cudaSuccess : cudaErrorInvalidValue;
}

const char *sim_pointer_fault(const void *address, int device) {
  int owner = sim_device_of(address);
  if (owner < 0)
    return sim_is_pinned(address) ? NULL : "ordinary host memory";
  sim_lock();
  const struct sim_piece *piece = sim_heap_find(&sim.device[owner].heap, address);
  bool used = piece && piece->used;
  sim_unlock();
  if (!used)
    return "device memory that is not allocated (freed?)";
  if (owner != device && !sim.device[device].peer[owner])
    return "memory of another device, without cudaDeviceEnablePeerAccess";
  return NULL;
}

// ---- device memory ----

// Makes the pages of a heap that has grown usable. access_lock is held.
static void open_pages(struct sim_heap *heap, const char *address) {
  size_t begin = round_up((size_t)(address - heap->base)), end = round_up(heap->reach);
  if (end > begin)
    mprotect(heap->base + begin, end - begin, protection());
}

// With an inaccessible page after the bytes or before them. They are aligned to 16: CUDA's 256 would leave room after them.
static char *allocate_against_guard(struct sim_heap *heap, size_t bytes, bool *grown) {
  if (bytes > heap->capacity) // below, it may be so large that rounding it up wraps
    return NULL;
  const size_t page = page_bytes(), whole = (bytes + page - 1) / page * page;
  char *piece = sim_heap_take(heap, whole + 3 * page, grown);
  if (piece == NULL)
    return NULL;
  char *first = (char *)(((uintptr_t)piece + page - 1) / page * page) + page;
  char *address = sim.config.guard_page == SIM_GUARD_PAGE_AFTER ? first + whole - (bytes + 15) / 16 * 16 : first;
  sim_heap_shift(heap, piece, (size_t)(address - piece), bytes);
  return address;
}

static char *take_bytes(int device, size_t bytes) {
  struct sim_heap *heap = &sim.device[device].heap;
  const bool guarded = sim.config.guard_page != SIM_NO_GUARD_PAGE;
  bool grown = false;
  lock_access();
  sim_lock();
  char *address = guarded ? allocate_against_guard(heap, bytes, &grown) : sim_heap_take(heap, bytes, &grown);
  sim_unlock();
  if (grown && !guarded)
    open_pages(heap, address);
  if (guarded)
    protect_all();
  unlock_access();
  return address;
}

// For programs built by ./ferry nvcc, whose own message for a failed allocation is seldom clear.
static void warn_full(int device, size_t bytes) {
  static atomic_flag told = ATOMIC_FLAG_INIT;
  if (sim_config_is_program() && !atomic_flag_test_and_set(&told))
    fprintf(stderr,
            "cudasim: warning: %zu bytes do not fit: device %d has %zu MB, %zu of them in use (FERRY_SIM_MEMORY_MB)\n",
            bytes, device, sim.config.memory_bytes >> 20, sim.device[device].heap.used >> 20);
}

static cudaError_t allocate(int device, void **pointer, size_t bytes, const void *caller) {
  if (pointer == NULL)
    return cudaErrorInvalidValue;
  *pointer = NULL;
  if (bytes == 0)
    return cudaSuccess;
  char *address = take_bytes(device, bytes);
  if (address == NULL) { // memory may be on its way back: frees that are queued in streams
    sim_stream_drain(device);
    address = take_bytes(device, bytes);
  }
  if (address == NULL) {
    warn_full(device, bytes);
    return cudaErrorMemoryAllocation;
  }
  SIM_COUNT(allocations, 1);
  sim_access_begin();
  ASAN_UNPOISON_MEMORY_REGION(address, bytes);
  memset(address, sim.config.zeroed ? 0 : 0xff, bytes); // fresh memory is NaN, never a lucky zero
  size_t end = (bytes + 255) / 256 * 256 + 256;
  ASAN_POISON_MEMORY_REGION(address + bytes, end - bytes);
  sim_access_end();
  sim_access_settle();
  SIM_NOTIFY(allocated, (address, bytes, caller));
  *pointer = address;
  return cudaSuccess;
}

cudaError_t sim_release(void *pointer) {
  int device = sim_device_of(pointer);
  if (device < 0)
    return cudaErrorInvalidValue;
  sim_lock();
  SIM_NOTIFY(freed, (pointer));
  size_t size = sim_heap_give(&sim.device[device].heap, pointer);
  if (size > 0)
    ASAN_POISON_MEMORY_REGION(pointer, size);
  if (size >= GIVE_BACK) {
    uintptr_t begin = round_up((uintptr_t)pointer), end = ((uintptr_t)pointer + size) / PAGE * PAGE;
    madvise((void *)begin, end - begin, MADV_DONTNEED);
  }
  sim_unlock();
  if (size == 0)
    return cudaErrorInvalidValue;
  SIM_COUNT(frees, 1);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void **pointer, size_t bytes) {
  SIM_TRY(sim_enter());
  SIM_TRY(sim_sticky(sim_current_device));
  SIM_TRY(sim_capture_forbids());
  return sim_fail(allocate(sim_current_device, pointer, bytes, __builtin_return_address(0)));
}

// ---- freeing ----

cudaError_t cudaFree(void *pointer) {
  SIM_TRY(sim_enter());
  if (pointer == NULL)
    return sim_fail(sim_sticky(sim_current_device));
  int device = sim_device_of(pointer);
  if (device < 0 && !sim_is_managed(pointer))
    return sim_fail(cudaErrorInvalidValue);
  SIM_TRY(sim_capture_forbids());
  if (device < 0) {
    SIM_TRY(sim_host_free(pointer, true));
    SIM_COUNT(frees, 1);
    return sim_fail(sim_sticky(sim_current_device));
  }
  sim_stream_drain(device);
  cudaError_t error = cudaSuccess;
  if (sim_graph_keeps(pointer))
    cudasim_graph_free(pointer);
  else
    error = sim_release(pointer);
  return sim_fail(sim_sticky(device) ? sim_sticky(device) : error);
}

cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t handle) {
  return sim_allocate_in_stream(pointer, bytes, handle, __builtin_return_address(0));
}

cudaError_t sim_allocate_in_stream(void **pointer, size_t bytes, cudaStream_t handle, const void *caller) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  SIM_TRY(sim_sticky(stream->device));
  const cudaError_t error = allocate(stream->device, pointer, bytes, caller);
  if (error == cudaSuccess && stream->capture)
    cudasim_graph_keep(*pointer);
  return sim_fail(error);
}

struct free_work {
  struct sim_work base;
  void *pointer;
};

static cudaError_t run_free(struct sim_work *base) {
  SIM_NOTIFY(freed_in_stream, (((struct free_work *)base)->pointer));
  return sim_release(((struct free_work *)base)->pointer);
}

// For frees in a graph, which may run again, and of memory that a graph has allocated.
static cudaError_t run_graph_free(struct sim_work *base) {
  cudasim_graph_free(((struct free_work *)base)->pointer);
  return cudaSuccess;
}

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t handle) {
  SIM_TRY(sim_enter());
  if (pointer == NULL)
    return cudaSuccess;
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  SIM_TRY(sim_range_check(pointer, 0));
  if (sim_device_of(pointer) < 0)
    return sim_fail(cudaErrorInvalidValue);
  struct free_work *work =
      sim_work_new(sizeof *work, stream->capture || sim_graph_keeps(pointer) ? run_graph_free : run_free, NULL);
  work->pointer = pointer;
  work->base.caller = __builtin_return_address(0);
  return sim_fail(sim_submit(stream, &work->base, NULL));
}

cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
  enum { PITCH = 512 };
  SIM_TRY(sim_enter());
  if (pointer == NULL || pitch == NULL)
    return sim_fail(cudaErrorInvalidValue);
  size_t row, bytes;
  if (__builtin_add_overflow(width, PITCH - 1, &row) || __builtin_mul_overflow(row / PITCH * PITCH, height, &bytes))
    return sim_fail(cudaErrorMemoryAllocation);
  *pitch = row / PITCH * PITCH;
  return cudaMalloc(pointer, bytes);
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  SIM_TRY(sim_enter());
  SIM_TRY(sim_sticky(sim_current_device));
  sim_lock();
  const struct sim_heap *heap = &sim.device[sim_current_device].heap;
  *available = heap->capacity - heap->used;
  *total = heap->capacity;
  sim_unlock();
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer) {
  SIM_TRY(sim_enter());
  if (attributes == NULL)
    return sim_fail(cudaErrorInvalidValue);
  int device = sim_device_of(pointer);
  bool live = device >= 0 && sim_range_check(pointer, 0) == cudaSuccess;
  bool pinned = device < 0 && sim_is_pinned(pointer);
  *attributes = (struct cudaPointerAttributes){.type = cudaMemoryTypeUnregistered, .device = -2};
  if (live)
    *attributes = (struct cudaPointerAttributes){cudaMemoryTypeDevice, device, (void *)(uintptr_t)pointer, NULL};
  else if (pinned)
    *attributes =
        (struct cudaPointerAttributes){sim_is_managed(pointer) ? cudaMemoryTypeManaged : cudaMemoryTypeHost,
                                       sim_current_device, (void *)(uintptr_t)pointer, (void *)(uintptr_t)pointer};
  else
    attributes->hostPointer = (void *)(uintptr_t)pointer;
  return cudaSuccess;
}
