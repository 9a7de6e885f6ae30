#include "ferry.h"

// Without the macros. Skipping the first step has the same effect as waiting for it.
FyKeyAverages *profile_loop(void (*step)(void *context, int i), void *context, int steps, int active) {
  const FyProfileOptions options = {.activities = FY_PROFILE_CPU,
                                    .record_shapes = true,
                                    .schedule = {.skip_first = 1, .warmup = 1, .active = active, .repeat = 1}};
  FyProfile *prof = fy_profile_begin(options);
  int i = 0;
  while (i < steps) {
    int mark = fy_record_function_enter("training_step");
    step(context, i++);
    fy_record_function_exit(mark);
    fy_profile_step(prof);
  }
  fy_profile_end(prof);
  return fy_key_averages(prof, .group_by_input_shape = true);
}
