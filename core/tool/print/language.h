// SPDX-License-Identifier: MIT
// Messages in the reader's language, by GNU gettext. docs/translations/README.md says how to add one.
#ifndef TOOL_PRINT_LANGUAGE_H
#define TOOL_PRINT_LANGUAGE_H

#include <stddef.h>

// Marks a message and translates it: printf(_("%d of %d tests passed"), ...). N_ only marks it, where no function can be called.
#define _(message) language_of(message)
#define N_(message) message

// The catalog of the language that LANGUAGE, LC_ALL, LC_MESSAGES or LANG asks for, if `make translations` built one in the folder `catalogs`,
// a string that lives as long as the program. Call once, at the start.
void language_start(const char *catalogs);

// The translation, or `message` itself if there is none. Lives as long as the program. NULL stays NULL.
const char *language_of(const char *message) __attribute__((format_arg(1)));

// In `path`, the translation of a page of docs/ if there is one, else `page` itself.
void language_page(const char *page, char *path, size_t bytes);

#endif
