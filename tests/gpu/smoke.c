// SPDX-License-Identifier: MIT
// The least that has to work on a GPU before anything else is worth trying: the device, a tensor there and back, a kernel, a
// cuBLAS product, a captured graph. Prints TAP as it goes, so that a crash shows how far it came.
#include "ferry.h"
#include "op/host/host.h"
#include <stdio.h>
#include <string.h>

static int count, failed;

static void report(bool right, const char *name, const char *why) {
  printf("%sok %d - %s%s%s\n", right ? "" : "not ", ++count, name, right ? "" : " - ", right ? "" : why);
  fflush(stdout);
  failed += !right;
}

static void round_trip(FyDevice device) {
  FyTensor *x = fy_randn(fy_shape(33, 7));
  report(fy_allclose(fy_to(fy_to(x, device), fy_device("cpu")), x, 0, 0), "a tensor there and back",
         "its elements changed");
}

static void kernel(FyDevice device) {
  FyTensor *x = fy_randn(fy_shape(1000, 17)), *there = fy_to(x, device);
  FyTensor *sum = fy_add(there, fy_relu(there));
  report(fy_allclose(fy_to(sum, fy_device("cpu")), fy_add(x, fy_relu(x)), 0, 0), "kernels: x + relu(x)",
         "it differs from the CPU's");
}

static void product(FyDevice device) {
  FyTensor *a = fy_randn(fy_shape(65, 130)), *b = fy_randn(fy_shape(130, 34));
  FyTensor *there = fy_matmul(fy_to(a, device), fy_to(b, device));
  report(fy_allclose(fy_to(there, fy_device("cpu")), fy_matmul(a, b), 1e-4, 1e-4), "a cuBLAS product",
         "it differs from the CPU's");
}

static void graph(FyDevice device) {
  fy_no_grad {
    FyTensor *x = fy_ones(fy_shape(256), .device = device), *y = fy_zeros(fy_shape(256), .device = device);
    fy_synchronize(device);
    FyCudaGraph *g = fy_cuda_graph_new();
    fy_cuda_graph_capture(g) {
      fy_add_(y, x);
    }
    for (int replay = 0; replay < 3; replay++)
      fy_cuda_graph_replay(g);
    double first = fy_item(fy_select(y, 0, 0)), last = fy_item(fy_select(y, 0, 255));
    report(first == 3 && last == 3, "a captured graph, replayed three times", "y is not 3");
  }
}

int main(void) {
  static const struct {
    const char *name;
    void (*run)(FyDevice device);
  } steps[] = {{"a tensor there and back", round_trip},
               {"kernels: x + relu(x)", kernel},
               {"a cuBLAS product", product},
               {"a captured graph, replayed three times", graph}};
  report(fy_cuda_is_available(), "a CUDA device", fy_cuda_description());
  if (!fy_cuda_is_available())
    return 1;
  printf("# %s, %s\n", fy_cuda_get_device_name(0), fy_cuda_description());
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    FyError error;
    fy_trap(error) {
      fy_scope {
        steps[i].run(fy_device("cuda:0"));
      }
    }
    if (error.kind != FY_NO_ERROR)
      report(false, steps[i].name, error.message);
  }
  printf("1..%d\n", count);
  return failed != 0;
}
