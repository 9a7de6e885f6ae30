// Lesson 28, docs/28_streams.md: copies and kernels at the same time.
//
// prints: ^the default stream waits for blocking streams: +True$
// prints: ^a non-blocking stream with events: +True$
// prints: ^1 chunk: +True
// prints: ^8 chunks: +True
// prints: ^pageable memory +True
// prints: ^the greatest priority: +True
// prints: ^sums by the host, while later chunks were on their way: True$
// prints: ^launched 3 times: True$
#include "kernels.h"

enum { THREADS = 256, MOST = 8, STAGES = 3, WIDTH = 60 };

// [work]
// The work for each element: a polynomial in double, by Horner's scheme.
static __host__ __device__ double polynomial(double x, int terms) {
  double sum = 1;
  for (int i = 0; i < terms; i++)
    sum = sum * x + 0.5;
  return sum;
}

__global__ void work(double *x, int n, int terms) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = polynomial(x[i], terms);
}
// [end]

__global__ void fill(int *x, int value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = value;
}

__global__ void add(int *x, int value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] += value;
}

static int blocks_for(int n) {
  return (n + THREADS - 1) / THREADS;
}

static const char *truth(bool value) {
  return value ? "True" : "False";
}

// Kernel times are valid on a GPU, and in a modeled run that counts.
static bool has_times(void) {
  return !chapter_now_.simulated || (chapter_now_.modeled && chapter_now_.counted);
}

static const char *time_of(float milliseconds) {
  return has_times() ? time_text(milliseconds) : "-";
}

static cudaStream_t streams[MOST];

static void streams_begin(unsigned int flags) {
  for (int i = 0; i < MOST; i++)
    CHECK(cudaStreamCreateWithFlags(&streams[i], flags));
}

static void streams_end(void) {
  for (int i = 0; i < MOST; i++)
    CHECK(cudaStreamDestroy(streams[i]));
}

// ---- 1: streams and events -------------------------------------------------------------------------------------------------

static bool is_all(const int *device, int n, int value) {
  int *host = (int *)malloc(n * sizeof(int));
  bool right = true;
  CHECK(cudaMemcpy(host, device, n * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++)
    right = right && host[i] == value;
  free(host);
  return right;
}

static void who_waits(int n) {
  heading("Who waits for whom");
  int *x;
  cudaStream_t blocking, nonblocking;
  cudaEvent_t filled, added;
  CHECK(cudaMalloc(&x, n * sizeof(int)));
  CHECK(cudaStreamCreate(&blocking));
  CHECK(cudaStreamCreateWithFlags(&nonblocking, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&added, cudaEventDisableTiming));
  // [legacy]
  fill<<<blocks_for(n), THREADS, 0, blocking>>>(x, 1, n);
  add<<<blocks_for(n), THREADS>>>(x, 10, n); // the legacy default stream: waits for the fill
  add<<<blocks_for(n), THREADS, 0, blocking>>>(x, 100, n);
  // [end]
  CHECK(cudaStreamSynchronize(blocking));
  printf("the default stream waits for blocking streams:  %s\n", truth(is_all(x, n, 111)));
  // [events]
  fill<<<blocks_for(n), THREADS, 0, nonblocking>>>(x, 2, n);
  CHECK(cudaEventRecord(filled, nonblocking));
  CHECK(cudaStreamWaitEvent(blocking, filled, 0)); // this stream waits, the host does not
  add<<<blocks_for(n), THREADS, 0, blocking>>>(x, 20, n);
  CHECK(cudaEventRecord(added, blocking));
  CHECK(cudaStreamWaitEvent(nonblocking, added, 0));
  add<<<blocks_for(n), THREADS, 0, nonblocking>>>(x, 200, n);
  // [end]
  CHECK(cudaStreamSynchronize(nonblocking));
  printf("a non-blocking stream with events:              %s\n", truth(is_all(x, n, 222)));
  CHECK(cudaEventDestroy(filled));
  CHECK(cudaEventDestroy(added));
  CHECK(cudaStreamDestroy(blocking));
  CHECK(cudaStreamDestroy(nonblocking));
  CHECK(cudaFree(x));
}

// ---- the pipeline ----------------------------------------------------------------------------------------------------------

typedef struct Pipeline {
  double *in, *out, *device; // host memory, pinned or not; device memory
  int n, terms;
  bool one_stream, default_between; // two ways to lose the overlap
} Pipeline;

static cudaEvent_t marks[MOST][STAGES + 1]; // around each chunk's copy in, kernel and copy out

// [pipeline]
static void enqueue(const Pipeline *p, int chunks) {
  int size = p->n / chunks;
  for (int i = 0; i < chunks; i++) {
    cudaStream_t stream = streams[p->one_stream ? 0 : i];
    double *device = p->device + i * size;
    CHECK(cudaEventRecord(marks[i][0], stream));
    CHECK(cudaMemcpyAsync(device, p->in + i * size, size * sizeof(double), cudaMemcpyHostToDevice, stream));
    CHECK(cudaEventRecord(marks[i][1], stream));
    work<<<blocks_for(size), THREADS, 0, stream>>>(device, size, p->terms);
    CHECK(cudaEventRecord(marks[i][2], stream));
    CHECK(cudaMemcpyAsync(p->out + i * size, device, size * sizeof(double), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaEventRecord(marks[i][3], stream));
    if (p->default_between)
      work<<<1, 1>>>(p->device, 0, 0); // does no work, but blocking streams synchronize with it
  }
}
// [end]

// The input has 8 different elements, over and over.
static double element(int i) {
  return 0.25 + (double)(i % 8) / 32;
}

static bool is_worked(const Pipeline *p) {
  double want[8];
  bool right = true;
  for (int i = 0; i < 8; i++)
    want[i] = polynomial(element(i), p->terms);
  for (int i = 0; i < p->n; i++)
    right = right && p->out[i] == want[i % 8];
  memset(p->out, 0, p->n * sizeof(double));
  return right;
}

static float between(cudaEvent_t begin, cudaEvent_t end) {
  float milliseconds = 0;
  if (has_times())
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  return milliseconds;
}

// Milliseconds from the start of the first operation to the end of the last.
static float run(const Pipeline *p, int chunks) {
  enqueue(p, chunks);
  CHECK(cudaDeviceSynchronize());
  float longest = 0;
  for (int i = 0; i < chunks; i++) {
    float now = between(marks[0][0], marks[i][STAGES]);
    longest = now > longest ? now : longest;
  }
  return longest;
}

// Which engine processes which chunk when: a line for each engine. An operation starts when all earlier work in its stream has
// completed and the engine is free.
static void timeline(int chunks, float scale) {
  static const char *const names[STAGES] = {"copy in", "kernel", "copy out"};
  for (int stage = 0; stage < STAGES; stage++) {
    char line[2 * WIDTH + 1];
    float idle = 0;
    memset(line, '.', sizeof line);
    line[WIDTH] = 0;
    for (int i = 0; i < chunks; i++) {
      float begin = between(marks[0][0], marks[i][stage]), end = between(marks[0][0], marks[i][stage + 1]);
      begin = begin > idle ? begin : idle;
      idle = end;
      for (int at = (int)(begin / scale * WIDTH); at < (int)(end / scale * WIDTH) && at < WIDTH; at++)
        line[at] = (char)('1' + i);
    }
    printf("%-9s %s\n", names[stage], line);
  }
}

static void one_to_eight(const Pipeline *p) {
  heading("One to eight chunks");
  float one = 0;
  for (int chunks = 1; chunks <= MOST; chunks *= 2) {
    float ms = run(p, chunks);
    one = chunks == 1 ? ms : one;
    printf("%d chunk%s %s  %s\n", chunks, chunks > 1 ? "s:" : ": ", truth(is_worked(p)), time_of(ms));
    if (has_times())
      timeline(chunks, one);
  }
}

static void no_overlap(Pipeline p) {
  heading("Four chunks, and no overlap");
  const Table table = {3, {30, 6, 22}};
  Pipeline pageable = p;
  pageable.in = (double *)malloc(p.n * sizeof(double));
  pageable.out = (double *)malloc(p.n * sizeof(double));
  memcpy(pageable.in, p.in, p.n * sizeof(double));
  table_row(&table, "", "right", "time");
  float ms = run(&p, 4);
  table_row(&table, "as it should be", truth(is_worked(&p)), time_of(ms));
  p.one_stream = true;
  ms = run(&p, 4);
  table_row(&table, "all in one stream", truth(is_worked(&p)), time_of(ms));
  p.one_stream = false;
  ms = run(&pageable, 4);
  table_row(&table, "pageable memory", truth(is_worked(&pageable)), time_of(ms));
  streams_end();
  streams_begin(cudaStreamDefault);
  p.default_between = true;
  ms = run(&p, 4);
  table_row(&table, "the default stream in between", truth(is_worked(&p)), time_of(ms));
  streams_end();
  streams_begin(cudaStreamNonBlocking);
  ms = run(&p, 4);
  table_row(&table, "the same, non-blocking streams", truth(is_worked(&p)), time_of(ms));
  free(pageable.in);
  free(pageable.out);
}

// ---- the host in a stream --------------------------------------------------------------------------------------------------

// [callback]
typedef struct Sum {
  const double *x;
  int n;
  double sum;
} Sum;

// Runs on a thread of the CUDA runtime, after all earlier work in the stream. It must not call CUDA functions.
static void add_up(void *data) {
  Sum *s = (Sum *)data;
  s->sum = 0;
  for (int i = 0; i < s->n; i++)
    s->sum += s->x[i];
}
// [end]

static void host_functions(const Pipeline *p) {
  heading("The host in a stream");
  Sum sums[MOST];
  int size = p->n / 4;
  bool right = true;
  enqueue(p, 4);
  // [call]
  for (int i = 0; i < 4; i++) {
    sums[i] = (Sum){p->out + i * size, size, -1};
    CHECK(cudaLaunchHostFunc(streams[i], add_up, &sums[i])); // after the chunk's copy out
  }
  // [end]
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 4; i++) {
    double want = 0;
    for (int j = 0; j < size; j++)
      want += polynomial(p->in[i * size + j], p->terms);
    right = right && sums[i].sum == want;
  }
  printf("sums by the host, while later chunks were on their way: %s\n", truth(right && is_worked(p)));
}

// ---- priorities ------------------------------------------------------------------------------------------------------------

// The time of an urgent kernel that is launched after eight kernels, each of which fills the GPU.
static float behind_eight(const Pipeline *p, double *x, int priority) {
  cudaStream_t urgent;
  int each = p->n / MOST;
  // [urgent]
  CHECK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, priority));
  // [end]
  CHECK(cudaEventRecord(marks[0][0], streams[0]));
  for (int i = 0; i < MOST; i++)
    work<<<blocks_for(each), THREADS, 0, streams[i]>>>(p->device + i * each, each, p->terms);
  work<<<blocks_for(each), THREADS, 0, urgent>>>(x, each, p->terms);
  CHECK(cudaEventRecord(marks[0][1], urgent));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaStreamDestroy(urgent));
  return between(marks[0][0], marks[0][1]);
}

static void priorities(const Pipeline *p) {
  heading("Priorities");
  int least, greatest, each = p->n / MOST;
  double *x;
  CHECK(cudaMalloc(&x, each * sizeof(double)));
  // [range]
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  // [end]
  printf("the least is %d, the greatest below it: %s\n", least, truth(greatest < least));
  for (int turn = 0; turn < 2; turn++) {
    CHECK(cudaMemcpy(x, p->in, each * sizeof(double), cudaMemcpyHostToDevice));
    float ms = behind_eight(p, x, turn ? greatest : least);
    CHECK(cudaMemcpy(p->out, x, each * sizeof(double), cudaMemcpyDeviceToHost));
    bool right = p->out[each - 1] == polynomial(p->in[each - 1], p->terms);
    printf("%-22s %s  %s\n", turn ? "the greatest priority:" : "the least:", truth(right), time_of(ms));
  }
  CHECK(cudaFree(x));
}

// ---- graphs ----------------------------------------------------------------------------------------------------------------

// [capture]
// Captures the pipeline as a graph: between begin and end, operations are recorded and not executed. The other streams fork from
// streams[0] by waiting for its event, and streams[0] waits for each of them to join before the capture ends.
static cudaGraphExec_t captured(const Pipeline *p, int chunks, size_t *nodes) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaEvent_t fork, join;
  int size = p->n / chunks;
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(fork, streams[0]));
  for (int i = 0; i < chunks; i++) {
    double *device = p->device + i * size;
    if (i > 0)
      CHECK(cudaStreamWaitEvent(streams[i], fork, 0));
    CHECK(cudaMemcpyAsync(device, p->in + i * size, size * sizeof(double), cudaMemcpyHostToDevice, streams[i]));
    work<<<blocks_for(size), THREADS, 0, streams[i]>>>(device, size, p->terms);
    CHECK(cudaMemcpyAsync(p->out + i * size, device, size * sizeof(double), cudaMemcpyDeviceToHost, streams[i]));
    if (i > 0) {
      CHECK(cudaEventRecord(join, streams[i]));
      CHECK(cudaStreamWaitEvent(streams[0], join, 0));
    }
  }
  CHECK(cudaStreamEndCapture(streams[0], &graph));
  CHECK(cudaGraphGetNodes(graph, NULL, nodes));
  CHECK(cudaGraphInstantiate(&ready, graph, 0));
  CHECK(cudaGraphDestroy(graph)); // the executable graph stays valid
  CHECK(cudaEventDestroy(fork));
  CHECK(cudaEventDestroy(join));
  return ready;
}
// [end]

static void graphs(const Pipeline *p) {
  heading("Graphs");
  size_t nodes = 0;
  cudaGraphExec_t graph = captured(p, 4, &nodes);
  printf("4 chunks are %zu nodes\n", nodes);
  // [launch]
  for (int step = 0; step < 3; step++)
    CHECK(cudaGraphLaunch(graph, streams[0]));
  CHECK(cudaStreamSynchronize(streams[0]));
  // [end]
  CHECK(cudaGraphExecDestroy(graph));
  printf("launched 3 times: %s\n", truth(is_worked(p)));
}

static void engines(void) {
  heading("What the device can do at a time");
  cudaDeviceProp properties;
  int device;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaGetDeviceProperties(&properties, device));
  printf("copy engines: %d\n", properties.asyncEngineCount);
  printf("kernels side by side: %s\n", properties.concurrentKernels ? "yes" : "no");
}

static Pipeline pipeline_begin(int n, int terms) {
  Pipeline p = {NULL, NULL, NULL, n, terms, false, false};
  // [pinned]
  CHECK(cudaMallocHost(&p.in, n * sizeof(double)));
  CHECK(cudaMallocHost(&p.out, n * sizeof(double)));
  // [end]
  CHECK(cudaMalloc(&p.device, n * sizeof(double)));
  for (int i = 0; i < n; i++)
    p.in[i] = element(i);
  for (int i = 0; i < MOST; i++)
    for (int j = 0; j <= STAGES; j++)
      CHECK(cudaEventCreate(&marks[i][j]));
  streams_begin(cudaStreamNonBlocking);
  return p;
}

static void pipeline_end(const Pipeline *p) {
  streams_end();
  for (int i = 0; i < MOST; i++)
    for (int j = 0; j <= STAGES; j++)
      CHECK(cudaEventDestroy(marks[i][j]));
  CHECK(cudaFreeHost(p->in));
  CHECK(cudaFreeHost(p->out));
  CHECK(cudaFree(p->device));
}

int main(int argc, char **argv) {
  Chapter chapter = chapter_begin(argc, argv, "Streams", "Copies and kernels at the same time.");
  bool large = !chapter.quick && (!chapter.simulated || chapter.counted);
  who_waits(10000);
  // In an eighth 492 blocks: six for each of the 82 multiprocessors of an RTX 3090, which is all it has room for.
  Pipeline p = pipeline_begin(MOST * (large ? 492 : 16) * THREADS, large ? 80 : 20);
  one_to_eight(&p);
  no_overlap(p);
  host_functions(&p);
  priorities(&p);
  graphs(&p);
  pipeline_end(&p);
  engines();
  return 0;
}
