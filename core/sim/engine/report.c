// SPDX-License-Identifier: MIT
// Messages about kernels that went wrong: which kernel, block and thread, and what the other threads were doing.
#include "sim/engine/block_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/plugin.h"
#include "cudasim_split.h"
#include "sim/engine/sanitizer.h"

// The first thing that went wrong, in one line: for cudasim_fault.
static char first_fault[512];

const char *cudasim_fault(void) {
  return first_fault;
}

// The running thread's threadIdx. Instrumented loops keep it in threadIdx itself.
static struct uint3 thread_place(void) {
  if (cudasim_run_as_loop == CUDASIM_LOOP_RUNS && sim_executor->inspected)
    return threadIdx;
  return (struct uint3){cudasim_thread->x, cudasim_thread->y, cudasim_thread->z};
}

static void note_fault(const struct sim_executor *e, const char *what) {
  const struct uint3 thread = thread_place();
  if (first_fault[0] == '\0')
    snprintf(first_fault, sizeof first_fault, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u): %s",
             e->launch->name ? e->launch->name : "without a name", blockIdx.x, blockIdx.y, blockIdx.z, thread.x,
             thread.y, thread.z, what);
}

// ---- arrays with names ---------------------------------------------------------------------------------------------------

enum { MAX_NAMED = 32, NEAR_AN_ARRAY = 1 << 20 };

static struct named {
  const char *begin, *name;
  size_t count, element_bytes;
} named[MAX_NAMED];
static int named_count;

void cudasim_name_array(const void *begin, size_t count, size_t element_bytes, const char *name) {
  if (named_count < MAX_NAMED)
    named[named_count++] = (struct named){begin, name, count, element_bytes};
}

// How far an address is from the array: 0 within it.
static size_t distance(const struct named *array, const char *address) {
  const char *end = array->begin + array->count * array->element_bytes;
  return address < array->begin ? (size_t)(array->begin - address) : address >= end ? (size_t)(address - end) + 1 : 0;
}

// "reads x[1025]: x has 1025 elements" of the nearest array that has a name; false: none is near.
static bool describe_array(const void *address, const char *does, char *text, size_t size) {
  const struct named *nearest = NULL;
  for (int i = 0; i < named_count; i++)
    if (distance(&named[i], address) < (nearest ? distance(nearest, address) : NEAR_AN_ARRAY))
      nearest = &named[i];
  // An address far before one array may as well be far after another.
  enum { JUST_BEFORE = 512 };
  if (!nearest || ((const char *)address < nearest->begin && distance(nearest, address) > JUST_BEFORE))
    return false;
  const long long size_of_one = (long long)nearest->element_bytes, byte = (const char *)address - nearest->begin;
  const long long index = byte >= 0 ? byte / size_of_one : -((-byte + size_of_one - 1) / size_of_one);
  snprintf(text, size, "it %s %s[%lld], and %s has %zu element%s", does, nearest->name, index, nearest->name,
           nearest->count, nearest->count == 1 ? "" : "s");
  return true;
}

void sim_report(struct sim_executor *e, const char *what) {
  const struct cudasim_launch_request *launch = e->launch;
  sim_critical_begin(e, NULL);
  sim_print_show(e);
  note_fault(e, what); // unless a shorter message came first
  fprintf(stderr, "cudasim: %s\n  kernel %s <<<(%u,%u,%u), (%u,%u,%u)>>>, block (%u,%u,%u)\n", what,
          launch->name ? launch->name : "without a name", launch->grid.x, launch->grid.y, launch->grid.z,
          launch->block.x, launch->block.y, launch->block.z, blockIdx.x, blockIdx.y, blockIdx.z);
  sim_critical_end(e);
}

bool sim_threads_alike(const struct sim_executor *e, unsigned int a, unsigned int b) {
  if (e->state[a] != e->state[b])
    return false;
  if (e->state[a] != SIM_AT_BARRIER && e->state[a] != SIM_AT_WARP)
    return true;
  return e->waiter[a].line == e->waiter[b].line && e->waiter[a].file == e->waiter[b].file;
}

static void describe(const struct sim_executor *e, unsigned int thread, unsigned int count) {
  const struct cudasim_index *index = &e->waiter[thread].index;
  fprintf(stderr, "    %4u thread(s), the first (%u,%u,%u): ", count, index->x, index->y, index->z);
  if (e->state[thread] == SIM_DONE)
    fprintf(stderr, "returned from the kernel\n");
  else if (e->state[thread] == SIM_AT_BARRIER)
    fprintf(stderr, "waiting in __syncthreads at %s:%d\n", e->waiter[thread].file, e->waiter[thread].line);
  else if (e->state[thread] == SIM_AT_WARP)
    fprintf(stderr, "waiting in a warp function at %s:%d\n", e->waiter[thread].file, e->waiter[thread].line);
  else if (e->state[thread] == SIM_CONVERGING)
    fprintf(stderr, "in __activemask at %s:%d\n", e->waiter[thread].file, e->waiter[thread].line);
  else
    fprintf(stderr, "running\n");
}

// The block's threads, in groups that do the same.
void sim_report_threads(struct sim_executor *e) {
  bool printed[SIM_MAX_BLOCK_THREADS] = {false};
  sim_critical_begin(e, NULL);
  for (unsigned int t = 0; t < e->threads; t++) {
    if (printed[t])
      continue;
    unsigned int count = 0;
    for (unsigned int u = t; u < e->threads; u++)
      if (!printed[u] && sim_threads_alike(e, t, u)) {
        printed[u] = true;
        count++;
      }
    describe(e, t, count);
  }
  sim_critical_end(e);
}

void sim_warn_returned(struct sim_executor *e) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static const void *warned; // the last kernel that was warned of; seldom more than one needs it
  sim_critical_begin(e, NULL);
  pthread_mutex_lock(&lock);
  if (warned != e->launch->function)
    sim_report(e, "warning: __syncthreads() after threads of the block have returned: a GPU since Volta waits only for "
                  "the threads that have not exited, an older one may hang");
  warned = e->launch->function;
  pthread_mutex_unlock(&lock);
  sim_critical_end(e);
}

void sim_report_thread(void) {
  const struct uint3 thread = thread_place();
  sim_critical_begin(sim_executor, NULL);
  fprintf(stderr, "    thread (%u,%u,%u)\n", thread.x, thread.y, thread.z);
  sim_critical_end(sim_executor);
}

void sim_report_place(void) {
  sim_report(sim_executor, "in a kernel");
  sim_report_thread();
}

// Below the stack pointer of the native stack, or in a fiber's guard page.
static bool is_stack_overflow(const struct sim_executor *e, const void *address) {
  enum { NEAR = 65536 };
  const char *byte = address;
  for (const struct sim_fiber *fiber = e->all_fibers; fiber; fiber = fiber->next)
    if (sim_fiber_guards(fiber, address))
      return true;
  return e->running == SIM_NATIVE && byte >= e->native.low - NEAR && byte < e->native.low + e->native.size;
}

void sim_report_fault(struct sim_executor *e, struct sim_fault fault) {
  char message[300], array[160];
  const bool misaligned = fault.error == cudaErrorMisalignedAddress;
  const char *what = fault.what;
  if (fault.error == cudaErrorLaunchFailure) { // no access
    snprintf(message, sizeof message, "%s in a kernel", what);
    sim_report(e, message);
    return;
  }
  if (is_stack_overflow(e, fault.address))
    what = "stack overflow of a simulated thread, whose arrays and calls may take 512 KiB, as a GPU's local memory";
  else if (!misaligned && describe_array(fault.address, fault.does, array, sizeof array))
    what = array;
  note_fault(e, what);
  snprintf(message, sizeof message, "%s address %p in a kernel: %s", misaligned ? "misaligned" : "illegal",
           (void *)(uintptr_t)fault.address, what);
  sim_report(e, message);
}

/* In CUDA's words. */
void cudasim_assert_fail(const char *assertion, const char *file, unsigned int line, const char *function) {
  if (!sim_block_running()) {
    fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, assertion);
    abort();
  }
  const struct uint3 thread = thread_place();
  sim_critical_begin(sim_executor, NULL); // until the block is given up
  sim_print_show(sim_executor);
  fprintf(stderr, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file, line, function,
          blockIdx.x, blockIdx.y, blockIdx.z, thread.x, thread.y, thread.z, assertion);
  sim_give_up(sim_executor, cudaErrorAssert);
}

void cudasim_refuse(const char *what, const char *file, int line) {
  const bool inside = sim_block_running();
  char message[600];
  snprintf(message, sizeof message, "%s:%d: not simulated: %s", file, line, what);
  if (!inside) {
    fprintf(stderr, "cudasim: %s\n", message);
    abort();
  }
  sim_report(sim_executor, message);
  sim_report_thread();
  sim_give_up(sim_executor, cudaErrorNotSupported);
}

#ifdef SIM_ASAN
// AddressSanitizer calls this before its report, which knows the line but not the thread of the grid.
void __asan_on_error(void);
void __asan_on_error(void) {
  struct sim_executor *e = sim_executor;
  if (!sim_block_running())
    return;
  sim_report(e, "AddressSanitizer found the error below in");
  sim_report_thread();
}
#endif
