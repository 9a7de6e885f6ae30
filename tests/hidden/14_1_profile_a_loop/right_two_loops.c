#include "ferry.h"

// The profile covers steps 1 to active + 1 only. Step 0 runs before it, the others after it.
FyKeyAverages *profile_loop(void (*step)(void *context, int i), void *context, int steps, int active) {
  FyProfile *prof;
  step(context, 0);
  fy_profile(prof, FY_PROFILE_CPU, .record_shapes = true, .schedule = {.warmup = 1, .active = active, .repeat = 1}) {
    for (int i = 1; i < active + 2; i++) {
      fy_record_function("training_step") {
        step(context, i);
      }
      fy_profile_step(prof);
    }
  }
  for (int i = active + 2; i < steps; i++)
    step(context, i);
  return fy_key_averages(prof, .group_by_input_shape = true);
}
