// SPDX-License-Identifier: MIT
// Programs on adopted kernels: ./ferry chapter N --adopted and ./ferry play FILE.c --adopted. They run as the user, like all
// programs of these commands; the answers in them have passed their exercises and all trials in the sandbox.
#include "tool/adopt.h"
#include "tool/compile/config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int adopt_begin_program(const char *command, AdoptedList *list) {
  if (!work_exists() || (*list = adopted_read()).count == 0)
    return usage_error(command, "no answer is adopted yet. After an exercise has passed: ./ferry adopt EX");
  const int status = begin_sandbox(command, NULL);
  if (status >= 0)
    return status;
  if (!adopt_prepare() || !adopt_refresh(list))
    return EXIT_GRADER;
  const char *cuda = getenv("FERRY_CUDA");
  if (cuda && strcmp(cuda, "real") == 0)
    return usage_error(command, "adopted kernels run on simulated devices, but FERRY_CUDA is \"real\"");
  if (!cuda || !*cuda)
    setenv("FERRY_CUDA", "sim", 1);
  setenv("FERRY_ADOPTED_REPORT", "1", 1);
  return EXIT_PASS;
}

int adopt_run_chapter(const char *program, char **argv) {
  AdoptedList list;
  char object[4200], to[4096];
  const char *const objects[] = {object, NULL};
  snprintf(object, sizeof object, "%s.o", program);
  if (access(object, R_OK) != 0)
    return usage_error("chapter",
                       "--adopted is for lessons that use the library's ops. This lesson's program has kernels "
                       "of its own");
  const int status = adopt_begin_program("chapter", &list);
  if (status != EXIT_PASS)
    return status;
  work_path(to, sizeof to, ".adopted/program");
  if (!adopt_link(objects, CONFIG_OBJECTS "/libchapters.a", &list, NULL, NULL, to))
    return EXIT_GRADER;
  argv[0] = to;
  execv(to, argv);
  perror(to);
  return EXIT_GRADER;
}
