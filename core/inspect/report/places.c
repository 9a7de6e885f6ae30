// From places in the inspected program to lines of source, by addr2line.
#include "inspect/report/inspection.h"
#include "tool/compile/process.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct Place {
  uint32_t at;
  Spot spot;
} Place;

static Place *places; // sorted by `at`
static int place_count;

static int by_place(const void *a, const void *b) {
  uint32_t x = ((const Place *)a)->at, y = ((const Place *)b)->at;
  return (x > y) - (x < y);
}

static Place *place_find(uint32_t at) {
  Place wanted = {.at = at};
  return place_count ? bsearch(&wanted, places, (size_t)place_count, sizeof *places, by_place) : NULL;
}

Spot place_spot(uint32_t at) {
  const Place *p = at ? place_find(at) : NULL;
  return p ? p->spot : (Spot){0};
}

static char *names[256]; // of files, one copy of each
static int name_count;

void place_files_forget(void) {
  while (name_count > 0)
    free(names[--name_count]);
}

const char *place_file(const char *name) {
  char real[PATH_MAX];
  const char *whole = realpath(name, real) ? real : name;
  for (int i = 0; i < name_count; i++)
    if (strcmp(names[i], whole) == 0)
      return names[i];
  return name_count < 256 ? names[name_count++] = strdup(whole) : NULL;
}

// A frame of an inlined call: the innermost in FILE is the line that is meant, else the innermost that somebody wrote.
static bool is_system(const char *file) {
  return strstr(file, "/core/sim/include/") || strstr(file, "/c++/") || strncmp(file, "/usr/", 5) == 0 ||
         strstr(file, "/answer.h") || strchr(file, '?');
}

static void take_frame(const Inspection *i, Place *place, char *frame) {
  char *colon = strrchr(frame, ':');
  int line = colon ? atoi(colon + 1) : 0;
  if (!colon || line == 0)
    return;
  *colon = '\0';
  if (is_system(frame))
    return;
  const char *file = place_file(frame);
  bool better = !place->spot.file || (strcmp(place->spot.file, i->source) != 0 && file && strcmp(file, i->source) == 0);
  if (better)
    place->spot = (Spot){file, line};
}

void places_read(const Inspection *i, FILE *frames) {
  char line[8192];
  Place *place = NULL;
  while (fgets(line, sizeof line, frames)) {
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "0x", 2) == 0)
      place = place_find((uint32_t)strtoul(line, NULL, 16) + 1);
    else if (place)
      take_frame(i, place, line);
  }
}

void place_want(uint32_t at) {
  if (at == 0)
    return;
  places = inspect_grown(places, place_count, sizeof *places);
  places[place_count++] = (Place){.at = at};
}

// A place is where a call returns to; the call is before it.
int places_list(FILE *to) {
  int kept = 0;
  if (place_count)
    qsort(places, (size_t)place_count, sizeof *places, by_place);
  for (int p = 0; p < place_count; p++)
    if (kept == 0 || places[p].at != places[kept - 1].at)
      places[kept++] = places[p];
  place_count = kept;
  for (int p = 0; p < place_count; p++)
    fprintf(to, "0x%x\n", places[p].at - 1);
  return place_count;
}

bool places_resolve(const Inspection *i, const InspectBuild *b) {
  char in[300], out[300];
  snprintf(in, sizeof in, "%s/places", b->folder);
  snprintf(out, sizeof out, "%s/frames", b->folder);
  FILE *file = fopen(in, "w");
  int count = file ? places_list(file) : 0;
  if (!file || fclose(file) != 0)
    return false;
  if (count == 0)
    return true;
  const char *argv[] = {"addr2line", "-i", "-a", "-e", b->program, NULL};
  if (run_tool(argv, b->folder, in, out, NULL) != 0) {
    fprintf(stderr, "ferry inspect: addr2line cannot read the program (apt install binutils)\n");
    return false;
  }
  if (!(file = fopen(out, "r")))
    return false;
  places_read(i, file);
  fclose(file);
  return true;
}

void places_forget(void) {
  place_count = 0;
}
