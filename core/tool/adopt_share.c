// SPDX-License-Identifier: MIT
// How much of a training step runs on adopted kernels: core/adopt/step.c, on a device that models an A100. The numbers of each day
// are a line of work/.adopted/history: "2026-11-29 kernels=3 launches=17/68 us=107.1/322.0", of the first network.
#include "tool/adopt.h"
#include "tool/print/term.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HISTORY ".adopted/history"
#define MODELED "A100"
enum { BAR = 40, MOST_DAYS = 400, SHOWN_DAYS = 30, LINE = 128 };

static const struct { const char *name, *title; } networks[] = {{"cnn", "CNN of lesson 9"}, {"mlp", "MLP of lesson 5"}};
enum { NETWORKS = sizeof networks / sizeof *networks };

typedef struct Share {
  long long own, launches;
  double own_seconds, seconds;
} Share;

static double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

static bool read_share(const char *text, const char *network, Share *s) {
  for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    char name[32];
    if (sscanf(line, "share %31s %lld %lld %lf %lf", name, &s->own, &s->launches, &s->own_seconds, &s->seconds) == 5 &&
        strcmp(name, network) == 0)
      return true;
  }
  return false;
}

static void print_bar(double part) {
  const int full = (int)lround(part * BAR);
  printf("%s", style(GREEN));
  for (int i = 0; i < BAR; i++)
    printf("%s%s", i == full ? style(PLAIN) : "", i < full ? "█" : "·");
  printf("%s %3.0f %%", style(PLAIN), 100 * part);
}

// ---- the history ------------------------------------------------------------------------------------------------------------------------

typedef struct Day {
  char date[16];
  int kernels;
  Share share;
} Day;

static bool read_day(const char *line, Day *d) {
  *d = (Day){0};
  if (sscanf(line, "%15s kernels=%d launches=%lld/%lld us=%lf/%lf", d->date, &d->kernels, &d->share.own,
             &d->share.launches, &d->share.own_seconds, &d->share.seconds) != 6)
    return false;
  return d->share.launches > 0 && d->share.own >= 0 && d->share.own <= d->share.launches && d->share.seconds > 0 &&
         d->share.own_seconds >= 0 && d->share.own_seconds <= d->share.seconds;
}

// Oldest first, at most `most`: the latest of them. How many.
static int read_days(Day *days, int most, bool *damaged) {
  char *text = work_read(HISTORY, damaged), *rest = text;
  int count = 0;
  for (char *line; text && (line = strsep(&rest, "\n"));) {
    Day d;
    if (!*line)
      continue;
    if (!read_day(line, &d)) {
      *damaged = true;
      continue;
    }
    if (count == most)
      memmove(days, days + 1, (size_t)--count * sizeof *days);
    days[count++] = d;
  }
  free(text);
  return count;
}

static void keep_day(int kernels, const Share *s) {
  static Day days[MOST_DAYS];
  static char text[MOST_DAYS * LINE];
  char path[4096];
  bool damaged;
  const time_t now = time(NULL);
  struct tm local;
  Day today = {.kernels = kernels, .share = *s};
  const int lock = work_lock();
  int count = read_days(days, MOST_DAYS - 1, &damaged);
  if (damaged)
    work_set_aside(HISTORY);
  today.share.own_seconds *= 1e6;
  today.share.seconds *= 1e6;
  if (localtime_r(&now, &local) && strftime(today.date, sizeof today.date, "%Y-%m-%d", &local) > 0) {
    if (count > 0 && strcmp(days[count - 1].date, today.date) == 0)
      count--;
    days[count++] = today;
  }
  size_t used = 0;
  for (int i = 0; i < count && used < sizeof text - LINE; i++)
    used += (size_t)snprintf(text + used, LINE, "%.15s kernels=%d launches=%lld/%lld us=%.6g/%.6g\n", days[i].date,
                             days[i].kernels, days[i].share.own, days[i].share.launches, days[i].share.own_seconds,
                             days[i].share.seconds);
  work_path(path, sizeof path, HISTORY);
  if (!file_write(path, text, used))
    fprintf(stderr, "ferry adopt: the history could not be written to %s: %s\n", path, file_problem());
  work_unlock(lock);
}

static void print_history(void) {
  static Day days[SHOWN_DAYS];
  bool damaged;
  const int count = read_days(days, SHOWN_DAYS, &damaged);
  if (count == 0)
    return;
  printf("\n  %sShare of the CNN's modeled time, by day%s\n", style(BOLD), style(PLAIN));
  for (int i = 0; i < count; i++) {
    printf("  %s  ", days[i].date);
    print_bar(ratio(days[i].share.own_seconds, days[i].share.seconds));
    printf("  %d %s\n", days[i].kernels, days[i].kernels == 1 ? "answer" : "answers");
  }
}

// ---- the report --------------------------------------------------------------------------------------------------------------------------

// The ops of a network's step that take the most modeled time on the library's kernels.
static void print_rest(const char *text, const char *network, double seconds) {
  char names[3][64] = {"", "", ""};
  double parts[3] = {0};
  for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    char name[32], op[64];
    long long own, calls;
    double of_op;
    if (sscanf(line, "op %31s %63s %lld %lld %lf", name, op, &own, &calls, &of_op) != 5 || strcmp(name, network) != 0)
      continue;
    const double part = ratio(of_op * (double)(calls - own), seconds * (double)calls);
    for (int i = 0; i < 3; i++)
      if (part > parts[i]) {
        for (int k = 2; k > i; k--) {
          parts[k] = parts[k - 1];
          memcpy(names[k], names[k - 1], sizeof names[k]);
        }
        parts[i] = part;
        snprintf(names[i], sizeof names[i], "%s", op);
        break;
      }
  }
  char rest[300] = "";
  for (int i = 0; i < 3 && parts[i] > 0; i++)
    snprintf(rest + strlen(rest), sizeof rest - strlen(rest), "%s%s %.0f %%", i ? ", " : "", names[i], 100 * parts[i]);
  if (*rest) {
    char line[400];
    snprintf(line, sizeof line, "most of the rest: %s", rest);
    term_paragraph(stdout, "    ", 4, line);
  }
}

static void print_report(const char *text, bool in_full) {
  printf("\n  %sA training step and its evaluation on your own kernels%s (batch of 16)\n", style(BOLD), style(PLAIN));
  for (int i = 0; i < NETWORKS; i++) {
    Share s;
    if (!read_share(text, networks[i].name, &s))
      continue;
    printf("  %s\n    launches  ", networks[i].title);
    print_bar(ratio((double)s.own, (double)s.launches));
    printf("  %lld of %lld\n    time      ", s.own, s.launches);
    print_bar(ratio(s.own_seconds, s.seconds));
    printf("\n");
    if (in_full)
      print_rest(text, networks[i].name, s.seconds);
  }
  term_paragraph(stdout, "  ", 2,
                 "time: modeled for an " MODELED
                 " from each op's bytes and operations, whichever kernel computes it; not measured");
}

int adopt_share(const AdoptedList *list, bool in_full) {
  char folder[256], program[300];
  static const char *const none[] = {NULL}, *const settings[] = {"FERRY_SIM_GPU=a100", "FERRY_SIM_DEVICES=1", NULL};
  Share first;
  if (!sandbox_folder_own(folder, sizeof folder)) {
    fprintf(stderr, "ferry adopt: a temporary folder could not be made\n");
    return EXIT_GRADER;
  }
  snprintf(program, sizeof program, "%s/step", folder);
  int status = adopt_link_program(ADOPT_STEP, list, NULL, NULL, program) ? EXIT_PASS : EXIT_GRADER;
  if (status == EXIT_PASS) {
    SandboxResult r = adopt_run(program, none, settings, NULL);
    if (r.end == SANDBOX_EXITED && r.status == 0 && r.output && read_share(r.output, networks[0].name, &first)) {
      keep_day(list->count, &first);
      print_report(r.output, in_full);
      if (in_full)
        print_history();
    } else {
      fprintf(stderr, "ferry adopt: the training steps could not run: %s\n", r.output ? r.output : "");
      status = EXIT_GRADER;
    }
    sandbox_result_free(&r);
  }
  sandbox_folder_remove(folder);
  return status;
}
