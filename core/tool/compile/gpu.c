// SPDX-License-Identifier: MIT
// A real GPU, or not.
#include "tool/compile/gpu.h"
#include "tool/compile/config.h"
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int gpu_count(void) {
  glob_t found;
  int count = glob("/dev/nvidia[0-9]*", 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
  globfree(&found);
  return count;
}

bool gpu_wanted(void) {
  const char *wanted = getenv("FERRY_CUDA");
  if (wanted && *wanted)
    return strcmp(wanted, "real") == 0;
  return gpu_count() > 0 && access(rooted(CONFIG_ROOT "/build/libferry-cuda.so"), R_OK) == 0;
}
