// SPDX-License-Identifier: MIT
// What is adopted: work/.adopted/adopted has a line for each, "25_1_row_argmax answer=1f3a".
#include "tool/adopt.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LIST ".adopted/adopted"

const Adoptable adoptables[] = {
#define FY_ADOPTABLE(id, function, slot, ops) {id, #function, "own_" #slot, ops},
#include "adopt/adopted.def"
#undef FY_ADOPTABLE
};
const int adoptable_count = sizeof adoptables / sizeof *adoptables;

static const Adoptable *adoptable_named(const char *id) {
  for (int i = 0; i < adoptable_count; i++)
    if (strcmp(adoptables[i].id, id) == 0)
      return &adoptables[i];
  return NULL;
}

const Adoptable *adoptable_of(const Exercise *e) {
  return adoptable_named(e->id);
}

AdoptedList adopted_read(void) {
  AdoptedList list = {0};
  bool damaged;
  char *text = work_read(LIST, &damaged), *rest = text;
  for (char *line; text && (line = strsep(&rest, "\n"));) {
    char id[128];
    unsigned long long answer;
    const Adoptable *what = sscanf(line, "%127s answer=%llx", id, &answer) == 2 ? adoptable_named(id) : NULL;
    if (what)
      adopted_put(&list, (Adopted){what, answer});
    else
      damaged |= *line != '\0';
  }
  free(text);
  if (damaged) { // what could be read still counts
    work_set_aside(LIST);
    adopted_write(&list);
  }
  return list;
}

bool adopted_write(const AdoptedList *list) {
  char path[4096], text[MOST_ADOPTED * 128] = "";
  size_t used = 0;
  for (int i = 0; i < list->count; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%.64s answer=%llx\n", list->at[i].what->id,
                             (unsigned long long)list->at[i].answer);
  work_path(path, sizeof path, LIST);
  return file_write(path, text, used);
}

static void remove_at(AdoptedList *list, int i) {
  list->count--;
  memmove(&list->at[i], &list->at[i + 1], (size_t)(list->count - i) * sizeof list->at[0]);
}

void adopted_put(AdoptedList *list, Adopted one) {
  for (int i = 0; i < list->count; i++)
    if (strcmp(list->at[i].what->slot, one.what->slot) == 0)
      remove_at(list, i--);
  if (list->count < MOST_ADOPTED)
    list->at[list->count++] = one;
}

bool adopted_drop(AdoptedList *list, const Adoptable *what) {
  const int before = list->count;
  for (int i = 0; i < list->count; i++)
    if (!what || list->at[i].what == what)
      remove_at(list, i--);
  return list->count < before;
}

bool adopted_is(const AdoptedList *list, const Adoptable *what) {
  for (int i = 0; i < list->count; i++)
    if (list->at[i].what == what)
      return true;
  return false;
}

void adopted_path(char *path, size_t bytes, const Adoptable *what, const char *ending) {
  work_path(path, bytes, ".adopted/%s%s", what->id, ending);
}

static bool copy_to(const char *from, const char *to) {
  size_t bytes = 0;
  char *text = file_read(from, &bytes);
  const bool copied = text && file_write(to, text, bytes);
  if (!copied)
    fprintf(stderr, "ferry adopt: %s could not be copied to %s: %s\n", from, to,
            text ? file_problem() : strerror(errno));
  free(text);
  return copied;
}

bool adopted_keep(const Adoptable *what, const char *source, const char *object) {
  char path[4096];
  work_path(path, sizeof path, ".adopted");
  if (mkdir(path, 0777) != 0 && errno != EEXIST) {
    fprintf(stderr, "ferry adopt: the folder %s could not be made: %s\n", path, strerror(errno));
    return false;
  }
  adopted_path(path, sizeof path, what, ".cu");
  if (!copy_to(source, path))
    return false;
  adopted_path(path, sizeof path, what, ".o");
  return copy_to(object, path);
}
