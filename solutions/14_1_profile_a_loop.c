// Exercise 14.1: a profile of some steps                                      (chapter 14, docs/14_profiling.md)
//
// Write profile_loop: it runs step(context, i) for i = 0, 1, ... steps - 1, each once and in that order, and profiles
// some of them. It returns what the profile says, as fy_key_averages gives it.
//
//   PyTorch:  with profile(activities=[ProfilerActivity.CPU], record_shapes=True,
//                          schedule=schedule(wait=1, warmup=1, active=active, repeat=1)) as prof:
//                 for i in range(steps):
//                     with record_function("training_step"):
//                         step(context, i)
//                     prof.step()
//             return prof.key_averages(group_by_input_shape=True)
//
// Given: step, its context, steps and active; active is 1 or more, steps at least 2 * active + 5.
// Judged:
//   - all steps run, those that are not profiled, too;
//   - step 0 runs without a profiler. In step 1 it warms up: it is on, and nothing of that step, its range neither, is
//     in what is returned. The `active` steps after that are recorded. Then the profiler is off: it begins no second
//     cycle;
//   - each recorded step is a range "training_step"; whether other steps are, and whether fy_profile_step is called in
//     the range or behind it, nobody looks;
//   - calls with inputs of other sizes are rows of their own;
//   - what is returned is still there after the function has returned, and the profile has ended.
#include "ferry.h"

FyKeyAverages *profile_loop(void (*step)(void *context, int i), void *context, int steps, int active) {
  // [answer]
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU, .record_shapes = true,
             .schedule = {.wait = 1, .warmup = 1, .active = active, .repeat = 1}) {
    for (int i = 0; i < steps; i++) {
      fy_record_function("training_step") {
        step(context, i);
      }
      fy_profile_step(prof);
    }
  }
  return fy_key_averages(prof, .group_by_input_shape = true);
  // [stub]
  //| (void)step;
  //| (void)context;
  //| (void)steps;
  //| (void)active;
  //| return NULL; // the averages go here
  // [end]
}
