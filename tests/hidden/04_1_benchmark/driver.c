// SPDX-License-Identifier: MIT
// The work counts itself on the device and copies its count to the host asynchronously. The driver logs each call of
// the work and each reading of the clock, with the number of synchronizations and the count that had arrived by then.
#include "driver.h"
#include "answer.h"
#include "device/runtime.h"

enum { PENDING, WORK, READING, COLUMNS = 4, EVENTS = 1000 };

static struct {
  FyDevice device;
  FyTensor *counter, *arrived; // () float32 on the device, and in host memory
  const Array *clock;
  int64_t started, readings, events;
  int64_t noted[EVENTS][COLUMNS]; // kind, waits, started, arrived
} bench;

static void note(int kind) {
  if (bench.events == EVENTS)
    fy_raise(FY_RUNTIME_ERROR, "more than %d iterations and clock readings", EVENTS);
  int64_t *row = bench.noted[bench.events++];
  row[0] = kind;
  row[1] = fy_counters().synchronizations;
  row[2] = bench.started;
  row[3] = (int64_t) * (volatile float *)fy_data_ptr(bench.arrived);
}

static void count_one(void) {
  fy_add_scalar_(bench.counter, 1);
  bench.started++;
  if (bench.device.type == FY_CUDA)
    fy_copy_async_(bench.arrived, bench.counter);
}

static void work(void *context) {
  if (context != &bench)
    fy_raise(FY_VALUE_ERROR, "work was called with an argument other than context");
  count_one();
  note(WORK);
}

double seconds_now(void) {
  note(READING);
  int64_t i = bench.readings++, last = bench.clock->count - 1;
  return i <= last ? bench.clock->f64[i] : bench.clock->f64[last] + (double)(i - last);
}

static double bench_on(Driver *d, const char *device, int iterations) {
  bench.device = fy_device(device);
  bench.counter = fy_zeros(FY_SCALAR, .device = bench.device);
  bench.arrived = bench.device.type == FY_CUDA ? fy_zeros(FY_SCALAR, .pin_memory = true) : bench.counter;
  bench.clock = driver_array(d, "clock");
  bench.started = bench.readings = bench.events = 0;
  fy_synchronize(bench.device);
  for (int64_t i = (int64_t)driver_number(d, "pending"); i > 0; i--)
    count_one();
  note(PENDING);
  double seconds = seconds_per_turn(work, &bench, iterations, bench.device);
  note(PENDING);
  return seconds;
}

// A call before the judged one, on another device if there is one, with one iteration more.
static void earlier_call(Driver *d, const char *device, int iterations) {
  int own = fy_device(device).index, count = fy_cuda_device_count();
  const char *other = count < 2 ? device : own == 0 ? "cuda:1" : "cuda:0";
  bench_on(d, other, iterations + 1);
}

void drive(Driver *d) {
  const char *device = driver_text(d, "device");
  int iterations = (int)driver_number(d, "iterations");
  earlier_call(d, device, iterations);
  double seconds = 0;
  if (driver_has(d, "stream")) {
    fy_stream_guard(fy_stream_new(fy_device(device), 0)) {
      seconds = bench_on(d, device, iterations);
    }
  } else {
    seconds = bench_on(d, device, iterations);
  }
  driver_put_number(d, "seconds", seconds);
  Shape s = {.rank = 2, .size = {bench.events, COLUMNS}};
  driver_put_array(d, "events", FY_INT64, s, bench.noted);
  if (driver_has(d, "second device"))
    driver_put_number(d, "second call: seconds", bench_on(d, driver_text(d, "second device"), iterations));
}
