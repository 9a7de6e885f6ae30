// mistake: missing transpose
#include "ferry.h"

FyTensor *frames(FyTensor *readings, int64_t moments) {
  int64_t sensors = fy_size_at(readings, 0), all = fy_size_at(readings, 1);
  return fy_reshape(readings, fy_shape(all / moments, moments * sensors));
}
