// SPDX-License-Identifier: MIT
#include "base/json_text.h"
#include "base/c_locale.h"
#include "base/error.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void fy_json_malformed(const FyJson *json, size_t at, const char *format, ...) {
  char expected[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(expected, sizeof expected, format, arguments);
  va_end(arguments);
  fy_raise(FY_VALUE_ERROR, "%s: not a readable %s: at byte %zu, expected %s", json->path, json->kind, json->offset + at,
           expected);
}

// The scanner does the work: what it refuses raises.
static FyJsonScan scan_of(const FyJson *json) {
  return (FyJsonScan){.text = json->text, .length = json->length, .at = json->at};
}

static void finish(FyJson *json, const FyJsonScan *scan, bool good, const char *what) {
  char expected[512];
  json->at = scan->at;
  if (good)
    return;
  snprintf(expected, sizeof expected, scan->expected, what);
  fy_json_malformed(json, scan->wrong_at, "%s", expected);
}

char fy_json_peek(FyJson *json) {
  FyJsonScan scan = scan_of(json);
  const char next = fy_json_scan_peek(&scan);
  finish(json, &scan, true, NULL);
  return next;
}

bool fy_json_accept(FyJson *json, char character) {
  FyJsonScan scan = scan_of(json);
  const bool accepted = fy_json_scan_accept(&scan, character);
  finish(json, &scan, true, NULL);
  return accepted;
}

void fy_json_expect(FyJson *json, char character) {
  if (!fy_json_accept(json, character))
    fy_json_malformed(json, json->at, "'%c'", character);
}

uint64_t fy_json_unsigned(FyJson *json, const char *what) {
  uint64_t value = 0;
  fy_json_peek(json);
  size_t begin = json->at;
  for (; json->at < json->length && json->text[json->at] >= '0' && json->text[json->at] <= '9'; json->at++)
    if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
        __builtin_add_overflow(value, (uint64_t)(json->text[json->at] - '0'), &value))
      fy_json_malformed(json, begin, "%s below 2^64", what);
  bool leading_zero = json->text[begin] == '0' && json->at - begin > 1;
  bool goes_on = json->at < json->length && memchr(".eE", json->text[json->at], 3);
  if (json->at == begin || leading_zero || goes_on)
    fy_json_malformed(json, begin, "%s, a whole number from 0", what);
  return value;
}

size_t fy_json_string(FyJson *json, const char *what) {
  FyJsonScan scan = scan_of(json);
  size_t begin;
  finish(json, &scan, fy_json_scan_string(&scan, &begin), what);
  return begin;
}

double fy_json_number(FyJson *json, const char *what) {
  FyJsonScan scan = scan_of(json);
  size_t begin;
  finish(json, &scan, fy_json_scan_number(&scan, &begin), what);
  return fy_strtod(json->text + begin, NULL);
}

// ---- values that are skipped -------------------------------------------------------------------------------------------

static bool skip_word(FyJson *json, const char *word) {
  FyJsonScan scan = scan_of(json);
  const bool found = fy_json_scan_word(&scan, word);
  finish(json, &scan, true, NULL);
  return found;
}

static void skip_within(FyJson *json, int levels) {
  const char first = fy_json_peek(json);
  if (first == '"') {
    fy_json_string(json, "a string");
  } else if (first == '{' || first == '[') {
    const char last = first == '{' ? '}' : ']';
    if (levels == 0)
      fy_json_malformed(json, json->at, "objects and arrays of at most 500 levels");
    json->at++;
    if (fy_json_accept(json, last))
      return;
    do {
      if (first == '{') {
        fy_json_string(json, "a name");
        fy_json_expect(json, ':');
      }
      skip_within(json, levels - 1);
    } while (fy_json_accept(json, ','));
    fy_json_expect(json, last);
  } else if (!skip_word(json, "true") && !skip_word(json, "false") && !skip_word(json, "null")) {
    fy_json_number(json, "a value");
  }
}

void fy_json_skip(FyJson *json) {
  skip_within(json, 500);
}
