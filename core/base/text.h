// SPDX-License-Identifier: MIT
// Text that grows: for core/, tests and plots.
#ifndef FERRY_BASE_TEXT_H
#define FERRY_BASE_TEXT_H

#include "base/scope.h"

typedef struct FyText {
  FyObject object;
  char *bytes; // with a NUL behind them
  size_t length, capacity;
} FyText;

// An empty text, owned by the innermost scope, so that an error on the way frees it. Raises FY_OUT_OF_MEMORY_ERROR.
FyText *fy_text_new(void);

// Appends what printf would write. Raises FY_OUT_OF_MEMORY_ERROR; the text is then as it was.
void fy_text_add(FyText *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Appends `string` in quotes, as JSON has it. A byte that is not UTF-8 is written as the character of that number. Raises
// FY_OUT_OF_MEMORY_ERROR.
void fy_text_add_json(FyText *text, const char *string);

// Hands the bytes over to the caller, who frees them. The text is not to be used any more.
char *fy_text_take(FyText *text);

// "20.00 MiB", as PyTorch writes sizes, in `text`, which is returned. Never raises.
const char *fy_format_bytes(size_t bytes, char text[32]);

#endif
