// SPDX-License-Identifier: MIT
// A locale whose numbers have a decimal comma, as that of most countries has.
#ifndef FERRY_TESTS_COMMA_H
#define FERRY_TESTS_COMMA_H

#include <stdbool.h>

// Sets it for numbers (LC_NUMERIC), which needs none installed: a file that is written for the purpose. False: this C library
// does not take the file.
bool begin_decimal_comma(void);
void end_decimal_comma(void);

#endif
