// mistake: stale replicas
// devices: 2
#include "ferry.h"

enum { MOST = 16 };

typedef struct SimpleCnn {
  FyModule base;
  FyModule *conv1, *fc;
} SimpleCnn;

typedef struct Shared {
  FyModule base;
  FyModule *whole, *replicas[MOST];
  int kept;
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

  for (int i = 0; i < count; i++)
    ids[i] = i;
  count = fy_scatter(x, ids, count, 0, pieces);
  if (((Shared *)self)->kept < count) {
    fy_replicate(((Shared *)self)->whole, ids, count, ((Shared *)self)->replicas);
    for (int i = ((Shared *)self)->kept; i < count; i++)
      fy_retain(((Shared *)self)->replicas[i]);
    ((Shared *)self)->kept = count;
  }
  fy_parallel_apply(((Shared *)self)->replicas, pieces, count, outputs);
  return fy_gather((FyTensors){count, outputs}, 0, 0);
}

FyModule *on_all_devices(FyModule *cnn) {
  if (!fy_cuda_is_available())
    return cnn;
  fy_module_to(cnn, fy_device("cuda:0"));
  if (fy_cuda_device_count() == 1)
    return cnn;
  Shared *shared = fy_module_new(Shared, shared_forward);
  fy_register_module(shared, whole, cnn);
  return &shared->base;
}
