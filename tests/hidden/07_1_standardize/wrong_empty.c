// mistake: missing return value
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  (void)x;
  (void)mean;
  (void)std;
  return NULL;
}
