// status: fail
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void attack(void) {
  int memory = open("/proc/self/mem", O_RDWR);
  if (memory >= 0)
    printf("its own memory can be rewritten\n");
  memory = open("/proc/1/mem", O_RDWR);
  if (memory >= 0)
    printf("the supervisor's memory can be rewritten\n");
}
