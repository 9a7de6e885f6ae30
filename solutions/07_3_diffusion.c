// Exercise 7.3: Find the bug: diffusion on a network lesson 7 · medium · 20 min
//
// Task      spread simulates how a quantity spreads in a network, and records
//           the total change in each step:
//               for i in range(len(changes)):
//                   following = state @ transition
//                   changes[i] = (following - state).abs().sum()
//                   state = following
//           Its results are correct, but it is slower on a GPU than on a CPU.
// Example   state = [4, 0], transition = [[.5, .5], [0, 1]], one step
//               ->   returns [2, 2], changes = [4]
// Fix       spread. It returns the last state, on `device`.
// Inputs    state, transition   (n), (n, n) float32 on the CPU, any strides;
//                               n is at least 1
//           device              the CPU or a GPU
//           changes             (steps) float32 on `device`; steps may be 0
// Required  - in every call, the result and changes are correct, the inputs are
//             unchanged, and no memory leaks
//           - computed on `device`, with at most 4 copies to it and none to the
//             host
// Stars     ** each step frees its temporary tensors
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  int64_t steps = fy_numel(changes);
  // [answer]
  state = fy_to(state, device);
  transition = fy_to(transition, device);
  for (int64_t i = 0; i < steps; i++) {
    FyTensor *previous = state;
    fy_scope { // frees the temporary tensors of this step
      FyTensor *following = fy_matmul(state, transition);
      fy_copy_(fy_select(changes, 0, i), fy_sum(fy_abs(fy_sub(following, state))));
      state = fy_keep(following); // the next step needs it
    }
    if (i > 0)
      fy_drop(previous); // the first state may be the caller's
  }
  return state;
  // [stub]
  //| for (int64_t i = 0; i < steps; i++) {
  //|   FyTensor *here = fy_to(state, device);
  //|   FyTensor *following = fy_matmul(here, fy_to(transition, device));
  //|   double change = fy_item(fy_sum(fy_abs(fy_sub(following, here))));
  //|   fy_fill_(fy_select(changes, 0, i), change);
  //|   state = fy_cpu(following);
  //| }
  //| return state;
  // [end]
}
