// SPDX-License-Identifier: MIT
// Backward against central differences, element by element.
#include "autograd/autograd.h"
#include "op/ops.h"
#include "tensor/impl.h"
#include <math.h>
#include <stdlib.h>

static const double eps = 1e-6, absolute = 1e-5, relative = 1e-3;

typedef struct Check {
  FyGradcheckFunction fn;
  void *context;
  FyTensors inputs;
  char *message;
  size_t size;
} Check;

// fn's output on the host, with input k's element j moved by delta; in the caller's scope.
static const double *output_at(const Check *c, int k, int64_t j, double delta) {
  const double *values = NULL;
  fy_no_grad {
    FyTensor *x = fy_detach(c->inputs.items[k]);
    FyTensor *before = fy_contiguous(fy_clone(fy_cpu(x)));
    FyTensor *moved = fy_contiguous(fy_clone(fy_cpu(x)));
    ((double *)fy_data_ptr(moved))[j] += delta;
    fy_copy_(x, moved);
    FyTensor *y = fy_contiguous(fy_cpu(fy_detach(c->fn(c->inputs.items, c->context))));
    y = fy_clone(y); // an output that shares memory with the input must keep this value
    fy_copy_(x, before);
    values = fy_data_ptr(y);
  }
  return values;
}

// d output[i] / d input k, for all of input k, by backward; NULL where it is zero. In the caller's scope.
static const double *analytic_row(const Check *c, int k, int64_t i) {
  FyTensor *y = c->fn(c->inputs.items, c->context);
  FyTensor *grad = NULL;
  if (!fy_requires_grad(y))
    return NULL;
  FyTensor *seed = fy_zeros_with((FyFactory){.size = fy_size(y), .dtype = FY_FLOAT64});
  ((double *)fy_data_ptr(seed))[i] = 1;
  fy_autograd_grad(y, (FyTensors){1, &c->inputs.items[k]}, fy_to(seed, fy_device_of(y)), false, &grad);
  return grad ? fy_data_ptr(fy_contiguous(fy_cpu(grad))) : NULL;
}

static bool check_element(const Check *c, int k, int64_t i, int64_t j, double analytic, double numeric) {
  if (fabs(analytic - numeric) <= absolute + relative * fabs(numeric))
    return true;
  snprintf(c->message, c->size,
           "Jacobian mismatch for output 0 with respect to input %d: element [%lld, %lld], numerical %.9g, "
           "analytical %.9g",
           k, (long long)i, (long long)j, numeric, analytic);
  return false;
}

// numeric[j * outputs + i] = d output[i] / d input[j]
static void numeric_jacobian(const Check *c, int k, int64_t inputs, int64_t outputs, double *numeric) {
  for (int64_t j = 0; j < inputs; j++) {
    fy_scope {
      const double *up = output_at(c, k, j, eps);
      const double *down = output_at(c, k, j, -eps);
      for (int64_t i = 0; i < outputs; i++)
        numeric[j * outputs + i] = (up[i] - down[i]) / (2 * eps);
    }
  }
}

static bool check_input(const Check *c, int k, int64_t outputs) {
  int64_t inputs = fy_numel(c->inputs.items[k]);
  bool good = true;
  fy_scope {
    FyTensor *numeric = fy_empty(fy_shape(inputs, outputs), .dtype = FY_FLOAT64);
    const double *n = fy_data_ptr(numeric);
    numeric_jacobian(c, k, inputs, outputs, fy_data_ptr(numeric));
    for (int64_t i = 0; i < outputs && good; i++) {
      fy_scope {
        const double *row = analytic_row(c, k, i);
        for (int64_t j = 0; j < inputs && good; j++)
          good = check_element(c, k, i, j, row ? row[j] : 0, n[j * outputs + i]);
      }
    }
  }
  return good;
}

bool fy_gradcheck(FyGradcheckFunction fn, void *context, FyTensors inputs, char *message, size_t size) {
  Check c = {.fn = fn, .context = context, .inputs = inputs, .message = message, .size = size};
  bool good = true;
  int64_t outputs = 0;
  fy_scope {
    FyTensor *y = fn(inputs.items, context);
    fy_check(fy_dtype_of(y) == FY_FLOAT64, FY_VALUE_ERROR, "gradcheck: the output must be float64, but is %s",
             fy_dtype_name(fy_dtype_of(y)));
    outputs = fy_numel(y);
  }
  for (int k = 0; k < inputs.count && good; k++) {
    if (!fy_requires_grad(inputs.items[k]))
      continue;
    fy_check(fy_dtype_of(inputs.items[k]) == FY_FLOAT64, FY_VALUE_ERROR,
             "gradcheck: input %d must be float64 to be compared with differences, but is %s", k,
             fy_dtype_name(fy_dtype_of(inputs.items[k])));
    good = check_input(&c, k, outputs);
  }
  return good;
}
