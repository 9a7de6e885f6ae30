// Three dimensions first, and the last two flattened.
#include "ferry.h"

FyTensor *frames(FyTensor *readings, int64_t moments) {
  int64_t sensors = fy_size_at(readings, 0);
  FyTensor *time = fy_transpose(readings, 0, 1); // (all, sensors)
  return fy_reshape(time, fy_shape(-1, moments * sensors));
}
