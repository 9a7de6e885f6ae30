// SPDX-License-Identifier: MIT
// Runs programs of the fuzzer: `interpreter` reads them from standard input, each up to a line `run`, and answers each with
// what came of it and a line `.`; `interpreter --check FILE DEVICE` runs a file of recorded ones, and says in TAP how they
// compare; `interpreter --ops` after the programs on standard input prints which rows of core/op/ops.def never ran.
#include "op/op.h"
#include "program.h"
#include <stdlib.h>
#include <string.h>

static bool op_ran[FY_OP_COUNT];

static void observe(FyOpHooks *hooks, const FyOpCall *call) {
  (void)hooks;
  op_ran[call->op->id] = true;
}

static FyOpHooks observe_hooks = {.kernel = observe};

typedef struct Program {
  char name[64], device[16];
  char **lines;
  int count, capacity;
} Program;

static void add_line(Program *p, const char *line) {
  if (p->count == p->capacity) {
    p->capacity = p->capacity ? 2 * p->capacity : 32;
    p->lines = realloc(p->lines, (size_t)p->capacity * sizeof *p->lines);
  }
  p->lines[p->count++] = strdup(line);
}

static void empty_program(Program *p) {
  for (int i = 0; i < p->count; i++)
    free(p->lines[i]);
  p->count = 0;
}

static void free_program(Program *p) {
  empty_program(p);
  free(p->lines);
}

// Reads `program NAME DEVICE`, then lines up to `last`. DEVICE is what `dev` stands for, `none` for nothing.
static bool read_program(Program *p, FILE *in, const char *last) {
  char *line = NULL;
  size_t size = 0;
  ssize_t n;
  bool begun = false, done = false;
  empty_program(p);
  while (!done && (n = getline(&line, &size, in)) >= 0) {
    if (n > 0 && line[n - 1] == '\n')
      line[n - 1] = '\0';
    if (sscanf(line, "program %63s %15s", p->name, p->device) == 2)
      begun = true;
    else if (strcmp(line, last) == 0)
      done = begun;
    else if (begun && line[0])
      add_line(p, line);
  }
  free(line);
  return done;
}

static void run_lines(const Program *p, FILE *out) {
  for (int i = 0; i < p->count; i++) {
    Statement *s = malloc(sizeof *s);
    if (parse_statement(s, p->lines[i]))
      run_statement(s, i, out);
    else
      fprintf(out, "raise %d KeyError fuzz: malformed line\n", i);
    free_statement(s);
    free(s);
  }
}

static size_t allocated[MAX_DEVICES + 1];

static void measure(size_t *bytes) {
  bytes[0] = fy_memory_allocated(FY_CPU_DEVICE);
  for (int d = 0; d < fy_cuda_device_count() && d < MAX_DEVICES; d++)
    bytes[d + 1] = fy_memory_allocated(fy_cuda_device(d));
}

// Memory that is still taken when everything of a program has been dropped.
static void report_leaks(FILE *out) {
  size_t now[MAX_DEVICES + 1] = {0};
  measure(now);
  for (int i = 0; i <= MAX_DEVICES; i++)
    if (now[i] > allocated[i])
      fprintf(out, "leak %s %zu\n", i ? fy_device_name_of(fy_cuda_device(i - 1)) : "cpu", now[i] - allocated[i]);
}

static void run_program(const Program *p, FILE *out) {
  if (strcmp(p->device, "none") == 0)
    machine.device = (FyDevice){FY_MPS, 0};
  else
    machine.device = fy_device(p->device);
  measure(allocated);
  int scope = fy_scope_open();
  run_lines(p, out);
  report(out);
  clear_machine();
  fy_scope_close(scope);
  fy_set_grad_enabled(true);
  report_leaks(out);
}

// After an error in a kernel a CUDA device is of no use to this process any more.
static bool devices_work(void) {
  FyError error;
  fy_trap(error) {
    for (int d = 0; d < fy_cuda_device_count(); d++)
      fy_synchronize(fy_cuda_device(d));
  }
  return !error.kind;
}

static void print_ops_that_never_ran(void) {
  for (int i = 0; i < FY_OP_COUNT; i++)
    if (!op_ran[i])
      printf("%s\n", fy_ops[i]->name);
}

// ---- recorded programs -----------------------------------------------------------------------------------------------------

static char *run_to_text(const Program *p) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  run_program(p, out);
  fclose(out);
  return text;
}

// The first line that differs, or NULL.
static const char *first_difference(char *text, const Program *expected, const char **wanted) {
  char *rest = NULL;
  int i = 0;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), i++) {
    *wanted = i < expected->count ? expected->lines[i] : "(nothing)";
    if (i >= expected->count || !same_line(line, expected->lines[i]))
      return line;
  }
  *wanted = i < expected->count ? expected->lines[i] : "(nothing)";
  return i < expected->count ? "(nothing)" : NULL;
}

// Reads the lines behind `expect`, up to a line `.`.
static void read_expected(Program *p, FILE *in) {
  char *line = NULL;
  size_t size = 0;
  ssize_t n;
  empty_program(p);
  while ((n = getline(&line, &size, in)) > 0 && strcmp(line, ".\n") != 0) {
    line[n - 1] = '\0';
    if (line[0] != '#')
      add_line(p, line);
  }
  free(line);
}

static int check_file(const char *path, const char *device) {
  FILE *in = fopen(path, "r");
  Program p = {.count = 0}, expected = {.count = 0};
  int failed = 0, count = 0;
  if (!in) {
    perror(path);
    return 2;
  }
  while (read_program(&p, in, "expect")) {
    const char *wanted;
    read_expected(&expected, in);
    if (strcmp(p.device, "none") == 0 && strcmp(device, "cpu") == 0)
      continue; // names devices that are not there
    if (strcmp(p.device, "none") != 0 && strcmp(p.device, "cpu") != 0)
      snprintf(p.device, sizeof p.device, "%s", device);
    char *text = run_to_text(&p);
    const char *got = first_difference(text, &expected, &wanted);
    if (got) {
      failed++;
      printf("not ok %d - program %s on %s - now: %s | recorded: %s\n", ++count, p.name, device, got, wanted);
    } else {
      printf("ok %d - program %s on %s\n", ++count, p.name, device);
    }
    free(text);
  }
  printf("1..%d\n", count);
  free_program(&p);
  free_program(&expected);
  fclose(in);
  return failed > 0;
}

int main(int argc, char **argv) {
  Program p = {.count = 0};
  fy_op_hooks_add(&observe_hooks);
  if (argc == 4 && strcmp(argv[1], "--check") == 0)
    return check_file(argv[2], argv[3]);
  while (read_program(&p, stdin, "run")) {
    run_program(&p, stdout);
    printf(".\n");
    fflush(stdout);
    if (!devices_work())
      return 3; // whoever sent programs starts another
  }
  if (argc == 2 && strcmp(argv[1], "--ops") == 0)
    print_ops_that_never_ran();
  free_program(&p);
  return 0;
}
