// SPDX-License-Identifier: MIT
// The lexical part of JSON (RFC 8259): white space, strings, numbers. It raises nothing and takes no memory, so that ./ferry, which is not
// linked with the library, has the same reader (core/tool/print/json.c) as the library (base/json_text.h).
#ifndef FERRY_BASE_JSON_SCAN_H
#define FERRY_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

typedef struct FyJsonScan {
  char *text; // with a NUL at `length`; strings are unescaped in place
  size_t length, at;
  size_t wrong_at;      // after a failure: where,
  const char *expected; // and what should be there; may have one %s for the name of the value
} FyJsonScan;

// The next character that is not white space; '\0' at the end.
char fy_json_scan_peek(FyJsonScan *json);
// Passes the next character if it is this one.
bool fy_json_scan_accept(FyJsonScan *json, char character);
// Passes a word such as true.
bool fy_json_scan_word(FyJsonScan *json, const char *word);
// A string: UTF-8 without NUL, ended by a NUL at `begin` in the text.
bool fy_json_scan_string(FyJsonScan *json, size_t *begin);
// A number, from the returned position up to json->at.
bool fy_json_scan_number(FyJsonScan *json, size_t *begin);

// Is this UTF-8, without a NUL within `length`?
bool fy_is_utf8(const char *text, size_t length);

#endif
