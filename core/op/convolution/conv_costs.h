// SPDX-License-Identifier: MIT
// How fast this machine's convolutions are, as the heuristic of conv_run.c counts them: for core/op/convolution/ and tests.
#ifndef FERRY_OP_CONV_COSTS_H
#define FERRY_OP_CONV_COSTS_H

#include <stdbool.h>

// In units of the time of one multiply-add at the points of Winograd's algorithm.
typedef struct FyConvCosts {
  double direct; // one multiply-add of a direct convolution
  double ways;   // what the transforms to the points and back add to a tile and a pair of channels, times the channels
} FyConvCosts;

// This machine's costs. The first call that needs them measures them on the calling thread, which takes about 0.03 s, and stores
// them in the folder XDG_CACHE_HOME/ferry (~/.cache/ferry); later processes read them. So the heuristic chooses the same
// algorithms in every run on a machine. FERRY_CONV_COSTS=off, deterministic mode and builds with a sanitizer use fixed numbers
// instead, those of a Sapphire Rapids processor. Any thread; never raises.
FyConvCosts fy_conv_costs(void);

// For tests. Measures again; false where that cannot be done. Never raises.
bool fy_conv_costs_measure(FyConvCosts *costs);

#endif
