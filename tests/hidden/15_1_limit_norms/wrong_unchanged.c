// mistake: left as it was
#include "ferry.h"

FyTensor *limit_norms(FyTensor *x, double limit) {
  (void)limit;
  return fy_clone(x);
}
