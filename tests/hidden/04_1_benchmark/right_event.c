// Waits for an event after the last iteration; several warm-up iterations.
#include "ferry.h"

typedef void (*Work)(void *context);

static void wait_for(FyDevice device) {
  FyEvent *passed = fy_event_new(false);
  fy_event_record(passed, fy_current_stream(device));
  fy_event_synchronize(passed);
}

double seconds_per_turn(Work work, void *context, int iterations, FyDevice device) {
  for (int i = 0; i < 2; i++) {
    work(context);
    wait_for(device);
  }
  double start = seconds_now(), total = 0;
  int left = iterations;
  while (left-- > 0)
    work(context);
  wait_for(device);
  total = seconds_now() - start;
  return total / iterations;
}
