// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

#ifdef FERRY_SIM
#include "cudasim_graph.h"
#include "sim/base/cudasim.h"
#endif

#ifdef FERRY_SIM
enum { MOST_NODES = 3 };

static int captures, instantiations, graph_launches, waits, queued_count, ran_count;
static int nodes_seen = -1, pairs,
           first_nodes; // of the last graph: pairs of nodes, one of which waits for the other, directly or not
// The work that the first launch of a graph queued: all of it has the number of that launch. Fills count as copies.
static int graph_kernels, graph_copies;
static unsigned long long first_launch;
static int capture_error, kernels_while_capturing; // of the last capture; of all, those that were not captured
static bool capturing;
static bool launching, copied_apart; // the copy before it went into another stream
static unsigned long long copy_stream;

// Does `later` wait for `earlier`? Then the opposite edge closes a cycle, and the graph cannot be instantiated.
static bool waits_for(cudaGraph_t graph, int later, int earlier) {
  cudaGraph_t copy;
  cudaGraphNode_t nodes[MOST_NODES];
  cudaGraphExec_t exec;
  size_t count = MOST_NODES;
  if (cudaGraphClone(&copy, graph) != cudaSuccess)
    return false;
  cudaGraphGetNodes(copy, nodes, &count);
  cudaGraphAddDependencies(copy, &nodes[later], &nodes[earlier], 1);
  const bool cycle = (cudaGraphInstantiate)(&exec, copy, 0) != cudaSuccess;
  if (cycle)
    cudaGetLastError();
  else
    cudaGraphExecDestroy(exec);
  cudaGraphDestroy(copy);
  return cycle;
}

static void look_at(cudaGraph_t graph) {
  size_t nodes = 0, roots = 0;
  if (cudaPeekAtLastError() != cudaSuccess || cudaGraphGetNodes(graph, NULL, &nodes) != cudaSuccess)
    return;
  cudaGraphGetRootNodes(graph, NULL, &roots);
  nodes_seen = (int)nodes;
  first_nodes = (int)roots;
  pairs = 0;
  for (int i = 0; nodes == MOST_NODES && i < MOST_NODES; i++)
    for (int j = 0; j < MOST_NODES; j++)
      pairs += i != j && waits_for(graph, i, j);
}

static void begin_notes(void) {
  graph_kernels = graph_copies = 0;
  first_launch = 0;
  copied_apart = false;
  capture_error = kernels_while_capturing = 0;
  capturing = false;
  captures = instantiations = graph_launches = waits = queued_count = ran_count = 0;
}

static void queued(const struct cudasim_activity *a) {
  if (launching && first_launch == 0) {
    first_launch = a->launch;
    copied_apart = copy_stream != a->stream;
  }
  kernels_while_capturing += capturing && a->kind == CUDASIM_KERNEL;
  if (a->kind == CUDASIM_COPY && !launching)
    copy_stream = a->stream;
  if (first_launch > 0 && a->launch == first_launch)
    *(a->kind == CUDASIM_KERNEL ? &graph_kernels : &graph_copies) += 1;
  __atomic_fetch_add(&queued_count, 1, __ATOMIC_RELAXED);
}
static void ran(const struct cudasim_activity *) {
  __atomic_fetch_add(&ran_count, 1, __ATOMIC_RELAXED);
}
static void follow(bool on) {
  cudasim_trace(on ? queued : NULL, on ? ran : NULL);
}

extern "C" cudaError_t note_capture(cudaError_t error) {
  captures++;
  capturing = error == cudaSuccess;
  return error;
}
extern "C" cudaError_t note_captured(cudaError_t error) {
  capturing = false;
  capture_error = error;
  return error;
}
extern "C" void note_instantiation(cudaGraph_t graph) {
  instantiations++;
  look_at(graph);
}
extern "C" void note_graph_launch(void) {
  graph_launches++;
  launching = true;
}
extern "C" cudaError_t note_launched(cudaError_t error) {
  launching = false;
  return error;
}
extern "C" void note_wait_event(void) {
  waits++;
}

static void put_notes(Driver *d) {
  driver_put_number(d, "captures", captures);
  driver_put_number(d, "capture error", capture_error);
  driver_put_number(d, "kernels while capturing", kernels_while_capturing);
  driver_put_number(d, "instantiations", instantiations);
  driver_put_number(d, "graph launches", graph_launches);
  driver_put_number(d, "waits for events", waits);
  driver_put_number(d, "graph nodes", nodes_seen);
  driver_put_number(d, "kernels of the graph", graph_kernels);
  driver_put_number(d, "copied in another stream", copied_apart);
  driver_put_number(d, "copies of the graph", graph_copies);
  driver_put_number(d, "nodes that wait for others", pairs);
  driver_put_number(d, "nodes that wait for none", first_nodes);
  driver_put_number(d, "unfinished", queued_count - ran_count);
}
#else // a GPU counts nothing
static void put_notes(Driver *) {
}
static void begin_notes(void) {
}
static void follow(bool) {
}
#endif

void drive(Driver *d) {
  begin_notes();
  int *x = (int *)driver_device(d, "x"), *batches = (int *)driver_device(d, "batches");
  const int n = (int)driver_number(d, "n"), steps = (int)driver_number(d, "steps");
  Shape size = {1, {n}};
  int *y = (int *)driver_device_new(d, "y", FY_INT32, size), *z = (int *)driver_device_new(d, "z", FY_INT32, size);
  int *batch = (int *)driver_device_new(d, "batch", FY_INT32, size);
  cudaStream_t main_stream, side;
  cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  if (driver_has(d, "before")) {
    int *other = NULL; // five arrays
    cudaMalloc(&other, 5 * (size_t)n * sizeof *other);
    cudaMemset(other, 0, 5 * (size_t)n * sizeof *other);
    cudaDeviceSynchronize(); // non-blocking streams would not wait for the memset
    steps_on_device(other, other + n, other + 2 * n, other + 3 * n, other + 4 * n, n, 1, main_stream, side);
    begin_notes();
  }
  cudaDeviceSynchronize();
  driver_count(d);
  follow(true);
  steps_on_device(x, y, z, batches, batch, n, steps, main_stream, side);
  follow(false);
  driver_stop(d);
  put_notes(d);
  driver_put_device(d, "x");
  driver_put_device(d, "y");
  driver_put_device(d, "z");
}
