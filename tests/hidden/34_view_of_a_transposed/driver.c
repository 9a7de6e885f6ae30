#include "driver.h"
#include "answer.h"
#include "device/runtime.h"

static int64_t allocations_of(const FyTensor *t) {
  return fy_memory_stats(fy_device_of(t)).allocations;
}

// The second call's tensor lies in memory moment by moment already: there is nothing to copy.
static void call_on_turned(Driver *d, int64_t moments) {
  FyTensor *turned = driver_tensor(d, "turned");
  int64_t allocations = allocations_of(turned), launches = fy_counters().launches;
  FyTensor *second = frames(turned, moments);
  driver_put_number(d, "second allocations", (double)(allocations_of(turned) - allocations));
  driver_put_number(d, "second launches", (double)(fy_counters().launches - launches));
  driver_put_number(d, "second shares", second && fy_shares_storage(second, turned));
  driver_put(d, "second frames", second);
  if (second && driver_has(d, "gradient") && fy_requires_grad(second)) {
    fy_backward(second, .gradient = driver_tensor(d, "gradient"));
    driver_put(d, "turned.grad", fy_grad(turned));
  }
}

void drive(Driver *d) {
  int64_t moments = (int64_t)driver_number(d, "moments");
  FyTensor *readings = driver_tensor(d, "readings");
  if (driver_has(d, "gradient"))
    driver_tensor(d, "gradient");
  driver_tensor(d, "turned");
  driver_count(d);
  FyTensor *result = frames(readings, moments);
  driver_stop(d);
  driver_put(d, "frames", result);
  if (result && driver_has(d, "gradient")) {
    fy_backward(result, .gradient = driver_tensor(d, "gradient"));
    driver_put(d, "readings.grad", fy_grad(readings));
  }
  call_on_turned(d, moments);
}
