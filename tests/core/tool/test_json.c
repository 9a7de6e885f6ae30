// SPDX-License-Identifier: MIT
// The reader of JSON: what is JSON is read, what is none is refused with its line, and nothing that is cut or changed crashes it.
// run check:
#include "tool/print/json.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static Json *reads(const char *text) {
  char why[256] = "";
  size_t bytes = strlen(text);
  char *exact = malloc(bytes ? bytes : 1); // so that a sanitizer sees a byte read too many
  memcpy(exact, text, bytes);
  Json *json = json_read(exact, bytes, why, sizeof why);
  free(exact);
  if (!json)
    fail_msg("%s: %s", text, why);
  return json;
}

static void refuses(const char *text, size_t bytes, const char *why_not) {
  char why[256] = "";
  char *exact = malloc(bytes ? bytes : 1);
  memcpy(exact, text, bytes);
  Json *json = json_read(exact, bytes, why, sizeof why);
  free(exact);
  if (json || !strstr(why, why_not))
    fail_msg("%.*s: %s", (int)bytes, text, json ? "it was read" : why);
}

static void test_values(void **unused) {
  (void)unused;
  Json *json = reads(" { \"a\" : [ 1 , -2.5e+1, 0, true, false, null ] , \"b\" : { } , \"c\": \"x\" , \"d\":[]}\n");
  const Json *a = json_get(json, "a", JSON_ARRAY)->first;
  assert_true(a->number == 1 && a->next->number == -25 && a->next->next->number == 0);
  a = a->next->next->next;
  assert_true(a->kind == JSON_BOOL && a->truth && a->next->kind == JSON_BOOL && !a->next->truth);
  assert_true(a->next->next->kind == JSON_NULL && !a->next->next->next);
  assert_null(json_get(json, "b", JSON_OBJECT)->first);
  assert_string_equal(json_get(json, "c", JSON_STRING)->string, "x");
  assert_null(json_get(json, "c", JSON_NUMBER));
  assert_null(json_get(json, "e", JSON_STRING));
  assert_null(json_get(NULL, "e", JSON_STRING));
  assert_null(json_get(a, "e", JSON_STRING));
  json_free(json);
  json_free(NULL);
}

static void test_strings(void **unused) {
  (void)unused;
  Json *json = reads("\"\\\"\\\\\\/\\b\\f\\n\\r\\t \\u00e9\\u20AC\\ud83d\\ude00 \xc3\xa9\x7f\"");
  assert_string_equal(json->string, "\"\\/\b\f\n\r\t \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 \xc3\xa9\x7f");
  json_free(json);
}

static void test_refused(void **unused) {
  (void)unused;
  const char *const none[] = {"",
                              " ",
                              "{",
                              "[1",
                              "[1,]",
                              "[,1]",
                              "{\"a\"}",
                              "{\"a\":}",
                              "{a:1}",
                              "{\"a\":1,}",
                              "nul",
                              "True",
                              "01",
                              "-",
                              "1.",
                              ".5",
                              "1e",
                              "+1",
                              "0x10",
                              "1e999",
                              "\"",
                              "\"\\x\"",
                              "\"\\u12\"",
                              "\"\\u0000\"",
                              "\"\\ud800\"",
                              "\"\\ud800\\u0041\"",
                              "\"\\udc00\"",
                              "\"\xff\"",
                              "\"\xc3\"",
                              "1 2",
                              "[1]]",
                              "{\"a\":1,\"a\":2}",
                              "\"a\nb\"",
                              "'a'",
                              "NaN",
                              "[1}",
                              "{]",
                              "\xef\xbb\xbf{}"};
  for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
    refuses(none[i], strlen(none[i]), "line ");
  refuses("[1,\n2,\n  x]", 11, "line 3: ");
  refuses("[\0]", 3, "line 1");
  refuses("{\"a\\u0000\": 1}", 14, "NUL");
  char deep[200];
  memset(deep, '[', 100);
  memset(deep + 100, ']', 100);
  refuses(deep, 200, "too deep");
  char keys[4000] = "{";
  for (int i = 0; i < 257; i++)
    snprintf(keys + strlen(keys), 16, "%s\"k%d\": 0", i ? ",\n" : "", i);
  refuses(keys, strlen(keys), "line 257: expected an object of at most 256 keys");
  static const char repeated[] = "{\"a\": 1,\n\"a\\u0062\": 2, \"ab\": 3}";
  refuses(repeated, strlen(repeated), "line 2: expected a key once");
  json_free(reads("[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]"));
}

// Pieces of JSON in any order, and bytes that are anything.
static void test_any(void **unused) {
  (void)unused;
  static const char *const pieces[] = {"{",    "}",    "[",    "]",  ",",    ":",    "\"",   "\"a\"",
                                       "\\",   "\\u",  "d83d", "1",  "-",    ".",    "e",    "true",
                                       "fals", "null", " ",    "\n", "\xc3", "\xa9", "\xff", "\"b\":"};
  uint64_t state = 1;
  int read = 0;
  for (int i = 0; i < 200000; i++) {
    char text[160], why[256];
    size_t used = 0;
    for (int j = (int)(i % 12); j >= 0; j--) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const char *piece = pieces[(state >> 33) % (sizeof pieces / sizeof pieces[0])];
      memcpy(text + used, piece, strlen(piece));
      used += strlen(piece);
    }
    char *exact = malloc(used);
    memcpy(exact, text, used);
    Json *json = json_read(exact, used, why, sizeof why);
    read += json != NULL;
    json_free(json);
    free(exact);
  }
  assert_true(read > 1000 && read < 100000);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_strings),
                                     cmocka_unit_test(test_refused), cmocka_unit_test(test_any)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
