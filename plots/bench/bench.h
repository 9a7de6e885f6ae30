// SPDX-License-Identifier: MIT
// The benchmarks of ./ferry bench: one table of them (table.c), a measuring loop (measure.c), results as a table on the
// terminal and as TSV (report.c).
#ifndef PLOTS_BENCH_H
#define PLOTS_BENCH_H

#include "ferry.h"

typedef enum Where { ON_CPU = 1, ON_CUDA = 2, ANYWHERE = 3 } Where;

// Which list of sizes applies.
typedef enum Preset {
  FOR_CPU,
  FOR_GPU,
  SMALL,
  PRESETS
} Preset; // SMALL: --quick, and simulated devices that model no GPU

typedef struct Run Run;

typedef struct Bench {
  const char *name, *group, *about;
  const char *size_is;        // what the size counts: "n of (n, n)"
  const char *sizes[PRESETS]; // "64 256 1000"; NULL where another preset's serves: GPU as CPU, SMALL as CPU
  const char *dtypes[2];      // on the CPU, on CUDA
  const char *rate; // "GFLOP/s" of run->flops, "GB/s" of run->bytes, else a unit of run->items per second; NULL
  Where where;
  int variant;           // tells apart the rows that share functions
  void (*setup)(Run *);  // makes what the body works on, and says how much work a run is
  void (*body)(Run *);   // what is timed, in a scope of its own
  void (*finish)(Run *); // undoes what the scope's end does not; NULL
  void (*trace)(Run *);  // instead of a body: hands several rows to trace_row
} Bench;

extern const Bench benches[]; // ends with a NULL name

// One row being measured. What setup makes lives in the scope around the run.
struct Run {
  const Bench *bench;
  FyDevice device;
  FyDType dtype;
  int64_t size;
  double flops, bytes, items; // work of one run of the body; 0 where nobody counts it
  char label[64];             // a remark for the row: "Fashion-MNIST"
  char skip[192];             // why the row cannot be measured here; empty when it can

  FyTensor *a, *b, *c, *grad;
  FyTensors parameters;
  FyModule *model;
  FyOptimizer *optimizer;
  FyDataLoader *loader;
  FyStream *stream;
  void *memory[3];
  int threads; // to be set again by finish
};

void skip_run(Run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

// ---- measuring --------------------------------------------------------------------------------------------------------

typedef struct Plan {
  double seconds; // how long to measure a row for
  int repeat;     // samples of each row; 0: as many as fit into `seconds`
} Plan;

typedef struct Result {
  const Bench *bench;
  FyDevice device;
  FyDType dtype;
  int64_t size;
  int repeat;
  double median, min, q1, q3; // seconds of one run, or bytes
  const char *unit;           // "s" or "B"
  double flops, bytes, items;
  char label[64];
} Result;

typedef struct Results {
  Result *item;
  int count, capacity;
} Results;

double bench_seconds(void); // of a clock that never goes back

// Quartiles of `count` samples, which are sorted in place; linear between neighbors, as numpy.percentile does.
void quartiles(double *samples, int count, Result *result);

// Sets up, warms up, measures; appends the row (the rows of a trace). Raises what the benchmark raises.
void measure(Run *run, const Plan *plan, Results *results);

// For `trace`: a row of its own, `bytes` in use after step `index` of the trace.
void trace_row(Run *run, int64_t index, double bytes, const char *label);

Result *result_add(Results *results);

// Samples of about `seconds` altogether, at least `least`, at most `most`: seconds of one run each. Returns how many.
int take_samples(Run *run, double seconds, int least, int most, double *samples);

// ---- reporting ----------------------------------------------------------------------------------------------------------

typedef struct Machine {
  char cpu[128], device[300], commit[64], date[32], driver[64];
  int cores, threads;
  double others; // cores that other programs kept busy during the benchmarks, NAN where it is not known
  bool simulated;
  const char *model; // fy_cuda_model() of a device that models a GPU, else NULL
} Machine;

Machine machine_of(FyDevice device);
double others_seconds(void);

// The rate in the bench's unit, or NAN where it has none, or the device is simulated and models no GPU.
double rate_of(const Result *result);
void print_table(const Machine *machine, const Results *results);

// Writes the TSV described in plots/README.md; raises FY_OS_ERROR when it cannot.
void write_tsv(const char *path, const Machine *machine, const Results *results);

// Reads commands from standard input until its end and answers each by a line, see worker.c: one side of
// plots/torch/compare.py. Returns the exit status.
int worker(FyDevice device);

// The same as a rank of several, see ranks.c: one side of plots/torch/ranks.py.
int ranks_worker(void);

const Bench *bench_named(const char *name); // raises FY_KEY_ERROR

// ---- what several benchmarks share ------------------------------------------------------------------------------------

typedef enum Model { MLP_SMALL, MLP, MLP_WIDE, CNN_001, CNN_002, MODELS } Model;

FyModule *model_new(Model model);
FySize model_input(Model model, int64_t batch);
double model_flops(Model model);         // multiplications and additions of a step for one sample, times two
void model_set_weights(FyModule *model); // numbers by a formula, so that another framework can start from the same
FyTensor *formula_numbers(FySize size, int64_t salt, double scale);
void training_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *y);

void setup_matmul(Run *run), body_matmul(Run *run);
void setup_conv(Run *run), body_conv(Run *run);
void setup_pool(Run *run), body_pool(Run *run);
void setup_pointwise(Run *run), body_pointwise(Run *run);
void setup_reduction(Run *run), body_reduction(Run *run);
void setup_square(Run *run), body_square(Run *run);
void setup_random(Run *run), body_random(Run *run);
void setup_adam(Run *run), body_adam(Run *run);
void setup_cross_entropy(Run *run), body_cross_entropy(Run *run);
void setup_layer_norm(Run *run), body_layer_norm(Run *run);
void setup_attention(Run *run), body_attention(Run *run);

void setup_copy(Run *run), body_copy(Run *run);
void setup_overlap(Run *run), body_overlap(Run *run);
void setup_sums(Run *run), body_sums(Run *run);
void setup_small(Run *run), body_small(Run *run);

void setup_training(Run *run), body_training(Run *run);
void setup_benchmark_training(Run *run), setup_benchmark_conv(Run *run), finish_benchmark(Run *run);
void setup_autocast(Run *run), body_autocast(Run *run);
void setup_forward(Run *run), body_forward(Run *run);
void setup_traced(Run *run), body_traced(Run *run);
void setup_graph(Run *run), body_graph(Run *run);
void setup_threads(Run *run), finish_threads(Run *run);
void setup_data_parallel(Run *run);
void setup_loader(Run *run), body_loader(Run *run);
void setup_fashion(Run *run), body_fashion(Run *run);
void setup_memory_step(Run *run), trace_memory_step(Run *run), trace_memory_timeline(Run *run);

void setup_fma(Run *run), body_fma(Run *run);
void setup_bandwidth(Run *run), body_bandwidth(Run *run), finish_bandwidth(Run *run);
void setup_page_faults(Run *run), body_page_faults(Run *run);

// What `variant` means, by group of functions.
enum { POINTWISE_ADD, POINTWISE_MUL, POINTWISE_RELU, POINTWISE_TANH, POINTWISE_EXP, POINTWISE_GELU, POINTWISE_ADD_ };
enum { REDUCE_SUM, REDUCE_MAX, REDUCE_SUM_ROWS, REDUCE_SUM_COLUMNS, REDUCE_ARGMAX_ROWS };
enum { SQUARE_SOFTMAX, SQUARE_TRANSPOSED, SQUARE_TANH, SQUARE_ADD };
enum { RANDOM_RANDN, RANDOM_RAND, RANDOM_DROPOUT };
enum { CONV_1_32_28, CONV_32_64_14, CONV_3_32_32, CONV_32_64_16, CONV_64_64_32 };
enum { COPY_HOST, COPY_H2D, COPY_H2D_PINNED, COPY_D2H, COPY_D2H_PINNED, COPY_D2D };
enum { OVERLAP_NO, OVERLAP_YES };
enum { SUMS_COPIED_EACH, SUMS_COPIED_ONCE };
enum { SMALL_ADD, SMALL_ADD_GRAPH, SMALL_BACKWARD, SMALL_EMPTY, SMALL_SYNCHRONIZE };
enum { COPY_ORDINARY, COPY_STREAMING, TRIAD_ORDINARY, TRIAD_STREAMING, UPDATE, READ };
enum { PAGES_SMALL, PAGES_HUGE };

#endif
