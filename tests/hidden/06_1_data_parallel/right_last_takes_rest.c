// missing star: load imbalance
#include "ferry.h"

typedef struct SimpleCnn {
  FyModule base;
  FyModule *conv1, *relu, *pool, *fc;
} SimpleCnn;

static FyTensor *simple_cnn_forward(FyModule *self, FyTensor *x) {
  SimpleCnn *net = (SimpleCnn *)self;
  x = fy_forward(net->pool, fy_forward(net->relu, fy_forward(net->conv1, x)));
  return fy_forward(net->fc, fy_view(x, fy_shape(fy_size_at(x, 0), -1)));
}

FyModule *simple_cnn(void) {
  SimpleCnn *net = fy_module_new(SimpleCnn, simple_cnn_forward);
  fy_register_module(net, conv1, fy_nn_conv2d(3, 16, 3, .padding = 1));
  fy_register_module(net, relu, fy_nn_relu());
  fy_register_module(net, pool, fy_nn_max_pool2d(2));
  fy_register_module(net, fc, fy_nn_linear(16 * 16 * 16, 10));
  return &net->base;
}

enum { MOST_GPUS = 128 };

typedef struct Shared {
  FyModule base;
  FyModule *module;
} Shared;

static FyTensor *shared_forward(FyModule *self, FyTensor *x) {
  Shared *shared = (Shared *)self;
  int ids[MOST_GPUS], count = fy_cuda_device_count();
  FyTensor *pieces[MOST_GPUS], *outputs[MOST_GPUS];
  FyModule *replicas[MOST_GPUS];
  int64_t rows = fy_size_at(x, 0);
  int used = rows < count ? (int)rows : count;
  int64_t each = rows / used;
  for (int i = 0; i < used; i++) {
    ids[i] = i;
    int64_t length = i + 1 < used ? each : rows - each * i;
    pieces[i] = fy_to(fy_narrow(x, 0, each * i, length), fy_cuda_device(i));
  }
  fy_replicate(shared->module, ids, used, replicas);
  fy_parallel_apply(replicas, pieces, used, outputs);
  return fy_gather((FyTensors){used, outputs}, 0, 0);
}

FyModule *on_all_devices(FyModule *cnn) {
  fy_module_to(cnn, fy_cuda_is_available() ? fy_cuda_device(0) : FY_CPU_DEVICE);
  if (fy_cuda_device_count() < 2)
    return cnn;
  Shared *shared = fy_module_new(Shared, shared_forward);
  fy_register_module(shared, module, cnn);
  return &shared->base;
}
