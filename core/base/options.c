// SPDX-License-Identifier: MIT
// Which options a caller named.
#include "base/options.h"
#include <string.h>

// Does an initializer `.name =` begin here?
static bool names(const char *at, const char *name) {
  const size_t length = strlen(name);
  if (*at != '.')
    return false;
  at += 1 + strspn(at + 1, " ");
  return strncmp(at, name, length) == 0 && at[length + strspn(at + length, " ")] == '=';
}

// Past the string or character constant that begins here; elsewhere past one character.
static const char *next(const char *at) {
  const char quote = *at++;
  if (quote != '"' && quote != '\'')
    return at;
  while (*at && *at != quote)
    at += *at == '\\' && at[1] ? 2 : 1;
  return at + (*at != '\0');
}

bool fy_option_is_named(const char *text, const char *name) {
  int depth = 0;
  bool begins = true; // an argument
  if (!text)
    return true;
  for (const char *at = text; *at; at = next(at)) {
    if (begins && names(at, name))
      return true;
    depth += (strchr("([{", *at) != NULL) - (strchr(")]}", *at) != NULL);
    begins = depth == 0 && (*at == ',' || (begins && *at == ' '));
  }
  return false;
}
