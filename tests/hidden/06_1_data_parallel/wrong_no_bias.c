// mistake: missing bias
#include "ferry.h"

typedef struct SimpleCnn {
  FyModule base;
  FyModule *conv1, *relu, *pool, *fc;
} SimpleCnn;

static FyTensor *simple_cnn_forward(FyModule *self, FyTensor *x) { // x: (N, 3, 32, 32)
  SimpleCnn *cnn = (SimpleCnn *)self;
  x = fy_forward(cnn->pool, fy_forward(cnn->relu, fy_forward(cnn->conv1, x))); // (N, 16, 16, 16)
  return fy_forward(cnn->fc, fy_view(x, fy_shape(fy_size_at(x, 0), -1)));      // (N, 10)
}

FyModule *simple_cnn(void) {
  SimpleCnn *cnn = fy_module_new(SimpleCnn, simple_cnn_forward);
  fy_register_module(cnn, conv1, fy_nn_conv2d(3, 16, 3, .padding = 1, .no_bias = true));
  fy_register_module(cnn, relu, fy_nn_relu());
  fy_register_module(cnn, pool, fy_nn_max_pool2d(2));
  fy_register_module(cnn, fc, fy_nn_linear(16 * 16 * 16, 10));
  return &cnn->base;
}

FyModule *on_all_devices(FyModule *cnn) {
  FyDevice first = fy_cuda_is_available() ? fy_device("cuda:0") : FY_CPU_DEVICE;
  FyModule *model = fy_cuda_device_count() > 1 ? fy_nn_data_parallel(cnn, NULL, 0) : cnn;
  return fy_module_to(model, first);
}
