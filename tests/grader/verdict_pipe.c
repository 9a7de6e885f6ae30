// SPDX-License-Identifier: MIT
// A verdict through a pipe: the struct as it is (both ends are one program, its static data at the same addresses), then its texts.
#include "verdict_pipe.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool write_all(int to, const void *data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = write(to, (const char *)data + done, bytes - done);
    if (n < 0 && errno != EINTR)
      return false;
    done += n > 0 ? (size_t)n : 0;
  }
  return true;
}

static bool send_text(int to, const char *text) {
  uint32_t length = text ? (uint32_t)strlen(text) + 1 : 0;
  return write_all(to, &length, sizeof length) && (length == 0 || write_all(to, text, length));
}

void verdict_send(int to, const Verdict *v) {
  bool sent = write_all(to, v, sizeof *v) && send_text(to, v->report);
  for (int i = 0; sent && i < v->test_count; i++)
    sent = send_text(to, v->tests[i].report);
}

static bool take_text(const char *sent, size_t bytes, size_t *at, char **text) {
  uint32_t length;
  *text = NULL;
  if (bytes - *at < sizeof length)
    return false;
  memcpy(&length, sent + *at, sizeof length);
  *at += sizeof length;
  if (bytes - *at < length)
    return false;
  *text = length ? strndup(sent + *at, length) : NULL;
  *at += length;
  return true;
}

bool verdict_take(const char *sent, size_t bytes, Verdict *v) {
  size_t at = sizeof *v;
  if (bytes < sizeof *v)
    return false;
  memcpy(v, sent, sizeof *v);
  v->warning = NULL;
  bool whole = take_text(sent, bytes, &at, &v->report);
  for (int i = 0; i < v->test_count; i++) {
    v->tests[i].report = NULL;
    whole = whole && take_text(sent, bytes, &at, &v->tests[i].report);
  }
  return whole;
}

bool verdict_read(int from, Verdict *v) {
  char *sent = NULL;
  size_t bytes = 0;
  FILE *all = open_memstream(&sent, &bytes);
  char part[16384];
  ssize_t n = 1;
  while (all && ((n = read(from, part, sizeof part)) > 0 || (n < 0 && errno == EINTR)))
    fwrite(part, 1, n > 0 ? (size_t)n : 0, all);
  bool whole = all && fclose(all) == 0 && n == 0 && verdict_take(sent, bytes, v);
  free(sent);
  return whole;
}
