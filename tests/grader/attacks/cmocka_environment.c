// status: fail
#include <stdlib.h>
#include <unistd.h>

static void attack(void) {
  setenv("CMOCKA_TEST_ABORT", "0", 1);
  setenv("CMOCKA_MESSAGE_OUTPUT", "XML", 1);
  setenv("CMOCKA_XML_FILE", "/tmp/ferry-attack.xml", 1);
  _exit(0);
}
