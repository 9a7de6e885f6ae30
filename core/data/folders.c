// SPDX-License-Identifier: MIT
#include "data/folders.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_there(char path[FY_PATH_BYTES], const char *root, const char *folder, const char *name) {
  const char *slash = *folder ? "/" : "";
  int length = snprintf(path, FY_PATH_BYTES, "%s%s%s/%s", root, slash, folder, name);
  return length > 0 && length < FY_PATH_BYTES && access(path, R_OK) == 0;
}

static bool find_below(const FyDataPlaces *places, const char *root, const char *name, char path[FY_PATH_BYTES]) {
  for (int f = 0; places->folders[f]; f++)
    if (is_there(path, root, places->folders[f], name))
      return true;
  return false;
}

// What FERRY_DATA says, and the user's own data as the XDG base directories have it. False where there is none.
static bool named_root(char root[FY_PATH_BYTES]) {
  const char *data = getenv("FERRY_DATA");
  return data && *data && snprintf(root, FY_PATH_BYTES, "%s", data) < FY_PATH_BYTES;
}

static bool home_root(char root[FY_PATH_BYTES]) {
  const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
  if (data && *data)
    return snprintf(root, FY_PATH_BYTES, "%s/ferry", data) < FY_PATH_BYTES;
  return home && *home && snprintf(root, FY_PATH_BYTES, "%s/.local/share/ferry", home) < FY_PATH_BYTES;
}

bool fy_find_data(const FyDataPlaces *places, const char *root, const char *name, char path[FY_PATH_BYTES]) {
  char own[FY_PATH_BYTES];
  if (root)
    return find_below(places, root, name, path);
  return (named_root(own) && find_below(places, own, name, path)) ||
         (home_root(own) && find_below(places, own, name, path)) ||
         (places->packaged && is_there(path, places->packaged, "", name));
}

const char *fy_data_roots(const FyDataPlaces *places, const char *root, char *out, size_t size) {
  char named[FY_PATH_BYTES] = "", home[FY_PATH_BYTES] = "";
  if (root) {
    snprintf(out, size, "%s", root);
    return out;
  }
  bool has_name = named_root(named), has_home = home_root(home);
  if (!has_name && !has_home && !places->packaged)
    snprintf(out, size, "FERRY_DATA, which is not set");
  else
    snprintf(out, size, "%s%s%s%s%s", has_name ? named : "", has_name && has_home ? " or " : "", has_home ? home : "",
             places->packaged && (has_name || has_home) ? " or " : "", places->packaged ? places->packaged : "");
  return out;
}
