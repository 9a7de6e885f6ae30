// Exercise 12.3: Speedup of mixed precision          lesson 12 · hard · 40 min
//
// Task      Measure the speedup of mixed precision: train a model in float32,
//           then with float16 autocast and a scaler. For mixed = False, True:
//               optimizer = torch.optim.SGD(params, lr=0.125, momentum=0.5)
//               scaler = GradScaler("cuda", init_scale=1024, enabled=mixed)
//               ...      # 2 steps; synchronize; start = seconds_now()
//               ...      # `steps` steps, autocast(enabled=mixed); synchronize
//               rate = steps / (seconds_now() - start)
// Example   4 steps in 2 s, then in 1 s: float32 2, mixed 4, times_as_fast 2
// Write     measure_gain. It stores the rates and their ratio in *result.
// Inputs    model     at most 8 parameters, no buffers, on any GPU; may have
//                     gradients, and may use streams of its own
//           x, y      float32 on that GPU, 1 row or more; use fy_mse_loss
//           steps     1 to 20
// Required  - both training runs start with the given weights and a new
//             optimizer; the timed steps continue from the 2 warm-up steps
//           - only the steps run between two readings of the clock, and the GPU
//             is idle in all streams at each of the 4 readings
//           - on return, the model has the given weights again
// Stars     ** backward outside of the autocast region
//           *** only the scaler makes the host wait in the timed steps
#include "ferry.h"

#ifndef ANSWER_H // the tests declare this before they compile your file; here it is for your editor
typedef struct Gain {
  double float32, mixed, times_as_fast;
} Gain;

double seconds_now(void);
#endif

// [answer]
enum { WARM_UP = 2, MOST_PARAMETERS = 8 };

static void train_step(FyModule *model, FyOptimizer *optimizer, FyGradScaler *scaler, FyTensor *x, FyTensor *y,
                       bool mixed) {
  fy_scope {
    FyTensor *loss = NULL;
    fy_zero_grad(optimizer);
    fy_autocast(FY_CUDA, .dtype = FY_FLOAT16, .enabled = mixed) {
      loss = fy_mse_loss(fy_forward(model, x), y);
    }
    fy_backward(fy_scaler_scale(scaler, loss));
    fy_scaler_step(scaler, optimizer);
    fy_scaler_update(scaler);
  }
}

// Trains from the model's current weights.
static double steps_per_second(FyModule *model, FyTensor *x, FyTensor *y, int steps, bool mixed) {
  FyDevice device = fy_device_of(x);
  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = 0.125, .momentum = 0.5);
  FyGradScaler *scaler = fy_grad_scaler(FY_CUDA, .init_scale = 1024, .enabled = mixed);
  for (int i = 0; i < WARM_UP; i++)
    train_step(model, optimizer, scaler, x, y, mixed);
  fy_synchronize(device);
  double start = seconds_now();
  for (int i = 0; i < steps; i++)
    train_step(model, optimizer, scaler, x, y, mixed);
  fy_synchronize(device);
  return steps / (seconds_now() - start);
}

static void restore(FyTensorList *parameters, FyTensor **initial) {
  fy_no_grad {
    for (int i = 0; i < parameters->count; i++)
      fy_copy_(parameters->items[i], initial[i]);
  }
}

// [stub]
// [end]
void measure_gain(FyModule *model, FyTensor *x, FyTensor *y, int steps, Gain *result) {
  // [answer]
  FyTensorList *parameters = fy_parameters(model);
  FyTensor *initial[MOST_PARAMETERS];
  fy_no_grad {
    for (int i = 0; i < parameters->count; i++)
      initial[i] = fy_clone(parameters->items[i]);
  }
  result->float32 = steps_per_second(model, x, y, steps, false);
  restore(parameters, initial);
  result->mixed = steps_per_second(model, x, y, steps, true);
  restore(parameters, initial);
  result->times_as_fast = result->mixed / result->float32;
  // [stub]
  //| *result = (Gain){0}; // the two rates and their ratio go here
  // [end]
}
