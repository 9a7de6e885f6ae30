// mistake: no result returned
#include "ferry.h"

FyTensor *limit_norms(FyTensor *x, double limit) {
  (void)x;
  (void)limit;
  return NULL;
}
