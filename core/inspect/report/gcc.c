// SPDX-License-Identifier: MIT
// Findings as a compiler prints its warnings, for editors: FILE:LINE:COLUMN: warning: TEXT [KIND].
#include "inspect/report/inspection.h"
#include <string.h>

const char *inspect_path(const Inspection *i, Spot spot) {
  return !spot.file || (i->step.shown && strcmp(spot.file, i->source) == 0) ? i->step.shown : spot.file;
}

int inspect_column(const Inspection *i, Spot spot) {
  const char *at = i->text;
  if (!at || !spot.file || strcmp(spot.file, i->source) != 0)
    return 1;
  for (int line = 1; line < spot.line && at; line++)
    at = (at = strchr(at, '\n')) ? at + 1 : NULL;
  return at ? 1 + (int)strspn(at, " \t") : 1;
}

static void print_place(const Inspection *i, Spot spot, const char *severity) {
  const char *path = inspect_path(i, spot);
  printf("%s:%d:%d: %s: ", path ? path : i->title, spot.file ? spot.line : 1, inspect_column(i, spot), severity);
}

void inspect_print_gcc(const Inspection *i) {
  for (int n = 0; n < i->finding_count; n++) {
    const InspectFinding *f = &i->findings[n];
    char command[2048];
    print_place(i, f->first, f->kind->note ? "note" : "warning");
    printf("%s%s%s: %s. %s [%s]\n", f->kind->title, f->kernel >= 0 ? " in " : "",
           f->kernel >= 0 ? i->kernels[f->kernel].name : "", f->detail, f->kind->remedy, f->kind->id);
    if (f->second.file) {
      print_place(i, f->second, "note");
      printf("the other access\n");
    }
    if (f->third.file) {
      print_place(i, f->third, "note");
      printf("allocated here\n");
    }
    if (inspect_step_command(i, f, command, sizeof command)) {
      print_place(i, f->first, "note");
      printf("see it: %s\n", command);
    }
  }
}
