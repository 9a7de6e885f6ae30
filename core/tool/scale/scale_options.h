// SPDX-License-Identifier: MIT
// What `ferry scale` is asked for, read from its command line.
#ifndef TOOL_SCALE_OPTIONS_H
#define TOOL_SCALE_OPTIONS_H

#include "tool/scale/scale.h"

enum { SCALE_MAX_GPUS = 32, SCALE_MAX_NETWORKS = 6, SCALE_LARGEST = 1 << 20 };

typedef struct ScaleNetwork {
  char name[40]; // as it was asked for: 8xib-ndr
  const ScaleHardware *hardware;
  int adapters; // for each node
} ScaleNetwork;

typedef struct ScaleOptions {
  const char *model, *dtype, *bench, *plot;
  double parameters, batch;
  ScaleBucket *buckets; // owned
  ScaleStep step;
  char step_from[256]; // given, assumed, or measured: on which machine and when
  int gpus[SCALE_MAX_GPUS], gpu_count;
  ScaleNetwork networks[SCALE_MAX_NETWORKS];
  ScaleHardware own[SCALE_MAX_NETWORKS]; // with --alpha and --beta in them
  int network_count, per_node;
  const ScaleHardware *node;
  ScaleAlgorithm algorithm;
  bool events, json, csv, published, list;
} ScaleOptions;

// -1 and everything filled in, or an exit status after a message.
int scale_options(ScaleOptions *options, int argc, char **argv);

const char *scale_algorithm_name(ScaleAlgorithm algorithm);

#endif
