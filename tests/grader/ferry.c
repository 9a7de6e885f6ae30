// ./ferry: the learner's and the instructor's command. `./ferry help` lists what it can do.
#include "commands.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int usage_error(const char *command, const char *format, ...) {
  va_list arguments;
  fprintf(stderr, "ferry %s: ", command);
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fprintf(stderr, "\n(./ferry %s --help says more)\n", command);
  return EXIT_USAGE;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "cut") == 0)
    return cmd_cut(argc - 1, argv + 1);
  if (argc < 4)
    return 2;
  const Exercise *e = exercise_find(argv[2]);
  if (!e)
    return 2;
  Verdict v;
  judge_answer(&v, e, argv[3], &(JudgeOptions){.seed = (uint64_t)time(NULL), .devices = 2});
  if (v.report)
    printf("%s", v.report);
  for (int i = 0; i < v.test_count; i++)
    printf("%s: %s\n%s", v.tests[i].test->name, status_name(v.tests[i].status),
           v.tests[i].report ? v.tests[i].report : "");
  printf("%d of %d passed, %.2f s\n", v.passed, v.test_count, v.seconds);
  int status = v.status == STATUS_PASS ? EXIT_PASS : EXIT_ANSWER;
  verdict_free(&v);
  return status;
}
