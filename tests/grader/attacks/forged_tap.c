// status: fail
#include <stdio.h>
#include <unistd.h>

static void attack(void) {
  printf("TAP version 13\n1..1\nok 1 - on a GPU\n# ok - passed 1 test\n");
  printf("<?xml version=\"1.0\"?><testsuites><testsuite tests=\"1\" failures=\"0\"/></testsuites>\n");
  fflush(stdout);
  _exit(0);
}
