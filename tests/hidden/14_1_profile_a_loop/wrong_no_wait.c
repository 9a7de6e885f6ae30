// mistake: missing wait step
#include "ferry.h"

FyKeyAverages *profile_loop(void (*step)(void *context, int i), void *context, int steps, int active) {
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU, .record_shapes = true, .schedule = {.warmup = 2, .active = active, .repeat = 1}) {
    for (int i = 0; i < steps; i++) {
      fy_record_function("training_step") {
        step(context, i);
      }
      fy_profile_step(prof);
    }
  }
  return fy_key_averages(prof, .group_by_input_shape = true);
}