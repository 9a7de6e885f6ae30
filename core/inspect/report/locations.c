// SPDX-License-Identifier: MIT
// From program counters of an instrumented program to source lines, by addr2line.
#include "inspect/report/inspection.h"
#include "tool/compile/process.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct Location {
  uint32_t at;
  Spot spot;
  Spot inner; // what the last frame has replaced; no file: nothing
} Location;

static Location *locations; // sorted by `at`
static int location_count;

static int by_address(const void *a, const void *b) {
  uint32_t x = ((const Location *)a)->at, y = ((const Location *)b)->at;
  return (x > y) - (x < y);
}

static Location *location_find(uint32_t at) {
  Location wanted = {.at = at};
  return location_count ? bsearch(&wanted, locations, (size_t)location_count, sizeof *locations, by_address) : NULL;
}

Spot location_spot(uint32_t at) {
  const Location *p = at ? location_find(at) : NULL;
  return p ? p->spot : (Spot){0};
}

static char *names[256]; // of files, one copy of each
static int name_count;

void location_files_forget(void) {
  while (name_count > 0)
    free(names[--name_count]);
}

const char *location_file(const char *name) {
  char real[PATH_MAX];
  const char *whole = realpath(name, real) ? real : name;
  for (int i = 0; i < name_count; i++)
    if (strcmp(names[i], whole) == 0)
      return names[i];
  return name_count < 256 ? names[name_count++] = strdup(whole) : NULL;
}

// Of the frames of an inlined call, from the inside out, the first one in the inspected file counts, or else the first one outside of
// system headers. A kernel is inlined into its launch, whose frame comes just before one in cudasim_launch.h: it does not count.
static bool is_system(const char *file) {
  return strstr(file, "/core/sim/include/") || strstr(file, "/c++/") || strncmp(file, "/usr/", 5) == 0 ||
         strstr(file, "/answer.h") || strchr(file, '?');
}

static void take_frame(const Inspection *i, Location *location, char *frame) {
  char *colon = strrchr(frame, ':');
  int line = colon ? atoi(colon + 1) : 0;
  if (!colon || line == 0)
    return;
  *colon = '\0';
  const Spot inner = location->inner;
  location->inner = (Spot){0};
  if (inner.file && strstr(frame, "/cudasim_launch.h"))
    location->spot = inner;
  if (is_system(frame))
    return;
  const char *file = location_file(frame);
  bool better =
      !location->spot.file || (strcmp(location->spot.file, i->source) != 0 && file && strcmp(file, i->source) == 0);
  if (better) {
    location->inner = location->spot;
    location->spot = (Spot){file, line};
  }
}

void locations_read(const Inspection *i, FILE *frames) {
  char line[8192];
  Location *location = NULL;
  while (fgets(line, sizeof line, frames)) {
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "0x", 2) == 0)
      location = location_find((uint32_t)strtoul(line, NULL, 16) + 1);
    else if (location)
      take_frame(i, location, line);
  }
}

void location_want(uint32_t at) {
  if (at == 0)
    return;
  locations = inspect_grown(locations, location_count, sizeof *locations);
  locations[location_count++] = (Location){.at = at};
}

// The program counter of a call is its return address; the call itself is before it.
int locations_list(FILE *to) {
  int kept = 0;
  if (location_count)
    qsort(locations, (size_t)location_count, sizeof *locations, by_address);
  for (int p = 0; p < location_count; p++)
    if (kept == 0 || locations[p].at != locations[kept - 1].at)
      locations[kept++] = locations[p];
  location_count = kept;
  for (int p = 0; p < location_count; p++)
    fprintf(to, "0x%x\n", locations[p].at - 1);
  return location_count;
}

bool locations_resolve(const Inspection *i, const char *program, const char *folder) {
  char in[300], out[300];
  snprintf(in, sizeof in, "%s/locations", folder);
  snprintf(out, sizeof out, "%s/frames", folder);
  FILE *file = fopen(in, "w");
  int count = file ? locations_list(file) : 0;
  if (!file || fclose(file) != 0)
    return false;
  if (count == 0)
    return true;
  const char *argv[] = {"addr2line", "-i", "-a", "-e", program, NULL};
  if (run_tool(argv, folder, in, out, NULL) != 0) {
    fprintf(stderr, "ferry inspect: addr2line cannot read the program (apt install binutils)\n");
    return false;
  }
  if (!(file = fopen(out, "r")))
    return false;
  locations_read(i, file);
  fclose(file);
  return true;
}

void locations_forget(void) {
  location_count = 0;
}
