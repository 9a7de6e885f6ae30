// SPDX-License-Identifier: MIT
// A kernel without a program may be proved race free for all launches: build/prove-races (core/inspect/prove) tries that while the kernel
// is compiled and run. With --prove, the report also says why there is no proof, and the inspector runs the launch in which the solver
// sees a race.
#include "inspect/instrument/instrument.h"
#include "tool/compile/config.h"
#include "tool/compile/files.h"
#include "tool/compile/process.h"
#include "tool/print/usage.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROVER CONFIG_OBJECTS "/prove-races"
// For each question to the solver, and for all, in milliseconds. Without --prove nobody waits for it.
#define PATIENT "--time 10000 --all 120000"
#define QUICK "--time 700 --all 4000"

enum { PROVED, RACE, NOT_PROVED, NOT_TRIED, NO_TOOLS }; // exit statuses of prove-races

static void add_flags(Words *c, const InspectOptions *o) {
  for (int i = 0; i < o->flag_count; i++)
    words_add(c, o->flags[i]);
}

void inspect_begin_proof(InspectJob *j, const char *kernel, const char *grid, const char *block) {
  InspectProof *p = &j->proof;
  Words c = {0};
  int ends[2];
  snprintf(p->kernel, sizeof p->kernel, "%s", kernel);
  snprintf(p->block, sizeof p->block, "%s", block);
  p->axes[0] = inspect_axes(grid);
  p->axes[1] = inspect_axes(block);
  if (access(rooted(PROVER), X_OK) != 0 || pipe(ends) != 0)
    return;
  words_add(&c, PROVER);
  words_add(&c, j->options.file);
  words_split(&c, j->options.prove ? PATIENT : QUICK);
  const char *given[] = {"--kernel", kernel, "--grid", grid, "--block", block};
  for (int i = 0; i < 6; i++)
    words_add(&c, given[i]);
  add_flags(&c, &j->options);
  fflush(NULL);
  p->process = fork();
  if (p->process == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    redirect_to("/dev/null", O_RDONLY, 0);
    redirect_to("/dev/null", O_WRONLY, 2);
    execv(rooted(PROVER), (char **)(uintptr_t)c.items);
    _exit(NO_TOOLS);
  }
  close(ends[1]);
  p->answer = ends[0];
}

// The number of axes along which a shape ("16, 16, 1") has more than one element.
int inspect_axes(const char *shape) {
  unsigned x = 1, y = 1, z = 1;
  sscanf(shape, "%u, %u, %u", &x, &y, &z);
  return z > 1 ? 3 : y > 1 ? 2 : 1;
}

static int read_answer(InspectProof *p, char text[2000]) {
  size_t length = 0;
  for (ssize_t got; length < 1999 && (got = read(p->answer, text + length, 1999 - length)) > 0;)
    length += (size_t)got;
  text[length] = '\0';
  close(p->answer);
  return wait_for_tool(p->process);
}

static bool has_races(const Inspection *i) {
  for (int f = 0; f < i->finding_count; f++)
    if (!i->findings[f].kind->note && strncmp(i->findings[f].kind->id, "race", 4) == 0)
      return true;
  return false;
}

static const char *launches(const InspectProof *p, const char *text, char words[200]) {
  static const char *const numbers[] = {"", "one", "two", "three"};
  unsigned x = 1, y = 1, z = 1;
  sscanf(p->block, "%u, %u, %u", &x, &y, &z);
  if (strstr(text, " for every launch"))
    snprintf(words, 200, "for every launch with %s-dimensional grids and %s-dimensional blocks", numbers[p->axes[0]],
             numbers[p->axes[1]]);
  else if (strstr(text, " grid "))
    snprintf(words, 200, "for every launch with this grid and this block");
  else
    snprintf(words, 200, "for every launch with %s-dimensional grids and blocks of (%u,%u,%u)", numbers[p->axes[0]], x,
             y, z);
  return words;
}

// Whether the inspector finds a race in the launch of the solver's counterexample ("--grid 2,1,1 --block 4,1,1 --arg n=5").
static bool launch_races(const InspectJob *j, const char *launch) {
  Words c = {0};
  char json[300];
  snprintf(json, sizeof json, "%s/counterexample", j->build.folder);
  words_add(&c, CONFIG_OBJECTS "/ferry");
  words_add(&c, "inspect");
  words_add(&c, j->build.source);
  words_split(&c, "--no-proof --quiet --no-registers --json");
  words_add(&c, json);
  words_add(&c, "--kernel");
  words_add(&c, j->proof.kernel);
  words_split(&c, launch);
  words_add(&c, "--arg");
  words_add(&c, "*=[16 * threads + 4096]");
  add_flags(&c, &j->options);
  run_tool(c.items, j->build.folder, NULL, "/dev/null", "/dev/null");
  char *found = file_read(json, NULL);
  const bool races = found && strstr(found, "{\"type\": \"finding\", \"kind\": \"race");
  free(found);
  return races;
}

// "race lines 3 and 4, one block: --grid ...": true if the inspector confirms it.
static bool report_other_launch(const InspectJob *j, const char *race) {
  char launch[1000];
  const char *options = strstr(race, "--grid");
  int first, second;
  if (!options || sscanf(race, "race lines %d and %d", &first, &second) != 2)
    return false;
  snprintf(launch, sizeof launch, "%.*s", (int)strcspn(options, "\n"), options);
  if (!launch_races(j, launch))
    return false;
  inspect_wrapped(0, "Other launches have a data race between line %d and line %d, for example:", first, second);
  printf("  ./ferry inspect %s --kernel '%s' %s --arg '*=[16 * threads + 4096]'\n", j->options.file, j->proof.kernel,
         launch);
  return true;
}

// Returns an exit status.
int inspect_report_proof(InspectJob *j) {
  InspectProof *p = &j->proof;
  const InspectOptions *o = &j->options;
  char text[2000] = "", words[200];
  const int status = p->answer ? read_answer(p, text) : NO_TOOLS;
  if (o->table || o->gcc || has_races(&j->inspection))
    return EXIT_PASS;
  const char *race = strstr(text, "race lines");
  if (status == PROVED)
    inspect_wrapped(
        0,
        "Proved free of data races %s (by Z3)%s. This assumes that arrays do not overlap, that no index is out of "
        "bounds, and that integers do not overflow.",
        launches(p, text, words), strstr(text, "same constant") ? ", apart from writes of the same constant" : "");
  if (o->prove && race && report_other_launch(j, race))
    return status == PROVED ? EXIT_PASS : EXIT_ANSWER;
  if (!o->prove || status == PROVED)
    return EXIT_PASS;
  text[strcspn(text, "\n")] = '\0';
  if (status == NO_TOOLS)
    inspect_wrapped(
        0, "No proof was tried. It needs the packages clang, llvm-dev and z3 of Debian. Install them, and build "
           "again (make).");
  else if (status == NOT_TRIED && strchr(text, ':'))
    inspect_wrapped(0, "No proof was tried%s.", strchr(text, ':'));
  else if (status == NOT_PROVED && strchr(text, ':'))
    inspect_wrapped(0, "Not proved%s.", strchr(text, ':'));
  else
    inspect_wrapped(0, "Not proved: the solver sees a race in other launches, which the inspector does not confirm.");
  return EXIT_PASS;
}
