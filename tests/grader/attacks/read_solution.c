// status: fail
// The solutions and the hidden tests, read while it runs.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void attack(void) {
  static const char *const files[] = {"@ROOT@/solutions/03_1_create_on_the_device.c",
                                      "@ROOT@/tests/hidden/03_1_create_on_the_device/check.c", "@ROOT@/build/ferry",
                                      "@ROOT@/README.md"};
  for (int i = 0; i < 4; i++)
    if (open(files[i], O_RDONLY) >= 0)
      printf("got hold of %s\n", files[i]);
}
