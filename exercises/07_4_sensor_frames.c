// Exercise 7.4: find the bug, a view of a transposed tensor                       (chapter 7, docs/07_pitfalls.md)
//
// Several sensors are read at the same moments, and the readings arrive sensor by sensor. frames puts them in order of
// time: each row of the result is a frame of `moments` moments, and each moment has the readings of all sensors. For 2
// sensors (a and b), 4 moments and frames of 2:
//
//   a0 a1 a2 a3           a0 b0 a1 b1
//   b0 b1 b2 b3   gives   a2 b2 a3 b3
//
// It raises
//
//   RuntimeError: view size is not compatible with input tensor's size and stride ...
//
// Mend it, and copy no more than has to be copied. When the readings happen to lie in memory moment by moment already,
// nothing has to: then the result is a view.
//
//   PyTorch:  time = readings.transpose(0, 1)
//
// Given: readings (sensors, all moments) float32, on any device, which may require a gradient; any strides, as of a
// slice that begins further in, or of an expanded tensor; moments, 2 or more, of which all moments are a multiple.
// They may lie moment by moment with room between, and of one sensor apart: a view and a copy are both right then.
// Returned: the frames (all moments / moments, moments * sensors), on the device of the readings.
// Counted: kernels and allocations (one of each at most), copies between host and device (none).
#include "ferry.h"

FyTensor *frames(FyTensor *readings, int64_t moments) {
  int64_t sensors = fy_size_at(readings, 0), all = fy_size_at(readings, 1);
  FyTensor *time = fy_transpose(readings, 0, 1); // (all, sensors)
  return fy_view(time, fy_shape(all / moments, moments * sensors));
}
