// SPDX-License-Identifier: MIT
// `ferry bench` and `ferry timeline`: hand over to programs that are not part of this one because they link the library.
#include "tool/commands.h"
#include "tool/compile/config.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int hand_over(const char *program, int argc, char **argv) {
  char *about[] = {(char *)"help", argv[0], NULL};
  argv[0] = (char *)program;
  execv(program, argv);
  if (argc > 1 && strcmp(argv[1], "--help") == 0) // the program would know more
    cmd_help(2, about);
  if (CONFIG_INSTALLED)
    fprintf(stderr, "ferry %s: an installed Ferry does not have this program; use a clone\n", about[1]);
  else
    fprintf(stderr, "ferry %s: %s is not built; run make bench\n", about[1], program);
  return argc > 1 && strcmp(argv[1], "--help") == 0 ? EXIT_PASS : EXIT_GRADER;
}

// Kernels on the simulator beside other simulators, or beside themselves when they are looked at: scripts, which compile what
// they run.
static int run_script(const char *script, char **argv) {
  argv[0] = (char *)(uintptr_t)script;
  execv(script, argv);
  perror(script);
  return EXIT_GRADER;
}

int cmd_bench(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--simulator") == 0)
      return run_script(rooted(CONFIG_ROOT "/plots/simulator/compare.sh"), argv);
    if (strcmp(argv[i], "--inspector") == 0)
      return run_script(rooted(CONFIG_ROOT "/plots/simulator/inspector.sh"), argv);
  }
  return hand_over(rooted(CONFIG_OBJECTS "/plots/bench/bench"), argc, argv);
}

int cmd_pack(int argc, char **argv) {
  (void)argc;
  return run_script(rooted(CONFIG_ROOT "/tests/grader/pack.sh"), argv);
}

int cmd_timeline(int argc, char **argv) {
  return hand_over(rooted(CONFIG_OBJECTS "/plots/trace/trace"), argc, argv);
}
