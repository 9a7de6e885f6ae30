// SPDX-License-Identifier: MIT
#include "tool/print/shell.h"
#include <stdio.h>
#include <string.h>

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./,:=+@%";

const char *shell_word(const char *word, char *text, size_t bytes) {
  const size_t length = strlen(word);
  if (length > 0 && strspn(word, plain) == length) {
    snprintf(text, bytes, "%s", word);
    return text;
  }
  size_t used = (size_t)snprintf(text, bytes, "'");
  for (const char *c = word; *c && used + 6 < bytes; c++)
    used += (size_t)snprintf(text + used, bytes - used, *c == '\'' ? "'\\''" : "%c", *c);
  snprintf(text + used, bytes - used, "'");
  return text;
}
