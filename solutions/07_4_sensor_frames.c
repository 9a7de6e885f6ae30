// Exercise 7.4: Find the bug: sensor frames         lesson 7 · medium · 15 min
//
// Task      Several sensors are read at the same moments, but the readings are
//           stored sensor by sensor. frames orders them by time. Each row of
//           the result is a frame of `moments` moments, and each moment has the
//           readings of all sensors. frames raises a RuntimeError.
// Example   a0 a1 a2 a3                        a0 b0 a1 b1
//           b0 b1 b2 b3   with moments = 2  -> a2 b2 a3 b3
// Fix       frames.
// Inputs    readings  (sensors, N) float32 on any device, with any strides; may
//                     require a gradient
//           moments   at least 2; divides N, which is at least 2
// Required  - the result (N / moments, moments * sensors) is correct for all
//             strides, and on the device of readings
//           - gradients flow back to readings
//           - nothing is copied between host and device
// Stars     ** at most one copy of the readings
//           *** no copy if the readings are ordered by time in memory
#include "ferry.h"

FyTensor *frames(FyTensor *readings, int64_t moments) {
  int64_t sensors = fy_size_at(readings, 0), all = fy_size_at(readings, 1);
  FyTensor *time = fy_transpose(readings, 0, 1); // (all, sensors)
  // [answer]
  return fy_reshape(time, fy_shape(all / moments, moments * sensors));
  // [stub]
  //| return fy_view(time, fy_shape(all / moments, moments * sensors));
  // [end]
}
