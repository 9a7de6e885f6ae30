// SPDX-License-Identifier: MIT
// What an exercise was judged by.
#include "case.h"
#include "grade.h"
#include <stdlib.h>

uint64_t exercise_version(const Exercise *e) {
  static uint64_t versions[MAX_EXERCISES];
  static const Exercise *of[MAX_EXERCISES];
  static const char *const files[] = {"answer.h", "check.c", "driver.c", "driver.cu"};
  int place = 0;
  while (place < MAX_EXERCISES && of[place] && of[place] != e)
    place++;
  if (place < MAX_EXERCISES && of[place])
    return versions[place];
  uint64_t version = hash_text(0, e->id);
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    char path[4096];
    in_root(path, sizeof path, "tests/hidden/%s/%s", e->id, files[i]);
    char *text = file_read(path, NULL);
    version = hash_text(version, text ? text : "");
    free(text);
  }
  if (place < MAX_EXERCISES) {
    of[place] = e;
    versions[place] = version;
  }
  return version;
}
