// SPDX-License-Identifier: MIT
// What has been reached: work/.progress, work/.best, work/.adopted, and notes. work/.milestones has a line for each:
//
//   first-kernel when=1763812345 by=0 with=20_1_saxpy
#include "tool/milestones.h"
#include "grader/score.h"
#include "tool/commands.h"
#include "tool/print/term.h"
#include "tool/print/text.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FILE_NAME ".milestones"
#define NEAR 1.5

static const Milestone milestones[MILESTONES] = {
    [MILESTONE_TENSOR] = {.id = "first-tensor",
                          .title = "First tensor on a device",
                          .how = "pass an exercise of lessons 3 to 18"},
    [MILESTONE_KERNEL] = {.id = "first-kernel", .title = "First kernel", .how = "pass a kernel exercise, such as 20.1"},
    [MILESTONE_RACE] =
        {.id = "first-race",
         .title = "First race found",
         .how = "./ferry inspect finds a data race in a file of yours, or you pass 32.1, 32.2, 32.3 or 32.4"},
    [MILESTONE_FAST] =
        {.id = "first-fast-kernel",
         .title = "First kernel within 1.5x of the reference",
         .how = "pass a performance challenge in at most 1.5 times the time of its reference (./ferry best)"},
    [MILESTONE_NETWORK] = {.id = "first-own-network",
                           .title = "First network on kernels of your own",
                           .how = "./ferry adopt takes a kernel of yours into the library"},
    [MILESTONE_GPT] = {.id = "first-gpt-sentence",
                       .title = "First GPT sentence",
                       .how = "run the program of lesson 33 to its end"},
};

// ---- from the records ------------------------------------------------------------------------------------------------------

static void reach(Milestone *m, long long when, const char *with) {
  if (m->reached && m->when <= when)
    return;
  m->reached = true;
  m->when = when;
  snprintf(m->with, sizeof m->with, "%s", with);
}

static long long changed(const char *name) {
  char path[4096];
  struct stat about;
  work_path(path, sizeof path, "%s", name);
  return stat(path, &about) == 0 ? (long long)about.st_mtim.tv_sec : 0;
}

// The records of passes have no day: that of the last change of all is the earliest that is certain.
static void from_progress(Milestone found[MILESTONES]) {
  static const char *const races[] = {"32_1_", "32_2_", "32_3_", "32_4_"};
  const long long when = changed(".progress");
  for (int i = 0; i < exercise_count(); i++) {
    const Exercise *e = exercise_at(i);
    if (!progress_of(e).passed || !isdigit((unsigned char)e->id[0]))
      continue;
    if (e->chapter >= 3 && e->chapter <= 18)
      reach(&found[MILESTONE_TENSOR], when, e->id);
    if (strcmp(exercise_extension(e), "cu") == 0)
      reach(&found[MILESTONE_KERNEL], when, e->id);
    for (size_t n = 0; n < sizeof races / sizeof races[0]; n++)
      if (strncmp(e->id, races[n], strlen(races[n])) == 0)
        reach(&found[MILESTONE_RACE], when, e->id);
  }
}

static void from_best(Milestone *fast) {
  for (int i = 0; i < exercise_count(); i++) {
    const Exercise *e = exercise_at(i);
    const Scored *s = exercise_scored(e);
    const Best best = s ? best_of(e) : (Best){0};
    for (int n = 0; n < best.count; n++)
      if (best.kept[n].score.seconds <= NEAR * s->reference)
        reach(fast, best.kept[n].when, e->id);
  }
}

// Before ./ferry adopt takes a kernel, training steps run on it. A line for each: "25_1_row_argmax answer=1f3a".
static void from_adopted(Milestone *network) {
  bool damaged;
  char id[96], *text = work_read(".adopted/adopted", &damaged);
  if (text && sscanf(text, "%95s answer=", id) == 1 && exercise_find(id))
    reach(network, changed(".adopted/adopted"), id);
  free(text);
}

// ---- the file ----------------------------------------------------------------------------------------------------------------

static bool read_line(const char *line, Milestone all[MILESTONES]) {
  char id[32], with[96] = "";
  long long when;
  int by;
  if (sscanf(line, "%31s when=%lld by=%d with=%95[^\n]", id, &when, &by, with) < 3)
    return false;
  for (Milestone *m = all; m < all + MILESTONES; m++)
    if (strcmp(m->id, id) == 0) {
      reach(m, when, with);
      m->by = by != 0;
      return true;
    }
  return false;
}

static void read_all(Milestone all[MILESTONES], bool *damaged) {
  memcpy(all, milestones, sizeof milestones);
  char *text = work_read(FILE_NAME, damaged), *rest = text;
  for (char *line; rest && (line = strsep(&rest, "\n"));)
    *damaged |= *line && !read_line(line, all);
  free(text);
}

static void write_all(const Milestone all[MILESTONES]) {
  char path[4096];
  Text text = {0};
  for (const Milestone *m = all; m < all + MILESTONES; m++)
    if (m->reached)
      text_add(&text, "%s when=%lld by=%d with=%s\n", m->id, m->when, m->by, m->with);
  work_path(path, sizeof path, FILE_NAME);
  if (!file_write(path, text.at, text.used))
    fprintf(stderr, "ferry: the milestones could not be written to %s: %s\n", path, file_problem());
  text_free(&text);
}

// Without the lock: progress_of takes it.
static void find(Milestone found[MILESTONES]) {
  memset(found, 0, MILESTONES * sizeof found[0]);
  if (!work_exists())
    return;
  from_progress(found);
  from_best(&found[MILESTONE_FAST]);
  from_adopted(&found[MILESTONE_NETWORK]);
}

// Takes over what the records have and the file has not; how many.
static int add_found(Milestone all[MILESTONES], const Milestone found[MILESTONES], bool now) {
  int new = 0;
  for (int i = 0; i < MILESTONES; i++) {
    if (all[i].reached || !found[i].reached)
      continue;
    reach(&all[i], found[i].when, found[i].with);
    all[i].by = !now && i != MILESTONE_FAST;
    new ++;
  }
  return new;
}

void milestones_logged(Milestone all[MILESTONES]) {
  bool damaged;
  read_all(all, &damaged);
}

void milestones_read(Milestone all[MILESTONES]) {
  bool damaged;
  Milestone found[MILESTONES];
  find(found);
  read_all(all, &damaged);
  add_found(all, found, false);
}

static void look(Milestone all[MILESTONES], bool now, MilestoneName noted, const char *with) {
  bool damaged;
  Milestone found[MILESTONES];
  memcpy(all, milestones, sizeof milestones);
  if (!work_exists())
    return;
  find(found);
  const int lock = work_lock();
  read_all(all, &damaged);
  if (damaged)
    work_set_aside(FILE_NAME);
  int new = 0;
  if (noted < MILESTONES && !all[noted].reached) {
    reach(&all[noted], (long long)time(NULL), with);
    new ++;
  }
  new += add_found(all, found, now);
  if (damaged || new > 0)
    write_all(all);
  work_unlock(lock);
}

void milestones_look(Milestone all[MILESTONES], bool now) {
  look(all, now, MILESTONES, "");
}

void milestone_note(MilestoneName which, const char *with) {
  Milestone all[MILESTONES];
  char line[96];
  snprintf(line, sizeof line, "%s", with);
  line[strcspn(line, "\r\n")] = '\0';
  look(all, false, which, line);
}

// ---- shown --------------------------------------------------------------------------------------------------------------------

void milestone_day(const Milestone *m, char *day, size_t bytes) {
  const time_t when = (time_t)m->when;
  struct tm local;
  char date[16] = "?";
  if (localtime_r(&when, &local))
    strftime(date, sizeof date, "%Y-%m-%d", &local);
  snprintf(day, bytes, "%s%s", m->by ? "by " : "", date);
}

// Whether the learner's track leads there.
static bool is_ahead(const Milestone all[MILESTONES], int i) {
  const char *title;
  const char *track = course_track(&title);
  char page[4096];
  if (all[i].reached || (i == MILESTONE_GPT && !lesson_page(33, page, sizeof page)))
    return false;
  return strcmp(track, "all") == 0 || strcmp(track, i == MILESTONE_TENSOR ? "kernels" : "pytorch") != 0 ||
         i == MILESTONE_GPT;
}

void milestones_print_line(void) {
  Milestone all[MILESTONES];
  char day[32], line[512] = "";
  const Milestone *latest = NULL, *next = NULL;
  milestones_look(all, false);
  for (int i = 0; i < MILESTONES; i++) {
    if (all[i].reached && (!latest || all[i].when >= latest->when))
      latest = &all[i];
    if (!next && is_ahead(all, i))
      next = &all[i];
  }
  if (latest) {
    milestone_day(latest, day, sizeof day);
    snprintf(line, sizeof line, "Milestone: %s, %s. ", latest->title, day);
  }
  if (next)
    snprintf(line + strlen(line), sizeof line - strlen(line), "Next: %s.", next->title);
  if (*line) {
    strcat(line, " (./ferry milestones)");
    term_wrap(stdout, line, 0);
  }
}
