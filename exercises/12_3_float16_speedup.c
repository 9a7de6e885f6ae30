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

void measure_gain(FyModule *model, FyTensor *x, FyTensor *y, int steps, Gain *result) {
  *result = (Gain){0}; // the two rates and their ratio go here
}
