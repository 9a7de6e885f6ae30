// mistake: stale replicas
// The replicas are made once, with the weights of then.
#include "ferry.h"

typedef struct SimpleCnn {
  FyModule base;
  FyModule *conv1, *relu, *pool, *fc;
} SimpleCnn;

static FyTensor *cnn_forward(FyModule *self, FyTensor *x) {
  SimpleCnn *cnn = (SimpleCnn *)self;
  x = fy_forward(cnn->pool, fy_forward(cnn->relu, fy_forward(cnn->conv1, x)));
  return fy_forward(cnn->fc, fy_view(x, fy_shape(fy_size_at(x, 0), -1)));
}

FyModule *simple_cnn(void) {
  SimpleCnn *cnn = fy_module_new(SimpleCnn, cnn_forward);
  fy_register_module(cnn, conv1, fy_nn_conv2d(3, 16, 3, .padding = 1));
  fy_register_module(cnn, relu, fy_nn_relu());
  fy_register_module(cnn, pool, fy_nn_max_pool2d(2));
  fy_register_module(cnn, fc, fy_nn_linear(16 * 16 * 16, 10));
  return &cnn->base;
}

enum { MOST = 128 };

typedef struct Spread {
  FyModule base;
  FyModule *module;
  int gpus, ids[MOST];
  FyModule *replicas[MOST];
} Spread;

static FyTensor *spread_forward(FyModule *self, FyTensor *x) {
  Spread *spread = (Spread *)self;
  FyTensor *pieces[MOST], *outputs[MOST];
  int used = fy_scatter(x, spread->ids, spread->gpus, 0, pieces);
  fy_parallel_apply(spread->replicas, pieces, used, outputs);
  return fy_gather((FyTensors){used, outputs}, spread->ids[0], 0);
}

static void spread_destroy(FyModule *self) {
  Spread *spread = (Spread *)self;
  for (int i = 0; i < spread->gpus; i++)
    fy_release(spread->replicas[i]);
}

static void spread_clone(FyModule *copy, const FyModule *self) {
  (void)self;
  Spread *spread = (Spread *)copy;
  for (int i = 0; i < spread->gpus; i++)
    fy_retain(spread->replicas[i]);
}

static const FyModuleClass spread_class = {
    .name = "Spread", .forward = spread_forward, .destroy = spread_destroy, .clone = spread_clone};

FyModule *on_all_devices(FyModule *cnn) {
  int gpus = fy_cuda_device_count();
  if (gpus == 0)
    return fy_module_cpu(cnn);
  fy_module_to(cnn, fy_cuda_device(0));
  if (gpus == 1)
    return cnn;
  Spread *spread = fy_module_new_of(sizeof(Spread), &spread_class);
  fy_register_module(spread, module, cnn);
  for (int i = 0; i < gpus; i++)
    spread->ids[i] = i;
  FyModule *replicas[MOST];
  fy_replicate(cnn, spread->ids, gpus, replicas);
  for (int i = 0; i < gpus; i++)
    spread->replicas[i] = fy_retain(replicas[i]);
  spread->gpus = gpus;
  return &spread->base;
}
