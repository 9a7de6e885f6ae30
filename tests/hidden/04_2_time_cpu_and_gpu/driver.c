// SPDX-License-Identifier: MIT
// After each product on the GPU its stream copies a count to the host asynchronously. The driver logs every product and
// every reading of the clock, with the work that had started, that had finished, and the copies by then.
#include "driver.h"
#include "answer.h"
#include "device/runtime.h"

enum { BEGIN, ON_CPU, ON_GPU, READING, COLUMNS = 6, EVENTS = 400 };

static struct {
  FyDevice gpu;
  FyTensor *a, *b;
  FyTensor *counter, *arrived;     // () float32 on the GPU, and in pinned memory
  FyTensor *elsewhere, *also_here; // the same for work that is pending in another stream
  const Array *clock;
  int64_t started, started_elsewhere, own_copies, readings, events;
  int64_t noted[EVENTS][COLUMNS]; // kind, waits, started, arrived, copies by the answer, pending elsewhere
} bench;

static void note(int kind) {
  if (bench.events == EVENTS)
    fy_raise(FY_RUNTIME_ERROR, "more than %d products and clock readings", EVENTS);
  int64_t *row = bench.noted[bench.events++];
  row[0] = kind;
  row[1] = fy_counters().synchronizations;
  row[2] = bench.started;
  row[3] = (int64_t) * (volatile float *)fy_data_ptr(bench.arrived);
  row[4] = fy_counters().host_to_device + fy_counters().device_to_host - bench.own_copies;
  row[5] = bench.started_elsewhere - (int64_t) * (volatile float *)fy_data_ptr(bench.also_here);
}

static void count_one(void) {
  fy_add_scalar_(bench.counter, 1);
  bench.started++;
  int64_t before = fy_counters().device_to_host;
  fy_copy_async_(bench.arrived, bench.counter);
  bench.own_copies += fy_counters().device_to_host - before;
}

static void queue_elsewhere(int64_t count) {
  fy_stream_guard(fy_stream_new(bench.gpu, 0)) {
    for (; bench.started_elsewhere < count; bench.started_elsewhere++) {
      fy_add_scalar_(bench.elsewhere, 1);
      fy_copy_async_(bench.also_here, bench.elsewhere);
    }
  }
  bench.own_copies += count;
}

static bool same_size(FyTensor *x, FyTensor *y) {
  return fy_size_at(x, 0) == fy_size_at(y, 0) && fy_size_at(x, 1) == fy_size_at(y, 1);
}

FyTensor *product(FyTensor *x, FyTensor *y) {
  FyTensor *result = fy_matmul(x, y);
  if (!same_size(x, bench.a) || !same_size(y, bench.b))
    fy_raise(FY_VALUE_ERROR, "product was called with matrices other than a and b");
  if (fy_device_of(x).type == FY_CPU) {
    note(ON_CPU);
    return result;
  }
  if (fy_device_of(x).index != bench.gpu.index)
    fy_raise(FY_VALUE_ERROR, "product was called with matrices on another GPU, not on the argument gpu");
  count_one();
  note(ON_GPU);
  return result;
}

double seconds_now(void) {
  note(READING);
  int64_t i = bench.readings++;
  return i < bench.clock->count ? bench.clock->f64[i] : bench.clock->f64[0] + 1000 * (double)i;
}

static void drive_here(Driver *d) {
  for (int64_t i = (int64_t)driver_number(d, "pending"); i > 0; i--)
    count_one();
  if (driver_has(d, "pending in another stream"))
    queue_elsewhere((int64_t)driver_number(d, "pending in another stream"));
  note(BEGIN);
  Comparison c = {0};
  compare(bench.a, bench.b, bench.gpu, (int)driver_number(d, "runs"), &c);
  note(BEGIN);
  driver_put_number(d, "cpu", c.cpu);
  driver_put_number(d, "gpu", c.gpu);
  driver_put_number(d, "times as fast", c.times_as_fast);
  Shape s = {.rank = 2, .size = {bench.events, COLUMNS}};
  driver_put_array(d, "events", FY_INT64, s, bench.noted);
}

void drive(Driver *d) {
  bench.gpu = fy_device(driver_text(d, "device"));
  bench.counter = fy_zeros(FY_SCALAR, .device = bench.gpu);
  bench.arrived = fy_zeros(FY_SCALAR, .pin_memory = true);
  bench.elsewhere = fy_zeros(FY_SCALAR, .device = bench.gpu);
  bench.also_here = fy_zeros(FY_SCALAR, .pin_memory = true);
  bench.clock = driver_array(d, "clock");
  bench.a = driver_tensor(d, "a");
  bench.b = driver_tensor(d, "b");
  fy_synchronize(bench.gpu);
  if (driver_has(d, "another stream")) {
    fy_stream_guard(fy_stream_new(bench.gpu, 0)) {
      drive_here(d);
    }
  } else {
    drive_here(d);
  }
}
