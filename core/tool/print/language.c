// SPDX-License-Identifier: MIT
#include "tool/print/language.h"
#include <libintl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DOMAIN "ferry"

static const char *folder = "";

void language_start(const char *catalogs) {
  folder = catalogs;
  const char *locale = setlocale(LC_MESSAGES, "");
  // gettext ignores LANGUAGE in the C locale, and a machine may have no other one.
  if ((!locale || strcmp(locale, "C") == 0 || strcmp(locale, "POSIX") == 0) && getenv("LANGUAGE"))
    setlocale(LC_MESSAGES, "C.UTF-8");
  bindtextdomain(DOMAIN, folder);
  bind_textdomain_codeset(DOMAIN, "UTF-8");
}

const char *language_of(const char *message) {
  return message && *message ? dgettext(DOMAIN, message) : message; // "" has the catalog's header
}

void language_page(const char *page, char *path, size_t bytes) {
  const char *name = strrchr(page, '/');
  // TRANSLATORS: not a word: the code of your language, which is the name of its folder, such as es.
  snprintf(path, bytes, "%s/%s/docs/%s", folder, _("en"), name ? name + 1 : page);
  if (access(path, R_OK) != 0)
    snprintf(path, bytes, "%s", page);
}
