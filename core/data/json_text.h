// A strict reader of JSON text that takes no memory: strings are unescaped where they lie. For data/ only. What does
// not say that it raises never does; what is malformed raises what fy_json_malformed does.
#ifndef FERRY_DATA_JSON_TEXT_H
#define FERRY_DATA_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct FyJson {
  const char *path; // of the file, for messages
  size_t offset;    // of the text in the file
  char *text;       // with a NUL after its end; changes
  size_t length, at;
} FyJson;

// Raises FY_VALUE_ERROR "PATH: not a readable safetensors file: at byte N, expected ...".
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

// Is this UTF-8, without a NUL within `length`?
bool fy_is_utf8(const char *text, size_t length);

#endif
