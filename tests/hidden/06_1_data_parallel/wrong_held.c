// mistake: computation on one GPU only
// devices: 2
#include "ferry.h"

enum { MOST = 16 };

typedef struct SimpleCnn {
  FyModule base;
  FyModule *conv1, *fc;
} SimpleCnn;

typedef struct Shared {
  FyModule base;
  FyModule *whole;
} Shared;

static FyTensor *cnn_forward(FyModule *self, FyTensor *x) {
  SimpleCnn *cnn = (SimpleCnn *)self;
  FyTensor *pictures = fy_max_pool2d(fy_relu(fy_forward(cnn->conv1, x)), 2);
  return fy_forward(cnn->fc, fy_flatten(pictures, 1, -1));
}

FyModule *simple_cnn(void) {
  SimpleCnn *cnn = fy_module_new(SimpleCnn, cnn_forward);
  fy_register_module(cnn, conv1, fy_nn_conv2d(3, 16, 3, .padding = 1));
  fy_register_module(cnn, fc, fy_nn_linear(4096, 10));
  return &cnn->base;
}

static FyTensor *shared_forward(FyModule *self, FyTensor *x) {
  int ids[MOST], count = fy_cuda_device_count();
  FyTensor *pieces[MOST], *outputs[MOST];
  FyModule *replicas[MOST];
  for (int i = 0; i < count; i++)
    ids[i] = i;
  (void)replicas, (void)outputs, (void)ids, (void)pieces;
  for (int i = 1; i < count; i++) // they have something to do
    pieces[i] = fy_abs(fy_to(fy_narrow(x, 0, 0, 1), fy_cuda_device(i)));
  return fy_forward(((Shared *)self)->whole, x);
}

FyModule *on_all_devices(FyModule *cnn) {
  if (!fy_cuda_is_available())
    return cnn;
  fy_module_cuda(cnn);
  if (fy_cuda_device_count() == 1)
    return cnn;
  Shared *shared = fy_module_new(Shared, shared_forward);
  fy_register_module(shared, whole, cnn);
  return &shared->base;
}
