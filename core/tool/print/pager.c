// SPDX-License-Identifier: MIT
#include "tool/print/pager.h"
#include "tool/print/style.h"
#include "tool/print/term.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

FILE *pager_begin(int first) {
  const char *pager = getenv("PAGER");
  if (!isatty(STDOUT_FILENO))
    return NULL;
  style(PLAIN); // the terminal decides about colors and width, not the pipe
  setenv("LESS", "FRX", 0);
  if (first > 1) {
    char less[1024];
    snprintf(less, sizeof less, "%s$+%dg", getenv("LESS"), first); // $ ends whatever option comes last
    setenv("LESS", less, 1);
  }
  signal(SIGPIPE, SIG_IGN); // it may be left before the end
  return popen(pager && *pager ? pager : "less", "we");
}

bool pager_is_less(void) {
  const char *pager = getenv("PAGER");
  return !pager || !*pager || strcmp(pager, "less") == 0;
}

static FILE *taken;

void pager_end(void) {
  if (!taken)
    return;
  fflush(stdout);
  close(STDOUT_FILENO); // the pager's end of file
  pclose(taken);
  taken = NULL;
}

void pager_take_stdout(void) {
  char columns[16];
  snprintf(columns, sizeof columns, "%d", term_width());
  taken = pager_begin(1);
  if (!taken)
    return;
  setenv("COLUMNS", columns, 1);
  fflush(stdout);
  dup2(fileno(taken), STDOUT_FILENO);
  atexit(pager_end);
}
