// SPDX-License-Identifier: MIT
// The root folder, found from where the program is.
#include "tool/compile/root.h"
#include "tool/compile/config.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Where the program is, and from the folder above that, where the root folder is.
#define PROGRAM (CONFIG_INSTALLED ? "/bin/ferry" : "/" CONFIG_BUILD "/ferry")
#define BESIDE (CONFIG_INSTALLED ? "/lib/ferry" : "")

const char *root_folder(void) {
  static char folder[PATH_MAX];
  const size_t program = strlen(PROGRAM);
  if (*folder)
    return folder;
  const ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - sizeof "/lib/ferry");
  const size_t length = n > 0 ? (size_t)n : 0;
  if (length > program && strcmp(folder + length - program, PROGRAM) == 0)
    strcpy(folder + length - program, BESIDE);
  else // linked by another name, as some tests are, or without /proc
    snprintf(folder, sizeof folder, "%s", CONFIG_SOURCE);
  return folder;
}

void root_expand(char *to, size_t bytes, const char *text) {
  size_t used = 0;
  for (const char *at = text, *next; used < bytes; at = next + strlen(CONFIG_ROOT)) {
    next = strstr(at, CONFIG_ROOT);
    const int length = (int)(next ? (size_t)(next - at) : strlen(at));
    used += (size_t)snprintf(to + used, bytes - used, "%.*s%s", length, at, next ? root_folder() : "");
    if (!next)
      return;
  }
}

const char *rooted(const char *text) {
  enum { CONSTANTS = 64 };
  static struct { const char *text, *path; } known[CONSTANTS];
  int i = 0;
  while (i < CONSTANTS && known[i].text && strcmp(known[i].text, text) != 0)
    i++;
  if (i < CONSTANTS && known[i].text)
    return known[i].path;
  const size_t bytes = strlen(text) + 4 * PATH_MAX;
  char *path = malloc(bytes);
  if (!path)
    abort();
  root_expand(path, bytes, text);
  if (i < CONSTANTS) {
    known[i].text = text;
    known[i].path = path;
  }
  return path;
}
