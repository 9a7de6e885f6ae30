// Which options a caller named.
#include "base/options.h"
#include <string.h>

// Does `.name` stand at `at`, and not only the beginning of a longer name?
static bool names(const char *at, const char *name, size_t length) {
  at += 1 + strspn(at + 1, " ");
  return strncmp(at, name, length) == 0 && strspn(at + length, " =") > 0;
}

bool fy_option_is_named(const char *text, const char *name) {
  const size_t length = strlen(name);
  if (!text)
    return true;
  for (const char *at = strchr(text, '.'); at; at = strchr(at + 1, '.'))
    if (names(at, name, length))
      return true;
  return false;
}
