// SPDX-License-Identifier: MIT
// Where the files of a data set lie on this machine.
#ifndef FERRY_DATA_FOLDERS_H
#define FERRY_DATA_FOLDERS_H

#include "base/error.h"

enum { FY_PATH_BYTES = 1024 };

// The places of one data set: below each root, these folders ("" is the root itself), NULL at the end; and the folder
// of a distribution's package, or NULL.
typedef struct FyDataPlaces {
  const char *const *folders;
  const char *packaged;
} FyDataPlaces;

// The first readable file of that name. `root` given: below it alone. NULL: below FERRY_DATA, below what
// chapters/get_data.sh writes to (XDG_DATA_HOME/ferry, by default ~/.local/share/ferry), then in the package's folder.
// Any thread; never raises.
bool fy_find_data(const FyDataPlaces *places, const char *root, const char *name, char path[FY_PATH_BYTES]);

// Where fy_find_data looks, for an error: "/data or /home/a/.local/share/ferry". The text is in `out`, returned.
const char *fy_data_roots(const FyDataPlaces *places, const char *root, char *out, size_t size);

#endif
