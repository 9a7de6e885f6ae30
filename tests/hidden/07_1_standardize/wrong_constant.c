// mistake: a constant in place of the result
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  (void)mean;
  (void)std;
  return fy_zeros_like(x);
}
