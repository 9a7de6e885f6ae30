// SPDX-License-Identifier: MIT
// Finding MPI: libferry-mpi.so is opened when a process group of several ranks begins.
#include "distributed/mpi_table.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef FERRY_MPI_PATH
#define FERRY_MPI_PATH ""
#endif

// Beside the build, or beside the program.
static const char *plugin_path(char beside[4096]) {
  const char *given = getenv("FERRY_MPI_PLUGIN");
  if (given && given[0])
    return given;
  if (FERRY_MPI_PATH[0] && access(FERRY_MPI_PATH, R_OK) == 0)
    return FERRY_MPI_PATH;
  ssize_t length = readlink("/proc/self/exe", beside, 4000);
  beside[length > 0 ? length : 0] = '\0';
  char *slash = strrchr(beside, '/');
  if (slash)
    strcpy(slash, "/libferry-mpi.so");
  return slash ? beside : FERRY_MPI_PATH;
}

const FyMpi *fy_mpi_open(char *why, size_t size) {
  char beside[4096];
  const char *path = plugin_path(beside);
  if (access(path, R_OK) != 0) {
    snprintf(why, size,
             "%.300s was not built, since Open MPI was not found: install it (Debian: libopenmpi-dev, openmpi-bin) and "
             "run `make`",
             path);
    return NULL;
  }
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL); // global: Open MPI opens components that look for its symbols
  if (!library) {
    snprintf(why, size, "%.300s cannot be loaded (%.400s)", path, dlerror());
    return NULL;
  }
  const FyMpi *(*table)(void) = NULL;
  *(void **)&table = dlsym(library, "fy_mpi_table"); // as POSIX has it: ISO C cannot cast to a function
  const FyMpi *found = table ? table() : NULL;
  if (found && found->abi == FY_MPI_ABI)
    return found;
  snprintf(why, size, "%.300s is of another version of Ferry: run `make`", path);
  return NULL;
}
