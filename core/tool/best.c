// SPDX-License-Identifier: MIT
// `./ferry best`, and the file of the workspace behind it: work/.best, a line for each answer that was faster than all earlier ones.
//
//   23_3_fast_transpose tries=9 try=7 when=1763812345 us=11.52 of=33.61 limit=device memory
//
// `of` is the time of what was handed out: where that is another now, the line is of another model, and counts for nothing.
#include "tool/commands.h"
#include "grader/score.h"
#include "tool/print/term.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_LINES = 512, LINE = 256 };
#define BEST ".best"

typedef struct Line {
  char id[64];
  int tries;
  double of;
  BestTry one;
} Line;

static bool read_line(const char *text, Line *l) {
  *l = (Line){0};
  double us;
  char limit[32] = "";
  if (sscanf(text, "%63s tries=%d try=%d when=%lld us=%lf of=%lf limit=%31[^\n]", l->id, &l->tries, &l->one.number,
             &l->one.when, &us, &l->of, limit) != 7)
    return false;
  l->one.score.seconds = us * 1e-6;
  snprintf(l->one.score.limit, sizeof l->one.score.limit, "%s", limit);
  return us > 0 && isfinite(us) && l->tries >= l->one.number && l->one.number > 0;
}

// The file's lines, as they are; what is none is left out, and damage. How many.
static int read_lines(char (*lines)[LINE], bool *damaged) {
  Line l;
  int count = 0;
  char *text = work_read(BEST, damaged);
  for (char *at = text; at && *at && count < MOST_LINES;) {
    size_t length = strcspn(at, "\n");
    snprintf(lines[count], LINE, "%.*s", length < LINE ? (int)length : 0, at);
    const bool is_one = read_line(lines[count], &l);
    count += is_one;
    *damaged |= !is_one;
    at += length + (at[length] == '\n');
  }
  free(text);
  return count;
}

static bool is_of(const Line *l, const Exercise *e, const Scored *s) {
  return strcmp(l->id, e->id) == 0 && fabs(l->of - 1e6 * s->naive) < 1e-3 * l->of;
}

Best best_of(const Exercise *e) {
  static char lines[MOST_LINES][LINE];
  const Scored *s = exercise_scored(e);
  Best b = {0};
  bool damaged;
  int count = s ? read_lines(lines, &damaged) : 0;
  for (int i = 0; i < count; i++) {
    Line l;
    if (!read_line(lines[i], &l) || !is_of(&l, e, s))
      continue;
    if (b.count == BEST_KEPT)
      memmove(b.kept, b.kept + 1, (size_t)--b.count * sizeof b.kept[0]);
    l.one.score.stars = score_stars_of(s, l.one.score.seconds);
    b.kept[b.count++] = l.one;
    b.tries = l.tries > b.tries ? l.tries : b.tries;
  }
  return b;
}

static size_t write_line(char *text, size_t room, const Exercise *e, const Best *b, int i) {
  const BestTry *t = &b->kept[i];
  int n = snprintf(text, room, "%s tries=%d try=%d when=%lld us=%.6g of=%.6g limit=%s\n", e->id, b->tries, t->number,
                   t->when, 1e6 * t->score.seconds, 1e6 * exercise_scored(e)->naive, t->score.limit);
  return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

static bool add_try(const Exercise *e, const Score *score, long long when) {
  static char lines[MOST_LINES][LINE], text[(MOST_LINES + BEST_KEPT) * LINE];
  char path[4096];
  const Scored *s = exercise_scored(e);
  if (!s || !(score->seconds > 0))
    return false;
  Best b = best_of(e);
  size_t used = 0;
  // As the file has it, in six digits: the same answer again is no better one.
  const bool better = b.count == 0 || score->seconds < b.kept[b.count - 1].score.seconds * (1 - 1e-5);
  b.tries++;
  if (better) {
    if (b.count == BEST_KEPT)
      memmove(b.kept, b.kept + 1, (size_t)--b.count * sizeof b.kept[0]);
    b.kept[b.count++] = (BestTry){b.tries, when, *score};
  }
  bool damaged;
  int count = read_lines(lines, &damaged);
  for (int i = 0; i < count; i++) {
    Line l;
    if (read_line(lines[i], &l) && !is_of(&l, e, s))
      used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", lines[i]);
  }
  for (int i = 0; i < b.count; i++)
    used += write_line(text + used, sizeof text - used, e, &b, i);
  if (damaged)
    work_set_aside(BEST);
  work_path(path, sizeof path, BEST);
  if (work_exists() && !file_write(path, text, used))
    fprintf(stderr, "ferry: the best times could not be written to %s: %s\n", path, file_problem());
  return better;
}

bool best_add(const Exercise *e, const Score *score, long long when) {
  const int lock = work_lock();
  const bool better = add_try(e, score, when);
  work_unlock(lock);
  return better;
}

// ---- the command -----------------------------------------------------------------------------------------------------------

static void print_row(const Scored *s, const char *what, const char *when, double seconds, const char *limit) {
  char time[32], stars[MAX_STARS + 1];
  score_time(time, sizeof time, seconds);
  score_stars(stars, sizeof stars, s, score_stars_of(s, seconds));
  printf("  %-10s %-16s %8s %6.2f  %-*s%s%s\n", what, when, time, s->naive / seconds, *limit ? 5 : 0, stars,
         *limit ? "  " : "", limit);
}

static void print_table(const Exercise *e) {
  const Scored *s = exercise_scored(e);
  const Best b = best_of(e);
  char title[256];
  snprintf(title, sizeof title, "%s on %s: modeled, not measured", s->size, score_gpu(s));
  printf("%s%s%s\n", style(BOLD), e->id, style(PLAIN));
  term_paragraph(stdout, "  ", 2, title);
  if (b.count == 0) {
    printf("  no answer has passed yet: ./ferry run %s\n\n", exercise_number(e));
    return;
  }
  printf("\n  %s%-10s %-16s %8s %6s  %-5s  %s%s\n", style(BOLD), "try", "when", "time", "faster", "stars", "limited by",
         style(PLAIN));
  for (int i = 0; i < b.count; i++) {
    const BestTry *t = &b.kept[i];
    char number[16], when[32];
    const time_t then = (time_t)t->when;
    struct tm local;
    snprintf(number, sizeof number, "%d", t->number);
    if (!localtime_r(&then, &local) || strftime(when, sizeof when, "%Y-%m-%d %H:%M", &local) == 0)
      snprintf(when, sizeof when, "-");
    printf("%s", style(i == b.count - 1 ? GREEN : PLAIN));
    print_row(s, number, when, t->score.seconds, t->score.limit);
    printf("%s", style(PLAIN));
  }
  print_row(s, "reference", "", s->reference, "");
  print_row(s, "original", "", s->naive, "");
  printf("  %d %s passed; a row for each that was faster than all earlier ones\n\n", b.tries,
         b.tries == 1 ? "try has" : "tries have");
}

int cmd_best(int argc, char **argv) {
  const Exercise *e = argc == 2 ? exercise_named(argv[0], argv[1]) : NULL;
  if (argc > 2)
    return usage_error(argv[0], "one exercise at a time");
  if (argc == 2 && argv[1][0] == '-')
    return no_option(argv[0], argv[1]);
  if (argc == 2 && !e)
    return EXIT_USAGE;
  if (e && !exercise_scored(e))
    return usage_error(
        argv[0], "%s is not a performance challenge, so it has no best time. ./ferry best lists the challenges", e->id);
  for (int i = 0; i < exercise_count(); i++)
    if (exercise_scored(exercise_at(i)) && (!e || e == exercise_at(i)))
      print_table(exercise_at(i));
  return EXIT_PASS;
}
