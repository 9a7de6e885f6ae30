// SPDX-License-Identifier: MIT
// prove-races FILE.cu --kernel NAME [options]: tries to prove that the kernel has no data race (prove.h).
//
//   --kernel NAME             the kernel, also an instance of a template: 'k<float, 4>'
//   --grid X,Y,Z --block ...  a launch for which the kernel is made. Grids and blocks of no more axes are meant, and if nothing can be
//                             proved of all of them, all grids with such blocks, and then such launches, are tried
//   --time MS, --all MS       for each question to the solver, and for all (default 1000 and 60000)
//   -I, -D, -include          for the compiler
//   --verbose                 shows the intermediate representation, and each question
// Prints one line: "proved ..." (EQUAL_WRITES in prove.h), "race ...", "not proved: ..." or "not tried: ...". The exit status is 0, 1, 2 or 3; 4 if clang or Z3
// is not installed. If only the given launch is proved, a second line says what is in the way of a proof for others.
#include "prove.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

Options options = {.grid_axes = 1, .block_axes = 1, .milliseconds = 1000, .all_milliseconds = 60000};
static int given_grid[3], given_block[3];

void not_tried(const char *why, ...) {
  va_list arguments;
  va_start(arguments, why);
  printf("not tried: ");
  vprintf(why, arguments);
  printf("\n");
  va_end(arguments);
  exit(EXIT_NOT_TRIED);
}

// Memory is the process's: it ends soon.
void *allocate(size_t bytes) {
  void *memory = calloc(1, bytes);
  if (!memory)
    not_tried("no memory");
  return memory;
}

char *text_of(const char *format, ...) {
  va_list arguments;
  char *text;
  va_start(arguments, format);
  const int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (length < 0)
    not_tried("no memory");
  return text;
}

static bool read_shape(const char *text, int shape[3]) {
  for (int i = 0; i < 3; i++) {
    char *end;
    shape[i] = (int)strtol(text, &end, 10);
    if (end == text || shape[i] < 1)
      return false;
    if (*end != ',') {
      while (++i < 3)
        shape[i] = 1;
      return *end == '\0';
    }
    text = end + 1 + strspn(end + 1, " ");
  }
  return true;
}

static bool parse(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const char *option = argv[i];
    const bool more = i + 1 < argc;
    if (strcmp(option, "--verbose") == 0)
      options.verbose = true;
    else if (strcmp(option, "--kernel") == 0 && more)
      options.kernel = argv[++i];
    else if (strcmp(option, "--time") == 0 && more)
      options.milliseconds = atoi(argv[++i]);
    else if (strcmp(option, "--all") == 0 && more)
      options.all_milliseconds = atoi(argv[++i]);
    else if ((strcmp(option, "--grid") == 0 || strcmp(option, "--block") == 0) && more) {
      if (!read_shape(argv[++i], option[2] == 'g' ? given_grid : given_block))
        return false;
    } else if (option[0] == '-') {
      const bool pair = strcmp(option, "-include") == 0 || !option[1] || !option[2];
      if (options.flag_count + 2 > 64 || (pair && !more))
        return false;
      options.flags[options.flag_count++] = option;
      if (pair)
        options.flags[options.flag_count++] = argv[++i];
    } else if (options.file)
      return false;
    else
      options.file = option;
  }
  return options.file && options.kernel && options.milliseconds > 0;
}

static int axes_of(const int shape[3]) {
  return shape[2] > 1 ? 3 : shape[1] > 1 ? 2 : 1;
}

bool is_late(void) {
  static struct timespec begun;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (!begun.tv_sec)
    begun = now;
  return (now.tv_sec - begun.tv_sec) * 1000 > options.all_milliseconds;
}

// In a process of its own, since an attempt may end anywhere. Its line of text is kept.
static int attempt(LLVMValueRef kernel, char line[1000]) {
  int ends[2], status = 0;
  size_t length = 0;
  fflush(NULL);
  if (pipe(ends))
    not_tried("no pipe can be made");
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    alarm((unsigned)options.all_milliseconds / 1000 + 10); // if the solver does not keep to its time
    start_solver();
    exit(check_kernel(kernel));
  }
  close(ends[1]);
  for (ssize_t got; length < 999 && (got = read(ends[0], line + length, 999 - length)) > 0;)
    length += (size_t)got;
  line[length] = '\0';
  close(ends[0]);
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
    snprintf(line, 1000, "not proved: there was not enough time\n");
    return EXIT_NOT_PROVED;
  }
  return WEXITSTATUS(status);
}

static void print_shape(const char *kind, const int shape[3]) {
  printf(" %s %d,%d,%d", kind, shape[0], shape[1], shape[2]);
}

int main(int argc, char **argv) {
  static char lines[3][1000];
  if (!parse(argc, argv)) {
    fprintf(stderr, "usage: prove-races FILE.cu --kernel NAME [--grid X,Y,Z] [--block X,Y,Z] [--time MS] [-I DIR]\n");
    return EXIT_NO_TOOLS;
  }
  is_late();
  LLVMValueRef kernel = load_kernel();
  options.grid_axes = axes_of(given_grid);
  options.block_axes = axes_of(given_block);
  const int stages = !given_block[0] ? 1 : !given_grid[0] ? 2 : 3;
  int first = 0;
  for (int stage = 0; stage < stages; stage++) {
    memcpy(options.block, given_block, stage > 0 ? sizeof options.block : 0);
    memcpy(options.grid, given_grid, stage > 1 ? sizeof options.grid : 0);
    const int status = attempt(kernel, lines[stage]);
    first = stage ? first : status;
    if (status == EXIT_PROVED) {
      printf("proved");
      if (stage == 0)
        printf(" for every launch");
      if (stage > 1)
        print_shape("grid", given_grid);
      if (stage > 0)
        print_shape("block", given_block);
      printf("%s\n%s", strstr(lines[stage], EQUAL_WRITES) ? EQUAL_WRITES : "", stage ? lines[0] : "");
      return EXIT_PROVED;
    }
    if (status == EXIT_NOT_TRIED || status == EXIT_NO_TOOLS)
      return printf("%s", lines[stage]), status;
  }
  printf("%s", lines[0]);
  return first;
}
