// SPDX-License-Identifier: MIT
// `ferry milestones`: all of them, and a page that a learner can keep.
#include "tool/commands.h"
#include "tool/milestones.h"
#include "tool/print/term.h"
#include "tool/print/text.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

static void print_all(const Milestone all[MILESTONES]) {
  char day[32], line[512];
  for (const Milestone *m = all; m < all + MILESTONES; m++) {
    milestone_day(m, day, sizeof day);
    if (m->reached)
      printf("  %s✓ %-42s%s %-14s %s\n", style(GREEN), m->title, style(PLAIN), day, m->with);
  }
  for (const Milestone *m = all; m < all + MILESTONES; m++)
    if (!m->reached) {
      snprintf(line, sizeof line, "    %s: %s", m->title, m->how);
      term_wrap(stdout, line, 4);
    }
}

static const char page_begin[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Milestones in Ferry</title>\n<style>\n"
    "body { font: 1.05rem/1.5 system-ui, sans-serif; color: #1c2733; background: #fff; max-width: 40rem; margin: 3rem "
    "auto; padding: 0 1rem; }\n"
    "h1 { font-size: 1.9rem; margin: 0; } p { margin: .6rem 0; } ol { list-style: none; padding: 0; }\n"
    "li { border-top: 1px solid #c3cad1; padding: .7rem 0; } li b { display: block; }\n"
    ".open { color: #5a6570; } .name { font-size: 1.3rem; }\n"
    "@media print { body { margin: 0 auto; } }\n</style>\n<h1>Milestones in Ferry</h1>\n";

static void add_milestone(Text *t, const Milestone *m) {
  char day[32];
  milestone_day(m, day, sizeof day);
  text_add(t, "<li%s><b>%s ", m->reached ? "" : " class=\"open\"", m->reached ? "✓" : "○");
  text_xml(t, m->title);
  text_add(t, "</b>");
  text_xml(t, m->reached ? day : "not reached yet");
  if (m->reached && *m->with) {
    text_add(t, ", ");
    text_xml(t, m->with);
  }
  text_add(t, "</li>\n");
}

static int write_page(const Milestone all[MILESTONES], const char *path, const char *name) {
  Text t = {0};
  char day[32];
  const Milestone today = {.when = (long long)time(NULL)};
  int passed = 0;
  for (int i = 0; i < exercise_count(); i++)
    passed += progress_of(exercise_at(i)).passed;
  milestone_day(&today, day, sizeof day);
  text_add(&t, "%s", page_begin);
  if (name) {
    text_add(&t, "<p class=\"name\">");
    text_xml(&t, name);
    text_add(&t, "</p>\n");
  }
  text_add(
      &t,
      "<p>Ferry is a workbook for GPU programming in C. %d of its %d exercises are passed. Written on %s.</p>\n<ol>\n",
      passed, exercise_count(), day);
  for (int i = 0; i < MILESTONES; i++)
    add_milestone(&t, &all[i]);
  text_add(&t, "</ol>\n</html>\n");
  const bool written = file_write(path, t.at, t.used);
  text_free(&t);
  if (!written) {
    fprintf(stderr, "ferry milestones: %s cannot be written: %s\n", path, file_problem());
    return EXIT_GRADER;
  }
  if (!file_is_stream(path))
    printf("The page is %s. It needs no network; print it from your browser.\n", path);
  return EXIT_PASS;
}

int cmd_milestones(int argc, char **argv) {
  Milestone all[MILESTONES];
  const char *page = NULL, *name = NULL;
  for (int i = 1; i < argc; i++) {
    const char **value = strcmp(argv[i], "--page") == 0 ? &page : strcmp(argv[i], "--name") == 0 ? &name : NULL;
    if (!value && argv[i][0] == '-')
      return no_option(argv[0], argv[i]);
    if (!value)
      return usage_error(argv[0], "it takes no arguments but options; --page %s writes a page", argv[i]);
    if (i + 1 == argc || !*argv[i + 1])
      return usage_error(argv[0], "%s needs a value", argv[i]);
    *value = argv[++i];
  }
  if (name && !page)
    return usage_error(argv[0], "--name goes with --page FILE.html");
  file_claim_stdout(page);
  milestones_look(all, false);
  if (page)
    return write_page(all, page, name);
  print_all(all);
  return EXIT_PASS;
}
