// missing star: not grouped by input shape
#include "ferry.h"

FyKeyAverages *profile_loop(void (*step)(void *context, int i), void *context, int steps, int active) {
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
  return fy_key_averages(prof);
}