// SPDX-License-Identifier: MIT
// A line of progress. What is printed fits the terminal's width, since a line that wraps cannot be redrawn.
#include "base/progress.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 24, TEXT = 256, LINE = 1024 };

static const double terminal_period = 0.1, plain_period = 10; // seconds between two lines

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

FyProgress fy_progress_begin(const char *label, int64_t total, const char *unit) {
  const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
  FyProgress p = {.label = label, .unit = unit, .total = total > 0 ? total : 0, .start = now()};
  bool dumb = !term || !*term || strcmp(term, "dumb") == 0;
  p.terminal = isatty(STDOUT_FILENO) && !dumb; // a dumb one cannot redraw a line
  p.color = p.terminal && !(no_color && *no_color);
  p.shown = p.start;
  return p;
}

void fy_progress_add(FyProgress *progress, int64_t units) {
  progress->done += units;
}

bool fy_progress_due(const FyProgress *progress) {
  return now() - progress->shown >= (progress->terminal ? terminal_period : plain_period);
}

double fy_progress_rate(const FyProgress *progress) {
  double seconds = now() - progress->start;
  return seconds > 0 ? (double)progress->done / seconds : 0;
}

// "0:07", "12:34", "1:02:03"
static void write_time(double seconds, char *out, size_t size) {
  long long s = seconds < 1e9 ? llround(seconds) : 999999999;
  if (s >= 3600)
    snprintf(out, size, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  else
    snprintf(out, size, "%lld:%02lld", s / 60, s % 60);
}

static void write_rate(double rate, char *out, size_t size) {
  if (rate >= 1e5)
    snprintf(out, size, "%.0fk", rate / 1e3);
  else
    snprintf(out, size, rate >= 100 ? "%.0f" : "%.3g", rate);
}

static double part_done(const FyProgress *p) {
  if (p->total == 0)
    return 1;
  double part = (double)p->done / (double)p->total;
  return part < 0 ? 0 : part > 1 ? 1 : part;
}

static int terminal_columns(void) {
  struct winsize size;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void draw_bar(const FyProgress *p, const char *text, const char *rate, const char *time) {
  char bar[BAR + 1], line[LINE];
  int full = (int)(part_done(p) * BAR);
  for (int i = 0; i < BAR; i++)
    bar[i] = i < full ? '=' : i == full ? '>' : ' ';
  bar[BAR] = '\0';
  int length = snprintf(line, sizeof line, "%s [%s] %3.0f %%  %s  %s %s/s  %s", p->label, bar, 100 * part_done(p), text,
                        rate, p->unit, time);
  int columns = terminal_columns() - 1;
  if (length > columns)
    line[columns < LINE ? columns : LINE - 1] = '\0';
  // The label in bold; "\033[K" clears what a longer line has left.
  int label = (int)strlen(p->label);
  if (p->color && label < (int)strlen(line))
    printf("\r\033[1m%.*s\033[0m%s\033[K", label, line, line + label);
  else
    printf("\r%s\033[K", line);
}

static void show(FyProgress *p, bool last, const char *format, va_list arguments) {
  char text[TEXT], rate_text[32], clock[32], time_text[48];
  double rate = fy_progress_rate(p), seconds = now() - p->start;
  double left = rate > 0 ? (double)(p->total - p->done) / rate : 0;
  vsnprintf(text, sizeof text, format, arguments);
  write_rate(rate, rate_text, sizeof rate_text);
  write_time(last ? seconds : left > 0 ? left : 0, clock, sizeof clock);
  snprintf(time_text, sizeof time_text, last ? "in %s" : "%s left", clock);
  if (p->terminal)
    draw_bar(p, text, rate_text, time_text);
  else
    printf("%s: %3.0f %%  %s  %s %s/s  %s\n", p->label, 100 * part_done(p), text, rate_text, p->unit, time_text);
  fflush(stdout);
  p->shown = now();
}

void fy_progress_show(FyProgress *progress, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  show(progress, false, format, arguments);
  va_end(arguments);
}

void fy_progress_end(FyProgress *progress, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  show(progress, true, format, arguments);
  va_end(arguments);
  if (progress->terminal)
    putchar('\n');
  fflush(stdout);
}
