// SPDX-License-Identifier: MIT
// The GPUs that can be modeled: each parameter with its source. Pure data; no thread or error concerns it.
#ifndef FERRY_MODEL_GPU_H
#define FERRY_MODEL_GPU_H

#include <stddef.h>

// The source of a number.
enum model_mark {
  MODEL_GIVEN,    // stated in the source: a data sheet, a white paper, a device's report, a measurement
  MODEL_DERIVED,  // computed from stated numbers
  MODEL_FITTED,   // chosen so that the model agrees with the measurements that the source names
  MODEL_ASSUMED,  // copied from a similar GPU, or a guess: the source says which
  MODEL_UNCHECKED // from memory: no source was found, or only one for a rounded number
};

struct model_value {
  double value;
  enum model_mark mark;
  const char *source;
};

// X(field, unit, what it is)
#define MODEL_ARCHITECTURE_VALUES(X)                                                                                   \
  X(fp32_lanes, "lanes/SM", "float32 multiply-adds that a multiprocessor begins in a cycle")                           \
  X(fp32_share, "", "of them that a stream of multiply-adds keeps busy")                                               \
  X(fp64_lanes, "lanes/SM", "the same in float64")                                                                     \
  X(int_lanes, "lanes/SM", "the same in int32")                                                                        \
  X(special_lanes, "lanes/SM", "the same of special functions and conversions")                                        \
  X(int_beside, "", "1: int32 on lanes of its own, beside float32; 0: on lanes that float32 also uses")                \
  X(issue, "warp instructions/cycle/SM", "schedulers")                                                                 \
  X(threads, "threads/SM", "resident at most")                                                                         \
  X(blocks, "blocks/SM", "resident at most")                                                                           \
  X(registers, "registers/SM", "")                                                                                     \
  X(shared, "bytes/SM", "shared memory")                                                                               \
  X(shared_block, "bytes/block", "shared memory that a block may opt in to")                                           \
  X(shared_cycles, "cycles", "of a shared wavefront")                                                                  \
  X(request_cycles, "cycles", "least of a request in the L1 cache or to shared memory")                                \
  X(shared_latency, "cycles", "of a shared load")                                                                      \
  X(dram_latency, "cycles", "of a load that misses all caches")                                                        \
  X(l2_latency, "cycles", "of a load that hits in the L2 cache")                                                       \
  X(block_cycles, "cycles", "to begin and to end a block")                                                             \
  X(barrier_cycles, "cycles", "that a barrier adds to a block's way")

#define MODEL_GPU_VALUES(X)                                                                                            \
  X(sms, "", "multiprocessors")                                                                                        \
  X(clock, "MHz", "of the multiprocessors, boosted")                                                                   \
  X(memory, "MiB", "of device memory")                                                                                 \
  X(memory_clock, "MHz", "at two transfers a cycle")                                                                   \
  X(memory_bus, "bits", "")                                                                                            \
  X(dram, "GB/s", "device memory at its peak")                                                                         \
  X(dram_share, "", "of that peak that a kernel which streams reaches")                                                \
  X(l2, "KiB", "L2 cache")                                                                                             \
  X(l2_rate, "GB/s", "between the L2 cache and the multiprocessors")                                                   \
  X(tensor, "TFLOP/s", "of float16 and bfloat16 products, dense, summed in float32; 0: none")                          \
  X(copy_engines, "", "copies to and from the host at the same time")                                                  \
  X(link, "GB/s", "between pinned host memory and the device, each way")                                               \
  X(pageable, "GB/s", "between pageable host memory and the device")                                                   \
  X(peer, "GB/s", "between two devices, each way")                                                                     \
  X(copy_start, "us", "of a copy before its first byte")                                                               \
  X(launch, "us", "of the host to queue a kernel")                                                                     \
  X(record, "us", "of the host to record an event, or to have a stream wait for one")                                  \
  X(gap, "us", "between a kernel's end and the begin of the next in its stream")                                       \
  X(graph_gap, "us", "the same within a graph")                                                                        \
  X(wait, "us", "of the host to notice that the device is done")                                                       \
  X(least, "us", "of the shortest kernel")

struct model_architecture {
  const char *name;
  int major, minor; // compute capability
#define X(field, unit, what) struct model_value field;
  MODEL_ARCHITECTURE_VALUES(X)
#undef X
};

struct model_gpu {
  const char *id;   // "a100": what FERRY_SIM_GPU takes
  const char *name; // "NVIDIA A100"
  const struct model_architecture *architecture;
#define X(field, unit, what) struct model_value field;
  MODEL_GPU_VALUES(X)
#undef X
};

extern const struct model_gpu model_gpus[];
extern const int model_gpu_count;

// The GPU of that id; NULL: there is none.
const struct model_gpu *model_gpu_named(const char *id);

// Whether a simulated device can model it: compute capability 7.0 or later. Older GPUs are in the table only to check the model.
int model_gpu_can_be_simulated(const struct model_gpu *gpu);

// "modeled, not measured: computed from counts and the data sheet of NVIDIA A100", cut to so many bytes.
void model_label(const struct model_gpu *gpu, char *label, size_t bytes);

#endif
