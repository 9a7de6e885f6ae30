// SPDX-License-Identifier: MIT
// A strict reader of JSON text that takes no memory: strings are unescaped where they lie. For core/ and plots. What
// does not say that it raises never does; what is malformed raises what fy_json_malformed does.
#ifndef FERRY_BASE_JSON_TEXT_H
#define FERRY_BASE_JSON_TEXT_H

#include "base/json_scan.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct FyJson {
  const char *path; // of the file, for messages
  const char *kind; // what the file should be: "safetensors file"
  size_t offset;    // of the text in the file
  char *text;       // with a NUL after its end; changes
  size_t length, at;
} FyJson;

// Raises FY_VALUE_ERROR "PATH: not a readable KIND: at byte N, expected ...".
_Noreturn void fy_json_malformed(const FyJson *json, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// The next character but for white space; '\0' at the end.
char fy_json_peek(FyJson *json);

// The next character is this one, and is passed; else returns false, or raises.
bool fy_json_accept(FyJson *json, char character);
void fy_json_expect(FyJson *json, char character);

// A string: UTF-8 without NUL, its end marked by one. Where it lies is returned as a position in the text. Raises.
size_t fy_json_string(FyJson *json, const char *what);

// A whole number from 0, without sign, fraction or exponent. Raises.
uint64_t fy_json_unsigned(FyJson *json, const char *what);

// Any number, as strtod has it in the C locale: what is beyond a double's range is infinite. Raises.
double fy_json_number(FyJson *json, const char *what);

// Passes a value of any kind; objects and arrays of at most 500 levels. Strings in it change. Raises.
void fy_json_skip(FyJson *json);

#endif
