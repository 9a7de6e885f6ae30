// SPDX-License-Identifier: MIT
// The exercises that are linked in: one pointer each in the section "exercises".
#include "registry.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const Exercise *const __start_exercises[] __attribute__((weak));
extern const Exercise *const __stop_exercises[] __attribute__((weak));

static const Exercise *sorted[MAX_EXERCISES];
static int sorted_count = -1;

static int by_id(const void *a, const void *b) {
  return strcmp((*(const Exercise *const *)a)->id, (*(const Exercise *const *)b)->id);
}

int exercise_count(void) {
  if (sorted_count >= 0)
    return sorted_count;
  sorted_count = 0;
  for (const Exercise *const *e = __start_exercises; e < __stop_exercises && sorted_count < MAX_EXERCISES; e++)
    sorted[sorted_count++] = *e;
  qsort(sorted, (size_t)sorted_count, sizeof sorted[0], by_id);
  return sorted_count;
}

const Exercise *exercise_at(int i) {
  return i >= 0 && i < exercise_count() ? sorted[i] : NULL;
}

// "exercises/03_1_create_on_the_device.c", "03_1_create_on_the_device", "3.1", "create": whatever a person may type.
const Exercise *exercise_find(const char *name) {
  char plain[128];
  const char *slash = strrchr(name, '/');
  snprintf(plain, sizeof plain, "%s", slash ? slash + 1 : name);
  char *dot = strrchr(plain, '.');
  if (dot && (strcmp(dot, ".c") == 0 || strcmp(dot, ".cu") == 0))
    *dot = '\0';
  const Exercise *found = NULL;
  int lesson, order, end = 0;
  char pack[32];
  if (sscanf(plain, "%d.%d%n", &lesson, &order, &end) == 2 && !plain[end])
    snprintf(plain, sizeof plain, "%02d_%d_", lesson, order);
  else if (sscanf(plain, "%31[a-z0-9].%d%n", pack, &order, &end) == 2 && !plain[end])
    snprintf(plain, sizeof plain, "%s_%d_", pack, order);
  for (int i = 0; i < exercise_count(); i++) {
    const Exercise *e = exercise_at(i);
    if (strcmp(e->id, plain) == 0)
      return e;
    size_t length = strlen(plain);
    bool begins = strncmp(e->id, plain, length) == 0 && length > 2; // a lesson's number is no exercise
    bool inside = length > 2 && strstr(e->id, plain);
    if (begins || inside) {
      if (found)
        return NULL;
      found = e;
    }
  }
  return found;
}

const char *exercise_number(const Exercise *e) {
  static char numbers[4][32];
  static int last;
  char *number = numbers[last = (last + 1) % 4];
  int lesson = 0, order = 0;
  char pack[13];
  if (sscanf(e->id, "%d_%d_", &lesson, &order) == 2)
    snprintf(number, sizeof numbers[0], "%d.%d", lesson, order);
  else if (sscanf(e->id, "%12[a-z0-9]_%d_", pack, &order) == 2) // of a pack
    snprintf(number, sizeof numbers[0], "%s.%d", pack, order);
  else
    snprintf(number, sizeof numbers[0], "%d", lesson);
  return number;
}

int exercise_tests(const Exercise *e) {
  int count = 0;
  while (count < MAX_TESTS && e->tests[count].name)
    count++;
  return count;
}

const char *exercise_extension(const Exercise *e) {
  return strcmp(e->kind, "kernel") == 0 ? "cu" : "c";
}
