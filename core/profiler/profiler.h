// SPDX-License-Identifier: MIT
// Profiles: which calls a part of a program makes, and where its time and memory go. torch.profiler.
//
//   FyProfile *prof;
//   fy_profile(prof, FY_PROFILE_CPU | FY_PROFILE_CUDA, .record_shapes = true) {
//     fy_record_function("model_inference") {
//       fy_forward(model, x);
//     }
//   }
//   fputs(fy_key_averages_table(fy_key_averages(prof), .sort_by = "cpu_time_total", .row_limit = 10), stdout);
//   fy_export_chrome_trace(prof, "trace.json");
//
// What is seen: every op ("fy::linear"; in place with PyTorch's underscore, "fy::add_"), every node of backward
// ("AddmmBackward0", "AccumulateGrad"), backward as a whole, steps of optimizers and loaders, item, ranges of the program's own,
// and calls of the CUDA runtime (launches, copies, waits, cudaMalloc), on every thread, each within the one around it.
//
// Device times: on a device that plays a GPU (FERRY_SIM_GPU) they are modeled, and labeled so; they count from the program's
// start on a clock of their own, so in a trace they stand on their own beside the CPU's. On another simulated device they are the
// simulator's, of one CPU doing a GPU's work. They show the order of things and
// who waits for whom, and say nothing about a GPU's speed; tables and traces are marked. On a real GPU they are CUPTI's, which is
// a part of NVIDIA's CUDA toolkit and found when a profile is taken; where it is not found, or another profiler has it, a warning
// says so once, and the ops, copies and waits of the host are the only rows. What CUPTI knows less of: streams bear its numbers,
// and a launch of a graph is one call for many kernels.
//
// Ranges of fy_record_function go to NVTX as well, with or without a profile, once a real GPU is in use and if libferry-cuda.so was
// built with its header: nsys and ncu show them.
//
// When no profile is taken, an op pays the test of a flag.
#ifndef FERRY_PROFILER_PROFILER_H
#define FERRY_PROFILER_PROFILER_H

#include "base/scope.h"
#include <stdint.h>

// ---- taking a profile ------------------------------------------------------------------------------------------------

typedef struct FyProfile FyProfile; // an object, owned by the innermost scope around the block

// ProfilerActivity: what happens on the CPU; calls of the CUDA runtime and what they start.
enum { FY_PROFILE_CPU = 1, FY_PROFILE_CUDA = 2 };

// torch.profiler.schedule(wait, warmup, active, repeat, skip_first): which steps of a loop are recorded. After skip_first steps
// come cycles: `wait` steps without a profiler, `warmup` steps with one whose records are thrown away, `active` recorded ones;
// `repeat` cycles, or with 0 as many as there are steps for.
typedef struct FyProfileSchedule {
  int wait, warmup, active, repeat, skip_first;
} FyProfileSchedule;

typedef struct FyProfileOptions {
  unsigned activities;        // FY_PROFILE_...; 0: all
  FyProfileSchedule schedule; // `active` 0: everything in the block is recorded
  void (*on_trace_ready)(FyProfile *profile,
                         void *context); // called after each cycle, or without a schedule at the end
  void *context;
  bool record_shapes;  // the sizes of ops' inputs
  bool profile_memory; // what the allocators give and take
  bool with_flops;     // of linear, matmul, conv2d, add and mul, as PyTorch counts them: from their sizes, not measured
  bool with_stack;     // file and line of the public call; of a node of backward, those of its forward call
} FyProfileOptions;

// torch.profiler.profile(activities, ...): profiles the block and stores the profile in `variable` (a FyProfile *), where it
// is good from within the block on. Return, break and goto end it as its end does. Where device times are recorded, the
// host waits at its end for the devices that it started something on, so that nothing is missing. One profile at a time in a
// program: raises FY_RUNTIME_ERROR while there is another. Raises FY_VALUE_ERROR for a bad schedule and
// FY_OUT_OF_MEMORY_ERROR. When an error ends the block, so it does the profile, without a call of on_trace_ready. Other
// threads are seen too; of a range that has not ended on them by then nothing is kept.
#define fy_profile(variable, ...)                                                                                      \
  for (FY_AT_END(fy_profile_leave) FyProfile *volatile fy_opened_profile = (variable) =                                \
           fy_profile_begin((FyProfileOptions){.activities = __VA_ARGS__});                                            \
       fy_opened_profile; fy_opened_profile = fy_profile_end(fy_opened_profile))

// prof.step(): the schedule goes on to the next step. To be called at the end of each step, by the thread that profiles and
// outside of ranges that began in the step. Steps recorded under a schedule are ranges "ProfilerStep#N".
FY_API void fy_profile_step(FyProfile *profile);

// prof.step_num.
FY_API int64_t fy_profile_step_num(const FyProfile *profile);

// The rest of the macro. `end` returns NULL.
FY_API FyProfile *fy_profile_begin(FyProfileOptions options);
FY_API FyProfile *fy_profile_end(FyProfile *profile);
static inline void fy_profile_leave(FyProfile *volatile *profile) {
  if (*profile)
    fy_profile_end(*profile);
}

// record_function(name): the block is a range of its own, within those around it on its thread. Ranges nest, and any thread may
// have some. The name is copied. Return, break and goto end the range, too. Never raises.
#define fy_record_function(name)                                                                                       \
  for (FY_AT_END(fy_record_function_leave) volatile int fy_opened_range = fy_record_function_enter(name);              \
       fy_opened_range >= 0; fy_opened_range = fy_record_function_exit(fy_opened_range))

// The same by hand: enter returns a mark for exit, which also ends what was left open within, and returns -1.
FY_API int fy_record_function_enter(const char *name);
FY_API int fy_record_function_exit(int mark);
static inline void fy_record_function_leave(const volatile int *mark) {
  if (*mark >= 0)
    fy_record_function_exit(*mark);
}

// ---- what it says ----------------------------------------------------------------------------------------------------

// All ranges of one name. Times are in microseconds. Self: without the ranges within it; total: with them. Self CPU times add
// up, over all rows, to the time that the outermost ranges took. CUDA: what the range started on devices, self again without
// what ranges within it started; of a row that is itself of a device (on_device), the time it ran there.
typedef struct FyAverage {
  const char *key;
  const char *input_shapes; // "[[64, 784], [256, 784], [256]]"; "" unless grouped by them
  const char *file;         // with_stack: of the first call; NULL where it is not known
  int line;
  bool on_device; // a kernel, a copy or a fill
  int64_t count;
  double self_cpu_time_total, cpu_time_total;
  double self_cuda_time_total, cuda_time_total;
  int64_t self_cpu_memory_usage, cpu_memory_usage; // bytes allocated less bytes freed
  int64_t self_cuda_memory_usage, cuda_memory_usage;
  double flops;
} FyAverage;

typedef struct FyKeyAverages {
  FyObject object;
  FyAverage *rows; // in the order of their first begin
  int count;
  double self_cpu_time_total;  // microseconds: of all rows together
  double self_cuda_time_total; // of all rows on_device
  bool simulated;              // CUDA times are a simulated device's
  const char *model;           // what they are where it plays a GPU (fy_cuda_model), else NULL
  FyProfileOptions options;    // those of the profile
  int64_t dropped; // ranges that were not kept, for want of memory or because more than 128 were open at the same time
} FyKeyAverages;

// prof.key_averages(group_by_input_shape): what was recorded last, summed up; an object of the innermost scope. Ranges
// "ProfilerStep#N" are one row, "ProfilerStep*". Raises FY_OUT_OF_MEMORY_ERROR, and FY_RUNTIME_ERROR while it records.
typedef struct FyKeyAveragesOptions {
  FyProfile *profile;
  bool group_by_input_shape; // a row for each combination of sizes (needs record_shapes)
  bool group_by_source;      // a row for each file and line (needs with_stack)
} FyKeyAveragesOptions;
#define fy_key_averages(...) fy_key_averages_with((FyKeyAveragesOptions){.profile = __VA_ARGS__})
FY_API FyKeyAverages *fy_key_averages_with(FyKeyAveragesOptions options);

// key_averages().table(sort_by, row_limit): the text, in PyTorch's layout; valid until the innermost scope closes. sort_by is
// the name of a member of FyAverage: "cpu_time_total", "self_cpu_time_total", "cpu_time" (the average), "cuda_time_total",
// "self_cuda_time_total", "cuda_time", "cpu_memory_usage" and the other three, "count", "flops"; NULL: as they are. Raises
// FY_VALUE_ERROR for another. row_limit 0: 100 rows, as PyTorch.
typedef struct FyKeyAveragesTable {
  const FyKeyAverages *averages;
  const char *sort_by;
  int row_limit;
} FyKeyAveragesTable;
#define fy_key_averages_table(...) fy_key_averages_table_with((FyKeyAveragesTable){.averages = __VA_ARGS__})
FY_API const char *fy_key_averages_table_with(FyKeyAveragesTable options);

// prof.export_chrome_trace(path): what was recorded last as Chrome trace JSON, for https://ui.perfetto.dev and chrome://tracing:
// a row for each thread, for each stream and for each stream's copies in each direction; arrows from a launch to what it
// started and from an op to its node of backward; memory as counters (profile_memory). Times are microseconds since the
// recording began. Written whole or not at all. Raises FY_OS_ERROR naming the path, FY_OUT_OF_MEMORY_ERROR, and
// FY_RUNTIME_ERROR while it records.
FY_API void fy_export_chrome_trace(FyProfile *profile, const char *path);

#endif
