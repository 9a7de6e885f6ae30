// SPDX-License-Identifier: MIT
// Responses, with the headers that all of them have.
#include "live/live.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

// Nothing from another host, nothing in another page's frame, no guesses at types, the address (which once had the token) told to nobody.
static const char *const headers[][2] = {
    {"Cache-Control", "no-cache"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Content-Security-Policy", "default-src 'self' 'unsafe-inline' data: blob:; object-src 'none'; base-uri 'self'; "
                                "form-action 'self'; frame-ancestors 'self'"}};

enum MHD_Result reply_send(struct MHD_Connection *c, unsigned status, struct MHD_Response *response) {
  if (!response)
    return MHD_NO;
  for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
    MHD_add_response_header(response, headers[i][0], headers[i][1]);
  const enum MHD_Result result = MHD_queue_response(c, status, response);
  MHD_destroy_response(response);
  return result;
}

enum MHD_Result reply_text(struct MHD_Connection *c, unsigned status, const char *type, char *text, size_t bytes) {
  struct MHD_Response *response = MHD_create_response_from_buffer(bytes, text, MHD_RESPMEM_MUST_FREE);
  if (response)
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  else
    free(text);
  return reply_send(c, status, response);
}

enum MHD_Result reply_json(struct MHD_Connection *c, unsigned status, Text *json) {
  char *text = json->at;
  const size_t bytes = json->used;
  *json = (Text){0};
  return reply_text(c, status, "application/json; charset=utf-8", text, bytes);
}

enum MHD_Result reply_error(struct MHD_Connection *c, unsigned status, const char *format, ...) {
  char what[512];
  Text json = {0};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  text_add(&json, "{\"error\": ");
  text_json(&json, what);
  text_add(&json, "}\n");
  return reply_json(c, status, &json);
}
