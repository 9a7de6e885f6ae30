// status: fail
// The program that the next test runs, replaced by another.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void attack(void) {
  const char *program = program_invocation_name;
  int before = open(program, O_WRONLY);
  int gone = unlink(program);
  int after = open(program, O_CREAT | O_WRONLY, 0755);
  if (before >= 0 || gone == 0 || after >= 0)
    printf("its own program can be rewritten\n");
}
