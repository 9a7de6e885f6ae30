// SPDX-License-Identifier: MIT
// Colours, where somebody sees them.
#include "tool/print/style.h"
#include <stdlib.h>
#include <unistd.h>

const char *style(Style s) {
  static const char *const sequences[] = {"\033[0m",  "\033[31m", "\033[32m", "\033[33m",
                                          "\033[34m", "\033[1m",  "\033[2m"};
  static int colours = -1;
  if (colours < 0) {
    const char *no_color = getenv("NO_COLOR");
    colours = isatty(1) && !(no_color && *no_color);
  }
  return colours ? sequences[s] : "";
}
