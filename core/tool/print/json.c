// A reader of JSON that believes nothing.
#include "tool/print/json.h"
#include "tool/print/plain.h"
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64 };

typedef struct JsonReader {
  const char *at, *end;
  int line;
  const char *wrong; // what was found out first
} JsonReader;

static bool fails(JsonReader *r, const char *what) {
  if (!r->wrong)
    r->wrong = what;
  return false;
}

static void skip_space(JsonReader *r) {
  for (; r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at; r->at++)
    r->line += *r->at == '\n';
}

static bool take(JsonReader *r, const char *word) {
  size_t length = strlen(word);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
    return false;
  r->at += length;
  return true;
}

// ---- strings -------------------------------------------------------------------------------------------------------------

static bool hex4(JsonReader *r, uint32_t *code) {
  *code = 0;
  for (int i = 0; i < 4; i++, r->at++) {
    if (r->at >= r->end || !isxdigit((unsigned char)*r->at))
      return fails(r, "a \\u without four digits");
    int c = tolower((unsigned char)*r->at);
    *code = *code * 16 + (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return true;
}

static size_t put_utf8(char *to, uint32_t code) {
  if (code < 0x80)
    return to[0] = (char)code, 1;
  if (code < 0x800)
    return to[0] = (char)(0xc0 | code >> 6), to[1] = (char)(0x80 | (code & 63)), 2;
  if (code < 0x10000)
    return to[0] = (char)(0xe0 | code >> 12), to[1] = (char)(0x80 | (code >> 6 & 63)),
           to[2] = (char)(0x80 | (code & 63)), 3;
  to[0] = (char)(0xf0 | code >> 18);
  to[1] = (char)(0x80 | (code >> 12 & 63));
  to[2] = (char)(0x80 | (code >> 6 & 63));
  to[3] = (char)(0x80 | (code & 63));
  return 4;
}

// After the backslash: the bytes that it stands for. 0 where it stands for none.
static size_t escape(JsonReader *r, char *to) {
  static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  const char *letter = r->at < r->end && *r->at ? strchr(letters, *r->at) : NULL;
  uint32_t code, low;
  if (letter) {
    r->at++;
    return *to = meant[letter - letters], 1;
  }
  if (!take(r, "u"))
    return fails(r, "a backslash before something that it does not go with");
  if (!hex4(r, &code))
    return 0;
  if (code >= 0xd800 && code < 0xdc00) {
    if (!take(r, "\\u") || !hex4(r, &low) || low < 0xdc00 || low > 0xdfff)
      return fails(r, "half of a character");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  } else if (code >= 0xdc00 && code < 0xe000) {
    return fails(r, "half of a character");
  }
  if (code == 0)
    return fails(r, "a NUL character");
  return put_utf8(to, code);
}

static char *read_string(JsonReader *r) {
  if (!take(r, "\"")) {
    fails(r, "something else where a string has to be");
    return NULL;
  }
  char *string = malloc((size_t)(r->end - r->at) + 1), *to = string;
  if (!string)
    fails(r, "too much for the memory");
  while (string && !r->wrong) {
    if (r->at >= r->end) {
      fails(r, "a string that does not end");
    } else if (take(r, "\"")) {
      *to = '\0';
      char *fitting = realloc(string, (size_t)(to - string) + 1);
      return fitting ? fitting : string;
    } else if (take(r, "\\")) {
      to += escape(r, to);
    } else if ((unsigned char)*r->at < 32) {
      fails(r, "a control character in a string");
    } else {
      size_t length = utf8_sequence(r->at, (size_t)(r->end - r->at));
      if (length == 0)
        fails(r, "bytes that are no UTF-8");
      memcpy(to, r->at, length);
      to += length;
      r->at += length;
    }
  }
  free(string);
  return NULL;
}

// ---- values --------------------------------------------------------------------------------------------------------------

static bool digits(JsonReader *r) {
  const char *from = r->at;
  while (r->at < r->end && isdigit((unsigned char)*r->at))
    r->at++;
  return r->at > from;
}

static bool read_number(JsonReader *r, double *number) {
  const char *from = r->at;
  char copy[64];
  take(r, "-");
  bool good = take(r, "0") || digits(r);
  if (good && take(r, "."))
    good = digits(r);
  if (good && (take(r, "e") || take(r, "E"))) {
    if (!take(r, "+"))
      take(r, "-");
    good = digits(r);
  }
  size_t length = (size_t)(r->at - from);
  if (!good || length >= sizeof copy)
    return fails(r, "something that is no value");
  memcpy(copy, from, length);
  copy[length] = '\0';
  *number = strtod(copy, NULL);
  return isfinite(*number) || fails(r, "a number that is too large");
}

static Json *read_value(JsonReader *r, int depth);

static bool read_members(JsonReader *r, Json *json, const char *closing, int depth) {
  Json **last = &json->first;
  skip_space(r);
  if (take(r, closing))
    return true;
  do {
    char *key = NULL;
    skip_space(r);
    if (json->kind == JSON_OBJECT) {
      if (!(key = read_string(r)))
        return false;
      for (const Json *other = json->first; other; other = other->next)
        if (strcmp(other->key, key) == 0)
          fails(r, "a key twice in one object");
      skip_space(r);
      if (!take(r, ":"))
        fails(r, "a key without a value");
    }
    *last = r->wrong ? NULL : read_value(r, depth + 1);
    if (!*last) {
      free(key);
      return false;
    }
    (*last)->key = key;
    last = &(*last)->next;
    skip_space(r);
  } while (take(r, ","));
  return take(r, closing) || fails(r, "an array or object that does not end");
}

static Json *read_value(JsonReader *r, int depth) {
  Json *json = calloc(1, sizeof *json);
  bool good = json != NULL || fails(r, "too much for the memory");
  skip_space(r);
  if (!good)
    return NULL;
  if (depth > DEEPEST)
    good = fails(r, "arrays and objects nested too deep");
  else if (r->at >= r->end)
    good = fails(r, "the end of the file");
  else if (*r->at == '{' || *r->at == '[') {
    json->kind = *r->at == '{' ? JSON_OBJECT : JSON_ARRAY;
    good = read_members(r, json, *r->at++ == '{' ? "}" : "]", depth);
  } else if (*r->at == '"') {
    json->kind = JSON_STRING;
    good = (json->string = read_string(r)) != NULL;
  } else if (take(r, "true") || take(r, "false")) {
    json->kind = JSON_BOOL;
    json->truth = r->at[-2] == 'u';
  } else if (!take(r, "null")) {
    json->kind = JSON_NUMBER;
    good = read_number(r, &json->number);
  }
  if (good)
    return json;
  json_free(json);
  return NULL;
}

Json *json_read(const char *text, size_t bytes, char *why, size_t why_bytes) {
  JsonReader r = {text, text + bytes, 1, NULL};
  Json *json = read_value(&r, 0);
  skip_space(&r);
  if (json && r.at < r.end) {
    fails(&r, "more after the end");
    json_free(json);
    json = NULL;
  }
  if (!json)
    snprintf(why, why_bytes, "line %d: %s", r.line, r.wrong);
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
