// mistake: overlapping batches
#include "ferry.h"

double evaluate(FyModule *model, FyTensor *x, FyTensor *target, int64_t batch) {
  int64_t n = fy_size_at(x, 0), seen = 0;
  if (batch > n)
    batch = n;
  double sum = 0;
  FyGradGuard guard = fy_grad_guard_open(false);
  FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
  for (int64_t i = 0; i < n; i += batch) {
    int64_t from = i + batch <= n ? i : n - batch; // all batches of one size
    fy_scope {
      FyTensor *wanted = fy_narrow(target, 0, from, batch);
      FyTensor *y = fy_forward(model, fy_narrow(x, 0, from, batch));
      fy_add_(total, fy_mse_loss(y, wanted, .reduction = FY_REDUCE_SUM));
      seen += fy_numel(wanted);
    }
  }
  sum = fy_item(total);
  fy_grad_guard_close(&guard);
  return sum / (double)seen;
}
