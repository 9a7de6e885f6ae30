// Exercise 12.3: what float16 gains                                  (chapter 12, docs/12_mixed_precision.md)
//
// Mixed precision is worth its trouble where it is faster, and whether it is has to be measured. Write measure_gain: it
// trains a model in float32 and, from the same weights, in mixed precision, and says how many steps each makes in a
// second.
//
//   - first comes the training in float32, then the mixed one: the forward pass under autocast in float16 (the loss
//     within the region or behind it), with a scaler
//   - both begin with the weights that the model was given with, and with an optimizer of their own, which has not
//     taken a step: fy_sgd, .lr = 0.125, .momentum = 0.5. The scaler is fy_grad_scaler(FY_CUDA, .init_scale = 1024)
//   - a step: gradients cleared, forward, fy_mse_loss, backward, the optimizer's step
//   - two steps of each training are a warm-up, on no clock; then come `steps` steps
//   - a training reads the clock twice, before these steps and after them, each time when the device has nothing left
//     to do in any of its streams: the model may use more than the current one
//   - between the two are the steps and nothing else, and nothing is fetched from the device, but for what the scaler's
//     step asks
//   - at the end the model has the weights again that it was given with
//
//   PyTorch:  for mixed in (False, True):
//                 model.load_state_dict(initial)
//                 optimizer = torch.optim.SGD(model.parameters(), lr=0.125, momentum=0.5)
//                 scaler = torch.amp.GradScaler("cuda", init_scale=1024, enabled=mixed)
//                 ... two steps ...
//                 torch.cuda.synchronize(device); start = time.perf_counter()
//                 ... `steps` steps, torch.autocast("cuda", dtype=torch.float16, enabled=mixed) ...
//                 torch.cuda.synchronize(device); rate = steps / (time.perf_counter() - start)
//
// Given: a model with at most eight parameters on a GPU, not always the first (the first is the current one); x and y
// there, float32, the same for every step; the parameters may have gradients of an earlier step, and what they have
// afterwards is not judged; it has no buffers; steps, 1 to 20; seconds_now(), the clock, in seconds.
// Filled in: typedef struct Gain { double float32, mixed, times_as_fast; }: steps per second of either, and how many
// times the rate of float32 the mixed one is.
// Judged: under which autocast passes ran, the weights at each, what was left to do and what had been fetched at each
// reading of the clock. No clock decides whether you pass.
#include "ferry.h"

#ifndef ANSWER_H // the tests declare it all before they compile your file; here it is for you and your editor
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

// From the weights that the model has now.
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

static void put_back(FyTensorList *parameters, FyTensor **initial) {
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
  put_back(parameters, initial);
  result->mixed = steps_per_second(model, x, y, steps, true);
  put_back(parameters, initial);
  result->times_as_fast = result->mixed / result->float32;
  // [stub]
  //| (void)model;
  //| (void)x;
  //| (void)y;
  //| (void)steps;
  //| *result = (Gain){0}; // the two rates and their ratio go here
  // [end]
}
