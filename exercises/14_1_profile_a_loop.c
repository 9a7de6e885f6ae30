// Exercise 14.1: Profile a training loop           lesson 14 · medium · 25 min
//
// Task      Run a training loop, and profile only a few steps after a warm-up.
//           In PyTorch:
//               s = schedule(wait=1, warmup=1, active=active, repeat=1)
//               with profile(record_shapes=True, schedule=s) as p:
//                   for i in range(steps):
//                       with record_function("training_step"):
//                           step(context, i)
//                       p.step()
//               return p.key_averages(group_by_input_shape=True)
// Example   active = 2: step 0 off, step 1 warm-up, 2 and 3 recorded, then off
// Write     profile_loop. It returns the result of fy_key_averages.
// Inputs    step      call it as step(context, i) for i = 0 to steps - 1
//           steps     2 * active + 5 or more
//           active    1 or more
// Required  - every step runs once, in order
//           - the profiler is off in step 0, on without recording in step 1,
//             recording in the next `active` steps, then off
//           - each recorded step is a range "training_step"; the profile is
//             ended, and the result remains valid after the function returns
// Stars     ** one row per operation and input shape
#include "ferry.h"

FyKeyAverages *profile_loop(void (*step)(void *context, int i), void *context, int steps, int active) {
  return NULL; // the averages go here
}
