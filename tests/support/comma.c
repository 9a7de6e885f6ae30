// SPDX-License-Identifier: MIT
// The locale's file, as glibc has it: fields by offset, in the machine's byte order.
#include "comma.h"
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIELDS = 6, MAGIC = 0x20031115 };

static bool write_locale(const char *folder) {
  struct {
    uint32_t magic, count, offset[FIELDS];
    char text[16];
  } file = {MAGIC ^ LC_NUMERIC, FIELDS, {32, 34, 35, 36, 40, 44}, ","};
  char path[128];
  memcpy(file.text + 4, &(wchar_t){L','}, 4); // the decimal point as a wide character
  snprintf(path, sizeof path, "%s/comma", folder);
  if (mkdir(path, 0700) != 0)
    return false;
  snprintf(path, sizeof path, "%s/comma/LC_NUMERIC", folder);
  FILE *out = fopen(path, "wb");
  const bool written = out && fwrite(&file, sizeof file, 1, out) == 1;
  return out && fclose(out) == 0 && written;
}

static void remove_locale(const char *folder) {
  char path[128];
  snprintf(path, sizeof path, "%s/comma/LC_NUMERIC", folder);
  unlink(path);
  snprintf(path, sizeof path, "%s/comma", folder);
  rmdir(path);
  rmdir(folder);
}

bool begin_decimal_comma(void) {
  char folder[] = "/tmp/ferry-locale-XXXXXX", text[8];
  if (!mkdtemp(folder))
    return false;
  const bool set = write_locale(folder) && setenv("LOCPATH", folder, 1) == 0 && setlocale(LC_NUMERIC, "comma") != NULL;
  remove_locale(folder);
  unsetenv("LOCPATH");
  snprintf(text, sizeof text, "%.1f", 0.5);
  return set && strcmp(text, "0,5") == 0;
}

void end_decimal_comma(void) {
  setlocale(LC_NUMERIC, "C");
}
