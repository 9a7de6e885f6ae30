// SPDX-License-Identifier: MIT
// Output of a command, kept short: the first lines and the last ones, whatever the amount.
#include "sandbox_impl.h"
#include "tool/print/plain.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART_BYTES = 16 << 10, WHOLE_BYTES = 2 << 20 };

static size_t part_bytes(const Excerpt *e) {
  return e->lines ? PART_BYTES : WHOLE_BYTES;
}

void excerpt_begin(Excerpt *e, int lines) {
  *e = (Excerpt){.lines = lines};
  e->head = malloc(part_bytes(e));
  e->tail = malloc(PART_BYTES);
}

static void add_to_tail(Excerpt *e, char byte) {
  e->tail[e->tail_at] = byte;
  e->tail_at = (e->tail_at + 1) % PART_BYTES;
  e->cut |= e->tail_used == PART_BYTES;
  e->tail_used += e->tail_used < PART_BYTES;
}

void excerpt_add(Excerpt *e, const char *bytes, size_t count) {
  e->total += count;
  if (!e->head || !e->tail)
    return;
  for (size_t i = 0; i < count; i++) {
    bool in_head = e->head_used < part_bytes(e) && (e->lines == 0 || e->head_lines < e->lines);
    if (!in_head) {
      e->head_lines = e->lines; // what follows belongs to the tail
      add_to_tail(e, bytes[i]);
      continue;
    }
    e->head[e->head_used++] = bytes[i];
    e->head_lines += bytes[i] == '\n';
  }
}

// Where the last `lines` lines of the tail begin.
static size_t last_lines(const char *tail, size_t used, int lines) {
  size_t at = used;
  for (int seen = 0; at > 0; at--) {
    if (tail[at - 1] == '\n' && at != used && ++seen == lines)
      break;
  }
  return at;
}

char *excerpt_end(Excerpt *e) {
  char *whole = e->head && e->tail ? malloc(e->head_used + PART_BYTES + 64) : NULL;
  char *tail = whole ? malloc(PART_BYTES) : NULL;
  if (!tail) {
    free(whole);
    free(e->head);
    free(e->tail);
    return NULL;
  }
  for (size_t i = 0; i < e->tail_used; i++)
    tail[i] = e->tail[(e->tail_at + PART_BYTES - e->tail_used + i) % PART_BYTES];
  size_t used = e->head_used, from = last_lines(tail, e->tail_used, e->lines);
  memcpy(whole, e->head, used);
  if (from > 0 || e->cut)
    used += (size_t)sprintf(whole + used, "[... the middle of %zu bytes left out ...]\n", e->total);
  memcpy(whole + used, tail + from, e->tail_used - from);
  used += e->tail_used - from;
  char *plain = plain_text(whole, used);
  free(whole);
  free(tail);
  free(e->head);
  free(e->tail);
  return plain;
}
