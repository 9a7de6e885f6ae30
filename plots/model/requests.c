// SPDX-License-Identifier: MIT
// The model for scripts: reads requests, one in a line, and prints a line for each: seconds, what limits it, blocks on a
// multiprocessor at a time, and the seconds of each limit.
//   GPU kernel NAME=VALUE...            a kernel with these counts (struct model_counts)
//   GPU stream BLOCKS READ WRITTEN FLOP bytes in order; 0 blocks: as many as the bytes need
//   GPU product M N K BATCH             of float32 matrices
#include "requests.h"

#include "model/count_names.h"
#include "model/kernel.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 4 };

static bool counts_of(char *text, struct model_counts *counts) {
  for (char *word; (word = strsep(&text, " \n"));) {
    char *value = strchr(word, '=');
    if (!*word)
      continue;
    if (!value)
      return false;
    *value = '\0';
    double *count = model_count_named(counts, word);
    if (!count)
      return false;
    *count = atof(value + 1);
  }
  return true;
}

static struct model_time kernel_time(const struct model_gpu *gpu, struct model_counts *c) {
  const double beyond = model_beyond_l2(gpu, c->dram_reads + c->dram_writes); // as a simulated device does
  c->dram_reads *= beyond;
  c->dram_writes *= beyond;
  return model_kernel(gpu, c);
}

static bool answer(char *line, struct model_time *time) {
  const char *id = strsep(&line, " "), *what = strsep(&line, " ");
  const struct model_gpu *gpu = model_gpu_named(id);
  struct model_counts counts = {.blocks = 0};
  double n[NUMBERS];
  if (!gpu || !what || !line)
    return false;
  if (strcmp(what, "kernel") == 0) {
    if (!counts_of(line, &counts))
      return false;
    *time = kernel_time(gpu, &counts);
    return true;
  }
  for (int i = 0; i < NUMBERS; i++)
    n[i] = strtod(line, &line);
  if (strcmp(what, "stream") == 0)
    *time = model_streaming_in(gpu, n[0], n[1], n[2], n[3]);
  else if (strcmp(what, "product") == 0)
    *time = model_product(gpu, n[0], n[1], n[2], n[3], MODEL_PRODUCT_FP32);
  else
    return false;
  return true;
}

int answer_requests(FILE *in) {
  char line[4096];
  for (int number = 1; fgets(line, sizeof line, in); number++) {
    struct model_time t;
    if (!answer(line, &t)) {
      fprintf(stderr, "line %d: not a request: GPU kernel|stream|product ...\n", number);
      return 2;
    }
    printf("%.9g\t%s\t%d", t.seconds, model_limit_name(t.limit), t.resident);
    for (int i = 0; i < MODEL_LIMITS; i++)
      printf("\t%.6g", t.term[i]);
    putchar('\n');
  }
  return 0;
}
