// SPDX-License-Identifier: MIT
// Names of packages: which system this is, and what it calls a package.
#include "tool/packages.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef enum System { DEBIAN, FEDORA, ARCH, SUSE, ALPINE, HOMEBREW, SYSTEMS, UNKNOWN = SYSTEMS } System;

static const struct {
  const char *ids, *command; // what ID or ID_LIKE of /etc/os-release may say
} systems[SYSTEMS] = {
    [DEBIAN] = {" debian ubuntu ", "sudo apt-get install"},
    [FEDORA] = {" fedora rhel centos ", "sudo dnf install"},
    [ARCH] = {" arch archlinux ", "sudo pacman -S"},
    [SUSE] = {" suse opensuse ", "sudo zypper install"},
    [ALPINE] = {" alpine ", "sudo apk add"},
    [HOMEBREW] = {" ", "brew install"},
};

static const char *const names[][SYSTEMS] = {
#define PACKAGE(...) {__VA_ARGS__},
#include "tool/packages.def"
#undef PACKAGE
};

// The system of a line such as ID_LIKE="rhel fedora".
static System system_of(char *line) {
  char *rest = strchr(line, '=') + 1;
  for (char *word; (word = strsep(&rest, " \"'\n"));) {
    char padded[64];
    snprintf(padded, sizeof padded, " %.60s ", word);
    for (int i = 0; *word && i < SYSTEMS; i++)
      if (strstr(systems[i].ids, padded))
        return (System)i;
  }
  return UNKNOWN;
}

static System this_system(void) {
#ifdef __APPLE__
  return HOMEBREW;
#else
  System own = UNKNOWN, like = UNKNOWN;
  char line[256];
  FILE *file = fopen("/etc/os-release", "r");
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, "ID=", 3) == 0)
      own = system_of(line);
    else if (strncmp(line, "ID_LIKE=", 8) == 0)
      like = system_of(line);
  }
  if (file)
    fclose(file);
  return own != UNKNOWN ? own : like;
#endif
}

const char *package_install(const char *package) {
  static char text[256];
  const System system = this_system();
  for (size_t i = 0; system != UNKNOWN && i < sizeof names / sizeof names[0]; i++)
    if (strcmp(names[i][DEBIAN], package) == 0) {
      snprintf(text, sizeof text, "%s %s", systems[system].command, names[i][system]);
      return text;
    }
  if (system == DEBIAN)
    snprintf(text, sizeof text, "%s %s", systems[system].command, package);
  else
    snprintf(text, sizeof text, "the package that Debian calls %s", package);
  return text;
}
