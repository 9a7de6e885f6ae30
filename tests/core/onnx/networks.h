// SPDX-License-Identifier: MIT
// Networks for the tests of ONNX files: one for each thing that a forward pass may hold, those of the lessons, and random ones.
#ifndef FERRY_TEST_ONNX_NETWORKS_H
#define FERRY_TEST_ONNX_NETWORKS_H

#include "ferry.h"

typedef struct Network {
  const char *name;
  FySize shape;  // of the example input
  bool fixed;    // its batch is not open in the file
  bool in_parts; // an op of it is written as several, which round in other places
  FyDType dtype; // of the input; FY_DEFAULT_DTYPE: float32
  FyTensor *(*forward)(FyTensor *x);
  FyModule *(*make)(void); // instead of forward: with parameters
} Network;

extern const Network networks[];
extern const int network_count;

// In evaluation mode, of weights by the seed; owned by the scope.
FyModule *network_new(const Network *network, uint64_t seed);

// Numbers for its input, with `batch` of them.
FyTensor *network_input(const Network *network, int64_t batch);

// A forward pass of ops drawn by the seed; *shape is that of its input.
FyModule *random_network(uint64_t seed, FySize *shape);

#endif
