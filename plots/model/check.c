// SPDX-License-Identifier: MIT
// Compares the model with published measurements: reads plots/published/tables.tsv, prints Markdown for docs/model.md, and rows
// for the plot with --rows. `plots/model/page.sh` puts both in their places.
#include "kernels.h"
#include "requests.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 9, MOST_ROWS = 4096, MOST_TABLES = 256 };

typedef struct Row {
  char *table, *set, *gpu, *kernel, *unit;
  double size, block, published, modeled; // the last two in the table's unit
  double error;                           // ln of modeled over published time
  enum model_limit limit;
} Row;

typedef struct Verdict {
  const char *table, *set;
  int rows, pairs, ordered;
  double error, bias; // geometric means of the ratio and of modeled over published time
} Verdict;

static Row table[MOST_ROWS];
static int row_count;

static _Noreturn void refuse(const char *path, int line, const char *what) {
  fprintf(stderr, "%s:%d: %s\n", path, line, what);
  exit(1);
}

// Seconds of a time, or units of work in a second.
static double in_unit(const Modeled *m, const char *unit) {
  return strcmp(unit, "us") == 0     ? m->seconds * 1e6
         : strcmp(unit, "ms") == 0   ? m->seconds * 1e3
         : strcmp(unit, "GB/s") == 0 ? m->bytes / m->seconds / 1e9
                                     : m->flops / m->seconds / 1e9;
}

static bool is_rate(const Row *row) {
  return strchr(row->unit, '/') != NULL;
}

static void read_row(const char *path, int line, char *text) {
  char *field[COLUMNS];
  for (int i = 0; i < COLUMNS; i++) {
    field[i] = strsep(&text, "\t\n");
    if (!field[i])
      refuse(path, line, "too few columns");
  }
  Row *row = &table[row_count++];
  *row = (Row){.table = field[0],
               .set = field[1],
               .gpu = field[2],
               .kernel = field[3],
               .size = atof(field[4]),
               .block = atof(field[5]),
               .published = atof(field[6]),
               .unit = field[7]};
  const struct model_gpu *gpu = model_gpu_named(row->gpu);
  if (!gpu)
    refuse(path, line, "no such GPU in core/model/gpus.c");
  const Modeled m = modeled_kernel(gpu, row->kernel, row->size, row->block);
  if (m.seconds <= 0 || row->published <= 0)
    refuse(path, line, "no such kernel in plots/model/kernels.c, or no value");
  row->modeled = in_unit(&m, row->unit);
  row->limit = m.limit;
  row->error = log(row->modeled / row->published) * (is_rate(row) ? -1 : 1);
}

static void read_tables(const char *path) {
  FILE *file = fopen(path, "r");
  char text[2048];
  if (!file)
    refuse(path, 0, "cannot be read");
  for (int line = 1; fgets(text, sizeof text, file); line++)
    if (text[0] != '#' && strncmp(text, "table\t", 6) != 0 && row_count < MOST_ROWS)
      read_row(path, line, strdup(text));
  fclose(file);
}

// Published values this close may be in either order: they would be in another run.
static bool close(const Row *a, const Row *b) {
  const double ratio = a->published / b->published;
  return ratio > 0.95 && ratio < 1 / 0.95;
}

static bool faster(const Row *a, const Row *b, bool modeled) {
  const double x = modeled ? a->modeled : a->published, y = modeled ? b->modeled : b->published;
  return is_rate(a) ? x > y : x < y;
}

static Verdict judge(int first, int end) {
  Verdict v = {.table = table[first].table, .set = table[first].set};
  for (int i = first; i < end; i++) {
    v.rows++;
    v.error += fabs(table[i].error);
    v.bias += table[i].error;
    for (int j = i + 1; j < end; j++)
      if (!close(&table[i], &table[j])) {
        v.pairs++;
        v.ordered += faster(&table[i], &table[j], false) == faster(&table[i], &table[j], true);
      }
  }
  v.error = exp(v.error / v.rows);
  v.bias = exp(v.bias / v.rows);
  return v;
}

static int judge_all(Verdict *verdicts) {
  int count = 0;
  for (int first = 0, end; first < row_count && count < MOST_TABLES; first = end) {
    for (end = first; end < row_count && strcmp(table[end].table, table[first].table) == 0; end++)
      ;
    verdicts[count++] = judge(first, end);
  }
  return count;
}

static void print_share(int ordered, int pairs) {
  printf("%d of %d (%.0f %%)", ordered, pairs, pairs ? 100.0 * ordered / pairs : 100);
}

static void print_set(const Verdict *verdicts, int count, const char *set) {
  int tables = 0, rows = 0, pairs = 0, ordered = 0, with_pairs = 0;
  double error = 0, shares = 0, errors = 0;
  printf("| table, %s | rows | pairs in the published order | error | modeled / published time |\n| --- | --- | --- | "
         "--- | "
         "--- |\n",
         set);
  for (int i = 0; i < count; i++) {
    const Verdict *v = &verdicts[i];
    if (strcmp(v->set, set) != 0)
      continue;
    printf("| %s | %d | ", v->table, v->rows);
    print_share(v->ordered, v->pairs);
    printf(" | x%.2f | x%.2f |\n", v->error, v->bias);
    tables++;
    rows += v->rows;
    pairs += v->pairs;
    ordered += v->ordered;
    error += v->rows * log(v->error);
    errors += log(v->error);
    with_pairs += v->pairs > 0;
    shares += v->pairs ? (double)v->ordered / v->pairs : 0;
  }
  printf("| **all %d** | %d | **", tables, rows);
  print_share(ordered, pairs);
  printf("** | **x%.2f** | |\n", exp(error / rows));
  printf("\nIf each table has the same weight, regardless of its number of rows: %.1f %% of the pairs, error x%.2f.\n",
         100 * shares / with_pairs, exp(errors / tables));
}

// Rows that are off by more than a factor of two, the worst first.
static int by_error(const void *a, const void *b) {
  const double x = fabs(((const Row *)a)->error), y = fabs(((const Row *)b)->error);
  return (x < y) - (x > y);
}

static void print_worst(void) {
  Row *sorted = malloc(sizeof table);
  if (!sorted)
    exit(1);
  memcpy(sorted, table, sizeof table);
  qsort(sorted, (size_t)row_count, sizeof *sorted, by_error);
  int off = 0;
  while (off < row_count && fabs(sorted[off].error) > log(2))
    off++;
  printf("%d of %d rows differ from the model by more than a factor of two. The worst are:\n\n", off, row_count);
  printf("| table | kernel | size | published | modeled | bottleneck in the model |\n| --- | --- | --- | --- | "
         "--- | --- |\n");
  for (int i = 0; i < off && i < 16; i++)
    printf("| %s | %s | %.0f | %.4g %s | %.4g %s | %s |\n", sorted[i].table, sorted[i].kernel, sorted[i].size,
           sorted[i].published, sorted[i].unit, sorted[i].modeled, sorted[i].unit, model_limit_name(sorted[i].limit));
  free(sorted);
}

static void print_parameters(void) {
  static const char *const marks[] = {"given", "derived", "fitted", "assumed", "not checked"};
  int counts[5] = {0};
  for (int i = 0; i < model_gpu_count; i++) {
#define X(field, unit, what) counts[model_gpus[i].field.mark]++;
    MODEL_GPU_VALUES(X)
#undef X
  }
  printf("Of the GPU parameters (those of the architectures not included), ");
  for (int i = 0; i < 5; i++)
    printf("%d are %s%s", counts[i], marks[i], i < 3 ? ", " : i == 3 ? " and " : ".\n");
}

static void print_rows(void) {
  printf("# table\tset\tgpu\tkernel\tsize\tblock\tpublished\tmodeled\tunit\tmodeled / published time\tlimit\n");
  for (int i = 0; i < row_count; i++) {
    const Row *r = &table[i];
    printf("%s\t%s\t%s\t%s\t%.0f\t%.0f\t%.6g\t%.6g\t%s\t%.4f\t%s\n", r->table, r->set, r->gpu, r->kernel, r->size,
           r->block, r->published, r->modeled, r->unit, exp(r->error), model_limit_name(r->limit));
  }
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--requests") == 0)
    return answer_requests(stdin);
  if (argc < 3 || (strcmp(argv[2], "fitted") && strcmp(argv[2], "held") && strcmp(argv[2], "apart") &&
                   strcmp(argv[2], "worst") && strcmp(argv[2], "parameters") && strcmp(argv[2], "rows"))) {
    fprintf(stderr, "usage: %s TABLES fitted|held|apart|worst|parameters|rows\n", argv[0]);
    return 2;
  }
  read_tables(argv[1]);
  Verdict verdicts[MOST_TABLES];
  const int count = judge_all(verdicts);
  if (strcmp(argv[2], "fitted") == 0)
    print_set(verdicts, count, "fitted");
  else if (strcmp(argv[2], "held") == 0)
    print_set(verdicts, count, "held out");
  else if (strcmp(argv[2], "apart") == 0)
    print_set(verdicts, count, "kept apart");
  else if (strcmp(argv[2], "worst") == 0)
    print_worst();
  else if (strcmp(argv[2], "parameters") == 0)
    print_parameters();
  else
    print_rows();
  return 0;
}
