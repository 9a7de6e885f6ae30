// From places in the inspected program to lines of source, by addr2line.
#include "inspect.h"
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

// One copy of each file's name.
const char *place_file(const char *name) {
  static char *names[256];
  static int count;
  char real[PATH_MAX];
  const char *whole = realpath(name, real) ? real : name;
  for (int i = 0; i < count; i++)
    if (strcmp(names[i], whole) == 0)
      return names[i];
  return count < 256 ? names[count++] = strdup(whole) : NULL;
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

static void read_frames(const Inspection *i, const char *path) {
  char line[8192];
  Place *place = NULL;
  FILE *in = fopen(path, "r");
  while (in && fgets(line, sizeof line, in)) {
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "0x", 2) == 0)
      place = place_find((uint32_t)strtoul(line, NULL, 16) + 1);
    else if (place)
      take_frame(i, place, line);
  }
  if (in)
    fclose(in);
}

void place_want(uint32_t at) {
  if (at == 0)
    return;
  places = inspect_grown(places, place_count, sizeof *places);
  places[place_count++] = (Place){.at = at};
}

// A place is where a call returns to; the call is before it.
bool places_resolve(const Inspection *i, const InspectBuild *b) {
  char in[300], out[300];
  if (place_count == 0)
    return true;
  qsort(places, (size_t)place_count, sizeof *places, by_place);
  int kept = 1;
  for (int p = 1; p < place_count; p++)
    if (places[p].at != places[kept - 1].at)
      places[kept++] = places[p];
  place_count = kept;
  snprintf(in, sizeof in, "%s/places", b->folder);
  snprintf(out, sizeof out, "%s/frames", b->folder);
  FILE *file = fopen(in, "w");
  for (int p = 0; file && p < place_count; p++)
    fprintf(file, "0x%x\n", places[p].at - 1);
  if (!file || fclose(file) != 0)
    return false;
  const char *argv[] = {"addr2line", "-i", "-a", "-e", b->program, NULL};
  if (inspect_tool(argv, b->folder, in, out, NULL) != 0) {
    fprintf(stderr, "ferry inspect: addr2line cannot read the program (apt install binutils)\n");
    return false;
  }
  read_frames(i, out);
  return true;
}

void places_forget(void) {
  place_count = 0;
}
