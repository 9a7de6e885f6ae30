// SPDX-License-Identifier: MIT
// Finds NVIDIA's compiler.
#include "tool/compile/toolkit.h"
#include "tool/compile/config.h"
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool beside_nvcc(const char *program, char *path, size_t bytes) {
  const char *nvcc = CONFIG_NVCC, *slash = strrchr(nvcc, '/');
  snprintf(path, bytes, "%.*s%s", slash ? (int)(slash + 1 - nvcc) : 0, nvcc, program);
  return slash && access(path, X_OK) == 0;
}

bool toolkit_packages(char *folder, size_t bytes) {
  const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
  if (data && *data == '/')
    snprintf(folder, bytes, "%s/ferry/nvcc", data);
  else if (home && *home == '/')
    snprintf(folder, bytes, "%s/.local/share/ferry/nvcc", home);
  else
    return false;
  return true;
}

static bool in_packages(const char *program, char *path, size_t bytes) {
  char folder[2048], pattern[2200];
  glob_t found = {0};
  if (!toolkit_packages(folder, sizeof folder))
    return false;
  snprintf(pattern, sizeof pattern, "%s/lib/python*/site-packages/nvidia/cu*/bin/%s", folder, program);
  const bool there = glob(pattern, 0, NULL, &found) == 0 && access(found.gl_pathv[0], X_OK) == 0;
  if (there)
    snprintf(path, bytes, "%s", found.gl_pathv[0]);
  globfree(&found);
  return there;
}

bool toolkit_find(const char *program, char *path, size_t bytes) {
  return (*CONFIG_NVCC && beside_nvcc(program, path, bytes)) || in_packages(program, path, bytes);
}
