// SPDX-License-Identifier: MIT
// The way through the exercises: the order, the tracks, and where the learner is. work/.course has two lines, "track NAME" and "at ID".
#include "tool/commands.h"
#include "tool/print/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COURSE ".course"

typedef struct Track {
  const char *name, *title;
  bool (*has)(const Exercise *e);
} Track;

static bool is_any(const Exercise *e) {
  return e != NULL;
}

static bool is_of_kernels(const Exercise *e) {
  return e->chapter == 1 || (e->chapter >= 20 && e->chapter <= 32) || e->chapter == 34;
}

static bool is_of_pytorch(const Exercise *e) {
  return e->chapter < 20 || e->chapter == 33 || e->chapter == 35;
}

static bool is_bug(const Exercise *e) {
  return e->bug;
}

static const Track tracks[] = {{"all", "All exercises", is_any},
                               {"kernels", "CUDA kernels", is_of_kernels},
                               {"pytorch", "PyTorch in C", is_of_pytorch},
                               {"debugging", "Debugging", is_bug}};
enum { TRACKS = sizeof tracks / sizeof tracks[0] };

static const Track *track_named(const char *name) {
  for (int i = 0; i < TRACKS; i++)
    if (strcmp(tracks[i].name, name) == 0)
      return &tracks[i];
  return NULL;
}

// ---- work/.course --------------------------------------------------------------------------------------------------------

typedef struct Course {
  const Track *track;
  const Exercise *at; // NULL: at the beginning of the track
} Course;

static Course course_read(void) {
  Course c = {.track = &tracks[0]};
  bool damaged;
  char word[128] = "", *text = work_read(COURSE, &damaged);
  const char *track = text ? strstr(text, "track ") : NULL, *at = text ? strstr(text, "at ") : NULL;
  if (track && sscanf(track, "track %127s", word) == 1 && track_named(word))
    c.track = track_named(word);
  if (at && sscanf(at, "at %127s", word) == 1)
    c.at = exercise_find(word);
  free(text);
  return c;
}

static void course_write(Course c) {
  char path[4096];
  Text text = {0};
  if (!work_exists())
    return;
  text_add(&text, "track %s\n", c.track->name);
  if (c.at)
    text_add(&text, "at %s\n", c.at->id);
  work_path(path, sizeof path, COURSE);
  if (!file_write(path, text.at, text.used))
    fprintf(stderr, "ferry: %s could not be written: %s\n", path, file_problem());
  text_free(&text);
}

bool course_start(const char *name) {
  const Track *track = track_named(name);
  if (track)
    course_write((Course){.track = track});
  return track != NULL;
}

void course_go_to(const Exercise *e) {
  Course c = course_read();
  if (c.at == e)
    return;
  c.at = e;
  if (!c.track->has(e))
    c.track = &tracks[0];
  course_write(c);
}

const char *course_track(const char **title) {
  const Track *track = course_read().track;
  *title = track->title;
  return track->name;
}

const char *course_tracks(void) {
  return "all, kernels, pytorch, debugging";
}

bool course_has(const Exercise *e) {
  return course_read().track->has(e);
}

// ---- what comes next -----------------------------------------------------------------------------------------------------

// The first of the track after `e` that has not passed, from the beginning again where there is none after it; e NULL: from the
// beginning.
const Exercise *course_after(const Exercise *e) {
  const Track *track = course_read().track;
  const Exercise *earlier = NULL;
  bool after = !e;
  for (int i = 0; i < exercise_count(); i++) {
    const Exercise *one = exercise_at(i);
    const bool is_open = track->has(one) && one != e && !progress_of(one).passed;
    if (is_open && after)
      return one;
    earlier = is_open && !earlier ? one : earlier;
    after |= one == e;
  }
  return earlier ? earlier : e && !progress_of(e).passed ? e : NULL;
}

const Exercise *progress_current(void) {
  const Course c = course_read();
  return c.at && !progress_of(c.at).passed ? c.at : course_after(c.at);
}
