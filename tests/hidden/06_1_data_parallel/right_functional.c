// Without replicas: each GPU gets copies of the parameters, and the layers are functions.
#include "ferry.h"

typedef struct SimpleCnn {
  FyModule base;
  FyModule *conv1, *fc;
} SimpleCnn;

typedef struct Spread {
  FyModule base;
  FyModule *cnn;
} Spread;

static FyTensor *on(FyModule *cnn, const char *name, FyDevice device) {
  return fy_to(fy_list_get(fy_parameters(cnn), name), device);
}

static FyTensor *run_on(FyModule *cnn, FyTensor *x, FyDevice device) {
  x = fy_to(x, device);
  x = fy_conv2d(x, on(cnn, "conv1.weight", device), on(cnn, "conv1.bias", device), .padding = 1);
  x = fy_flatten(fy_max_pool2d(fy_relu(x), 2), 1, -1);
  return fy_linear(x, on(cnn, "fc.weight", device), on(cnn, "fc.bias", device));
}

static FyTensor *cnn_forward(FyModule *self, FyTensor *x) {
  return run_on(self, x, fy_device_of(x));
}

static FyTensor *spread_forward(FyModule *self, FyTensor *x) {
  FyTensor *parts[64];
  int count = fy_chunk(x, fy_cuda_device_count(), 0, parts);
  for (int i = 0; i < count; i++)
    parts[i] = fy_to(run_on(((Spread *)self)->cnn, parts[i], fy_cuda_device(i)), fy_device_of(x));
  return fy_cat((FyTensors){count, parts}, 0);
}

FyModule *simple_cnn(void) {
  SimpleCnn *cnn = fy_module_new(SimpleCnn, cnn_forward);
  fy_register_module(cnn, conv1, fy_nn_conv2d(3, 16, 3, .padding = 1));
  fy_register_module(cnn, fc, fy_nn_linear(4096, 10));
  return &cnn->base;
}

FyModule *on_all_devices(FyModule *cnn) {
  if (fy_cuda_device_count() == 0)
    return cnn;
  fy_module_to(cnn, fy_cuda_device(0));
  Spread *spread = fy_module_new(Spread, spread_forward);
  fy_register_module(spread, cnn, cnn);
  return &spread->base;
}
