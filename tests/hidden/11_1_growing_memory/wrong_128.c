// mistake: out-of-bounds index
#include "ferry.h"

// Each parameter less lr times its gradient, and no gradient afterwards.
static void descend(FyTensorList *parameters, double lr) {
  for (int i = 0; i < parameters->count; i++) {
    FyTensor *p = parameters->items[i];
    fy_no_grad {
      fy_sub_(p, fy_mul_scalar(fy_grad(p), lr));
    }
    fy_set_grad(p, NULL);
  }
}

enum { MOST_BATCHES = 128 };

FyTensor *train(FyModule *model, FyTensor *x, FyTensor *y, double lr) {
  int batches = (int)fy_size_at(x, 0);
  FyTensorList *parameters = fy_parameters(model);
  FyTensor *noted[MOST_BATCHES];
  for (int i = 0; i < batches; i++) {
    fy_scope {
      FyTensor *loss = fy_mse_loss(fy_forward(model, fy_select(x, 0, i)), fy_select(y, 0, i));
      fy_backward(loss);
      descend(parameters, lr);
      noted[i] = fy_keep(fy_detach(loss)); // one number, 512 bytes
    }
  }
  return fy_stack((FyTensors){batches, noted}, 0);
}
