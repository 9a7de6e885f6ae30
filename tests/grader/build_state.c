// SPDX-License-Identifier: MIT
// Is the build what ./ferry was linked with? Answers are linked with objects that stand in the build folder, and make may be
// replacing them at this moment. make links ./ferry after all of them, so none may be newer. What is
// installed is not built again, and an installer gives files the time when it wrote them.
#include "answer.h"
#include "tool/compile/config.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_newer(const struct stat *a, const struct stat *b) {
  return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec > b->st_mtim.tv_sec
                                                : a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

bool build_is_whole(const char *driver, char *why, size_t bytes) {
  const char *const inputs[] = {CONFIG_LIBRARY,
                                CONFIG_OBJECTS "/tests/grader/child.o",
                                CONFIG_OBJECTS "/tests/grader/wire.o",
                                CONFIG_OBJECTS "/tests/grader/host_memory.o",
                                CONFIG_OBJECTS "/tests/grader/buffers_tensor.o",
                                CONFIG_OBJECTS "/tests/grader/ledger_sim.o",
                                CONFIG_OBJECTS "/tests/grader/misaligned.o",
                                CONFIG_OBJECTS "/sim/tests/grader/buffers_cuda.o",
                                CONFIG_ROOT "/build/cu2cpp",
                                driver};
  struct stat own, input;
  if (stat("/proc/self/exe", &own) != 0)
    return true; // without /proc it cannot be told
  for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
    char path[4096];
    root_expand(path, sizeof path, inputs[i]);
    bool there = stat(path, &input) == 0;
    if (there && (CONFIG_INSTALLED || !is_newer(&input, &own)))
      continue;
    snprintf(why, bytes,
             "%s %s: the build has changed since ./ferry started, or is not finished. Run make, then check again\n",
             path + strlen(root_folder()) + 1, there ? "is newer than ./ferry" : "is missing");
    return false;
  }
  return true;
}
