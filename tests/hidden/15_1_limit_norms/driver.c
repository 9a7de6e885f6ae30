// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

typedef struct Limit {
  FyModule base;
  double limit;
} Limit;

static FyTensor *limit_forward(FyModule *self, FyTensor *x) {
  return limit_norms(x, ((Limit *)self)->limit);
}

void drive(Driver *d) {
  FyTensor *x = driver_tensor(d, "x"), *example = driver_tensor(d, "example");
  Limit *model = fy_module_new(Limit, limit_forward);
  model->limit = driver_number(d, "limit");
  driver_count(d);
  FyTensor *called = limit_norms(x, model->limit);
  driver_stop(d);
  driver_put(d, "called", called);
  if (called && driver_has(d, "gradient")) {
    fy_backward(called, .gradient = driver_tensor(d, "gradient"));
    driver_put(d, "x.grad", fy_grad(x));
  }
  if (!called)
    return;
  FyModule *traced = fy_trace(model, example, .no_check = true);
  driver_put(d, "traced", fy_forward(traced, x));
}
