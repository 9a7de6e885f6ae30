// SPDX-License-Identifier: MIT
// What the solutions' work comes to, for the table after a pass: tests/hidden/EXERCISE/reference.txt has a line "COUNT LEAST MOST" for
// each count, over several seeds. So the solution does not run when a learner passes. `./ferry reference` writes the files.
#include "tool/commands.h"
#include "tool/print/text.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNTS = 8, SEEDS = 5, DEVICES = 2 };

static const char *const names[COUNTS] = {"kernels launched",     "copies to the device",   "bytes to the device",
                                          "copies to the host",   "bytes to the host",      "copies on the device",
                                          "waits for the device", "device memory asked for"};

typedef struct Range {
  int64_t least, most;
} Range;

// The sums over all counted tests.
static void sum_counts(const Verdict *v, int64_t sums[COUNTS]) {
  memset(sums, 0, COUNTS * sizeof *sums);
  for (int i = 0; i < v->test_count; i++) {
    const Counts *n = &v->tests[i].counts;
    const int64_t counts[COUNTS] = {n->launches,         n->host_to_device,       n->host_to_device_bytes,
                                    n->device_to_host,   n->device_to_host_bytes, n->device_to_device,
                                    n->synchronizations, n->cuda_allocations};
    for (int k = 0; v->tests[i].counted && k < COUNTS; k++)
      sums[k] += counts[k];
  }
}

// ---- reading ---------------------------------------------------------------------------------------------------------------

static bool read_ranges(const Exercise *e, Range ranges[COUNTS]) {
  char path[4096], line[256];
  in_root(path, sizeof path, "tests/hidden/%s/reference.txt", e->id);
  FILE *file = fopen(path, "re");
  memset(ranges, 0, COUNTS * sizeof *ranges);
  while (file && fgets(line, sizeof line, file)) {
    char name[64];
    Range r;
    if (sscanf(line, "%63[^\t]\t%" SCNd64 "\t%" SCNd64, name, &r.least, &r.most) != 3)
      continue;
    for (int k = 0; k < COUNTS; k++)
      if (strcmp(name, names[k]) == 0)
        ranges[k] = r;
  }
  if (file)
    fclose(file);
  return file != NULL;
}

void reference_print_beside(const Verdict *yours) {
  Range ranges[COUNTS];
  int64_t sums[COUNTS];
  bool any = false;
  if (!read_ranges(yours->exercise, ranges))
    return;
  if (yours->real_gpu || wanted_devices() != DEVICES) {
    printf("\n  The solution's counts are known for %d simulated devices.\n", DEVICES);
    return;
  }
  sum_counts(yours, sums);
  for (int k = 0; k < COUNTS; k++) {
    char reference[64];
    if (sums[k] == 0 && ranges[k].most == 0)
      continue;
    if (!any)
      printf("\n  %s%-26s %12s   %s%s\n", style(BOLD), "counted in all tests", "yours", "the solution's", style(PLAIN));
    any = true;
    if (ranges[k].least == ranges[k].most)
      snprintf(reference, sizeof reference, "%" PRId64, ranges[k].least);
    else
      snprintf(reference, sizeof reference, "%" PRId64 " to %" PRId64, ranges[k].least, ranges[k].most);
    printf("  %-26s %12" PRId64 "   %s\n", names[k], sums[k], reference);
  }
}

// ---- writing ---------------------------------------------------------------------------------------------------------------

static void widen(Range *r, int64_t value, bool first) {
  r->least = first || value < r->least ? value : r->least;
  r->most = first || value > r->most ? value : r->most;
}

static bool count_solution(const Exercise *e, Range ranges[COUNTS]) {
  static Verdict v; // large
  char source[4096];
  Answer a;
  bool passed = true;
  in_root(source, sizeof source, "solutions/%s.%s", e->id, exercise_extension(e));
  answer_build(&a, e, source, false);
  for (uint64_t seed = 0; seed < SEEDS && passed; seed++) {
    int64_t sums[COUNTS];
    const JudgeOptions options = {.seed = mix64(seed), .devices = DEVICES};
    judge_built(&v, &a, &options);
    passed = v.status == STATUS_PASS;
    sum_counts(&v, sums);
    verdict_free(&v);
    for (int k = 0; k < COUNTS; k++)
      widen(&ranges[k], sums[k], seed == 0);
  }
  answer_free(&a);
  return passed;
}

static bool write_one(const Exercise *e) {
  char path[4096];
  Range ranges[COUNTS];
  Text text = {0};
  if (!count_solution(e, ranges)) {
    fprintf(stderr, "ferry reference: the solution of %s does not pass\n", e->id);
    return false;
  }
  for (int k = 0; k < COUNTS; k++)
    if (ranges[k].most > 0)
      text_add(&text, "%s\t%" PRId64 "\t%" PRId64 "\n", names[k], ranges[k].least, ranges[k].most);
  in_root(path, sizeof path, "tests/hidden/%s/reference.txt", e->id);
  const bool written = text.used ? file_write(path, text.at, text.used) : remove(path) == 0 || errno == ENOENT;
  if (!written)
    fprintf(stderr, "ferry reference: %s cannot be written: %s\n", path, text.used ? file_problem() : strerror(errno));
  text_free(&text);
  return written;
}

int cmd_reference(int argc, char **argv) {
  const Exercise *only = argc > 1 ? exercise_named("reference", argv[1]) : NULL;
  if (argc > 2)
    return usage_error("reference", "it takes one exercise, or nothing");
  if (argc > 1 && !only)
    return EXIT_USAGE;
  const int status = begin_sandbox("reference", NULL);
  bool written = true;
  for (int i = 0; status < 0 && i < exercise_count(); i++)
    if (!only || exercise_at(i) == only)
      written &= write_one(exercise_at(i));
  return status >= 0 ? status : written ? EXIT_PASS : EXIT_ANSWER;
}
