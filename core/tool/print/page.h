// SPDX-License-Identifier: MIT
// A lesson on the terminal.
#ifndef TOOL_PRINT_PAGE_H
#define TOOL_PRINT_PAGE_H

#include <stdio.h>

// Renders Markdown: comments and link targets are left out, code is indented.
void page_render(FILE *to, const char *markdown);

#endif
