// status: fail
// A socket of the user's, where a server listens that would do as it is told.
#include "ferry.h"
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

static void attack(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "@WORK@/socket"};
  int pair[2], own = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(own, (struct sockaddr *)&address, sizeof address) == 0)
    puts("got hold of a server outside");
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
    puts("it got hold of no pair of its own");
}
