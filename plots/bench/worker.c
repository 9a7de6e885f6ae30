// SPDX-License-Identifier: MIT
// One side of a comparison: a long-lived process that runs benchmarks when it is told to, so that two of them can take
// turns. Each line of input is a command, each gets one line of answer; plots/torch/worker.py answers the same ones.
//
//   case NAME SIZE    sets a benchmark up: "ok"
//   time SECONDS      runs it for about SECONDS: "ok T1 T2 ...", seconds of single runs
//   onnx FOLDER       of a traced case: "ok", and FOLDER/NAME.onnx, NAME.SIZE.x.npy and NAME.SIZE.y.npy are its network, its
//                     input and what comes out; Ferry's side alone
//   flops             "ok N": floating-point operations of one run, 0 where nobody counts them; Ferry's side alone
//   end               gives back what was set up: "ok"
//   check NAME SIZE   "ok PARAMETERS LOSS1 LOSS2 LOSS3": three training steps from weights by a formula
//   rss               "ok BYTES": the most memory that the process has had
//   info              "ok TEXT": versions and threads
//   anything that fails is answered by "error TEXT"
#include "bench.h"
#include "base/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SAMPLES = 100 };

// Of the library's kernels, which are compiled with the same flags.
#if defined __AVX512F__
static const char instructions[] = "AVX-512";
#elif defined __AVX2__
static const char instructions[] = "AVX2";
#else
static const char instructions[] = "neither AVX2 nor AVX-512";
#endif

const Bench *bench_named(const char *name) {
  for (const Bench *b = benches; b->name; b++) {
    if (strcmp(b->name, name) == 0 && b->body) {
      return b;
    }
  }
  fy_raise(FY_KEY_ERROR, "there is no benchmark %s", name);
}

static bool read_line(char *line, int size) {
  if (!fgets(line, size, stdin)) {
    return false;
  }
  line[strcspn(line, "\n")] = '\0';
  return true;
}

static void answer_time(Run *run, double seconds) {
  double samples[MOST_SAMPLES];
  int count = take_samples(run, seconds, 3, MOST_SAMPLES, samples);
  printf("ok");
  for (int i = 0; i < count; i++) {
    printf(" %.9g", samples[i]);
  }
  printf("\n");
}

// The network for others to run, and what they are to make of it.
static void answer_onnx(const Run *run, const char *folder) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s.onnx", folder, run->bench->name);
  fy_onnx_save(run->model, path);
  snprintf(path, sizeof path, "%s/%s.%lld.x.npy", folder, run->bench->name, (long long)run->size);
  fy_npy_save(path, fy_cpu(run->a));
  snprintf(path, sizeof path, "%s/%s.%lld.y.npy", folder, run->bench->name, (long long)run->size);
  fy_npy_save(path, fy_detach(fy_cpu(fy_forward(run->model, run->a))));
  printf("ok\n");
}

// What has been set up stays for all turns of the case, and goes with this scope.
static void serve_case(const char *name, int64_t size, FyDevice device) {
  fy_scope {
    Run run = {.bench = bench_named(name), .device = device, .dtype = FY_FLOAT32, .size = size};
    run.bench->setup(&run);
    fy_check(!*run.skip, FY_RUNTIME_ERROR, "%s", run.skip);
    printf("ok\n");
    char line[256], folder[256];
    double seconds;
    while (fflush(stdout), read_line(line, sizeof line) && strcmp(line, "end") != 0) {
      if (strcmp(line, "flops") == 0) {
        printf("ok %.9g\n", run.flops);
        continue;
      }
      if (sscanf(line, "onnx %255s", folder) == 1) {
        answer_onnx(&run, folder);
        continue;
      }
      fy_check(sscanf(line, "time %lf", &seconds) == 1, FY_VALUE_ERROR,
               "a case knows time, flops, onnx and end, not %s", line);
      answer_time(&run, seconds);
    }
    if (run.bench->finish) {
      run.bench->finish(&run);
    }
    printf("ok\n");
  }
}

// Labels 0, 1, .. 9, 0, 1, ..
static FyTensor *labels_in_turn(int64_t count) {
  int64_t *values = malloc((size_t)count * sizeof *values);
  fy_check(values, FY_OUT_OF_MEMORY_ERROR, "no memory for %lld labels", (long long)count);
  for (int64_t i = 0; i < count; i++) {
    values[i] = i % 10;
  }
  FyTensor *labels = fy_tensor(values, fy_shape(count));
  free(values);
  return labels;
}

static int64_t parameter_count(FyModule *model) {
  FyTensorList *parameters = fy_parameters(model);
  int64_t count = 0;
  for (int i = 0; i < parameters->count; i++) {
    count += fy_numel(parameters->items[i]);
  }
  return count;
}

// Dropout is off, since two frameworks draw different numbers.
static void answer_check(const char *name, int64_t size, FyDevice device) {
  fy_scope {
    Model kind = (Model)bench_named(name)->variant;
    FyModule *model = model_new(kind);
    model_set_weights(model);
    fy_eval(model);
    fy_module_to(model, device);
    FyOptimizer *optimizer = fy_adam(fy_parameters(model), .lr = 1e-3);
    FyTensor *x = fy_to(formula_numbers(model_input(kind, size), 0, 2), device);
    FyTensor *y = fy_to(labels_in_turn(size), device);
    printf("ok %lld", (long long)parameter_count(model));
    for (int step = 0; step < 3; step++) {
      fy_zero_grad(optimizer);
      FyTensor *loss = fy_cross_entropy(fy_forward(model, x), y);
      printf(" %.7f", fy_item(loss));
      fy_backward(loss);
      fy_step(optimizer);
    }
    printf("\n");
  }
}

static void answer_rss(void) {
  FILE *file = fopen("/proc/self/status", "r");
  fy_check(file, FY_OS_ERROR, "cannot read /proc/self/status");
  char line[256];
  long long kib = 0;
  while (fgets(line, sizeof line, file) && sscanf(line, "VmHWM: %lld", &kib) != 1) {
  }
  fclose(file);
  printf("ok %lld\n", kib * 1024);
}

static void answer(const char *line, FyDevice device) {
  char name[64] = "";
  long long size = 0;
  if (sscanf(line, "case %63s %lld", name, &size) == 2) {
    serve_case(name, size, device);
  } else if (sscanf(line, "check %63s %lld", name, &size) == 2) {
    answer_check(name, size, device);
  } else if (strcmp(line, "rss") == 0) {
    answer_rss();
  } else if (strcmp(line, "info") == 0) {
    printf("ok Ferry %s, %s, %d threads\n", fy_version(), instructions, fy_get_num_threads());
  } else {
    fy_raise(FY_VALUE_ERROR, "unknown command %s", line);
  }
}

int worker(FyDevice device) {
  char line[256];
  while (read_line(line, sizeof line)) {
    FyError error;
    fy_trap(error) {
      answer(line, device);
    }
    if (error.kind) {
      for (char *at = error.message; (at = strchr(at, '\n'));) {
        *at = ' '; // one line for an answer
      }
      printf("error %s\n", error.message);
    }
    fflush(stdout);
  }
  return 0;
}
