// mistake: caller's tensor changed
#include "ferry.h"

// y on the CPU is not copied by fy_cpu, so the subtraction is done in the caller's memory.
double largest_difference(FyTensor *x, FyTensor *y) {
  if (fy_numel(y) == 0)
    return 0;
  FyTensor *here = fy_cpu(y);
  fy_neg_(here);
  fy_add_(here, x);
  return fy_item(fy_max(fy_abs(here)));
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  FyTensor *here = fy_matmul(a, b), *there = fy_matmul(fy_to(a, device), fy_to(b, device));
  *on_cpu = here;
  *on_device = there;
  return largest_difference(fy_detach(here), fy_detach(there));
}
