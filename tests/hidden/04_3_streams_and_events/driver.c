// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include <math.h>

typedef struct Operands {
  FyTensor *batch, *weight, *new_batch, *new_weight; // their old values, and the values that pending work writes
  FyStream *copying, *computing;
  FyEvent *before;
} Operands;

// Pending work writes both operands, each on its own stream. The weight is copied from a freed block of the computing
// stream: an allocation on that stream reuses it while it is still read.
static void send(Operands *o) {
  FyDevice device = fy_device_of(o->weight);
  FyTensor *staged = NULL;
  o->copying = fy_stream_new(device, 0);
  o->computing = fy_stream_new(device, 0);
  o->before = fy_event_new(true);
  fy_stream_guard(o->computing) {
    staged = fy_clone(o->new_weight);
  }
  fy_synchronize(device);
  fy_stream_guard(o->copying) {
    fy_copy_async_(o->batch, o->new_batch);
  }
  fy_stream_guard(o->computing) {
    fy_event_record(o->before, o->computing);
    fy_copy_async_(o->weight, staged);
  }
  fy_drop(staged);
}

// On another device if there is one, with twice as many rows of the opposite sign.
static void earlier_call(FyTensor *batch, FyTensor *weight) {
  FyDevice other = driver_other_gpu(weight);
  FyTensor *rows = fy_neg(fy_to(batch, FY_CPU_DEVICE)), *both = fy_cat(fy_list(rows, rows), 0);
  Operands o = {fy_pin_memory(fy_zeros_like(both)),
                fy_zeros_like(fy_to(weight, other)),
                fy_to(both, other),
                fy_to(weight, other),
                NULL,
                NULL,
                NULL};
  double milliseconds = NAN;
  send(&o);
  streamed_product(o.batch, o.weight, o.copying, o.computing, &milliseconds);
  fy_synchronize(other);
}

void drive(Driver *d) {
  Operands o = {driver_tensor(d, "old batch"),
                driver_tensor(d, "old weight"),
                driver_tensor(d, "batch"),
                driver_tensor(d, "weight"),
                NULL,
                NULL,
                NULL};
  driver_may_change(d, "old batch");
  driver_may_change(d, "old weight");
  earlier_call(o.new_batch, o.new_weight);
  driver_put_number(d, "called before", 1);
  send(&o);
  FyEvent *after = fy_event_new(true);
  double milliseconds = NAN;
  fy_set_stream(fy_stream_new(fy_device_of(o.weight), 0)); // neither of the two, nor the default one
  fy_cuda_set_device(0);                                   // not always the device of the streams
  driver_put_number(d, "copying", (double)driver_stream(o.copying));
  driver_put_number(d, "computing", (double)driver_stream(o.computing));
  driver_count(d);
  FyTensor *result = streamed_product(o.batch, o.weight, o.copying, o.computing, &milliseconds);
  driver_stop(d);
  fy_set_stream(fy_default_stream(fy_device_of(o.weight)));
  driver_put(d, "result", result);
  fy_event_record(after, o.computing);
  fy_event_synchronize(after);
  driver_put_number(d, "milliseconds", milliseconds);
  driver_put_number(d, "longest", fy_event_elapsed_time(o.before, after));
}
