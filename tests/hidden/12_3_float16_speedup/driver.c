// SPDX-License-Identifier: MIT
// The model is a linear layer that records each forward pass: its autocast state, and a copy of its weights. Each reading
// of the clock is recorded with whether the device was idle.
#include "driver.h"
#include "answer.h"

enum { READING, FORWARD, BACKWARD, COLUMNS = 3, EVENTS = 400, PASSES = 64 };

typedef struct Watched {
  FyModule base;
  FyTensor *weight, *bias;
} Watched;

static struct {
  FyDevice gpu;
  const Array *clock;
  const Watched *model;
  FyStream *side;            // a second stream that the model uses
  FyTensor *busy;            // what the model changes in it
  FyTensor *seen[4];         // the weights at each reading of the clock
  FyTensor *weights[PASSES]; // at each forward pass
  int64_t readings, events, schedules;
  int64_t noted[EVENTS]
               [COLUMNS]; // what; of a reading: whether the device was idle, of a pass: under float16; copies so far
} bench;

static void note(int64_t what, bool is) {
  if (bench.events == EVENTS)
    fy_raise(FY_RUNTIME_ERROR, "more than %d passes and readings of the clock", EVENTS);
  int64_t *row = bench.noted[bench.events++];
  row[0] = what;
  row[1] = is;
  row[2] = fy_counters().device_to_host;
}

double seconds_now(void) {
  note(READING, fy_stream_query(fy_current_stream(bench.gpu)) && fy_stream_query(bench.side));
  int64_t i = bench.readings++;
  fy_no_grad {
    if (i < 4)
      bench.seen[i] = fy_retain(fy_clone(bench.model->weight));
  }
  return i < bench.clock->count ? bench.clock->f64[i] : bench.clock->f64[0] + 1000 * (double)i;
}

static FyTensor *note_backward(FyTensor *grad, void *context) {
  (void)grad;
  (void)context;
  note(BACKWARD, fy_is_autocast_enabled(FY_CUDA));
  return NULL;
}

// Work of the model in a stream of its own, which no later step waits for.
static void work_aside(void) {
  fy_no_grad {
    fy_stream_guard(bench.side) {
      fy_add_(bench.busy, bench.busy);
    }
  }
}

// Copies on the device, without a wait of the host.
static void keep_weights(const Watched *w) {
  fy_no_grad {
    if (bench.schedules < PASSES)
      bench.weights[bench.schedules++] = fy_retain(fy_clone(w->weight));
  }
}

static FyTensor *watched_forward(FyModule *self, FyTensor *x) {
  Watched *w = (Watched *)self;
  keep_weights(w);
  work_aside();
  note(FORWARD, fy_is_autocast_enabled(FY_CUDA) && fy_get_autocast_dtype(FY_CUDA) == FY_FLOAT16);
  FyTensor *output = fy_linear(x, w->weight, w->bias);
  if (fy_requires_grad(output))
    fy_register_hook(output, note_backward, NULL, NULL);
  return output;
}

void drive(Driver *d) {
  FyTensor *x = driver_tensor(d, "x"), *y = driver_tensor(d, "y");
  bench.gpu = fy_device_of(x);
  bench.clock = driver_array(d, "clock");
  driver_may_change(d, "weight");
  driver_may_change(d, "bias");
  Watched *model = fy_module_new(Watched, watched_forward);
  fy_register_parameter(model, weight, driver_tensor(d, "weight"));
  fy_register_parameter(model, bias, driver_tensor(d, "bias"));
  if (driver_has(d, "left")) {
    fy_set_grad(model->weight, fy_full(driver_number(d, "left"), fy_size(model->weight), .device = bench.gpu));
    fy_set_grad(model->bias, fy_full(driver_number(d, "left"), fy_size(model->bias), .device = bench.gpu));
  }
  bench.model = model;
  bench.side = fy_stream_new(bench.gpu, 0);
  bench.busy = fy_zeros(fy_shape(1000), .device = bench.gpu);
  fy_synchronize(bench.gpu);
  Gain gain = {0};
  measure_gain(&model->base, x, y, (int)driver_number(d, "steps"), &gain);
  driver_put_number(d, "float32", gain.float32);
  driver_put_number(d, "mixed", gain.mixed);
  driver_put_number(d, "times as fast", gain.times_as_fast);
  driver_put(d, "weight afterwards", fy_detach(model->weight));
  driver_put(d, "bias afterwards", fy_detach(model->bias));
  if (bench.schedules)
    driver_put(d, "weights", fy_stack((FyTensors){(int)bench.schedules, bench.weights}, 0));
  if (bench.readings == 4)
    driver_put(d, "weights at the readings", fy_stack((FyTensors){4, bench.seen}, 0));
  Shape s = {.rank = 2, .size = {bench.events, COLUMNS}};
  driver_put_array(d, "events", FY_INT64, s, bench.noted);
}
