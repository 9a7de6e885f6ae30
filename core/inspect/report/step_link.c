// SPDX-License-Identifier: MIT
// From a finding within one block to the command that steps to its access.
#include "inspect/report/inspection.h"
#include "tool/print/shell.h"
#include <string.h>

// What `--at` calls it: the kind's first word. NULL: a record of one block cannot have it.
static const char *kind_at(const char *id) {
  static const struct {
    const char *begins, *at;
  } known[] = {{"race-block", "race"},
               {"race-warp", "race"},
               {"race-async", "race"},
               {"bounds-", "bounds"},
               {"misaligned", "misaligned"},
               {"freed", "freed"},
               {"illegal", "illegal"},
               {"constant", "constant"},
               {"lanes", "lanes"},
               {"livelock", "livelock"},
               {"uninitialized-shared", "uninitialized"}};
  if (strcmp(id, "divergent") == 0) // not the grid's
    return id;
  for (size_t n = 0; n < sizeof known / sizeof known[0]; n++)
    if (strncmp(id, known[n].begins, strlen(known[n].begins)) == 0)
      return known[n].at;
  return NULL;
}

static void add_kernel(const Inspection *i, const InspectFinding *f, char *text, size_t bytes) {
  char name[300];
  const size_t used = strlen(text);
  if (i->kernel_count > 1 || i->step.one_kernel)
    snprintf(text + used, bytes - used, " --kernel %s", shell_word(i->kernels[f->kernel].launch, name, sizeof name));
}

static void add_number(char *text, size_t bytes, const char *option, unsigned number) {
  const size_t used = strlen(text);
  if (number > 0)
    snprintf(text + used, bytes - used, " %s %u", option, number);
}

// The shortest form that ./ferry step reads: zeros at the end are left out.
static void add_block(char *text, size_t bytes, const unsigned *block) {
  const size_t used = strlen(text);
  if (block[2])
    snprintf(text + used, bytes - used, " --block %u,%u,%u", block[0], block[1], block[2]);
  else if (block[1])
    snprintf(text + used, bytes - used, " --block %u,%u", block[0], block[1]);
  else
    add_number(text, bytes, "--block", block[0]);
}

// Of several races in one line, which it is: "race-warp".
static const char *exact_kind(const Inspection *i, const InspectFinding *f, Spot spot, const char *at) {
  for (int n = 0; n < i->finding_count; n++) {
    const InspectFinding *g = &i->findings[n];
    const Spot other = g->second.file ? g->second : g->first;
    if (g->kind != f->kind && g->kernel == f->kernel && other.file == spot.file && other.line == spot.line &&
        strncmp(g->kind->id, at, strlen(at)) == 0)
      return f->kind->id;
  }
  return at;
}

bool inspect_step_options(const Inspection *i, const InspectFinding *f, char *text, size_t bytes) {
  const char *at = f->kernel >= 0 && f->in_block ? kind_at(f->kind->id) : NULL;
  const Spot spot = f->second.file ? f->second : f->first;
  *text = '\0';
  if (!at)
    return false;
  if (f->launch > 0 || i->step.one_kernel) { // ./ferry step takes the first launch
    add_kernel(i, f, text, bytes);
    add_number(text, bytes, "--launch", f->launch_of_name);
  }
  add_block(text, bytes, f->block);
  const size_t used = strlen(text);
  snprintf(text + used, bytes - used, " --at %s", exact_kind(i, f, spot, at));
  if (spot.file && strcmp(spot.file, i->source) == 0)
    snprintf(text + strlen(text), bytes - strlen(text), "@%d", spot.line);
  return true;
}

bool inspect_step_command(const Inspection *i, const InspectFinding *f, char *text, size_t bytes) {
  char options[700], file[1024], name[300], test[330] = "";
  if (!i->step.file || (i->step.in_tests && !f->test) || !inspect_step_options(i, f, options, sizeof options))
    return false;
  if (f->test)
    snprintf(test, sizeof test, " --test %s", shell_word(f->test, name, sizeof name));
  return (size_t)snprintf(text, bytes, "./ferry step %s%s%s%s%s", shell_word(i->step.file, file, sizeof file),
                          i->step.flags ? i->step.flags : "", test, options,
                          i->step.arguments ? i->step.arguments : "") < bytes;
}
