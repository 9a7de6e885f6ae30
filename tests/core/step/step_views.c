// SPDX-License-Identifier: MIT
// Shows a record without recording one:
//   step_views sample                 writes a record to stdout
//   step_views dap                    the debug adapter; the record of FILE.cu is FILE.cu.json
//   step_views print RECORD AT [COLUMNS]
//   step_views terminal RECORD AT
//   step_views time RECORD [ROWS]     the CPU time that the pages of all steps take
#include "step/page.h"
#include "step/step.h"
#include "core/step/sample.h"
#include <time.h>

static Record *load(const char *path) {
  char why[400];
  Record *r = step_record_load(path, why, sizeof why);
  if (!r) {
    fprintf(stderr, "%s\n", why);
    exit(1);
  }
  return r;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// In the size of a terminal, with all of shared memory and with what is touched.
static void time_pages(const Record *r, int rows) {
  double worst = 0, sum = 0;
  int worst_step = 0;
  for (int step = 0; step < r->step_count; step++) {
    const StepView view = {.columns = 80, .rows = rows, .lane = -1, .chosen = "", .memory = step % 2 != 0};
    Text page = {0};
    const double begin = seconds();
    step_page(r, step, &view, &page);
    const double took = seconds() - begin;
    text_free(&page);
    sum += took;
    worst_step = took > worst ? step : worst_step;
    worst = took > worst ? took : worst;
  }
  printf("%d pages of %d rows: %.3f ms on average, at most %.3f ms (step %d)\n", r->step_count, rows,
         1e3 * sum / r->step_count, 1e3 * worst, worst_step);
}

// In place of a recorder: the program's path and ".json" is its record, and "broken" in its name is an error of the compiler.
static bool copy_record(const StepLaunch *launch, char *path, size_t path_bytes, FILE *said) {
  snprintf(path, path_bytes, "%s.json", launch->program);
  fprintf(said, "%s: kernel %s, block %s, launch %d", launch->program, launch->kernel ? launch->kernel : "(first)",
          launch->block ? launch->block : "(first)", launch->launch);
  for (int i = 0; i < launch->argument_count; i++)
    fprintf(said, ", \"%s\"", launch->arguments[i]);
  fprintf(said, strstr(launch->program, "broken") ? "\nerror: expected ';'\n" : "\n");
  return strstr(launch->program, "broken") == NULL;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "sample") == 0)
    return fputs(sample, stdout) < 0;
  if (argc == 2 && strcmp(argv[1], "dap") == 0)
    return step_dap(copy_record);
  if (argc < 3)
    return 2;
  Record *r = load(argv[2]);
  const int step = step_find(r, argc > 3 && strcmp(argv[1], "time") != 0 ? argv[3] : "0");
  if (step < 0)
    return 2;
  int status = 0;
  char why[200];
  if (strcmp(argv[1], "terminal") == 0 && step_has_terminal(why, sizeof why)) {
    status = step_terminal(r, step);
  } else if (strcmp(argv[1], "terminal") == 0) {
    fprintf(stderr, "%s\n", why);
    status = 2;
  } else if (strcmp(argv[1], "time") == 0)
    time_pages(r, argc > 3 ? atoi(argv[3]) : 24);
  else
    step_print(r, step, argc > 4 ? atoi(argv[4]) : 80, stdout);
  step_record_free(r);
  return status;
}
