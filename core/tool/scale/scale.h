// SPDX-License-Identifier: MIT
// Scaling on paper: how much of n GPUs' speed is left when every step ends in an all-reduce of the gradients. A model, not a
// measurement: messages of alpha seconds and beta seconds a byte, ring and tree, within a node and between nodes, overlapped
// with the backward pass as DistributedDataParallel does it. scale_model.c has the formulas, scale_events.c the same schedule
// message by message, for tests/core/tool/test_scale.c to hold against them.
//
// Times are seconds, sizes bytes; nothing here keeps state, so that all functions may be called from any thread. None allocates
// anything that outlives it but scale_buckets_*, whose result the caller frees.
#ifndef TOOL_SCALE_H
#define TOOL_SCALE_H

#include <stdbool.h>
#include <stddef.h>

// A message of n bytes is under way for alpha + n * beta, and keeps its sender and its receiver busy for n * beta of it.
typedef struct ScaleLink {
  double alpha, beta;
} ScaleLink;

typedef enum ScaleAlgorithm {
  SCALE_BEST,
  SCALE_RING,
  SCALE_TREE
} ScaleAlgorithm; // best: the faster of the two for each bucket

// `nodes` of `per_node` GPUs. `node` is what a GPU has within its node, `net` its even share of what its node has to others.
// `call` is paid once for each all-reduce.
typedef struct ScaleCluster {
  int nodes, per_node;
  ScaleLink node, net;
  double call;
} ScaleCluster;

// Gradients that are sent together; `ready` of the backward pass (0 to 1) has to be over before.
typedef struct ScaleBucket {
  double bytes, ready;
} ScaleBucket;

typedef struct ScaleStep {
  double forward, backward, rest; // on one GPU; rest: what comes after the gradients, the optimizer's step above all
  int bucket_count;
  const ScaleBucket *buckets; // in the order in which they are sent
} ScaleStep;

typedef struct ScaleResult {
  double seconds;       // a step on the cluster
  double communication; // all-reduces, added up
  double exposed;       // what of it the backward pass does not hide: seconds minus a step on one GPU
  double efficiency;    // a step on one GPU over a step on the cluster
} ScaleResult;

// ---- the formulas: scale_model.c ---------------------------------------------------------------------------------------

// One all-reduce among all GPUs. Within one node a ring or a tree; among nodes: reduce-scatter within each node, all-reduce of
// each GPU's part with its peers in the other nodes, all-gather within each node. The last two rings are always rings.
double scale_all_reduce(const ScaleCluster *cluster, ScaleAlgorithm algorithm, double bytes);

// Among n equal GPUs: ring, 2 (n - 1) steps of bytes / n; tree, two binary trees, each with half of the bytes in chunks.
double scale_ring(int n, ScaleLink link, double bytes);
double scale_tree(int n, ScaleLink link, double bytes);
double scale_tree_chunk(double bytes); // bytes of a tree's chunk

// A step: each bucket is sent as soon as it is ready and the one before it has been sent.
ScaleResult scale_step(const ScaleCluster *cluster, ScaleAlgorithm algorithm, const ScaleStep *step);

// ---- the same, message by message: scale_events.c ----------------------------------------------------------------------

// Seconds of the step. Every message of every GPU is sent: for clusters of tens of GPUs. SCALE_BEST chooses as scale_step does.
// A negative number where there is no memory for it.
double scale_step_by_events(const ScaleCluster *cluster, ScaleAlgorithm algorithm, const ScaleStep *step);

// ---- buckets: scale_buckets.c ------------------------------------------------------------------------------------------

// The networks whose layers are known. NULL after the last; `about` says which one it is.
typedef struct ScaleModel {
  const char *name, *about;
} ScaleModel;
const ScaleModel *scale_model_at(int i);

// DistributedDataParallel's buckets for a named network: its parameters in reverse, the first bucket closed at 1 MiB, the others
// at 25 MiB; a parameter is never cut. A layer's share of the backward pass is its share of the multiplications. NULL where
// there is no such network. `element`: bytes of a gradient's element.
ScaleBucket *scale_buckets_of_model(const char *name, int element, int *count, double *parameters);

// The same for a number of parameters alone: cut at 1 MiB and 25 MiB, and ready in proportion to what is sent.
ScaleBucket *scale_buckets_of_parameters(double parameters, int element, int *count);

// Sizes as they are; ready in proportion.
ScaleBucket *scale_buckets_of_sizes(const double *bytes, int count);

// ---- numbers of hardware, each with its source: scale_hardware.c -------------------------------------------------------

typedef struct ScaleHardware {
  const char *name, *about; // about: what it is, and the data sheet's rate
  double alpha, rate;       // seconds; bytes per second in one direction, as NCCL counts them
  const char *source;
} ScaleHardware;

const ScaleHardware *scale_node_at(int i);         // within a node, for one GPU; NULL after the last
const ScaleHardware *scale_network_at(int i);      // between nodes, for one adapter
const ScaleHardware *scale_node(const char *name); // NULL where there is none of that name
const ScaleHardware *scale_network(const char *name);
double scale_call(void); // seconds: NCCL's latency of a call itself
const char *scale_hardware_source(void);
const char *scale_rates_source(void); // of the rates in `about`

// GPUs in whole nodes: false where they are none. Fewer than per_node are one node.
bool scale_cluster(ScaleCluster *cluster, int gpus, int per_node, const ScaleHardware *node,
                   const ScaleHardware *network, int adapters);

// ---- published figures: scale_published.c ------------------------------------------------------------------------------

typedef struct ScalePublished {
  const char *what, *model;
  double parameters;          // where the model's layers are not known: model is NULL
  double step;                // seconds on one GPU
  int gpus, from, per_node;   // the figure is the efficiency of `gpus`, relative to `from`
  const char *node, *network; // of scale_hardware.c
  int adapters;               // for each node
  double efficiency;          // published
  const char *assumed;        // what the publication does not say
  const char *missed;         // why the model does not meet it, or NULL
  int source;                 // index into scale_published_source
} ScalePublished;

const ScalePublished *scale_published_at(int i); // NULL after the last
const char *scale_published_source(int i);       // NULL after the last
double
scale_published_modeled(const ScalePublished *p); // the model's efficiency for it; negative where there is no memory

// A step on one GPU, divided where only the whole is known: the forward pass a third, the backward pass two.
void scale_divide(ScaleStep *step, double seconds);

#endif
