// SPDX-License-Identifier: MIT
// The learner's way through the workbook: where am I, what is there, what next.
#include "tool/editor.h"
#include "tool/milestones.h"
#include "tool/print/lesson.h"
#include "tool/print/pager.h"
#include "tool/print/term.h"
#include "tool/print/language.h"
#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int track_count(void) {
  int count = 0;
  for (int i = 0; i < exercise_count(); i++)
    count += course_has(exercise_at(i));
  return count;
}

static int passed_count(void) {
  int passed = 0;
  for (int i = 0; i < exercise_count(); i++)
    passed += course_has(exercise_at(i)) && progress_of(exercise_at(i)).passed;
  return passed;
}

void progress_bar(void) {
  const char *title;
  const int passed = passed_count(), all = track_count(), width = 40;
  const bool whole = strcmp(course_track(&title), "all") == 0;
  printf("[");
  for (int i = 0; i < width; i++)
    putchar(all > 0 && i < passed * width / all ? '#' : '-');
  if (whole)
    printf(_("] %d of %d exercises passed\n"), passed, all);
  else
    printf(_("] %d of %d exercises passed, track %s\n"), passed, all, course_track(&title));
}

static const char *level_name(const Exercise *e) {
  static const char *const names[] = {N_("easy"), N_("medium"), N_("hard")};
  return _(names[e->level]);
}

static void say_next(const Exercise *e) {
  char file[4096];
  work_shown(e, file, sizeof file);
  printf(_("Next: %s%s %s%s (%s, %d min)\n\n"), style(BOLD), exercise_number(e), _(e->title), style(PLAIN),
         level_name(e), e->minutes);
  printf(_("  read     ./ferry chapter %d --read    (in a browser: ./ferry book %d)\n"), e->chapter, e->chapter);
  printf(_("  edit     %s\n"), file);
  printf(_("  check    ./ferry run                 (at every save: ./ferry watch)\n"));
  printf(_("  hint     ./ferry hint\n"));
}

static void say_all_passed(void) {
  const char *title;
  if (strcmp(course_track(&title), "all") == 0)
    printf(_("All exercises have passed. ./ferry list shows them; ./ferry diff EX\nshows your answer beside another "
             "one.\n"));
  else
    printf(_("All exercises of the track \"%s\" have passed. ./ferry start all continues with the others.\n"), title);
}

int cmd_where(int argc, char **argv) {
  (void)argc;
  (void)argv;
  printf(_("Ferry: a workbook for GPU programming in C\n\n"));
  if (!work_exists()) {
    printf(_("%d exercises. Start with:\n\n  ./ferry start\n\n"), exercise_count());
    printf(_("It copies them to work/, where you edit them. Then ./ferry shows the next step.\n"));
    return EXIT_PASS;
  }
  progress_bar();
  milestones_print_line();
  printf("\n");
  return cmd_next(1, argv);
}

int cmd_next(int argc, char **argv) {
  if (argc > 1)
    return usage_error(argv[0], "it takes no arguments");
  const Exercise *e = progress_current();
  if (e)
    say_next(e);
  else
    say_all_passed();
  return EXIT_PASS;
}

// ---- list --------------------------------------------------------------------------------------------------------------

// In the reader's language, if it is translated.
bool lesson_page(int lesson, char *path, size_t bytes) {
  glob_t found;
  in_root(path, bytes, "docs/%02d_*.md", lesson);
  const bool there = glob(path, 0, NULL, &found) == 0;
  if (there)
    language_page(found.gl_pathv[0], path, bytes);
  globfree(&found);
  return there;
}

void lesson_title(int lesson, char *title, size_t bytes) {
  char path[4096];
  char *text = lesson_page(lesson, path, sizeof path) ? file_read(path, NULL) : NULL;
  snprintf(title, bytes, "Lesson %d", lesson);
  if (text && strncmp(text, "# ", 2) == 0)
    snprintf(title, bytes, "%.*s", (int)strcspn(text + 2, "\n"), text + 2);
  free(text);
}

// The lesson, or the pack whose exercise it is.
static void group_title(const Exercise *e, char *title, size_t bytes) {
  if (isdigit((unsigned char)e->id[0]))
    lesson_title(e->chapter, title, bytes);
  else
    snprintf(title, bytes, "Pack %.*s", (int)strcspn(e->id, "_"), e->id);
}

static void list_one(const Exercise *e) {
  const Progress p = progress_of(e);
  const bool current = e == progress_current();
  const int most = verdict_most_stars(e);
  printf("  %s%s %-5s%s %s%-44s %-6s %3d min ",
         style(p.passed  ? GREEN
               : current ? BOLD
                         : PLAIN),
         p.passed  ? "✓"
         : current ? ">"
                   : " ",
         exercise_number(e), style(PLAIN), e->essential ? "* " : "  ", _(e->title), level_name(e), e->minutes);
  for (int i = 0; p.passed && most > 1 && i < most; i++)
    printf("%s", i < p.stars ? "★" : "☆");
  printf("%s\n", p.on_gpu ? " GPU" : "");
}

int cmd_list(int argc, char **argv) {
  const bool ids = argc == 2 && strcmp(argv[1], "--ids") == 0, all = argc == 2 && strcmp(argv[1], "--all") == 0;
  const char *title;
  if (argc == 2 && strcmp(argv[1], "--json") == 0)
    return list_json();
  char heading[256] = "";
  if (argc > 1 && !ids && !all)
    return no_option(argv[0], argv[1]);
  if (!ids)
    pager_take_stdout();
  for (int i = 0; i < exercise_count(); i++) {
    const Exercise *e = exercise_at(i);
    if (ids)
      printf("%s\n", e->id);
    if (ids || !(all || course_has(e)))
      continue;
    char title_of[256];
    group_title(e, title_of, sizeof title_of);
    if (strcmp(title_of, heading) != 0) {
      printf("%s%s%s%s\n", *heading ? "\n" : "", style(BOLD), title_of, style(PLAIN));
      memcpy(heading, title_of, sizeof heading);
    }
    list_one(e);
  }
  if (ids)
    return EXIT_PASS;
  printf(_("\n* essential   ✓ passed   > next   ★ stars   GPU: passed on NVIDIA hardware\n"));
  if (!all && strcmp(course_track(&title), "all") != 0)
    printf(_("These are the exercises of the track \"%s\". ./ferry list --all shows every one.\n"), title);
  progress_bar();
  return EXIT_PASS;
}

// ---- start, reset, edit ------------------------------------------------------------------------------------------------

static void say_editor(const char *folder) {
  char *text;
  if (asprintf(&text,
               _("For VS Code, open the folder %s. To step through kernels there, link Ferry's extension once: "
                 "docs/editors.md.\n"),
               folder) < 0)
    return;
  term_wrap(stdout, text, 0);
  printf("\n");
  free(text);
}

int cmd_start(int argc, char **argv) {
  char folder[4096];
  if (argc > 2)
    return usage_error(argv[0], "it takes a track, or nothing");
  const bool exists = work_exists();
  const int copied = work_start(), settings = copied < 0 ? -1 : work_add_editor_files();
  if (settings < 0)
    return EXIT_GRADER;
  if (argc == 2 && !course_start(argv[1]))
    return usage_error(argv[0], "there is no track \"%s\": %s", argv[1], course_tracks());
  work_path(folder, sizeof folder, "%s", "");
  if (copied > 0)
    printf(exists ? _("Added %d exercises to %s; your files are unchanged\n\n") : _("Copied %d exercises to %s\n\n"),
           copied, folder);
  if (settings > 0)
    say_editor(folder);
  if (argc == 1 && !exists)
    printf(_("For a part of the course, ./ferry start TRACK: %s.\n\n"), course_tracks());
  return cmd_next(1, argv);
}

int cmd_reset(int argc, char **argv) {
  const Exercise *e = argc == 2 ? exercise_named(argv[0], argv[1]) : NULL;
  if (argc != 2)
    return usage_error(argv[0], "which exercise? ./ferry reset EX");
  if (!e)
    return EXIT_USAGE;
  char file[4096], aside[4200], stamp[32];
  time_t now = time(NULL);
  work_file(e, file, sizeof file);
  strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime(&now));
  snprintf(aside, sizeof aside, "%s.%s", file, stamp);
  if (access(file, F_OK) == 0 && rename(file, aside) != 0) {
    perror(file);
    return EXIT_GRADER;
  }
  if (work_start() < 0)
    return EXIT_GRADER;
  Progress p = progress_of(e);
  p.passed = p.on_gpu = false;
  p.stars = 0;
  progress_set(e, p);
  printf(_("%s is the original file again. Your version is kept as %s\n"), file, aside);
  return EXIT_PASS;
}

int cmd_edit(int argc, char **argv) {
  const char *given = NULL;
  if (!editor_take_option(&argc, argv, &given))
    return EXIT_USAGE;
  if (argc > 2)
    return usage_error(argv[0], "one exercise at a time");
  if (argc == 2 && argv[1][0] == '-')
    return no_option(argv[0], argv[1]);
  const Exercise *e = argc == 2 ? exercise_named(argv[0], argv[1]) : progress_current();
  if (!e)
    return EXIT_USAGE;
  char file[4096];
  const char *command = editor_command(given);
  if (!command)
    return usage_error(argv[0], "set EDITOR to your editor first, as in export EDITOR=vim, or name it: --edit-cmd CMD");
  if (!work_exists() && work_start() < 0)
    return EXIT_GRADER;
  work_file(e, file, sizeof file);
  course_go_to(e);
  editor_become(command, file);
  return EXIT_GRADER;
}

// ---- hint ----------------------------------------------------------------------------------------------------------------

int cmd_hint(int argc, char **argv) {
  const Exercise *e = argc == 2 ? exercise_named(argv[0], argv[1]) : progress_current();
  if (argc > 2)
    return usage_error(argv[0], "one exercise at a time");
  if (!e)
    return EXIT_USAGE;
  int all = 0;
  while (all < MAX_HINTS && e->hints[all])
    all++;
  course_go_to(e);
  Progress p = progress_of(e);
  bool more = p.hints < all;
  p.hints += more;
  for (int i = 0; i < p.hints && i < all; i++) {
    printf("%s", style(BOLD));
    printf(_("%d of %d"), i + 1, all);
    printf("%s", style(PLAIN));
    term_paragraph(stdout, "  ", 8, _(e->hints[i]));
  }
  char lesson[256];
  lesson_command(e->lesson, lesson, sizeof lesson);
  printf(p.hints < all ? _("\nAsk again for the next one.\nThe lesson: %s\n")
                       : _("\nThat was the last one.\nThe lesson: %s\n"),
         lesson);
  if (more)
    progress_set(e, p);
  return EXIT_PASS;
}
