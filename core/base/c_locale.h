// SPDX-License-Identifier: MIT
// Numbers in files have a decimal point, whichever locale the program has chosen by setlocale.
#ifndef FERRY_BASE_C_LOCALE_H
#define FERRY_BASE_C_LOCALE_H

#include <locale.h>

// The C locale, for uselocale and functions that take one. The process's own; any thread may call it. Never raises.
locale_t fy_c_locale(void);

// strtod in the C locale. Never raises.
double fy_strtod(const char *text, char **end);

#endif
