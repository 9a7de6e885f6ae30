// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include "layouts.h"
#include "device/runtime.h"

static int64_t allocations_of(const FyTensor *t) {
  return fy_memory_stats(fy_device_of(t)).allocations;
}

// A tensor of the same shape and device somewhere within a larger one, which is full of another number.
static FyTensor *within(FyTensor *t, int64_t rows, int64_t columns, int64_t from_row, int64_t from_column) {
  FyTensor *larger = fy_full(-77, fy_shape(rows, columns), .device = fy_device_of(t));
  FyTensor *part = fy_narrow(fy_narrow(larger, 0, from_row, fy_size_at(t, 0)), 1, from_column, fy_size_at(t, 1));
  fy_copy_(part, t);
  return part;
}

// The tensor of the second call is in order of time in memory: there is nothing to copy.
static void call_on_turned(Driver *d, int64_t moments) {
  FyTensor *given = driver_tensor(d, "second readings"), *turned = given;
  int64_t sensors = fy_size_at(given, 0), all = fy_size_at(given, 1);
  if (driver_has(d, "layouts")) // and it begins within an allocation
    turned = fy_t(within(fy_t(given), all + 3, sensors, 2, 0));
  int64_t allocations = allocations_of(turned), launches = fy_counters().launches;
  FyTensor *second = frames(turned, moments);
  driver_put_number(d, "second allocations", (double)(allocations_of(turned) - allocations));
  driver_put_number(d, "second launches", (double)(fy_counters().launches - launches));
  driver_put_number(d, "second shares", second && fy_shares_storage(second, turned));
  driver_put(d, "second frames", second);
  if (second && driver_has(d, "gradient") && fy_requires_grad(second)) {
    fy_backward(second, .gradient = driver_tensor(d, "gradient"));
    driver_put(d, "second readings.grad", fy_grad(turned));
  }
}

// The readings (sensors, all) in other layouts. The expanded ones have a stride of 0.
static FyTensor *laid_out(FyTensor *readings, int layout) {
  int64_t sensors = fy_size_at(readings, 0), all = fy_size_at(readings, 1);
  FyTensor *turned = fy_t(readings);
  switch (layout) {
  case 0: // a slice
    return within(readings, sensors + 3, all + 5, 2, 3);
  case 1: // in order of time, with gaps after each moment
    return fy_t(within(turned, all + 1, sensors + 2, 1, 1));
  case 2: { // every third element, in order of time
    FyTensor *three = fy_full(-77, fy_shape(all, sensors, 3), .device = fy_device_of(readings));
    FyTensor *part = fy_select(three, 2, 1);
    fy_copy_(part, turned);
    return fy_t(part);
  }
  case 3:
    return fy_expand(fy_clone(fy_narrow(readings, 0, 0, 1)), fy_shape(sensors, all));
  case 4:
    return fy_expand(fy_clone(fy_narrow(readings, 1, 0, 1)), fy_shape(sensors, all));
  case 5: { // every second row of three dimensions in another order
    FyTensor *three = fy_full(-77, fy_shape(all, 2, 2 * sensors), .device = fy_device_of(readings));
    FyTensor *part = fy_slice(fy_select(fy_permute(three, fy_shape(1, 2, 0)), 0, 1), 0, 0, 2 * sensors, 2);
    fy_copy_(part, readings);
    return part;
  }
  case 7: // one sensor: its readings are in order of time
    return fy_clone(fy_narrow(readings, 0, 0, 1));
  default: // one sensor, with gaps
    return fy_narrow(fy_t(within(turned, all + 1, sensors + 4, 1, 2)), 0, 0, 1);
  }
}

// One call per layout, and the largest numbers of kernels, allocations and copies of one call.
static void call_on_layouts(Driver *d, int64_t moments) {
  double most[3] = {0};
  for (int layout = 0; layout < LAYOUTS; layout++) {
    FyTensor *readings = laid_out(driver_tensor(d, "readings"), layout);
    FyCounters before = fy_counters();
    int64_t allocations = allocations_of(readings);
    FyTensor *result = frames(readings, moments);
    FyCounters after = fy_counters();
    const double taken[3] = {
        (double)(after.launches + after.device_to_device - before.launches - before.device_to_device),
        (double)(allocations_of(readings) - allocations),
        (double)(after.host_to_device + after.device_to_host - before.host_to_device - before.device_to_host)};
    for (int i = 0; i < 3; i++)
      most[i] = taken[i] > most[i] ? taken[i] : most[i];
    driver_put(d, layouts[layout], result);
    if (layout == 7)
      driver_put_number(d, "a sensor shares", result && fy_shares_storage(result, readings));
  }
  driver_put_number(d, "most kernels", most[0]);
  driver_put_number(d, "most allocations", most[1]);
  driver_put_number(d, "most crossings", most[2]);
}

void drive(Driver *d) {
  int64_t moments = (int64_t)driver_number(d, "moments");
  FyTensor *readings = driver_tensor(d, "readings");
  if (driver_has(d, "gradient"))
    driver_tensor(d, "gradient");
  driver_tensor(d, "second readings");
  driver_count(d);
  FyTensor *result = frames(readings, moments);
  driver_stop(d);
  driver_put(d, "frames", result);
  if (result && driver_has(d, "gradient")) {
    fy_backward(result, .gradient = driver_tensor(d, "gradient"));
    driver_put(d, "readings.grad", fy_grad(readings));
  }
  call_on_turned(d, moments);
  if (driver_has(d, "layouts"))
    call_on_layouts(d, moments);
}
