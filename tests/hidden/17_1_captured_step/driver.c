// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include "device/runtime.h"

// A linear layer that counts its calls.
typedef struct Counted {
  FyModule base;
  FyTensor *weight, *bias;
  int calls;
} Counted;

static FyTensor *counted_forward(FyModule *self, FyTensor *x) {
  Counted *c = (Counted *)self;
  c->calls++;
  return fy_linear(x, c->weight, c->bias);
}

void drive(Driver *d) {
  FyTensor *batches = driver_tensor(d, "batches"), *targets = driver_tensor(d, "targets");
  driver_may_change(d, "weight");
  driver_may_change(d, "bias");
  Counted *model = fy_module_new(Counted, counted_forward);
  fy_register_parameter(model, weight, driver_tensor(d, "weight"));
  fy_register_parameter(model, bias, driver_tensor(d, "bias"));
  FyDevice device = fy_device_of(model->weight);
  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = driver_number(d, "lr"), .momentum = 0.5);
  driver_module(&model->base);
  const FyDevice current = {FY_CUDA, fy_cuda_current_device()};
  if (driver_has(d, "another stream")) { // is current instead of the default one
    fy_set_stream(fy_stream_new(device, 0));
    fy_cuda_set_device(current.index);
  }
  fy_no_grad {
    fy_mul_scalar_(model->weight, 0.5);
    fy_synchronize(device);
    fy_mul_scalar_(model->weight, 2); // may still be pending when the function is called
  }
  FyCounters before = fy_counters();
  driver_count(d);
  FyTensor *losses = train_by_replays(&model->base, optimizer, batches, targets, device);
  driver_stop(d);
  driver_put_number(d, "calls", model->calls);
  driver_put_number(d, "graph launches", (double)(fy_counters().graph_launches - before.graph_launches));
  driver_put(d, "losses", losses); // as they are now
  fy_synchronize(device);
  driver_put(d, "losses later", losses);
  driver_put(d, "weight", fy_detach(model->weight));
  driver_put(d, "bias", fy_detach(model->bias));
}
