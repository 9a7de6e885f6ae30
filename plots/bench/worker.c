// One side of a comparison: a long-lived process that runs a benchmark when it is told to, so that two of them can take
// turns. Each line of input is a command, each gets one line of answer; plots/torch/worker.py answers the same ones.
//
//   time NAME SIZE SECONDS   "ok T1 T2 ...": seconds of single runs, for about SECONDS altogether
//   check NAME SIZE          "ok PARAMETERS LOSS1 LOSS2 LOSS3": a training step's work, from weights by formula
//   anything that fails      "error TEXT"
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CASES = 128, MOST_SAMPLES = 100, MOST_NAME = 64 };

// What has been set up stays: a case is set up once, and its later turns find it warm.
static Run cases[MOST_CASES];
static int case_count;

static const Bench *bench_named(const char *name) {
  for (const Bench *b = benches; b->name; b++) {
    if (strcmp(b->name, name) == 0 && b->body) {
      return b;
    }
  }
  fy_raise(FY_KEY_ERROR, "there is no benchmark %s", name);
}

static Run *run_of(const char *name, int64_t size, FyDevice device) {
  for (int i = 0; i < case_count; i++) {
    if (strcmp(cases[i].bench->name, name) == 0 && cases[i].size == size) {
      return &cases[i];
    }
  }
  fy_check(case_count < MOST_CASES, FY_VALUE_ERROR, "more than %d cases", MOST_CASES);
  Run *run = &cases[case_count];
  *run = (Run){.bench = bench_named(name), .device = device, .dtype = FY_FLOAT32, .size = size};
  run->bench->setup(run);
  fy_check(!*run->skip, FY_RUNTIME_ERROR, "%s", run->skip);
  case_count++;
  return run;
}

static void answer_time(const char *name, int64_t size, double seconds, FyDevice device) {
  double samples[MOST_SAMPLES];
  int count = take_samples(run_of(name, size, device), seconds, 3, MOST_SAMPLES, samples);
  printf("ok");
  for (int i = 0; i < count; i++) {
    printf(" %.9g", samples[i]);
  }
  printf("\n");
}

// Three steps from known weights and inputs; dropout is off, since two frameworks draw different numbers.
static void answer_check(const char *name, int64_t size, FyDevice device) {
  fy_scope {
    Model kind = (Model)bench_named(name)->variant;
    FyModule *model = model_new(kind);
    model_set_weights(model);
    fy_eval(model);
    fy_module_to(model, device);
    FyOptimizer *optimizer = fy_adam(fy_parameters(model), .lr = 1e-3);
    FyTensor *x = fy_to(formula_numbers(model_input(kind, size), 0, 2), device);
    FyTensor *y = fy_to(fy_arange((double)size, .dtype = FY_INT64), device);
    y = fy_sub(y, fy_mul_scalar(fy_to_dtype(fy_div_scalar(y, 10), FY_INT64), 10)); // labels 0 .. 9 in turn
    int64_t count = 0;
    FyTensorList *parameters = fy_parameters(model);
    for (int i = 0; i < parameters->count; i++) {
      count += fy_numel(parameters->items[i]);
    }
    printf("ok %lld", (long long)count);
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

static void answer(const char *line, FyDevice device) {
  char name[MOST_NAME] = "";
  long long size = 0;
  double seconds = 0;
  if (sscanf(line, "time %63s %lld %lf", name, &size, &seconds) == 3) {
    answer_time(name, size, seconds, device);
  } else if (sscanf(line, "check %63s %lld", name, &size) == 2) {
    answer_check(name, size, device);
  } else {
    fy_raise(FY_VALUE_ERROR, "unknown command %s", line);
  }
}

int worker(FyDevice device) {
  char line[256];
  while (fgets(line, sizeof line, stdin)) {
    FyError error;
    line[strcspn(line, "\n")] = '\0';
    fy_trap(error) {
      answer(line, device);
    }
    if (error.kind) {
      printf("error %s\n", error.message);
    }
    fflush(stdout);
  }
  return 0;
}
