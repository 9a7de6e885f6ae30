// SPDX-License-Identifier: MIT
// `ferry list --json`: the course and how far the learner is, for programs.
#include "tool/commands.h"
#include "tool/milestones.h"
#include "tool/print/text.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// False: there is no such lesson.
static bool add_lesson(Text *t, int lesson) {
  char path[4096], title[256];
  if (!lesson_page(lesson, path, sizeof path))
    return false;
  const char *page = strrchr(path, '/') + 1; // its page in the book has the same name
  lesson_title(lesson, title, sizeof title);
  text_add(t, "%s\n  {\"number\": %d, \"title\": ", lesson > 1 ? "," : "", lesson);
  text_json(t, title);
  text_add(t, ", \"page\": \"%.*s.html\"}", (int)(strlen(page) - strlen(".md")), page);
  return true;
}

static const char *state_of(const Exercise *e, const Progress *p, const char *file) {
  return p->passed ? "passed" : access(file, F_OK) != 0 || work_is_untouched(e) ? "new" : "started";
}

static void add_exercise(Text *t, const Exercise *e, const Exercise *next) {
  static const char *const levels[] = {"easy", "medium", "hard"};
  const Progress p = progress_of(e);
  char file[4096];
  int hints = 0;
  while (hints < MAX_HINTS && e->hints[hints])
    hints++;
  work_file(e, file, sizeof file);
  text_add(t, "{\"id\": \"%s\", \"state\": \"%s\", \"number\": \"%s\", \"title\": ", e->id, state_of(e, &p, file),
           exercise_number(e));
  text_json(t, e->title);
  text_add(t, ", \"lesson\": %d, \"page\": \"exercise/%s.html\", \"file\": \"work/%s.%s\", \"path\": ", e->chapter,
           e->id, e->id, exercise_extension(e));
  text_json(t, file);
  text_add(t,
           ", \"exists\": %s, \"level\": \"%s\", \"minutes\": %d, \"essential\": %s, \"bug\": %s, \"in_track\": %s, "
           "\"next\": %s, \"hints\": %d, \"of\": %d, \"stars\": %d, \"most_stars\": %d, \"on_gpu\": %s}",
           access(file, F_OK) == 0 ? "true" : "false", levels[e->level], e->minutes, e->essential ? "true" : "false",
           e->bug ? "true" : "false", course_has(e) ? "true" : "false", e == next ? "true" : "false",
           p.hints < hints ? p.hints : hints, hints, p.stars, verdict_most_stars(e), p.on_gpu ? "true" : "false");
}

static void add_milestones(Text *t) {
  Milestone all[MILESTONES];
  char day[32];
  milestones_read(all);
  text_add(t, "],\n \"milestones\": [");
  for (const Milestone *m = all; m < all + MILESTONES; m++) {
    milestone_day(m, day, sizeof day);
    text_add(t, "%s\n  {\"id\": \"%s\", \"title\": ", m > all ? "," : "", m->id);
    text_json(t, m->title);
    text_add(t, ", \"how\": ");
    text_json(t, m->how);
    text_add(t, ", \"reached\": ");
    text_json(t, m->reached ? day : "");
    text_add(t, ", \"with\": ");
    text_json(t, m->with);
    text_add(t, "}");
  }
  text_add(t, "]");
}

int list_json(void) {
  const Exercise *next = progress_current();
  const char *title, *track = course_track(&title);
  Text t = {0};
  text_add(&t, "{\"track\": \"%s\", \"next\": ", track);
  if (next)
    text_json(&t, exercise_number(next));
  else
    text_add(&t, "null");
  text_add(&t, ",\n \"lessons\": [");
  for (int lesson = 1; add_lesson(&t, lesson); lesson++) {
  }
  add_milestones(&t);
  text_add(&t, ",\n \"exercises\": [");
  for (int i = 0; i < exercise_count(); i++) {
    text_add(&t, i > 0 ? ",\n  " : "\n  ");
    add_exercise(&t, exercise_at(i), next);
  }
  text_add(&t, "]}\n");
  fwrite(t.at, 1, t.used, stdout);
  text_free(&t);
  return EXIT_PASS;
}
