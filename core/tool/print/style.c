// SPDX-License-Identifier: MIT
// Colors, where somebody sees them.
#include "tool/print/style.h"
#include <stdlib.h>
#include <unistd.h>

const char *style(Style s) {
  static const char *const sequences[] = {"\033[0m",  "\033[31m", "\033[32m", "\033[33m",
                                          "\033[34m", "\033[1m",  "\033[2m"};
  static int colors = -1;
  if (colors < 0) {
    const char *no_color = getenv("NO_COLOR");
    colors = isatty(1) && !(no_color && *no_color);
  }
  return colors ? sequences[s] : "";
}
