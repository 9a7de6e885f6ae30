// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include "device/runtime.h"

static void drive_difference(Driver *d) {
  FyTensor *x = driver_tensor(d, "x"), *y = driver_tensor(d, "y");
  driver_count(d);
  double difference = largest_difference(x, y);
  driver_stop(d);
  driver_put_number(d, "difference", difference);
  driver_put_number(d, "second call: difference", largest_difference(x, x)); // shows a cached result
}

// Only the simulator has it: the product of a real GPU differs from the CPU's in its last bits.
int sim_cublasSetMathMode(void *handle, int mode) __attribute__((weak));

static void use_tensor_cores(FyDevice device) {
  enum { TENSOR_OP_MATH = 3 }; // CUBLAS_TF32_TENSOR_OP_MATH
  void *handle = NULL;
  if (sim_cublasSetMathMode && device.type == FY_CUDA &&
      fy_raw_blas(device.index, fy_raw_stream(device.index), &handle) == 0)
    sim_cublasSetMathMode(handle, TENSOR_OP_MATH);
}

void drive(Driver *d) {
  if (driver_has(d, "x")) {
    drive_difference(d);
    return;
  }
  FyTensor *a = driver_tensor(d, "a"), *b = driver_tensor(d, "b");
  FyTensor *on_cpu = NULL, *on_device = NULL;
  FyDevice device = fy_device(driver_text(d, "device"));
  if (driver_has(d, "with tensor cores"))
    use_tensor_cores(device);
  driver_count(d);
  double difference = compare_products(a, b, device, &on_cpu, &on_device);
  driver_stop(d);
  driver_put(d, "on_cpu", on_cpu);
  driver_put(d, "on_device", on_device);
  driver_put_number(d, "difference", difference);
  if (on_cpu && fy_requires_grad(on_cpu)) { // the gradients of a CPU product are computed on the CPU
    int64_t launches = fy_counters().launches;
    fy_backward(fy_sum(on_cpu));
    driver_put_number(d, "launches for the CPU's gradients", (double)(fy_counters().launches - launches));
  }
  FyTensor *opposite = fy_mul_scalar(fy_detach(b), -1); // a second call shows a cached result
  on_cpu = on_device = NULL;
  compare_products(fy_detach(a), opposite, device, &on_cpu, &on_device);
  driver_put(d, "second call: on_cpu", on_cpu);
  driver_put(d, "second call: on_device", on_device);
}
