// SPDX-License-Identifier: MIT
#include "op/levels.h"
#include <stdlib.h>
#include <string.h>

// What .ci/build/levels.sh adds to a library with levels. Levels are in ascending order, without the library's own.
extern const char *const fy_level_names[] __attribute__((weak));      // NULL after the last
extern const FyOp *const *const fy_level_ops[] __attribute__((weak)); // of each level
extern void *const fy_level_functions[]
    __attribute__((weak)); // rows: where a jump is kept, its target for each level; NULL

const FyOp *const *fy_cpu_ops = fy_ops;
static const char *chosen;

const char *fy_cpu_level(void) {
  return chosen;
}

static bool processor_has(const char *level) {
#ifdef __x86_64__
  __builtin_cpu_init();
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (strcmp(level, "x86-64-v3") == 0)
    return v3;
  if (strcmp(level, "x86-64-v4") == 0)
    return v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#endif
  (void)level;
  return false;
}

// The number of the level, -1: the library's own.
static int best_level(int count) {
  const char *most = getenv("FERRY_CPU");
  int best = -1;
  for (int i = 0; i < count && processor_has(fy_level_names[i]); i++) {
    if (most && strcmp(most, fy_level_names[i]) < 0)
      break;
    best = i;
  }
  return best;
}

// Runs before the constructors without a number, which may already call kernels.
__attribute__((constructor(102))) static void choose(void) {
  int count = 0;
  while (fy_level_names && fy_level_names[count])
    count++;
  const int level = best_level(count);
  if (level < 0)
    return;
  chosen = fy_level_names[level];
  fy_cpu_ops = fy_level_ops[level];
  for (void *const *row = fy_level_functions; *row; row += 1 + count)
    *(void **)row[0] = row[1 + level];
}
