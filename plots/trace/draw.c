// SPDX-License-Identifier: MIT
// The picture: files of boxes, lines and texts in pixels, which gnuplot draws (../trace.gp). Nothing of the trace gets into
// gnuplot's commands: its texts are data.
#include "trace.h"
#include "base/atomic_file.h"
#include "base/error.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// As trace.gp tells them apart.
typedef enum TextStyle { TITLE, FAINT, PROCESS, SIMULATED, ROW_NAME, IN_A_BOX, TICK, KEY } TextStyle;

typedef struct Drawing {
  FyObject object;
  char folder[256];
  FILE *boxes, *lines, *texts;
} Drawing;

// ---- a folder for gnuplot ----------------------------------------------------------------------------------------------

static const char *const files[] = {"boxes", "lines", "texts", "picture", "said"};

static void destroy(void *object) {
  Drawing *d = object;
  FILE *const open[] = {d->boxes, d->lines, d->texts};
  for (int i = 0; i < 3; i++)
    if (open[i])
      fclose(open[i]);
  for (size_t i = 0; *d->folder && i < sizeof files / sizeof *files; i++) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", d->folder, files[i]);
    unlink(path);
  }
  if (*d->folder)
    rmdir(d->folder);
  free(d);
}

static FILE *open_in(const Drawing *d, const char *name, const char *mode) {
  char path[300];
  snprintf(path, sizeof path, "%s/%s", d->folder, name);
  FILE *file = fopen(path, mode);
  fy_check(file, FY_OS_ERROR, "%s: cannot be opened: %s", path, strerror(errno));
  return file;
}

static Drawing *begin_drawing(void) {
  Drawing *d = fy_object_new(sizeof *d, destroy);
  const char *place = getenv("TMPDIR");
  char folder[sizeof d->folder];
  int n = snprintf(folder, sizeof folder, "%s/ferry-timeline-XXXXXX", place && *place ? place : "/tmp");
  fy_check(n < (int)sizeof folder && mkdtemp(folder), FY_OS_ERROR,
           "no folder for temporary files can be made in %s: %s", place && *place ? place : "/tmp", strerror(errno));
  memcpy(d->folder, folder, sizeof folder);
  d->boxes = open_in(d, "boxes", "w");
  d->lines = open_in(d, "lines", "w");
  d->texts = open_in(d, "texts", "w");
  return d;
}

// ---- texts -------------------------------------------------------------------------------------------------------------

static const double CHARACTER = 6.6; // pixels of a mean character of the small font

// Bytes of the first `count` characters of UTF-8, or of all; how many there were.
static size_t characters(const char *text, size_t most, size_t *bytes) {
  size_t count = 0, at = 0;
  for (; text[at] && count < most; count++)
    for (at++; ((unsigned char)text[at] >> 6) == 2;)
      at++;
  *bytes = at;
  return count;
}

// Fit for a line of data and for XML: no tabs, quotes, backslashes or control characters, nor U+FFFE and U+FFFF.
static void put_plain(FILE *file, const char *text, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) {
    const unsigned char *c = (const unsigned char *)text + i;
    if (bytes - i >= 3 && c[0] == 0xef && c[1] == 0xbf && c[2] >= 0xbe) {
      i += 2;
      continue;
    }
    fputc(*c < 0x20 || *c == 0x7f ? ' ' : *c == '"' ? '\'' : *c == '\\' ? '/' : *c, file);
  }
}

// With its end cut off where it is wider than `width` pixels; nothing where hardly a letter would be left.
static void put_text(const Drawing *d, TextStyle style, double x, double y, double width, const char *text) {
  size_t bytes, fit = (size_t)fmax(width / CHARACTER, 0);
  bool cut = characters(text, fit + 1, &bytes) > fit;
  if (!*text || (cut && fit < 4))
    return;
  if (cut)
    characters(text, fit - 1, &bytes);
  fprintf(d->texts, "%.1f\t%.1f\t%d\t", x, y, style);
  put_plain(d->texts, text, bytes);
  fputs(cut ? "…\n" : "\n", d->texts);
}

static void put_line(const Drawing *d, double x1, double y1, double x2, double y2) {
  fprintf(d->lines, "%.1f\t%.1f\t%.1f\t%.1f\n", x1, y1, x2 - x1, y2 - y1);
}

static void put_box(const Drawing *d, double left, double top, double right, double bottom, Kind kind) {
  fprintf(d->boxes, "%.1f\t%.1f\t%.1f\t%.1f\t%d\n", left, right, top, bottom, kind + 1);
}

// ---- parts of the picture ----------------------------------------------------------------------------------------------

static void put_boxes(const Drawing *d, const Layout *layout) {
  for (size_t i = 0; i < layout->box_count; i++) {
    const Box *box = &layout->boxes[i];
    double gap = box->right - box->left > 2.5 ? 0.6 : 0;
    put_box(d, box->left, box->top, box->right - gap, box->bottom, box->kind);
    if (!box->merged)
      put_text(d, IN_A_BOX, box->left + 3, (box->top + box->bottom) / 2, box->right - box->left - 5, box->name);
  }
}

static void put_labels(const Drawing *d, const Layout *layout) {
  for (int i = 0; i < layout->label_count; i++) {
    const Label *label = &layout->labels[i];
    const Row *row = label->row;
    char text[512];
    if (label->heading) {
      snprintf(text, sizeof text, "%s%s%s%s", row->heading ? row->heading : "a process", row->labels ? ", " : "",
               row->labels ? row->labels : "",
               row->simulated && !(row->heading && strstr(row->heading, "simulated")) ? " (simulated)" : "");
      put_text(d, row->simulated ? SIMULATED : PROCESS, 12, label->y, layout->width - 24, text);
      put_line(d, 12, label->y - 11, layout->plot_right, label->y - 11);
    } else {
      char name[256];
      snprintf(name, sizeof name, "%s", row->name ? row->name : "");
      char *repeated = strstr(name, " (simulated)"); // the heading says so
      if (repeated)
        *repeated = '\0';
      if (!row->name && row->thread.text)
        snprintf(name, sizeof name, "%s", row->thread.text);
      else if (!row->name)
        snprintf(name, sizeof name, "thread %.0f", row->thread.number);
      put_text(d, ROW_NAME, 24, label->y, layout->plot_left - 30, name);
    }
  }
}

static double step_of(double span) {
  double power = pow(10, floor(log10(span)));
  return span / power >= 5 ? power : span / power >= 2 ? power / 2 : power / 5;
}

static void put_axis(const Drawing *d, const Layout *layout) {
  double span = layout->to - layout->from, step = step_of(span);
  bool micro = span < 1;
  double y = layout->plot_bottom + 12, pixels = (layout->plot_right - layout->plot_left) / span;
  for (double i = ceil(layout->from / step - 1e-9) + 0.0; i * step <= layout->to + 1e-9 * span; i++) {
    double x = layout->plot_left + (i * step - layout->from) * pixels;
    char text[64];
    snprintf(text, sizeof text, "%.6g %s", (micro ? i * step * 1000 : i * step) + 0.0, micro ? "µs" : "ms");
    put_line(d, x, layout->plot_top, x, layout->plot_bottom + 3);
    put_text(d, TICK, x, y, 200, text);
  }
}

static void put_key(const Drawing *d, const Layout *layout) {
  static const char *const names[KINDS] = {"op",   "kernel",       "copy", "range of the program",
                                           "wait", "CUDA runtime", "other"};
  double x = layout->plot_left, y = layout->height - 42;
  for (int kind = 0; kind < KINDS; kind++) {
    if (!layout->kinds[kind])
      continue;
    put_box(d, x, y - 5, x + 10, y + 5, kind);
    put_text(d, KEY, x + 15, y, 200, names[kind]);
    x += 30 + CHARACTER * 1.02 * (double)strlen(names[kind]);
  }
}

static void put_titles(const Drawing *d, const Trace *trace, const Layout *layout, const char *title) {
  char text[512];
  put_text(d, TITLE, 12, 24, (layout->width - 24) / 1.8, title);
  snprintf(text, sizeof text, "%zu of %zu ranges, %.4g ms from %.4g ms on%s%s", layout->shown, trace->count,
           layout->to - layout->from, layout->from,
           layout->merged ? "; those narrower than a pixel are drawn as one" : "",
           layout->deeper ? "; deeper ones are left out" : "");
  put_text(d, FAINT, 12, 47, layout->width - 24, text);
  if (trace->simulated)
    put_text(
        d, SIMULATED, 12, layout->height - 16, layout->width - 24,
        "Simulated device: a CPU did its work. The picture shows what follows and waits for what, not how fast a GPU "
        "is.");
  else
    put_text(d, FAINT, 12, layout->height - 16, layout->width - 24, "Times as the trace reports them.");
}

// ---- gnuplot -----------------------------------------------------------------------------------------------------------

static void close_all(Drawing *d) {
  FILE *const open[] = {d->boxes, d->lines, d->texts};
  bool whole = true;
  d->boxes = d->lines = d->texts = NULL;
  for (int i = 0; i < 3; i++) {
    bool failed = ferror(open[i]);
    whole = fclose(open[i]) == 0 && !failed && whole;
  }
  fy_check(whole, FY_OS_ERROR, "%s: a temporary file cannot be written: %s", d->folder, strerror(errno));
}

// In the folder, so that no path has to be quoted for it. What it says goes to a file.
static int run_gnuplot(const Drawing *d, const Layout *layout, const Output *output) {
  char script[4096], width[16], height[16];
  snprintf(script, sizeof script, "%s/trace.gp", output->scripts);
  snprintf(width, sizeof width, "%d", layout->width);
  snprintf(height, sizeof height, "%d", layout->height);
  const char *argv[] = {"gnuplot", "-c", script, output->scripts, output->format, output->theme, width, height, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, d->folder);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "said", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child;
  int failed = posix_spawnp(&child, "gnuplot", &actions, NULL, (char *const *)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  fy_check(failed != ENOENT, FY_OS_ERROR,
           "gnuplot, which draws the pictures, is not installed (Debian: apt-get install gnuplot-nox)");
  fy_check(!failed, FY_OS_ERROR, "gnuplot cannot be started: %s", strerror(failed));
  int status;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return status;
}

static _Noreturn void raise_what_it_said(const Drawing *d) {
  char said[600];
  FILE *file = open_in(d, "said", "r");
  size_t n = fread(said, 1, sizeof said - 1, file);
  fclose(file);
  said[n] = '\0';
  fy_raise(FY_OS_ERROR, "gnuplot could not draw the picture: %s", said);
}

static void copy_picture(const Drawing *d, const char *path) {
  char bytes[1 << 14];
  FyAtomicFile *to = fy_atomic_file_open(path);
  FILE *from = open_in(d, "picture", "r");
  for (size_t n; (n = fread(bytes, 1, sizeof bytes, from)) > 0;)
    fy_atomic_file_write(to, bytes, n);
  fclose(from);
  fy_atomic_file_commit(to);
}

void draw(const Trace *trace, const Layout *layout, const Output *output) {
  fy_scope {
    Drawing *d = begin_drawing();
    put_titles(d, trace, layout, output->title);
    put_axis(d, layout);
    put_labels(d, layout);
    put_boxes(d, layout);
    put_key(d, layout);
    close_all(d);
    if (run_gnuplot(d, layout, output) != 0)
      raise_what_it_said(d);
    copy_picture(d, output->path);
  }
}
