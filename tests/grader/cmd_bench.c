// `ferry bench`: hands over to the benchmark program, which is not part of this one because it links the library.
#include "commands.h"
#include "config.h"
#include <stdio.h>
#include <unistd.h>

int cmd_bench(int argc, char **argv) {
  (void)argc;
  const char *program = CONFIG_OBJECTS "/plots/bench/bench";
  argv[0] = (char *)program;
  execv(program, argv);
  fprintf(stderr, "ferry bench: %s is not built; run make bench\n", program);
  return EXIT_GRADER;
}
