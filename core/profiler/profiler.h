// SPDX-License-Identifier: MIT
// Profiling: which calls a program makes, how long they take, and how much memory they allocate. torch.profiler.
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
// A profile records ranges of time on every thread: each op ("fy::linear"; in-place ops have PyTorch's underscore,
// "fy::add_"), each node of backward ("AddmmBackward0", "AccumulateGrad"), backward as a whole, the steps of optimizers
// and data loaders, fy_item, the ranges of fy_record_function, and the calls of the CUDA runtime (launches, copies,
// synchronization, cudaMalloc). Ranges nest.
//
// Device times. On a simulated device that models a GPU (FERRY_SIM_GPU), device times are modeled, not measured. They
// come from a separate clock that starts with the program, so in a trace you cannot compare them with the times of the
// CPU. On other simulated devices, they are the simulator's times on the CPU. They show the order of operations and the
// dependencies between them, but say nothing about the speed of a GPU. Tables and traces are labeled accordingly. On a
// real GPU, the times come from CUPTI, a part of NVIDIA's CUDA toolkit, which Ferry loads when a profile starts. If
// CUPTI is missing, or a different profiler is using it, Ferry prints a warning once, and records only ops and the
// copies and waits of the host. With CUPTI, streams have CUPTI's numbers, and the launch of a CUDA graph is one call
// for many kernels.
//
// NVTX. On a real GPU, the ranges of fy_record_function are also NVTX ranges, which nsys and ncu show, even without a
// profile. This works if libferry-cuda.so was built with the NVTX header.
//
// Without a profile, the cost per op is one test of a flag.
#ifndef FERRY_PROFILER_PROFILER_H
#define FERRY_PROFILER_PROFILER_H

#include "base/scope.h"
#include <stdint.h>

// ---- recording a profile --------------------------------------------------------------------------------------------

// A profile: an object, owned by the innermost scope around the block of fy_profile.
typedef struct FyProfile FyProfile;

// What to record: ranges on the CPU; calls of the CUDA runtime, and the work on devices that they start. PyTorch:
// torch.profiler.ProfilerActivity.
enum { FY_PROFILE_CPU = 1, FY_PROFILE_CUDA = 2 };

// Selects the steps of a loop that are recorded. The first skip_first steps are skipped. Then cycles follow: `wait`
// steps are not recorded, `warmup` steps are recorded and discarded, and `active` steps are recorded. `repeat` is the
// number of cycles; 0 means no limit. PyTorch: torch.profiler.schedule(wait, warmup, active, repeat, skip_first).
typedef struct FyProfileSchedule {
  int wait, warmup, active, repeat, skip_first;
} FyProfileSchedule;

typedef struct FyProfileOptions {
  unsigned activities;        // FY_PROFILE_CPU, FY_PROFILE_CUDA or both; 0 means both
  FyProfileSchedule schedule; // if `active` is 0, the whole block is recorded
  // Called after each cycle, or without a schedule at the end of the block. NULL is allowed.
  void (*on_trace_ready)(FyProfile *profile, void *context);
  void *context;
  bool record_shapes;  // record the shapes of the ops' inputs
  bool profile_memory; // record allocations and frees
  bool with_flops;     // compute the FLOPs of linear, matmul, conv2d, add and mul from their shapes, as PyTorch does
  bool with_stack;     // record the file and line of the public call; for a node of backward, of its forward call
} FyProfileOptions;

// Profiles the following block, and stores the profile in `variable`, an FyProfile *. The profile exists from the
// beginning of the block. Return, break and goto also end it. If device times are recorded, the host waits at the end
// for all devices on which it started work. Only one profile at a time can record in a program. Other threads are
// recorded too, except for their ranges that are still open at the end. If an error ends the block, the profile ends
// without a call of on_trace_ready. Raises FY_RUNTIME_ERROR if a profile is already recording, FY_VALUE_ERROR for an
// invalid schedule or unknown activities, and FY_OUT_OF_MEMORY_ERROR. PyTorch: with torch.profiler.profile(activities,
// ...).
#define fy_profile(variable, ...)                                                                                      \
  for (FY_AT_END(fy_profile_leave) FyProfile *volatile fy_opened_profile = (variable) =                                \
           fy_profile_begin((FyProfileOptions){.activities = __VA_ARGS__});                                            \
       fy_opened_profile; fy_opened_profile = fy_profile_end(fy_opened_profile))

// Ends a step of the loop: the schedule continues with the next one. Call it at the end of each step, in the thread
// that profiles, and outside the ranges that began in the step. Each step that is recorded under a schedule is a range
// "ProfilerStep#N". Raises FY_RUNTIME_ERROR if this thread is not in the block of the profile. PyTorch: prof.step().
FY_API void fy_profile_step(FyProfile *profile);

// Returns the number of the current step, from 0. PyTorch: prof.step_num.
FY_API int64_t fy_profile_step_num(const FyProfile *profile);

// Start and end a profile: fy_profile expands to these calls. fy_profile_end returns NULL.
FY_API FyProfile *fy_profile_begin(FyProfileOptions options);
FY_API FyProfile *fy_profile_end(FyProfile *profile);
static inline void fy_profile_leave(FyProfile *volatile *profile) {
  if (*profile)
    fy_profile_end(*profile);
}

// Records the following block as a range with this name, inside the open ranges of its thread. Any thread may call it.
// The name is copied. Return, break and goto also end the range. Never raises. PyTorch: with
// torch.profiler.record_function(name).
#define fy_record_function(name)                                                                                       \
  for (FY_AT_END(fy_record_function_leave) volatile int fy_opened_range = fy_record_function_enter(name);              \
       fy_opened_range >= 0; fy_opened_range = fy_record_function_exit(fy_opened_range))

// Begin and end a range by hand. fy_record_function_enter returns a mark for fy_record_function_exit, which also ends
// all ranges inside that are still open, and returns -1.
FY_API int fy_record_function_enter(const char *name);
FY_API int fy_record_function_exit(int mark);
static inline void fy_record_function_leave(const volatile int *mark) {
  if (*mark >= 0)
    fy_record_function_exit(*mark);
}

// ---- results --------------------------------------------------------------------------------------------------------

// The sums over all ranges with one name. Times are in microseconds. "Self" excludes the ranges inside a range; "total"
// includes them. The self CPU times of all rows add up to the time of the outermost ranges. CUDA times are those of the
// work that a range started on devices, again without or with the ranges inside. For work on a device (on_device), they
// are the times that it ran there.
typedef struct FyAverage {
  const char *key;
  const char *input_shapes; // "[[64, 784], [256, 784], [256]]"; "" if rows are not grouped by shapes
  const char *file;         // of the first call, for profiles with_stack; NULL if unknown
  int line;
  bool on_device; // a kernel, a copy or a fill on a device
  int64_t count;
  double self_cpu_time_total, cpu_time_total;
  double self_cuda_time_total, cuda_time_total;
  int64_t self_cpu_memory_usage, cpu_memory_usage; // bytes allocated minus bytes freed
  int64_t self_cuda_memory_usage, cuda_memory_usage;
  double flops;
} FyAverage;

typedef struct FyKeyAverages {
  FyObject object;
  FyAverage *rows; // in the order of their first ranges
  int count;
  double self_cpu_time_total;  // microseconds: the sum over all rows
  double self_cuda_time_total; // the sum over the rows with on_device
  bool simulated;              // CUDA times are those of a simulated device
  const char *model;           // the label of modeled CUDA times (fy_cuda_model), or NULL
  FyProfileOptions options;    // the options of the profile
  int64_t dropped;             // ranges not recorded: out of memory, or more than 128 open at the same time
} FyKeyAverages;

// Sums up the ranges of the last recording by name. Returns an object owned by the innermost scope. All ranges
// "ProfilerStep#N" are one row, "ProfilerStep*". Raises FY_RUNTIME_ERROR while the profile is recording, FY_VALUE_ERROR
// for groups whose data was not recorded, and FY_OUT_OF_MEMORY_ERROR. PyTorch: prof.key_averages(group_by_input_shape).
typedef struct FyKeyAveragesOptions {
  FyProfile *profile;
  bool group_by_input_shape; // one row for each combination of input shapes; needs record_shapes
  bool group_by_source;      // one row for each file and line; needs with_stack
} FyKeyAveragesOptions;
#define fy_key_averages(...) fy_key_averages_with((FyKeyAveragesOptions){.profile = __VA_ARGS__})
FY_API FyKeyAverages *fy_key_averages_with(FyKeyAveragesOptions options);

// Formats sums as a table, in PyTorch's layout. The text is valid until the innermost scope closes. sort_by is
// "cpu_time_total", "self_cpu_time_total", "cpu_time" (the average per call), "cuda_time_total",
// "self_cuda_time_total", "cuda_time", "cpu_memory_usage", "self_cpu_memory_usage", "cuda_memory_usage",
// "self_cuda_memory_usage", "count" or "flops", the largest first; NULL keeps the order of the rows. row_limit 0 means
// 100 rows, as in PyTorch. Raises FY_VALUE_ERROR for any other sort_by. PyTorch: key_averages().table(sort_by,
// row_limit).
typedef struct FyKeyAveragesTable {
  const FyKeyAverages *averages;
  const char *sort_by;
  int row_limit;
} FyKeyAveragesTable;
#define fy_key_averages_table(...) fy_key_averages_table_with((FyKeyAveragesTable){.averages = __VA_ARGS__})
FY_API const char *fy_key_averages_table_with(FyKeyAveragesTable options);

// Writes the last recording to a file in the Chrome trace format (JSON), for https://ui.perfetto.dev and
// chrome://tracing. It has a row for each thread, for each stream, and for the copies of each stream in each direction.
// Arrows connect a launch with the work that it started, and an op with its node of backward. With profile_memory,
// counters show the allocated memory. Times are in microseconds since the start of the recording. On an error no
// incomplete file remains. Raises FY_OS_ERROR with the path in its message, FY_RUNTIME_ERROR while the profile is
// recording, and FY_OUT_OF_MEMORY_ERROR. PyTorch: prof.export_chrome_trace(path).
FY_API void fy_export_chrome_trace(FyProfile *profile, const char *path);

#endif
