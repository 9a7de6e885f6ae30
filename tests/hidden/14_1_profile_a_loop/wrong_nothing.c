// mistake: no result returned
#include "ferry.h"
#include <stdio.h>

static void print(FyProfile *prof, void *context) {
  (void)context;
  printf("%s", fy_key_averages_table(fy_key_averages(prof, .group_by_input_shape = true), .row_limit = 10));
}

FyKeyAverages *profile_loop(void (*step)(void *context, int i), void *context, int steps, int active) {
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU, .record_shapes = true, .on_trace_ready = print,
             .schedule = {.wait = 1, .warmup = 1, .active = active, .repeat = 1}) {
    for (int i = 0; i < steps; i++) {
      fy_record_function("training_step") {
        step(context, i);
      }
      fy_profile_step(prof);
    }
  }
  return NULL;
}
