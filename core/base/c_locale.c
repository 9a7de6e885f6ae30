// SPDX-License-Identifier: MIT
// The C locale, which always exists.
#include "base/c_locale.h"
#include "base/error.h"
#include <pthread.h>
#include <stdlib.h>

static locale_t c_locale;

static void open_locale(void) {
  c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!c_locale)
    fy_panic("the C library has no C locale");
}

locale_t fy_c_locale(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_locale);
  return c_locale;
}

double fy_strtod(const char *text, char **end) {
  return strtod_l(text, end, fy_c_locale());
}
