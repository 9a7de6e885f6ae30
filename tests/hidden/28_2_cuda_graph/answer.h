// What an answer to exercise 28.2 defines. On simulated devices the driver notes what it does with graphs.
#include <cuda_runtime.h>

extern "C" void steps_on_device(int *x, int *y, int *z, const int *batches, int *batch, int n, int steps,
                                cudaStream_t main_stream, cudaStream_t side);

#ifdef FERRY_SIM
#include <cudasim_graph.h> // graphs that are built node by node

extern "C" cudaError_t note_capture(cudaError_t error);
extern "C" cudaError_t note_captured(cudaError_t error);
extern "C" void note_instantiation(cudaGraph_t graph);
extern "C" void note_graph_launch(void);
extern "C" cudaError_t note_launched(cudaError_t error);
extern "C" void note_wait_event(void);
#define cudaStreamBeginCapture(...) note_capture(cudaStreamBeginCapture(__VA_ARGS__))
#define cudaStreamEndCapture(...) note_captured(cudaStreamEndCapture(__VA_ARGS__))
#define cudaGraphInstantiate(exec, graph, ...)                                                                         \
  (note_instantiation(graph), cudaGraphInstantiate(exec, graph, __VA_ARGS__))
#define cudaGraphInstantiateWithFlags(exec, graph, ...)                                                                \
  (note_instantiation(graph), cudaGraphInstantiateWithFlags(exec, graph, __VA_ARGS__))
#define cudaGraphLaunch(...) (note_graph_launch(), note_launched(cudaGraphLaunch(__VA_ARGS__)))
#define cudaStreamWaitEvent(...) (note_wait_event(), cudaStreamWaitEvent(__VA_ARGS__))
#endif
