// SPDX-License-Identifier: MIT
// What the simulator can tell about itself; a real GPU has no such functions. C and C++.
#ifndef CUDASIM_H
#define CUDASIM_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Counts since the program began or cudasim_reset_stats. A copy, launch or fill counts when it is asked for; one that a
// graph repeats counts again at each cudaGraphLaunch.
struct cudasim_stats {
  unsigned long long launches;
  unsigned long long refused_launches; // for their shape or their shared memory; the last one's:
  unsigned int refused_grid[3], refused_block[3];
  unsigned long long matrix_products; // cuBLAS calls that compute
  unsigned long long fills;
  unsigned long long copies_host_to_device, bytes_host_to_device;
  unsigned long long copies_device_to_host, bytes_device_to_host;
  unsigned long long copies_device_to_device, bytes_device_to_device;
  unsigned long long copies_host_to_host, bytes_host_to_host;
  unsigned long long synchronizations; // calls in which the host waited for a device, blocking copies among them
  unsigned long long allocations, frees;
  long long live_nodes; // operations that are not finished, or that a stream or event still refers to
};

// Has `kernel` called for each launch, cuBLAS call, fill and copy within one device, and `copy` (with a cudaMemcpyKind)
// for each copy between the host and a device or between two devices, when and on the thread where it is counted above.
// What a graph repeats is not told of: the host asks for all of it by one call. NULL: not at all. No lock of the simulator's is
// held during the calls.
void cudasim_observe(void (*kernel)(void), void (*copy)(int kind, size_t bytes));

enum { CUDASIM_KERNEL, CUDASIM_COPY, CUDASIM_FILL };

// A launch or cuBLAS call, a copy or a fill: one execution of it. Times are in nanoseconds of CLOCK_MONOTONIC.
struct cudasim_activity {
  unsigned long long id;     // from 1
  unsigned long long launch; // the same for all that one call has queued: the first one's id
  int kind;
  const char *name; // of a kernel, "cublas gemm" and the like for cuBLAS's; lives as long as the program
  int device;
  int copy_kind; // cudaMemcpyKind
  size_t bytes;
  unsigned long long stream; // cudaStream_t, 0 for the device's legacy stream
  unsigned int grid[3], block[3];
  long long begin, end; // queued: of the call, `end` being now; ran: of the work
};

// Has `queued` called when and on the thread where an activity was queued, and `ran` on whatever thread ran it, before
// anybody who waits for it goes on. What a graph repeats is queued by cudaGraphLaunch. No lock of the simulator's is held. NULL:
// not at all.
void cudasim_trace(void (*queued)(const struct cudasim_activity *), void (*ran)(const struct cudasim_activity *));

// ---- a modeled GPU (FERRY_SIM_GPU): its clock. Without a modeled GPU, none of these functions does anything. ----

// "modeled, not measured: computed from counts and the data sheet of NVIDIA A100", valid as long as the program runs; NULL: no
// GPU is modeled. Show it with every modeled time. If the program never asks for it, the first cudaEventElapsedTime prints it on
// stderr.
const char *cudasim_model_label(void);
bool cudasim_models_gpu(void);

// The calling thread's time on the modeled clock, in seconds: the duration of its calls and synchronizations on that GPU. 0: no GPU is modeled.
double cudasim_model_seconds(void);

// What an operation of a library does, whichever kernels compute it here: bytes each way and operations (a multiply-add is two),
// or a product of `batch` matrices of m x k and k x n. Until the end, the first kernel that the calling thread queues has all of
// its time, and further ones have none.
struct cudasim_op {
  double bytes_read, bytes_written, flops;
  double blocks; // of the kernel, where they are few; 0: as many as the bytes need
  double before; // bytes that a kernel in these blocks reads first, before one that does all of the above; 0: none does
  double m, n, k, batch; // m 0: no product
  int element_bytes;     // 8, 4 or 2: what a product is of
};
void cudasim_op_begin(const struct cudasim_op *op);
void cudasim_op_end(void);

// For whoever looks at kernels: `will` says of a launch, when it is queued, whether cudasim_counts will be called for it by the
// thread that runs it, before it has run (NULL: of none). Until then its time is open. In those counts dram_reads and dram_writes
// are the distinct bytes; what the L2 cache holds of them is taken off here.
struct cudasim_launch_request;
struct model_counts; // model/counts.h
struct model_time;   // model/kernel.h
void cudasim_counts_come(bool (*will)(const struct cudasim_launch_request *request));
// The time that a launch with these counts takes goes to `time`, where that is given; false: nothing runs that has a time.
bool cudasim_counts(const struct model_counts *counts, struct model_time *time);

void cudasim_get_stats(struct cudasim_stats *stats);
void cudasim_reset_stats(void);

// What went wrong first in a kernel, in one line: "kernel saxpy, block (4,0,0), thread (1,0,0): ..."; "": nothing did.
const char *cudasim_fault(void);
// Device memory that such a line calls by a name: `count` elements from `begin` on. `name` is kept, not copied; 32 names at most.
void cudasim_name_array(const void *begin, size_t count, size_t element_bytes, const char *name);

// "threads", "lazy" or "sync": the mode picked by FERRY_SIM_MODE.
const char *cudasim_mode(void);

#ifdef __cplusplus
}
#endif

#endif
