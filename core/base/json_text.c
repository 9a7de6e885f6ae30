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

char fy_json_peek(FyJson *json) {
  while (json->at < json->length && memchr(" \t\r\n", json->text[json->at], 4))
    json->at++;
  return json->at < json->length ? json->text[json->at] : '\0';
}

bool fy_json_accept(FyJson *json, char character) {
  if (fy_json_peek(json) != character || json->at == json->length)
    return false;
  json->at++;
  return true;
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

// ---- UTF-8 -------------------------------------------------------------------------------------------------------------

// Bytes of the character at `text`, 0 when it is none: overlong forms, surrogates and what lies beyond U+10FFFF are none.
static size_t utf8_length(const unsigned char *text, size_t room) {
  static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
  size_t length = text[0] < 0x80 ? 1 : text[0] >> 5 == 6 ? 2 : text[0] >> 4 == 14 ? 3 : text[0] >> 3 == 30 ? 4 : 0;
  if (length <= 1)
    return length;
  if (length > room)
    return 0;
  uint32_t code = text[0] & (0x7fu >> length);
  for (size_t i = 1; i < length; i++) {
    if (text[i] >> 6 != 2)
      return 0;
    code = code << 6 | (text[i] & 0x3fu);
  }
  return code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? 0 : length;
}

bool fy_is_utf8(const char *text, size_t length) {
  const unsigned char *bytes = (const unsigned char *)text;
  size_t step;
  for (size_t i = 0; i < length; i += step) {
    step = bytes[i] ? utf8_length(bytes + i, length - i) : 0;
    if (!step)
      return false;
  }
  return true;
}

static size_t write_utf8(uint32_t code, char *out) {
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; i--, code >>= 6)
    out[i] = (char)(0x80 | (code & 0x3f));
  out[0] = (char)((0xf00u >> length & 0xf0) | code);
  return length;
}

// ---- strings -----------------------------------------------------------------------------------------------------------

static uint32_t hex4(FyJson *json) {
  uint32_t code = 0;
  for (int i = 0; i < 4; i++, json->at++) {
    const char *digits = "0123456789abcdef", *digit = NULL;
    if (json->at < json->length && json->text[json->at])
      digit = strchr(digits, json->text[json->at] | 0x20);
    if (!digit || json->text[json->at] < '0')
      fy_json_malformed(json, json->at, "four hexadecimal digits");
    code = code << 4 | (uint32_t)(digit - digits);
  }
  return code;
}

// Past "\u": one character, which may take two escapes.
static uint32_t unicode_escape(FyJson *json) {
  size_t begin = json->at;
  uint32_t code = hex4(json);
  if (code >= 0xD800 && code < 0xDC00) {
    if (json->length - json->at < 2 || memcmp(json->text + json->at, "\\u", 2) != 0)
      fy_json_malformed(json, begin, "a pair of surrogates");
    json->at += 2;
    uint32_t low = hex4(json);
    if (low < 0xDC00 || low > 0xDFFF)
      fy_json_malformed(json, begin, "a pair of surrogates");
    return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  if (code == 0 || (code >= 0xDC00 && code <= 0xDFFF))
    fy_json_malformed(json, begin, "a character other than NUL and half a pair of surrogates");
  return code;
}

static uint32_t escape(FyJson *json) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  char name = json->at < json->length ? json->text[json->at] : '\0';
  if (name == 'u') {
    json->at++;
    return unicode_escape(json);
  }
  const char *known = name ? strchr(names, name) : NULL;
  if (!known)
    fy_json_malformed(json, json->at, "one of the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
  json->at++;
  return (unsigned char)values[known - names];
}

size_t fy_json_string(FyJson *json, const char *what) {
  if (!fy_json_accept(json, '"'))
    fy_json_malformed(json, json->at, "%s, in quotes", what);
  size_t begin = json->at, end = begin; // what is unescaped is never longer than what it was
  for (;;) {
    if (json->at == json->length)
      fy_json_malformed(json, json->at, "the end of %s: a quote", what);
    unsigned char c = (unsigned char)json->text[json->at];
    if (c == '"')
      break;
    if (c == '\\') {
      json->at++;
      end += write_utf8(escape(json), json->text + end);
      continue;
    }
    size_t length = c < 0x20 ? 0 : utf8_length((unsigned char *)json->text + json->at, json->length - json->at);
    if (!length)
      fy_json_malformed(json, json->at, "UTF-8 text without control characters");
    memmove(json->text + end, json->text + json->at, length);
    end += length;
    json->at += length;
  }
  json->at++;
  json->text[end] = '\0';
  return begin;
}

// ---- numbers, and what nobody asked for --------------------------------------------------------------------------------

static size_t digits(const FyJson *json, size_t at) {
  size_t count = 0;
  while (at + count < json->length && json->text[at + count] >= '0' && json->text[at + count] <= '9')
    count++;
  return count;
}

static bool is_one_of(const FyJson *json, size_t at, const char *characters) {
  return at < json->length && json->text[at] && strchr(characters, json->text[at]);
}

double fy_json_number(FyJson *json, const char *what) {
  fy_json_peek(json);
  size_t begin = json->at, at = begin + is_one_of(json, begin, "-");
  size_t whole = digits(json, at), part = 1, power = 1;
  bool leading_zero = whole > 1 && json->text[at] == '0';
  at += whole;
  if (is_one_of(json, at, ".")) {
    part = digits(json, at + 1);
    at += 1 + part;
  }
  if (is_one_of(json, at, "eE")) {
    at += 1 + (size_t)is_one_of(json, at + 1, "+-");
    power = digits(json, at);
    at += power;
  }
  if (!whole || !part || !power || leading_zero)
    fy_json_malformed(json, begin, "%s, a number", what);
  json->at = at;
  return fy_strtod(json->text + begin, NULL);
}

static bool skip_word(FyJson *json, const char *word) {
  size_t length = strlen(word);
  if (json->length - json->at < length || memcmp(json->text + json->at, word, length) != 0)
    return false;
  json->at += length;
  return true;
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
