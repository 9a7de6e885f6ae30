// mistake: rows not shortened
#include "ferry.h"

FyTensor *limit_norms(FyTensor *x, double limit) {
  (void)limit;
  return fy_clone(x);
}
