// status: fail
// Commands to a terminal, in what it prints.
#include <stdio.h>

static void attack(void) {
  printf("\033]0;title\a\033[2J\033[H\x9b"
         "31m \xc2\x9b"
         "31m\r\b\x7f\x90q\x9c \xc2\x90q\xc2\x9c\n");
  for (int c = 1; c < 256; c++)
    printf("%c\xc2%c", c, c);
  printf("\n");
}
