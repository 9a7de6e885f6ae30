// SPDX-License-Identifier: MIT
// Long output through the reader's pager.
#ifndef TOOL_PRINT_PAGER_H
#define TOOL_PRINT_PAGER_H

#include <stdbool.h>
#include <stdio.h>

// The pager ($PAGER, or less), which gets what is written to the file; NULL: stdout is no terminal, or there is no pager. less starts
// at line `first`.
FILE *pager_begin(int first);
bool pager_is_less(void);

// From here on, what is printed on stdout goes to the pager, which ends with the program. less shows what fits on the screen without
// stopping. Nothing happens where stdout is no terminal.
void pager_take_stdout(void);
void pager_end(void); // waits until the reader has left it; a program that ends by exit does so by itself

#endif
