// SPDX-License-Identifier: MIT
// A tree of JSON values on top of the scanner in core/base/json_scan.h, for files that may be hostile: depth, size and the number of keys
// are limited.
#include "tool/print/json.h"
#include "base/json_scan.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LEVELS = 64, MOST_KEYS = 256, MOST_BYTES = 256 << 20 };

static bool fails(FyJsonScan *scan, const char *expected) {
  scan->wrong_at = scan->at;
  scan->expected = expected;
  return false;
}

static char *read_string(FyJsonScan *scan) {
  size_t begin;
  if (!fy_json_scan_string(scan, &begin))
    return NULL;
  char *string = strdup(scan->text + begin);
  if (!string)
    fails(scan, "more memory");
  return string;
}

static bool read_number(FyJsonScan *scan, double *number) {
  size_t begin;
  if (!fy_json_scan_number(scan, &begin))
    return false;
  *number = strtod(scan->text + begin, NULL);
  return isfinite(*number) || fails(scan, "a number in the range of a double");
}

// ---- arrays and objects ----------------------------------------------------------------------------------------------------

static Json *read_value(FyJsonScan *scan, int depth);

static char *read_key(FyJsonScan *scan, const Json *object) {
  char *key = read_string(scan);
  int count = 0;
  bool good = key != NULL;
  for (const Json *other = object->first; good && other; other = other->next)
    if (++count == MOST_KEYS || strcmp(other->key, key) == 0)
      good = fails(scan, count == MOST_KEYS ? "an object of at most 256 keys" : "a key once in an object");
  if (good && fy_json_scan_accept(scan, ':'))
    return key;
  if (good)
    fails(scan, "':' and a value after the key");
  free(key);
  return NULL;
}

static bool read_members(FyJsonScan *scan, Json *json, char closing, int depth) {
  Json **last = &json->first;
  if (fy_json_scan_accept(scan, closing))
    return true;
  do {
    char *key = NULL;
    if (json->kind == JSON_OBJECT && !(key = read_key(scan, json)))
      return false;
    *last = read_value(scan, depth + 1);
    if (!*last) {
      free(key);
      return false;
    }
    (*last)->key = key;
    last = &(*last)->next;
  } while (fy_json_scan_accept(scan, ','));
  return fy_json_scan_accept(scan, closing) || fails(scan, "',' or the end of the array or object");
}

static bool read_into(FyJsonScan *scan, Json *json, int depth) {
  const char first = fy_json_scan_peek(scan);
  if (depth > MOST_LEVELS)
    return fails(scan, "arrays and objects that are not nested too deep (at most 64 levels)");
  if (first == '{' || first == '[') {
    json->kind = first == '{' ? JSON_OBJECT : JSON_ARRAY;
    scan->at++;
    return read_members(scan, json, first == '{' ? '}' : ']', depth);
  }
  if (first == '"') {
    json->kind = JSON_STRING;
    return (json->string = read_string(scan)) != NULL;
  }
  if (fy_json_scan_word(scan, "null"))
    return true;
  json->kind = JSON_BOOL;
  json->truth = fy_json_scan_word(scan, "true");
  if (json->truth || fy_json_scan_word(scan, "false"))
    return true;
  json->kind = JSON_NUMBER;
  return read_number(scan, &json->number);
}

static Json *read_value(FyJsonScan *scan, int depth) {
  Json *json = calloc(1, sizeof *json);
  if (!json)
    fails(scan, "more memory");
  if (json && read_into(scan, json, depth))
    return json;
  json_free(json);
  return NULL;
}

// ---- a text ----------------------------------------------------------------------------------------------------------------

static void explain(const FyJsonScan *scan, const char *text, char *why, size_t why_bytes) {
  char expected[160];
  int line = 1;
  for (size_t i = 0; i < scan->wrong_at; i++)
    line += text[i] == '\n';
  snprintf(expected, sizeof expected, scan->expected, "a value");
  snprintf(why, why_bytes, "line %d: expected %s", line, expected);
}

Json *json_read(const char *text, size_t bytes, char *why, size_t why_bytes) {
  FyJsonScan scan = {.length = bytes};
  Json *json = NULL;
  if (bytes > MOST_BYTES || !(scan.text = malloc(bytes + 1))) {
    snprintf(why, why_bytes, "line 1: %zu bytes are more than is read", bytes);
    return NULL;
  }
  memcpy(scan.text, text, bytes);
  scan.text[bytes] = '\0';
  json = read_value(&scan, 0);
  fy_json_scan_peek(&scan);
  if (json && scan.at < bytes) {
    fails(&scan, "the end of the file");
    json_free(json);
    json = NULL;
  }
  if (!json)
    explain(&scan, text, why, why_bytes);
  free(scan.text);
  return json;
}

void json_free(Json *json) {
  while (json) {
    Json *next = json->next;
    json_free(json->first);
    free(json->key);
    free(json->string);
    free(json);
    json = next;
  }
}

const Json *json_get(const Json *json, const char *key, JsonKind kind) {
  if (json && json->kind == JSON_OBJECT)
    for (const Json *value = json->first; value; value = value->next)
      if (strcmp(value->key, key) == 0)
        return value->kind == kind ? value : NULL;
  return NULL;
}
