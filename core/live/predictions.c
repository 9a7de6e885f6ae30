// SPDX-License-Identifier: MIT
// The questions of predict boxes whose number ./ferry measures: `./ferry predict` is asked, and keeps the guesses.
#include "live/live.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AT_A_TIME = 4 };

typedef struct Asked {
  Request *request;
  Text said, complained;
} Asked;

static int running;

static void take_said(void *owner, const char *bytes, size_t count) {
  text_add(&((Asked *)owner)->said, "%.*s", (int)count, bytes);
}

static void take_complaint(void *owner, const char *bytes, size_t count) {
  Asked *a = owner;
  if (a->complained.used < 800)
    text_add(&a->complained, "%.*s", (int)count, bytes);
}

// "ferry predict: \"x\" is not a number ...\n(see ...)" without what only a terminal needs.
static void add_error(Text *json, char *complaint) {
  static const char before[] = "ferry predict: ";
  char *from = strstr(complaint, before), *see = strstr(complaint, "\n(see ");
  if (see)
    *see = '\0';
  text_add(json, "{\"error\": ");
  text_json(json, from ? from + sizeof before - 1 : "./ferry failed; run make again");
  text_add(json, "}\n");
}

static void ended(void *owner, int status) { // 2: ./ferry has refused the guess
  Asked *a = owner;
  Text json = {0};
  running--;
  if (status == 0)
    text_add(&json, "%s", a->said.at ? a->said.at : "{}");
  else
    add_error(&json, a->complained.at ? a->complained.at : (char[]){""});
  request_answer(a->request,
                 status == 0   ? MHD_HTTP_OK
                 : status == 2 ? MHD_HTTP_UNPROCESSABLE_CONTENT
                               : MHD_HTTP_INTERNAL_SERVER_ERROR,
                 &json);
  text_free(&a->said);
  text_free(&a->complained);
  free(a);
}

static enum MHD_Result ask(Request *r, const char *const argv[]) {
  static const ChildEvents events = {take_complaint, take_said, ended};
  if (running == MOST_AT_A_TIME)
    return reply_error(r->connection, MHD_HTTP_TOO_MANY_REQUESTS, "other numbers are being measured; try again");
  Asked *a = calloc(1, sizeof *a);
  if (a)
    a->request = r;
  if (a && child_start(argv, -1, true, &events, a)) {
    running++;
    return request_wait(r);
  }
  free(a);
  return reply_error(r->connection, MHD_HTTP_SERVICE_UNAVAILABLE, "./ferry could not be started: %s", strerror(errno));
}

enum MHD_Result predictions_get(Request *r) {
  return ask(r, (const char *[]){course_ferry(), "predict", "--json", NULL});
}

// "22.1": digits, a point, digits.
static bool is_id(const char *text) {
  const size_t lesson = strspn(text, "0123456789"), dot = text[lesson] == '.',
               number = strspn(text + lesson + dot, "0123456789");
  return lesson > 0 && dot && number > 0 && text[lesson + dot + number] == '\0' && strlen(text) < 12;
}

enum MHD_Result predictions_post(Request *r, const Json *asked) {
  const Json *question = json_get(asked, "question", JSON_STRING), *guess = json_get(asked, "guess", JSON_STRING);
  char number[66];
  if (!question || !guess || !is_id(question->string))
    return reply_error(r->connection, MHD_HTTP_BAD_REQUEST,
                       "\"question\", such as \"22.1\", and \"guess\" are needed, both strings");
  const char *text = guess->string + strspn(guess->string, " \t\r\n");
  if (strlen(text) > 60)
    return reply_error(r->connection, MHD_HTTP_UNPROCESSABLE_CONTENT, "that is longer than a number");
  number[0] = ' '; // with a blank before it, it is no option
  memcpy(number + 1, text, strlen(text) + 1);
  return ask(r, (const char *[]){course_ferry(), "predict", question->string, number, "--json", NULL});
}
