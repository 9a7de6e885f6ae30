// SPDX-License-Identifier: MIT
// `ferry nvcc`: nvcc's command line. `ferry cuda`: compile and run.
#include "tool/commands.h"
#include "tool/compile/nvcc.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int cmd_nvcc(int argc, char **argv) {
  NvccOptions o = {0};
  int status = nvcc_parse(&o, argc, argv);
  return status == EXIT_PASS ? nvcc_build(&o) : status;
}

int run_program(const char *command, const char *program, char **arguments) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    execv(program, arguments);
    _exit(127);
  }
  signal(SIGINT, SIG_IGN); // the program decides
  int status;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR)
      return EXIT_GRADER;
  if (WIFEXITED(status))
    return WEXITSTATUS(status);
  fprintf(stderr, "ferry %s: the program was ended by signal %d (%s)\n", command, WTERMSIG(status),
          strsignal(WTERMSIG(status)));
  return 128 + WTERMSIG(status);
}

static int inspect(int argc, char **argv, char **arguments, int count) {
  Words w = {0};
  words_add(&w, "inspect");
  words_add(&w, "--nvcc");
  for (int i = 1; i < argc; i++)
    words_add(&w, argv[i]);
  if (count > 0)
    words_add(&w, "--");
  for (int i = 0; i < count; i++)
    words_add(&w, arguments[i]);
  return cmd_inspect((int)w.count, (char **)(uintptr_t)w.items);
}

int cmd_cuda(int argc, char **argv) {
  int end = 1, kept = 1;
  bool look = false;
  char program[PATH_MAX], folder[PATH_MAX - 16];
  const char *tmp = getenv("TMPDIR");
  for (; end < argc && strcmp(argv[end], "--") != 0; end++)
    if (strcmp(argv[end], "--count") == 0)
      setenv("FERRY_SIM_COUNT", "1", 1);
    else if (strcmp(argv[end], "--inspect") == 0)
      look = true;
    else
      argv[kept++] = argv[end];
  char **arguments = argv + end; // the program's own name goes where -- was
  if (kept == 1)
    return usage_error("cuda", "which file? ./ferry cuda FILE.cu");
  if (look)
    return inspect(kept, argv, arguments + 1, argc - end - 1);
  snprintf(folder, sizeof folder, "%s/ferry-cuda-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(folder)) {
    perror("ferry cuda: no temporary folder");
    return EXIT_GRADER;
  }
  snprintf(program, sizeof program, "%s/program", folder);
  NvccOptions o = {0};
  int status = nvcc_parse(&o, kept, argv);
  if (status == EXIT_PASS && (o.output || o.action != NVCC_LINK || o.shared))
    status = usage_error("cuda", "to keep what is built, use ./ferry nvcc");
  o.output = program;
  char *alone[] = {program, NULL};
  if (end < argc)
    arguments[0] = program;
  if (status == EXIT_PASS)
    status = nvcc_build(&o);
  if (status == EXIT_PASS)
    status = run_program("cuda", program, end < argc ? arguments : alone);
  unlink(program);
  rmdir(folder);
  return status;
}
