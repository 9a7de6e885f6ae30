// status: fail
#include <stdio.h>
#include <unistd.h>

int main(void) {
  printf("ok 1 - everything\n");
  _exit(0);
}

static void attack(void) {
}
