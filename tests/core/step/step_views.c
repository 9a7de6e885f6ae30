// SPDX-License-Identifier: MIT
// Shows a record without recording one: step_views print RECORD AT [COLUMNS], terminal RECORD AT, dap, time RECORD.
#include "step/page.h"
#include "step/step.h"
#include <stdlib.h>
#include <string.h>

static Record *load(const char *path) {
  char why[400];
  Record *r = step_record_load(path, why, sizeof why);
  if (!r) {
    fprintf(stderr, "%s\n", why);
    exit(1);
  }
  return r;
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  Record *r = load(argv[2]);
  const int step = step_find(r, argc > 3 ? argv[3] : "0");
  if (step < 0)
    return 2;
  step_print(r, step, argc > 4 ? atoi(argv[4]) : 80, stdout);
  step_record_free(r);
  return 0;
}
