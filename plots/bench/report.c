// SPDX-License-Identifier: MIT
// Results as a table for a person and as TSV for the plots, and the description of the machine on top of both.
#include "bench.h"
#include "base/atomic_file.h"
#include "base/text.h"
#include "base/threads.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

// ---- the machine --------------------------------------------------------------------------------------------------------

static void cpu_name(char *out, size_t size) {
  snprintf(out, size, "unknown CPU");
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[256];
  while (file && fgets(line, sizeof line, file)) {
    char *value = strchr(line, ':');
    if (value && strncmp(line, "model name", 10) == 0) {
      value[strcspn(value, "\n")] = '\0';
      snprintf(out, size, "%s", value + 2);
      break;
    }
  }
  if (file) {
    fclose(file);
  }
}

// The commit that is checked out where the program was built, "+" behind it when files differ from it.
static void commit_name(char *out, size_t size) {
  FILE *git = popen("git -C '" BENCH_ROOT "' describe --always --dirty=+ --match '' 2>/dev/null", "r");
  *out = '\0';
  if (git && fgets(out, (int)size, git)) {
    out[strcspn(out, "\n")] = '\0';
  }
  if (git) {
    pclose(git);
  }
  if (!*out) {
    snprintf(out, size, "unknown");
  }
}

// Processor seconds that everything but this process has used since the machine started, NAN where nobody says.
double others_seconds(void) {
  FILE *file = fopen("/proc/stat", "r");
  double user, nice, system, idle, wait, interrupts, soft, steal;
  int fields = file ? fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle, &wait,
                             &interrupts, &soft, &steal)
                    : 0;
  if (file) {
    fclose(file);
  }
  struct rusage own;
  if (fields != 8 || getrusage(RUSAGE_SELF, &own) != 0) {
    return NAN;
  }
  double all = (user + nice + system + interrupts + soft + steal) / (double)sysconf(_SC_CLK_TCK);
  return all - (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) -
         1e-6 * (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec);
}

Machine machine_of(FyDevice device) {
  Machine machine = {.cores = (int)sysconf(_SC_NPROCESSORS_ONLN), .threads = fy_get_num_threads()};
  cpu_name(machine.cpu, sizeof machine.cpu);
  commit_name(machine.commit, sizeof machine.commit);
  time_t now = time(NULL);
  strftime(machine.date, sizeof machine.date, "%Y-%m-%d", localtime(&now));
  if (device.type == FY_CUDA) {
    machine.simulated = fy_cuda_is_simulated();
    machine.model = machine.simulated ? fy_cuda_model() : NULL;
    snprintf(machine.device, sizeof machine.device, "%s", fy_cuda_get_device_name(device.index));
    snprintf(machine.driver, sizeof machine.driver, "%d.%d, runtime %d.%d", fy_cuda_driver_version() / 1000,
             fy_cuda_driver_version() % 1000 / 10, fy_cuda_runtime_version() / 1000,
             fy_cuda_runtime_version() % 1000 / 10);
  } else {
    snprintf(machine.device, sizeof machine.device, "%s", machine.cpu);
    snprintf(machine.driver, sizeof machine.driver, "none");
  }
  return machine;
}

double rate_of(const Result *r) {
  const char *unit = r->bench->rate;
  bool simulated = r->device.type == FY_CUDA && fy_cuda_is_simulated() && !fy_cuda_model();
  if (!unit || simulated || r->median <= 0) {
    return NAN;
  }
  double work = strcmp(unit, "GFLOP/s") == 0 ? r->flops / 1e9 : strcmp(unit, "GB/s") == 0 ? r->bytes / 1e9 : r->items;
  return work / r->median;
}

// ---- for a person -------------------------------------------------------------------------------------------------------

static const char *time_text(double seconds, char *out, size_t size) {
  const char *unit = seconds < 1e-6 ? "ns" : seconds < 1e-3 ? "us" : seconds < 1 ? "ms" : "s";
  double scale = seconds < 1e-6 ? 1e9 : seconds < 1e-3 ? 1e6 : seconds < 1 ? 1e3 : 1;
  double value = seconds * scale;
  snprintf(out, size, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, unit);
  return out;
}

static void number_text(double value, char *out, size_t size) {
  static const char *const powers[] = {"", " k", " M", " G"};
  int power = 0;
  while (value >= 100000 && power < 3) {
    value /= 1000;
    power++;
  }
  snprintf(out, size, "%.*f%s", value < 10 ? 2 : value < 100 ? 1 : 0, value, powers[power]);
}

static void print_row(const Result *r) {
  char median[32], q1[32], q3[32], spread[72], rate[64] = "";
  if (strcmp(r->unit, "B") == 0) {
    snprintf(median, sizeof median, "%.2f MB", r->median / 1e6);
    *spread = '\0';
  } else {
    time_text(r->median, median, sizeof median);
    snprintf(spread, sizeof spread, "%s .. %s", time_text(r->q1, q1, sizeof q1), time_text(r->q3, q3, sizeof q3));
  }
  double value = rate_of(r);
  if (!isnan(value)) {
    char number[32];
    number_text(value, number, sizeof number);
    snprintf(rate, sizeof rate, "%s %s", number, r->bench->rate);
  }
  char dtype[16];
  snprintf(dtype, sizeof dtype, "%s", fy_dtype_name(r->dtype) + strlen("torch."));
  printf("%-24s %-8s %10lld  %10s  %-22s %18s%s%s\n", r->bench->name, dtype, (long long)r->size, median, spread, rate,
         *r->label ? "  " : "", r->label);
}

void print_table(const Machine *machine, const Results *results) {
  if (machine->model) {
    printf("\nTimes on the device are %s.\n", machine->model);
  }
  printf("\n%-24s %-8s %10s  %10s  %-22s %18s\n", "benchmark", "dtype", "size", "median", "middle half",
         machine->simulated && !machine->model ? "" : "rate");
  for (int i = 0; i < 98; i++) {
    putchar('-');
  }
  putchar('\n');
  for (int i = 0; i < results->count; i++) {
    print_row(&results->item[i]);
  }
  if (machine->simulated && !machine->model) {
    printf(
        "\nAll of it on a simulated device: these times are the simulator's on this CPU and say nothing about a GPU,\n"
        "so there are no rates.\n");
  }
  if (machine->others > 0.1) {
    printf("\nOther programs kept %.1f cores busy meanwhile: an idle machine would give other numbers.\n",
           machine->others);
  }
}

// ---- for the plots ------------------------------------------------------------------------------------------------------

// The column "simulated": no, yes, or modeled, which is a simulated device with the computed times of a modeled GPU.
static const char *provenance(const Machine *machine) {
  return machine->model ? "modeled" : machine->simulated ? "yes" : "no";
}

static void write_header(FyText *text, const Machine *machine, FyDevice device) {
  fy_text_add(text, "# Ferry benchmarks: times in seconds, one run of the benchmark's work each\n");
  fy_text_add(text, "# machine: %s, %d cores\n", machine->cpu, machine->cores);
  fy_text_add(text, "# cpu: %s\n# cores: %d\n# threads: %d\n# others: %.2f\n", machine->cpu, machine->cores,
              machine->threads, machine->others);
  fy_text_add(text, "# device: %s\n# device_name: %s\n", fy_device_name_of(device), machine->device);
  fy_text_add(text, "# simulated: %s\n# driver: %s\n", provenance(machine), machine->driver);
  if (machine->model) {
    fy_text_add(text, "# model: %s\n", machine->model);
  }
  fy_text_add(text, "# version: %s\n# commit: %s\n# date: %s\n", fy_version(), machine->commit, machine->date);
  fy_text_add(text, "bench\tdevice\tsimulated\tdtype\tsize\trepeat\tmedian\tmin\tq1\tq3\tunit\trate\trate_unit\tflops\t"
                    "bytes\tlabel\n");
}

static void write_row(FyText *text, const Result *r, const char *simulated) {
  double rate = rate_of(r);
  char rate_text[32];
  snprintf(rate_text, sizeof rate_text, isnan(rate) ? "-" : "%.6g", rate);
  fy_text_add(text, "%s\t%s\t%s\t%s\t%lld\t%d\t%.9g\t%.9g\t%.9g\t%.9g\t%s\t%s\t%s\t%.6g\t%.6g\t%s\n", r->bench->name,
              fy_device_name_of(r->device), simulated, fy_dtype_name(r->dtype) + strlen("torch."), (long long)r->size,
              r->repeat, r->median, r->min, r->q1, r->q3, r->unit, rate_text, isnan(rate) ? "-" : r->bench->rate,
              r->flops, r->bytes, *r->label ? r->label : "-");
}

// Whoever reads the file meets a whole one.
void write_tsv(const char *path, const Machine *machine, const Results *results) {
  fy_scope {
    FyText *text = fy_text_new();
    write_header(text, machine, results->count ? results->item[0].device : FY_CPU_DEVICE);
    for (int i = 0; i < results->count; i++) {
      write_row(text, &results->item[i], provenance(machine));
    }
    FyAtomicFile *file = fy_atomic_file_open(path);
    fy_atomic_file_write(file, text->bytes, text->length);
    fy_atomic_file_commit(file);
  }
}
