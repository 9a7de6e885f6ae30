#include "common.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// ---- colors: on a terminal only, and never against NO_COLOR --------------------------------------------------------

static const char BOLD[] = "\033[1m", RED[] = "\033[31m", PLAIN[] = "\033[0m";

static const char *color(const char *code) {
  const char *no_color = getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) && !(no_color && *no_color) ? code : "";
}

// ---- arguments ------------------------------------------------------------------------------------------------------

static const char *program;

static void print_options(int count, const ChapterOption *options) {
  for (int i = 0; i < count; i++) {
    const char *value = options[i].value ? options[i].value : "";
    printf("  %s %-*s %s\n", options[i].name, (int)(27 - strlen(options[i].name)), value, options[i].help);
  }
}

static void print_help(const char *title, const char *about, int count, const ChapterOption *options) {
  printf("%s\n%s\n\n"
         "usage: %s [--device cpu|cuda|cuda:N] [--quick] [--help]%s\n"
         "  --device D  where the lesson runs; without it, on cuda where there is one, else on the CPU\n"
         "  --quick     small sizes: done in a moment\n"
         "  --help      this text\n",
         title, about, program, count ? " [OPTION...]" : "");
  if (count) {
    printf("options of this chapter:\n");
    print_options(count, options);
  }
  printf("\nenvironment:\n"
         "  FERRY_CUDA=real|sim|off  which CUDA: a GPU, simulated devices, none (without it: a GPU if there is one)\n"
         "  FERRY_SIM_DEVICES=N      how many devices to simulate (2)\n"
         "  FERRY_SIM_GPU=NAME       the GPU that they play, with modeled times (list: which there are)\n"
         "  NO_COLOR=1               no colors on a terminal\n");
}

void refuse(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s: ", program);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\ntry %s --help\n", program);
  va_end(arguments);
  exit(2);
}

static FyDevice device_named(const char *name) {
  FyError error;
  volatile FyDevice device = FY_CPU_DEVICE;
  fy_trap(error) {
    FyDevice parsed = fy_device(name);
    device.type = parsed.type;
    device.index = parsed.index;
  }
  if (error.kind) {
    refuse("--device %s: %s", name, error.message);
  }
  return (FyDevice){device.type, device.index};
}

// The named device with its index filled in, or the end of the program when it is not there.
static FyDevice usable_device(const char *name) {
  FyDevice device = device_named(name);
  if (device.type == FY_MPS) {
    refuse("--device %s: mps is Apple's GPU, and this build has no backend for it; take cpu or cuda", name);
  }
  if (device.type == FY_CUDA) {
    int count = fy_cuda_device_count();
    if (count == 0) {
      refuse("--device %s: there is no CUDA device (%s); take --device cpu", name, fy_cuda_description());
    }
    if (device.index >= count) {
      refuse("--device %s: there %s %d CUDA device%s, numbered from 0", name, count == 1 ? "is" : "are", count,
             count == 1 ? "" : "s");
    }
    if (device.index < 0) {
      device.index = (int16_t)fy_cuda_current_device();
    }
  }
  return device;
}

static void processor_name(char *out, size_t size) {
  snprintf(out, size, "the CPU");
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[256];
  while (file && fgets(line, sizeof line, file)) {
    char *value = strchr(line, ':');
    if (value && strncmp(line, "model name", 10) == 0) {
      value[strcspn(value, "\n")] = 0;
      snprintf(out, size, "%s", value + 2);
      break;
    }
  }
  if (file) {
    fclose(file);
  }
}

static void print_device_line(const Chapter *chapter) {
  const char *name = fy_device_name_of(chapter->device);
  if (chapter->device.type == FY_CUDA) {
    printf("device: %s, %s, %s\n", name, fy_cuda_get_device_name(chapter->device.index),
           chapter->modeled     ? fy_cuda_model()
           : chapter->simulated ? "simulated: its times say nothing about a GPU"
                                : "a real GPU");
    return;
  }
  char processor[256];
  processor_name(processor, sizeof processor);
  printf("device: %s, %s, not simulated%s%s\n", name, processor, fy_cuda_is_available() ? "" : "; ",
         fy_cuda_is_available() ? "" : fy_cuda_description());
}

Chapter chapter_begin(int argc, char **argv, const char *title, const char *about) {
  return chapter_begin_with(argc, argv, title, about, 0, NULL);
}

static void check_number(const ChapterOption *option, const char *from) {
  char *end = NULL;
  bool whole = *option->value == 'N';
  double value = whole ? (double)strtoll(from, &end, 10) : strtod(from, &end);
  if (end == from || *end || !(value >= option->least && value <= option->most)) {
    refuse("%s %s: it needs a %s from %.10g to %.10g", option->name, from, whole ? "whole number" : "number",
           option->least, option->most);
  }
}

static void check_choice(const ChapterOption *option, const char *from) {
  size_t length = strlen(from);
  for (const char *choice = option->value; choice; choice = strchr(choice, '|')) {
    choice += *choice == '|';
    if (length == strcspn(choice, "|") && strncmp(choice, from, length) == 0) {
      return;
    }
  }
  refuse("%s %s: it is one of %s", option->name, from, option->value);
}

static void set_option(const ChapterOption *option, const char *from) {
  if (option->value && strlen(option->value) == 1) {
    check_number(option, from);
  } else if (option->value && strchr(option->value, '|')) {
    check_choice(option, from);
  }
  *option->text = from;
}

// Takes argv[i] if it is one of the options ("--lr 0.1" or "--lr=0.1"), and returns how many arguments that were.
static int take_option(int argc, char **argv, int i, int count, const ChapterOption *options) {
  for (int k = 0; k < count; k++) {
    size_t length = strlen(options[k].name);
    if (strncmp(argv[i], options[k].name, length) != 0) {
      continue;
    }
    if (argv[i][length] == '=' && options[k].value) {
      set_option(&options[k], argv[i] + length + 1);
      return 1;
    }
    if (argv[i][length]) {
      continue;
    }
    if (!options[k].value) {
      set_option(&options[k], argv[i]);
      return 1;
    }
    if (i + 1 == argc) {
      refuse("%s needs %s after it: %s", options[k].name, options[k].value, options[k].help);
    }
    set_option(&options[k], argv[i + 1]);
    return 2;
  }
  return 0;
}

Chapter chapter_begin_with(int argc, char **argv, const char *title, const char *about, int count,
                           const ChapterOption *options) {
  program = argv[0];
  const char *device = NULL;
  Chapter chapter = {.quick = false};
  for (int i = 1, taken = 0; i < argc; i++) {
    if ((taken = take_option(argc, argv, i, count, options)) > 0) {
      i += taken - 1;
    } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      print_help(title, about, count, options);
      exit(0);
    } else if (strcmp(argv[i], "--quick") == 0) {
      chapter.quick = true;
    } else if (strncmp(argv[i], "--device=", 9) == 0) {
      device = argv[i] + 9;
    } else if (strcmp(argv[i], "--device") == 0) {
      if (i + 1 == argc) {
        refuse("--device needs a device after it: cpu, cuda or cuda:N");
      }
      device = argv[++i];
    } else {
      refuse("unknown argument %s", argv[i]);
    }
  }
  chapter.device = usable_device(device ? device : fy_cuda_is_available() ? "cuda" : "cpu");
  chapter.simulated = chapter.device.type == FY_CUDA && fy_cuda_is_simulated();
  chapter.modeled = chapter.simulated && fy_cuda_model();
  chapter.gpu = chapter.device.type == FY_CUDA && !chapter.simulated;
  if (chapter.device.type == FY_CUDA) {
    fy_cuda_set_device(chapter.device.index);
  }
  fy_manual_seed(0);
  print_device_line(&chapter);
  printf("\n%s%s%s\n", color(BOLD), title, color(PLAIN));
  return chapter;
}

// ---- what a lesson prints -------------------------------------------------------------------------------------------

void heading(const char *title) {
  static int number;
  printf("\n%s%d. %s%s\n\n", color(BOLD), ++number, title, color(PLAIN));
  fflush(stdout);
}

int64_t size_for(const Chapter *chapter, int64_t quick, int64_t usual, int64_t gpu) {
  return chapter->quick ? quick : chapter->gpu ? gpu : usual;
}

const char *truth(bool value) {
  return value ? "True" : "False";
}

void show_error(const FyError *error) {
  if (error->kind) {
    printf("%s%s%s: %s\n", color(RED), fy_error_name(error->kind), color(PLAIN), error->message);
  } else {
    printf("no error: here nothing is wrong with that\n");
  }
}

// ---- time -----------------------------------------------------------------------------------------------------------

double seconds_now(FyDevice device) {
  return fy_device_seconds(device);
}

Stopwatch stopwatch_start(FyDevice device) {
  fy_synchronize(device);
  return (Stopwatch){device, seconds_now(device), true};
}

double stopwatch_stop(Stopwatch *stopwatch) {
  fy_synchronize(stopwatch->device);
  stopwatch->running = false;
  return seconds_now(stopwatch->device) - stopwatch->start;
}

static int by_size(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

Seconds seconds_of(FyDevice device, int repeats, void (*work)(void *context), void *context) {
  double seconds[32] = {0};
  int runs = repeats < 32 ? repeats : 31;
  for (int i = -1; i < runs; i++) {
    double elapsed = 0;
    fy_scope {
      timed(elapsed, device) {
        work(context);
      }
    }
    if (i >= 0) { // run -1 was the warm-up
      seconds[i] = elapsed;
    }
  }
  qsort(seconds, (size_t)runs, sizeof *seconds, by_size);
  return (Seconds){.median = seconds[runs / 2], .best = seconds[0]};
}

// ---- text -----------------------------------------------------------------------------------------------------------

enum { TEXTS = 8, TEXT_SIZE = 160 };

static char *next_text(void) {
  static char buffers[TEXTS][TEXT_SIZE];
  static int next;
  return buffers[next++ % TEXTS];
}

const char *text(const char *format, ...) {
  char *out = next_text();
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(out, TEXT_SIZE, format, arguments);
  va_end(arguments);
  return out;
}

static const char *labeled(double seconds, const char *label) {
  if (seconds < 1e-3) {
    return text("%.1f us%s", seconds * 1e6, label);
  }
  if (seconds < 1) {
    return text("%.2f ms%s", seconds * 1e3, label);
  }
  return text("%.2f s%s", seconds, label);
}

const char *host_time_text(FyDevice device, double seconds) {
  return labeled(seconds, device.type == FY_CUDA && fy_cuda_is_simulated() ? " (simulated)" : "");
}

const char *time_text(FyDevice device, double seconds) {
  return device.type == FY_CUDA && fy_cuda_model() ? labeled(seconds, " (modeled)") : host_time_text(device, seconds);
}

const char *bytes_text(double bytes) {
  static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
  int unit = 0;
  for (; bytes >= 1000 && unit < 4; unit++) {
    bytes /= 1000;
  }
  return text(unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

// ---- tables ---------------------------------------------------------------------------------------------------------

// Columns that the text takes on the screen: bytes that do not continue a UTF-8 character.
static int screen_width(const char *cell) {
  int width = 0;
  for (; *cell; cell++) {
    width += ((unsigned char)*cell & 0xC0) != 0x80;
  }
  return width;
}

static void print_cell(const char *cell, int width, bool left) {
  int gap = width - screen_width(cell);
  if (gap < 0) {
    gap = 0;
  }
  if (left) {
    printf("%s%*s", cell, gap, "");
  } else {
    printf("  %*s%s", gap, "", cell);
  }
}

Table table_begin_(int columns, const Column *column) {
  Table table = {.columns = columns < 8 ? columns : 8};
  memcpy(table.column, column, (size_t)table.columns * sizeof *column);
  int total = 0;
  for (int i = 0; i < table.columns; i++) {
    print_cell(column[i].title, column[i].width, i == 0);
    total += column[i].width + (i ? 2 : 0);
  }
  printf("\n");
  for (int i = 0; i < total; i++) {
    printf("-");
  }
  printf("\n");
  return table;
}

void table_row_(const Table *table, const char *const *cells) {
  int columns = table->columns;
  while (columns > 0 && !*cells[columns - 1]) { // empty cells at the end would be blanks at the end of the line
    columns--;
  }
  for (int i = 0; i < columns; i++) {
    print_cell(cells[i], table->column[i].width, i == 0);
  }
  printf("\n");
  fflush(stdout);
}
