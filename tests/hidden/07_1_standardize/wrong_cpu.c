// mistake: computed on the CPU
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyTensor *place = fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32);
  return fy_add(fy_div(fy_sub(fy_cpu(x), mean), std), place);
}
