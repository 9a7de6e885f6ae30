// SPDX-License-Identifier: MIT
// Reads JSON (RFC 8259) from any source, also a hostile one.
#ifndef TOOL_JSON_H
#define TOOL_JSON_H

#include <stdbool.h>
#include <stddef.h>

typedef enum JsonKind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } JsonKind;

// A value, in a list with its neighbors in the array or object that it is in.
typedef struct Json {
  JsonKind kind;
  char *key;  // in an object
  bool truth; // JSON_BOOL
  double number;
  char *string; // UTF-8 without NUL bytes
  struct Json *first, *next;
} Json;

// NULL if the text is not JSON, has more than 64 levels, an object with more than 256 keys or with a key twice, a NUL character in a
// string, more than 256 MiB, or if there is no memory; `why` then names the line and what was expected there. The caller frees the value
// with json_free.
Json *json_read(const char *text, size_t bytes, char *why, size_t why_bytes);
void json_free(Json *json);

// The value of a key, NULL where `json` is NULL, no object or has no such key, or its value is of another kind.
const Json *json_get(const Json *json, const char *key, JsonKind kind);

#endif
