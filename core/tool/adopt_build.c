// SPDX-License-Identifier: MIT
// Programs with adopted kernels: their objects, which make builds, linked with the answers' instead of the library's table of
// kernels.
#include "tool/adopt.h"
#include "tool/compile/config.h"
#include "tool/compile/process.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OBJECTS CONFIG_OBJECTS

static const struct {
  const char *objects[6], *libraries;
} programs[ADOPT_PROGRAMS] = {
    [ADOPT_CHECK] = {{OBJECTS "/core/adopt/check.o", OBJECTS "/core/adopt/calls.o"}, ""},
    [ADOPT_STEP] = {{OBJECTS "/core/adopt/step.o"}, OBJECTS "/libchapters.a"},
    [ADOPT_OP_TESTS] = {{OBJECTS "/tests/core/op/test_golden.o"}, OBJECTS "/libsupport.a -lcmocka"},
    [ADOPT_RECORDED] = {{OBJECTS "/tests/fuzz/interpreter.o", OBJECTS "/tests/fuzz/program.o",
                         OBJECTS "/tests/fuzz/report.o", OBJECTS "/tests/fuzz/run.o"},
                        ""},
};
static const char *const adapters[] = {OBJECTS "/sim/core/adopt/adapters.o", OBJECTS "/sim/core/adopt/kernels.o",
                                       OBJECTS "/core/adopt/use.o"};
enum { ADAPTERS = sizeof adapters / sizeof *adapters };

static bool is_there(const char *path) {
  return access(rooted(path), R_OK) == 0;
}

static bool all_built(void) {
  bool built = is_there(OBJECTS "/libsupport.a") && is_there(OBJECTS "/libchapters.a");
  for (int p = 0; p < ADOPT_PROGRAMS; p++)
    for (int i = 0; i < 6 && programs[p].objects[i]; i++)
      built = built && is_there(programs[p].objects[i]);
  for (int i = 0; i < ADAPTERS; i++)
    built = built && is_there(adapters[i]);
  return built;
}

bool adopt_prepare(void) {
  if (CONFIG_INSTALLED) {
    fprintf(stderr, "ferry adopt: an installed Ferry has no tests to try a kernel with. Use it in a clone of Ferry.\n");
    return false;
  }
  if (all_built())
    return true;
  Words make = {0};
  fprintf(stderr, "Building the tests of the library's ops\n");
  words_split(&make, "make --silent");
  words_split(&make, CONFIG_BUILD "/tests/core/op/test_golden " CONFIG_BUILD "/tests/fuzz/interpreter " CONFIG_BUILD
                                  "/libchapters.a " CONFIG_BUILD "/adopt");
  run_tool(make.items, root_folder(), NULL, NULL, NULL);
  if (all_built())
    return true;
  fprintf(stderr, "ferry adopt: the tests of the library's ops could not be built; run make\n");
  return false;
}

// ---- compiling ----------------------------------------------------------------------------------------------------------------------

static bool is_newer(const char *a, const char *b) {
  struct stat first, second;
  return stat(a, &first) != 0 || stat(b, &second) != 0 || first.st_mtim.tv_sec > second.st_mtim.tv_sec ||
         (first.st_mtim.tv_sec == second.st_mtim.tv_sec && first.st_mtim.tv_nsec > second.st_mtim.tv_nsec);
}

bool adopt_compile(Answer *a, const Adoptable *what, const char *source) {
  for (int tries = 1;; tries++) {
    if (answer_build_adopted(a, exercise_find(what->id), source, what->function, what->slot))
      return true;
    if (!a->starved || tries == ADOPT_TRIES)
      return false;
    answer_free(a);
  }
}

static bool compile_again(const Adoptable *what) {
  char source[4096], object[4096], made[512];
  static Answer a;
  adopted_path(source, sizeof source, what, ".cu");
  adopted_path(object, sizeof object, what, ".o");
  bool done = adopt_compile(&a, what, source);
  snprintf(made, sizeof made, "%s/answer.o", a.folder);
  if (!done)
    fprintf(stderr, "ferry adopt: %s does not compile any more:\n%s", source, a.diagnostics ? a.diagnostics : "");
  done = done && adopted_keep(what, source, made);
  answer_free(&a);
  return done;
}

bool adopt_refresh(const AdoptedList *list) {
  char object[4096];
  for (int i = 0; i < list->count; i++) {
    adopted_path(object, sizeof object, list->at[i].what, ".o");
    if (is_newer(rooted(CONFIG_LIBRARY), object) && !compile_again(list->at[i].what))
      return false;
  }
  return true;
}

// ---- linking ------------------------------------------------------------------------------------------------------------------------

bool adopt_link(const char *const objects[], const char *libraries, const AdoptedList *list, const Adoptable *own,
                const char *object, const char *to) {
  Words link = {0};
  char path[4096];
  words_split(&link, CONFIG_CXX " " CONFIG_LINKER " -o");
  words_add(&link, to);
  for (int i = 0; objects[i]; i++)
    words_add(&link, objects[i]);
  for (int i = 0; i < list->count; i++) {
    adopted_path(path, sizeof path, list->at[i].what, ".o");
    words_add(&link, list->at[i].what == own && object ? object : path);
  }
  for (int i = 0; i < ADAPTERS; i++)
    words_add(&link, adapters[i]);
  words_split(&link, libraries);
  words_add(&link, CONFIG_LIBRARY);
  words_split(&link, CONFIG_LINK);
  if (run_tool(link.items, ".", NULL, NULL, NULL) == 0)
    return true;
  fprintf(stderr, "ferry adopt: the program could not be linked. If Ferry has changed, run make and try again.\n");
  return false;
}

bool adopt_link_program(AdoptProgram program, const AdoptedList *list, const Adoptable *own, const char *object,
                        const char *to) {
  return adopt_link(programs[program].objects, programs[program].libraries, list, own, object, to);
}
