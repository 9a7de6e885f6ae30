// SPDX-License-Identifier: MIT
// Colors on the terminal.
#ifndef TOOL_PRINT_STYLE_H
#define TOOL_PRINT_STYLE_H

typedef enum Style { PLAIN, RED, GREEN, YELLOW, BLUE, BOLD, DIM } Style;

// An escape sequence, or "" if stdout is not a terminal or NO_COLOR is set.
const char *style(Style s);

#endif
