// SPDX-License-Identifier: MIT
// ./ferry bench: chooses rows of the table, measures them one after the other, reports.
#include "bench.h"
#include "base/threads.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_NAMES = 64, MOST_SIZES = 32 };

typedef struct Options {
  const char *names[MOST_NAMES];
  int name_count;
  const char *device, *sizes, *out;
  int threads;
  bool quick, list, worker, ranks;
  Plan plan;
} Options;

static const char usage_text[] =
    "usage: ./ferry bench [NAME...] [options]\n"
    "\n"
    "Measures what the library does on one device, and prints a table of it; the same goes into a TSV file, which the\n"
    "plots are made of. NAME is a benchmark or a group of them (--list); without one, all are measured.\n"
    "\n"
    "  --device D    cpu (default), cuda or cuda:N\n"
    "  --size N,...  these sizes instead of each benchmark's own\n"
    "  --repeat N    N samples of each (default: as many as fit into --seconds)\n"
    "  --seconds S   how long to measure each size (0.4)\n"
    "  --threads N   CPU threads of one operation (default: OMP_NUM_THREADS, or all cores)\n"
    "  --quick       small sizes and few samples: shows that everything runs\n"
    "  --out PLACE   a directory, in which the file is named by device and time (build/bench), or a file name.tsv\n"
    "  --list        the benchmarks, their groups, sizes and units\n"
    "  --simulator   only kernels on the simulated device, compared with HIP-CPU and PoCL (with --help: how)\n"
    "  --inspector   only kernels on the simulated device, with and without ./ferry inspect (with --help: how)\n"
    "  --help        this text\n"
    "\n"
    "Each sample is one run, or as many in a row as the clock needs, with the device idle before and after. The table\n"
    "has their median and the middle half. A simulated device's times say nothing about a GPU: they are marked, have "
    "no\n"
    "rate, and never reach a plot.\n";

static _Noreturn void refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
static _Noreturn void refuse(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "ferry bench: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n(see ./ferry bench --help)\n");
  va_end(arguments);
  exit(2);
}

// ---- arguments ----------------------------------------------------------------------------------------------------------

static bool in_group(const Bench *bench, const char *name) {
  return strcmp(bench->name, name) == 0 || strcmp(bench->group, name) == 0;
}

static void check_name(const char *name) {
  for (const Bench *b = benches; b->name; b++) {
    if (in_group(b, name)) {
      return;
    }
  }
  char near[512] = "";
  for (const Bench *b = benches; b->name; b++) {
    if (strstr(b->name, name) && strlen(near) + strlen(b->name) + 2 < sizeof near) {
      strcat(strcat(near, " "), b->name);
    }
  }
  refuse("there is no benchmark or group %s.%s%s ./ferry bench --list lists them all", name,
         *near ? " Similar names:" : "", *near ? strcat(near, ".") : "");
}

static long whole(const char *option, const char *text, long least, long most) {
  char *end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (end == text || *end || errno || value < least || value > most) {
    refuse("%s %s: it needs a whole number from %ld to %ld", option, text, least, most);
  }
  return value;
}

static double positive(const char *option, const char *text) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !(value > 0 && value <= 3600)) {
    refuse("%s %s: it needs a number above 0 and at most 3600", option, text);
  }
  return value;
}

// The value of option argv[*i], which stands behind it or after a "=".
static const char *value_of(int argc, char **argv, int *i, const char *option) {
  size_t length = strlen(option);
  if (argv[*i][length] == '=') {
    return argv[*i] + length + 1;
  }
  if (*i + 1 == argc) {
    refuse("%s needs a value after it", option);
  }
  return argv[++*i];
}

static bool is_option(const char *argument, const char *option) {
  size_t length = strlen(option);
  return strncmp(argument, option, length) == 0 && (argument[length] == '\0' || argument[length] == '=');
}

static void take_argument(Options *o, int argc, char **argv, int *i) {
  const char *argument = argv[*i];
  if (is_option(argument, "--device")) {
    o->device = value_of(argc, argv, i, "--device");
  } else if (is_option(argument, "--size")) {
    o->sizes = value_of(argc, argv, i, "--size");
  } else if (is_option(argument, "--repeat")) {
    o->plan.repeat = (int)whole("--repeat", value_of(argc, argv, i, "--repeat"), 1, 1000);
  } else if (is_option(argument, "--seconds")) {
    o->plan.seconds = positive("--seconds", value_of(argc, argv, i, "--seconds"));
  } else if (is_option(argument, "--threads")) {
    o->threads = (int)whole("--threads", value_of(argc, argv, i, "--threads"), 1, 256);
  } else if (is_option(argument, "--out")) {
    o->out = value_of(argc, argv, i, "--out");
  } else if (strcmp(argument, "--quick") == 0) {
    o->quick = true;
  } else if (strcmp(argument, "--list") == 0) {
    o->list = true;
  } else if (strcmp(argument, "--worker") == 0) {
    o->worker = true;
  } else if (strcmp(argument, "--ranks") == 0) {
    o->ranks = true;
  } else if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
    printf("%s", usage_text);
    exit(0);
  } else if (*argument == '-') {
    refuse("unknown option %s", argument);
  } else if (o->name_count == MOST_NAMES) {
    refuse("more than %d names", MOST_NAMES);
  } else {
    check_name(argument);
    o->names[o->name_count++] = argument;
  }
}

static FyDevice device_named(const char *name) {
  FyError error;
  volatile FyDevice parsed = FY_CPU_DEVICE;
  fy_trap(error) {
    FyDevice device = fy_device(name);
    parsed.type = device.type;
    parsed.index = device.index;
  }
  if (error.kind) {
    refuse("--device %s: %s", name, error.message);
  }
  FyDevice device = {parsed.type, parsed.index};
  int count = device.type == FY_CUDA ? fy_cuda_device_count() : 0;
  if (device.type == FY_MPS) {
    refuse("--device %s: mps is Apple's GPU, and there is no backend for it here; take cpu or cuda", name);
  }
  if (device.type == FY_CUDA && count == 0) {
    refuse("--device %s: there is no CUDA device (%s); take --device cpu", name, fy_cuda_description());
  }
  if (device.type == FY_CUDA && device.index >= count) {
    refuse("--device %s: there %s %d CUDA device%s, numbered from 0", name, count == 1 ? "is" : "are", count,
           count == 1 ? "" : "s");
  }
  if (device.type == FY_CUDA) {
    fy_cuda_set_device(device.index < 0 ? 0 : device.index);
    device.index = (int16_t)fy_cuda_current_device();
  }
  return device;
}

// ---- which rows ---------------------------------------------------------------------------------------------------------

static FyDType dtype_named(const char *name, size_t length) {
  for (int d = FY_DEFAULT_DTYPE + 1; d < FY_DTYPE_COUNT; d++) {
    const char *known = fy_dtype_name((FyDType)d) + strlen("torch.");
    if (strlen(known) == length && strncmp(known, name, length) == 0) {
      return (FyDType)d;
    }
  }
  fy_panic("the table of benchmarks names a dtype that there is not: %s", name);
}

static const char *sizes_of(const Bench *bench, const Options *o, FyDevice device) {
  if (o->sizes) {
    return o->sizes;
  }
  bool cuda = device.type == FY_CUDA;
  Preset preset = o->quick || (cuda && fy_cuda_is_simulated() && !fy_cuda_model()) ? SMALL
                  : cuda && !fy_cuda_is_simulated()                                ? FOR_GPU
                                                                                   : FOR_CPU;
  return bench->sizes[preset] ? bench->sizes[preset] : bench->sizes[FOR_CPU];
}

static int parse_sizes(const char *text, int64_t *sizes) {
  int count = 0;
  while (*text) {
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text || value < 0 || (*end && *end != ' ' && *end != ',') || count == MOST_SIZES) {
      refuse("--size %s: it needs whole numbers with commas between them", text);
    }
    sizes[count++] = value;
    text = end + (*end != '\0');
  }
  return count;
}

static bool is_wanted(const Bench *bench, const Options *o, FyDevice device) {
  if (!(bench->where & (device.type == FY_CUDA ? ON_CUDA : ON_CPU))) {
    return false;
  }
  for (int i = 0; i < o->name_count; i++) {
    if (in_group(bench, o->names[i])) {
      return true;
    }
  }
  return o->name_count == 0;
}

static Run *plan_runs(const Options *o, FyDevice device, int *count) {
  Run *runs = NULL;
  *count = 0;
  for (const Bench *b = benches; b->name; b++) {
    int64_t sizes[MOST_SIZES];
    int size_count = is_wanted(b, o, device) ? parse_sizes(sizes_of(b, o, device), sizes) : 0;
    const char *dtype = b->dtypes[device.type == FY_CUDA] ? b->dtypes[device.type == FY_CUDA] : "float32";
    for (size_t length; size_count && *dtype; dtype += length + (dtype[length] == ' ')) {
      length = strcspn(dtype, " ");
      runs = realloc(runs, (size_t)(*count + size_count) * sizeof *runs);
      fy_check(runs, FY_OUT_OF_MEMORY_ERROR, "no memory for the list of benchmarks");
      for (int i = 0; i < size_count; i++) {
        runs[(*count)++] = (Run){.bench = b, .device = device, .dtype = dtype_named(dtype, length), .size = sizes[i]};
      }
    }
  }
  return runs;
}

static void list_benches(void) {
  printf("%-24s %-12s %-18s %-10s %s\n", "name", "group", "size", "rate", "what");
  for (const Bench *b = benches; b->name; b++) {
    printf("%-24s %-12s %-18s %-10s %s%s\n", b->name, b->group, b->size_is, b->rate ? b->rate : "-", b->about,
           b->where == ON_CUDA  ? " (cuda)"
           : b->where == ON_CPU ? " (cpu)"
                                : "");
  }
}

// ---- running them -------------------------------------------------------------------------------------------------------

typedef struct Outcome {
  Results results;
  char skipped[4096];
  int failed;
} Outcome;

// One line for a benchmark and a reason, with all the sizes it holds for.
static void note_skip(Outcome *outcome, const Run *run, const char *why) {
  char title[512];
  size_t used = strlen(outcome->skipped), room = sizeof outcome->skipped - used;
  snprintf(title, sizeof title, "  %s, %s:", run->bench->name, why);
  const char *last = strrchr(outcome->skipped, '\n');
  last = last ? last + 1 : outcome->skipped;
  if (strncmp(last, title, strlen(title)) == 0) {
    snprintf(outcome->skipped + used, room, " %lld", (long long)run->size);
  } else {
    snprintf(outcome->skipped + used, room, "%s%s %lld", used ? "\n" : "", title, (long long)run->size);
  }
}

// A row that does not fit into memory is left out with a remark; any other error is a failure.
static void run_row(Run *run, const Plan *plan, Outcome *outcome) {
  FyError error;
  fy_trap(error) {
    measure(run, plan, &outcome->results);
  }
  if (error.kind == FY_OUT_OF_MEMORY_ERROR) {
    note_skip(outcome, run, error.message);
    fy_empty_cache();
  } else if (error.kind) {
    fprintf(stderr, "ferry bench: %s, size %lld: %s: %s\n", run->bench->name, (long long)run->size,
            fy_error_name(error.kind), error.message);
    outcome->failed++;
  } else if (*run->skip) {
    note_skip(outcome, run, run->skip);
  }
}

static void run_all(Run *runs, int count, const Plan *plan, Outcome *outcome) {
  FyProgress progress = fy_progress_begin("bench", count, "sizes");
  for (int i = 0; i < count; i++) {
    if (fy_progress_due(&progress)) {
      fy_progress_show(&progress, "%s %lld", runs[i].bench->name, (long long)runs[i].size);
    }
    run_row(&runs[i], plan, outcome);
    fy_progress_add(&progress, 1);
  }
  fy_progress_end(&progress, "%d rows", outcome->results.count);
}

// mkdir -p
static void make_directory(const char *path) {
  char part[4096];
  snprintf(part, sizeof part, "%s", path);
  for (char *at = part + 1; *at; at++) {
    if (*at == '/') {
      *at = '\0';
      mkdir(part, 0777);
      *at = '/';
    }
  }
  if (mkdir(part, 0777) != 0 && errno != EEXIST) {
    refuse("--out %s: %s", path, strerror(errno));
  }
}

static void result_path(const char *out, FyDevice device, char *path, size_t size) {
  size_t length = strlen(out);
  if (length > 4 && strcmp(out + length - 4, ".tsv") == 0) {
    snprintf(path, size, "%s", out);
    return;
  }
  make_directory(out);
  char stamp[32];
  time_t now = time(NULL);
  strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime(&now));
  snprintf(path, size, "%s/%s-%s%d.tsv", out, stamp, device.type == FY_CUDA ? "cuda" : "cpu", device.index);
}

static int bench(const Options *o, FyDevice device) {
  Machine machine = machine_of(device);
  int count;
  Run *runs = plan_runs(o, device, &count);
  if (count == 0) {
    refuse("%s does not run on %s; ./ferry bench --list says what runs where", o->names[0], fy_device_name_of(device));
  }
  char path[4096];
  result_path(o->out ? o->out : BENCH_ROOT "/build/bench", device, path, sizeof path);
  printf("device: %s, %s%s%s; %d CPU thread%s\n", fy_device_name_of(device), machine.device,
         machine.simulated ? ", " : "",
         machine.model       ? machine.model
         : machine.simulated ? "simulated: its times say nothing about a GPU"
                             : "",
         machine.threads, machine.threads == 1 ? "" : "s");
  Outcome outcome = {.failed = 0};
  double begin = bench_seconds(), others = others_seconds();
  run_all(runs, count, &o->plan, &outcome);
  machine.others = (others_seconds() - others) / (bench_seconds() - begin);
  print_table(&machine, &outcome.results);
  if (*outcome.skipped) {
    printf("\nleft out:\n%s\n", outcome.skipped);
  }
  if (outcome.results.count) {
    write_tsv(path, &machine, &outcome.results);
    printf("\nwritten to %s\n", path);
  }
  free(outcome.results.item);
  free(runs);
  return outcome.failed ? 1 : 0;
}

int main(int argc, char **argv) {
  Options options = {.device = "cpu", .plan = {.seconds = 0.4}};
  for (int i = 1; i < argc; i++) {
    take_argument(&options, argc, argv, &i);
  }
  if (options.list) {
    list_benches();
    return 0;
  }
  if (options.quick && options.plan.repeat == 0) {
    options.plan = (Plan){.seconds = 0.02, .repeat = 0};
  }
  if (options.threads) {
    fy_set_num_threads(options.threads);
  }
  FyDevice device = device_named(options.device);
  fy_manual_seed(0);
  return options.ranks ? ranks_worker() : options.worker ? worker(device) : bench(&options, device);
}
