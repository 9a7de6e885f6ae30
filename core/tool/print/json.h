// Reads JSON (RFC 8259), whoever wrote it.
#ifndef GRADER_JSON_H
#define GRADER_JSON_H

#include <stdbool.h>
#include <stddef.h>

typedef enum JsonKind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } JsonKind;

// A value, in a list with its neighbours in the array or object that it is in.
typedef struct Json {
  JsonKind kind;
  char *key;  // in an object
  bool truth; // JSON_BOOL
  double number;
  char *string; // UTF-8 without NUL bytes
  struct Json *first, *next;
} Json;

// NULL for what is no JSON (nested deeper than 64, a key twice in an object, a NUL character in a string: none either) or where
// there is no memory; `why` then names the line.
Json *json_read(const char *text, size_t bytes, char *why, size_t why_bytes);
void json_free(Json *json);

// The value of a key, NULL where `json` is NULL, no object or has no such key, or its value is of another kind.
const Json *json_get(const Json *json, const char *key, JsonKind kind);

#endif
