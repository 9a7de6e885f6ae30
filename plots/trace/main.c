// SPDX-License-Identifier: MIT
// ./ferry timeline: a Chrome trace as a picture.
#include "trace.h"
#include "base/error.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char usage_text[] =
    "usage: ./ferry timeline TRACE -o FILE [options]\n"
    "\n"
    "Draws a Chrome trace: a row for each thread of the host and each stream of a device, ranges within ranges below "
    "each\n"
    "other. TRACE is what fy_export_chrome_trace wrote (chapter 14), or PyTorch's profiler; packed by gzip or not. "
    "FILE\n"
    "ends in .svg or .png.\n"
    "\n"
    "  --from MS, --to MS   this part: milliseconds since the first range of the trace\n"
    "  --rows WORD,...      only the threads and streams with one of these words in their name, or in that of\n"
    "                       their process or device: --rows main,stream\n"
    "  --depth N            at most N levels of ranges within ranges (6)\n"
    "  --width PIXELS       of the image: 400 to 4000 (960; a PNG has twice the pixels)\n"
    "  --theme light|dark   for a light or a dark page (light)\n"
    "  --title TEXT         instead of the file's name\n"
    "  --help               this text\n"
    "\n"
    "If a device was simulated, the image says so: its times are those of a CPU, not of a GPU.\n"
    "Exit status: 0 drawn, 1 not drawn (a message says why), 2 wrong command line.\n";

static _Noreturn void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
static _Noreturn void refuse(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "ferry timeline: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n(see ./ferry timeline --help)\n");
  va_end(arguments);
  exit(2);
}

static double number(const char *option, const char *text, double least, double most) {
  char *end;
  double value = strtod(text, &end);
  if (!*text || *end || !(value >= least && value <= most))
    refuse("%s %s: a number from %g to %g is needed", option, text, least, most);
  return value;
}

typedef struct Options {
  const char *trace;
  View view;
  Output output;
} Options;

static void take_option(Options *o, const char *option, const char *value) {
  if (strcmp(option, "-o") == 0 || strcmp(option, "--out") == 0)
    o->output.path = value;
  else if (strcmp(option, "--from") == 0)
    o->view.from = number(option, value, 0, 1e9);
  else if (strcmp(option, "--to") == 0)
    o->view.to = number(option, value, 0, 1e9);
  else if (strcmp(option, "--width") == 0)
    o->view.width = (int)number(option, value, 400, 4000);
  else if (strcmp(option, "--depth") == 0)
    o->view.depth = (int)number(option, value, 1, 100);
  else if (strcmp(option, "--rows") == 0)
    o->view.rows = value;
  else if (strcmp(option, "--title") == 0)
    o->output.title = value;
  else if (strcmp(option, "--theme") == 0)
    o->output.theme = value;
  else
    refuse("unknown option %s", option);
}

static Options read_options(int argc, char **argv) {
  Options o = {.view = {.to = INFINITY, .width = 960, .depth = 6},
               .output = {.theme = "light", .scripts = TRACE_SCRIPTS}};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      fputs(usage_text, stdout);
      exit(0);
    }
    if (argv[i][0] != '-') {
      if (o.trace)
        refuse("one trace at a time: %s or %s?", o.trace, argv[i]);
      o.trace = argv[i];
      continue;
    }
    if (i + 1 == argc)
      refuse("%s needs a value after it", argv[i]);
    take_option(&o, argv[i], argv[i + 1]);
    i++;
  }
  return o;
}

static void check_options(Options *o) {
  if (!o->trace)
    refuse("which trace?");
  if (!o->output.path)
    refuse("-o FILE: name the image");
  const char *end = strrchr(o->output.path, '.');
  if (!end || (strcmp(end, ".svg") != 0 && strcmp(end, ".png") != 0))
    refuse("-o %s: a picture's name ends in .svg or .png", o->output.path);
  o->output.format = end + 1;
  if (strcmp(o->output.theme, "light") != 0 && strcmp(o->output.theme, "dark") != 0)
    refuse("--theme %s: light or dark", o->output.theme);
  if (!(o->view.from < o->view.to))
    refuse("--from %g is not before --to %g", o->view.from, o->view.to);
  if (!o->output.title) {
    const char *slash = strrchr(o->trace, '/');
    o->output.title = slash ? slash + 1 : o->trace;
  }
}

int main(int argc, char **argv) {
  Options options = read_options(argc, argv);
  check_options(&options);
  FyError error;
  fy_trap(error) {
    Trace *trace = trace_read(options.trace);
    Layout *layout = lay_out(trace, &options.view);
    draw(trace, layout, &options.output);
    printf("%s: %zu ranges in %d rows\n", options.output.path, layout->shown, layout->row_count);
    if (trace->left_out)
      fprintf(stderr, "ferry timeline: %zu events are left out: only ranges with begin and duration are drawn\n",
              trace->left_out);
  }
  if (error.kind)
    fprintf(stderr, "ferry timeline: %s\n", error.message);
  return error.kind ? 1 : 0;
}
