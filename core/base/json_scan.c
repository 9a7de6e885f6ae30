// SPDX-License-Identifier: MIT
#include "base/json_scan.h"
#include <stdint.h>
#include <string.h>

static bool fails(FyJsonScan *json, size_t at, const char *expected) {
  json->wrong_at = at;
  json->expected = expected;
  return false;
}

char fy_json_scan_peek(FyJsonScan *json) {
  while (json->at < json->length && memchr(" \t\r\n", json->text[json->at], 4))
    json->at++;
  return json->at < json->length ? json->text[json->at] : '\0';
}

bool fy_json_scan_accept(FyJsonScan *json, char character) {
  if (fy_json_scan_peek(json) != character || json->at == json->length)
    return false;
  json->at++;
  return true;
}

bool fy_json_scan_word(FyJsonScan *json, const char *word) {
  size_t length = strlen(word);
  if (json->length - json->at < length || memcmp(json->text + json->at, word, length) != 0)
    return false;
  json->at += length;
  return true;
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

static bool hex4(FyJsonScan *json, uint32_t *code) {
  *code = 0;
  for (int i = 0; i < 4; i++, json->at++) {
    const char *digits = "0123456789abcdef", *digit = NULL;
    if (json->at < json->length && json->text[json->at])
      digit = strchr(digits, json->text[json->at] | 0x20);
    if (!digit || json->text[json->at] < '0')
      return fails(json, json->at, "four hexadecimal digits");
    *code = *code << 4 | (uint32_t)(digit - digits);
  }
  return true;
}

// After "\u": one character, which may take two escapes.
static bool unicode_escape(FyJsonScan *json, uint32_t *code) {
  size_t begin = json->at;
  uint32_t low;
  if (!hex4(json, code))
    return false;
  if (*code >= 0xD800 && *code < 0xDC00) {
    if (!fy_json_scan_word(json, "\\u"))
      return fails(json, begin, "a pair of surrogates");
    if (!hex4(json, &low))
      return false;
    if (low < 0xDC00 || low > 0xDFFF)
      return fails(json, begin, "a pair of surrogates");
    *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
    return true;
  }
  if (*code == 0 || (*code >= 0xDC00 && *code <= 0xDFFF))
    return fails(json, begin, "a character other than NUL and half a pair of surrogates");
  return true;
}

static bool escape(FyJsonScan *json, uint32_t *code) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  char name = json->at < json->length ? json->text[json->at] : '\0';
  if (name == 'u') {
    json->at++;
    return unicode_escape(json, code);
  }
  const char *known = name ? strchr(names, name) : NULL;
  if (!known)
    return fails(json, json->at, "one of the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
  json->at++;
  *code = (unsigned char)values[known - names];
  return true;
}

bool fy_json_scan_string(FyJsonScan *json, size_t *begin) {
  if (!fy_json_scan_accept(json, '"'))
    return fails(json, json->at, "%s, in quotes");
  size_t end = *begin = json->at; // what is unescaped is never longer than what it was
  for (;;) {
    if (json->at == json->length)
      return fails(json, json->at, "the end of %s: a quote");
    unsigned char c = (unsigned char)json->text[json->at];
    uint32_t code;
    if (c == '"')
      break;
    if (c == '\\') {
      json->at++;
      if (!escape(json, &code))
        return false;
      end += write_utf8(code, json->text + end);
      continue;
    }
    size_t length = c < 0x20 ? 0 : utf8_length((unsigned char *)json->text + json->at, json->length - json->at);
    if (!length)
      return fails(json, json->at, "UTF-8 text without control characters");
    memmove(json->text + end, json->text + json->at, length);
    end += length;
    json->at += length;
  }
  json->at++;
  json->text[end] = '\0';
  return true;
}

// ---- numbers -----------------------------------------------------------------------------------------------------------

static size_t digits(const FyJsonScan *json, size_t at) {
  size_t count = 0;
  while (at + count < json->length && json->text[at + count] >= '0' && json->text[at + count] <= '9')
    count++;
  return count;
}

static bool is_one_of(const FyJsonScan *json, size_t at, const char *characters) {
  return at < json->length && json->text[at] && strchr(characters, json->text[at]);
}

bool fy_json_scan_number(FyJsonScan *json, size_t *begin) {
  fy_json_scan_peek(json);
  *begin = json->at;
  size_t at = *begin + is_one_of(json, *begin, "-");
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
    return fails(json, *begin, "%s, a number");
  json->at = at;
  return true;
}
