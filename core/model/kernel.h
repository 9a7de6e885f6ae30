// SPDX-License-Identifier: MIT
// How long a kernel would take on a GPU, computed from what it does. Plain functions of their arguments: nothing is remembered,
// nothing raised, any thread may call them. Every result is modeled, not measured; docs/model.md says how far it can be trusted.
#ifndef FERRY_MODEL_KERNEL_H
#define FERRY_MODEL_KERNEL_H

#include "model/counts.h"
#include "model/gpu.h"

// What can limit a kernel, in the order of struct model_time's terms.
enum model_limit { MODEL_DRAM, MODEL_L2, MODEL_L1, MODEL_ISSUE, MODEL_ARITHMETIC, MODEL_LATENCY, MODEL_LIMITS };

struct model_time {
  double seconds;            // of the kernel alone, without its launch
  double term[MODEL_LIMITS]; // seconds that it would take if nothing but this limited it
  enum model_limit limit;    // the longest of them
  int resident;              // blocks on a multiprocessor at a time
  double share;              // of the GPU's multiprocessors that its blocks keep busy, 0 to 1
};

struct model_time model_kernel(const struct model_gpu *gpu, const struct model_counts *counts);

// "device memory", "L2 cache", "L1 cache and shared memory", "instructions", "arithmetic", "latency"
const char *model_limit_name(enum model_limit limit);

// Of a working set of so many bytes, used again and again, the share that the L2 cache does not hold.
double model_beyond_l2(const struct model_gpu *gpu, double bytes);

// Blocks of this shape that a multiprocessor holds at a time, 0 where not even one fits; registers 0: unknown, no limit.
int model_resident_blocks(const struct model_gpu *gpu, double threads, double shared_bytes, double registers);

// A kernel that reads and writes memory in order: so many bytes each way, and so many operations (flops count a multiply-add
// twice). What the L2 cache can hold of it comes from there, as when it was used just before.
struct model_time model_streaming(const struct model_gpu *gpu, double bytes_read, double bytes_written, double flops);
// The same in so many blocks, each of which goes through its share in turns, as a sum of each row does with a block for each
// row: few blocks wait for memory. 0, or more than the bytes need: as above.
struct model_time model_streaming_in(const struct model_gpu *gpu, double blocks, double bytes_read,
                                     double bytes_written, double flops);

// What a product C[m,n] += A[m,k] B[k,n] is computed in; `batch` of them in one launch.
enum model_product { MODEL_PRODUCT_FP32, MODEL_PRODUCT_FP64, MODEL_PRODUCT_HALF };
struct model_time model_product(const struct model_gpu *gpu, double m, double n, double k, double batch,
                                enum model_product type);

// Of a copy between host and device, from its begin on the device; 0 bytes take nothing.
double model_copy_seconds(const struct model_gpu *gpu, double bytes, int pageable);
double model_peer_copy_seconds(const struct model_gpu *gpu, double bytes);

// Of a collective among `ranks` GPUs in a ring, each of which sends and receives so many bytes in all.
double model_ring_seconds(const struct model_gpu *gpu, double bytes, int ranks);

#endif
