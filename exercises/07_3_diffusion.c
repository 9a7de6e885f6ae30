// Exercise 7.3: find the bug, a transfer in the loop                              (chapter 7, docs/07_pitfalls.md)
//
// spread follows how a quantity spreads over the places of a network: in each turn the state, one number per place, is
// multiplied by a matrix. It also notes how much each turn has changed. The numbers are right. On a GPU the program is
// slower than on the CPU all the same, and it stays so on a faster GPU.
//
// Mend it, so that in the loop nothing crosses between host and device, in either direction.
//
//   PyTorch:  for i in range(turns):
//                 following = state @ transition
//                 changes[i] = (following - state).abs().sum()
//                 state = following
//             return state
//
// Given: state (n) and transition (n, n), n at least 2, float32 on the CPU, not pinned, any strides; a device, which
// may be the CPU; changes (turns), float32 on `device`, to be filled; turns may be 0.
// Each call stands by itself: a later one may have the same tensors, with other numbers in them.
// Returned: the last state (n), on `device`; without a turn that is the state, moved: on the CPU the tensor itself or
// a copy. state and transition stay as they are.
// Counted: copies between host and device. state and transition cross once each (without a turn, transition need
// not), and nothing comes back (on the CPU nothing is counted). And memory: at the peak at most 2 KiB on the device
// for each turn, 16 KiB, and the transition's size. For large n the tensors of every turn are more, if they all stay;
// the states alone, a row each, are not. And nothing stays when the scope around the call has ended.
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  int64_t turns = fy_numel(changes);
  for (int64_t i = 0; i < turns; i++) {
    FyTensor *here = fy_to(state, device);
    FyTensor *following = fy_matmul(here, fy_to(transition, device));
    double change = fy_item(fy_sum(fy_abs(fy_sub(following, here))));
    fy_fill_(fy_select(changes, 0, i), change);
    state = fy_cpu(following);
  }
  return state;
}
