// SPDX-License-Identifier: MIT
// Messages to bytes and back. What is read may come from a hostile process: no length is believed.
#include "wire.h"
#include <stdlib.h>
#include <string.h>

int64_t shape_count(Shape s) {
  int64_t count = 1;
  for (int i = 0; i < s.rank; i++)
    if (s.size[i] < 0 || __builtin_mul_overflow(count, s.size[i], &count))
      return -1;
  return count;
}

bool same_shape(Shape a, Shape b) {
  return a.rank == b.rank && memcmp(a.size, b.size, (size_t)a.rank * sizeof a.size[0]) == 0;
}

Item *message_find(Message *m, char kind, const char *name) {
  for (int i = 0; i < m->count; i++)
    if (m->items[i].kind == kind && m->items[i].name[0] == name[0] && strcmp(m->items[i].name, name) == 0)
      return &m->items[i]; // some checks ask for each element: most names differ in their first letter
  return NULL;
}

Item *message_add(Message *m, char kind, const char *name) {
  if (m->count == MAX_ITEMS || strlen(name) >= NAME_BYTES)
    return NULL;
  Item *item = &m->items[m->count++];
  memset(item, 0, sizeof *item);
  item->kind = kind;
  strcpy(item->name, name);
  return item;
}

void message_free(Message *m) {
  for (int i = 0; i < m->count; i++) {
    free(m->items[i].text);
    free(m->items[i].array.data);
  }
  m->count = 0;
}

void ledger_take(Ledger *ledger, const LedgerRecord *record, uint64_t nonce) {
  bool marker = record->kind == LEDGER_BEGIN || record->kind == LEDGER_END;
  if (record->kind >= LEDGER_KINDS || (marker && record->value != nonce) ||
      (record->kind != LEDGER_BEGIN && (!ledger->begun || ledger->ended))) {
    ledger->broken = true;
    return;
  }
  if (record->kind == LEDGER_BEGIN)
    *ledger = (Ledger){.begun = true, .broken = ledger->broken};
  ledger->ended |= record->kind == LEDGER_END;
  ledger->count[record->kind]++;
  ledger->value[record->kind] = (int64_t)((uint64_t)ledger->value[record->kind] + record->value); // hostile: may wrap
}

// ---- packing ---------------------------------------------------------------------------------------------------------

typedef struct Bytes {
  uint8_t *at;
  size_t used, room;
  bool failed;
} Bytes;

static void append_bytes(Bytes *b, const void *data, size_t bytes) {
  if (b->failed || bytes == 0)
    return;
  if (b->used + bytes > WIRE_LIMIT) {
    b->failed = true;
    return;
  }
  if (b->used + bytes > b->room) {
    b->room = 2 * (b->used + bytes);
    uint8_t *grown = (uint8_t *)realloc(b->at, b->room);
    if (!grown) {
      b->failed = true;
      return;
    }
    b->at = grown;
  }
  memcpy(b->at + b->used, data, bytes);
  b->used += bytes;
}

static void put_byte(Bytes *b, int value) {
  uint8_t byte = (uint8_t)value;
  append_bytes(b, &byte, 1);
}

static void put_text(Bytes *b, const char *text) {
  uint32_t length = (uint32_t)strlen(text);
  append_bytes(b, &length, sizeof length);
  append_bytes(b, text, length);
}

static void put_array(Bytes *b, const Array *a) {
  put_byte(b, a->dtype);
  put_byte(b, a->flags);
  put_byte(b, (int8_t)a->device);
  put_byte(b, a->shape.rank);
  append_bytes(b, a->shape.size, (size_t)a->shape.rank * sizeof(int64_t));
  if (!(a->flags & ARRAY_NULL))
    append_bytes(b, a->data, (size_t)a->count * fy_dtype_size(a->dtype));
}

static void put_item(Bytes *b, const Item *item) {
  put_byte(b, item->kind);
  put_byte(b, (int)strlen(item->name));
  append_bytes(b, item->name, strlen(item->name));
  switch (item->kind) {
  case 'n':
    append_bytes(b, &item->number, sizeof item->number);
    break;
  case 'a':
    put_array(b, &item->array);
    break;
  case 'c':
    append_bytes(b, &item->counts, sizeof item->counts);
    break;
  default:
    put_text(b, item->text ? item->text : "");
  }
}

uint8_t *message_pack(const Message *m, size_t *bytes) {
  Bytes b = {0};
  uint32_t magic = WIRE_MAGIC, length = 0;
  append_bytes(&b, &magic, 4);
  append_bytes(&b, &length, 4);
  append_bytes(&b, &m->nonce, 8);
  for (int i = 0; i < m->count; i++)
    put_item(&b, &m->items[i]);
  if (b.failed) {
    free(b.at);
    return NULL;
  }
  length = (uint32_t)(b.used - HEADER_BYTES);
  memcpy(b.at + 4, &length, 4);
  *bytes = b.used;
  return b.at;
}

// ---- unpacking -------------------------------------------------------------------------------------------------------

typedef struct MessageReader {
  const uint8_t *at;
  size_t left;
} MessageReader;

static bool read_bytes(MessageReader *r, void *to, size_t bytes) {
  if (bytes > r->left)
    return false;
  if (bytes)
    memcpy(to, r->at, bytes);
  r->at += bytes;
  r->left -= bytes;
  return true;
}

static const char *take_text(MessageReader *r, char **text) {
  uint32_t length;
  if (!read_bytes(r, &length, sizeof length) || length > r->left)
    return "a text is cut short";
  *text = (char *)calloc((size_t)length + 1, 1);
  if (!*text)
    return "no memory for a text";
  read_bytes(r, *text, length);
  return NULL;
}

static const char *take_array(MessageReader *r, Array *a) {
  uint8_t head[4];
  if (!read_bytes(r, head, 4))
    return "an array is cut short";
  a->dtype = (FyDType)head[0];
  a->flags = head[1];
  a->device = (int8_t)head[2];
  a->shape.rank = head[3];
  size_t size = fy_dtype_size(a->dtype);
  if (size == 0 || head[3] > MAX_RANK)
    return "an array has a dtype or a rank that there is not";
  if (!read_bytes(r, a->shape.size, (size_t)head[3] * sizeof(int64_t)))
    return "an array's shape is cut short";
  a->count = shape_count(a->shape);
  if (a->flags & ARRAY_NULL)
    return NULL;
  if (a->count < 0 || (uint64_t)a->count > r->left / size)
    return "an array's elements are cut short";
  a->data = calloc((size_t)a->count + 1, sizeof(double));
  if (!a->data)
    return "no memory for an array";
  read_bytes(r, a->data, (size_t)a->count * size);
  return NULL;
}

// No count is beyond this, so that a check may add some of a hostile reply's.
static const char *take_counts(MessageReader *r, Counts *counts) {
  const int64_t most = (int64_t)1 << 53;
  int64_t *each = (int64_t *)counts;
  if (!read_bytes(r, counts, sizeof *counts))
    return "the counts are cut short";
  for (size_t i = 0; i < sizeof *counts / sizeof each[0]; i++)
    if (each[i] > most || each[i] < -most)
      return "a count is beyond all bounds";
  return NULL;
}

static const char *take_item(MessageReader *r, Item *item) {
  uint8_t head[2];
  memset(item, 0, sizeof *item);
  if (!read_bytes(r, head, 2) || head[1] >= NAME_BYTES || !read_bytes(r, item->name, head[1]))
    return "an item is cut short";
  item->kind = (char)head[0];
  switch (item->kind) {
  case 'n':
    return read_bytes(r, &item->number, sizeof item->number) ? NULL : "a number is cut short";
  case 't':
  case 'e':
    return take_text(r, &item->text);
  case 'a':
    return take_array(r, &item->array);
  case 'c':
    return take_counts(r, &item->counts);
  default:
    return "an item is of no known kind";
  }
}

const char *message_unpack(Message *m, const uint8_t *body, size_t bytes) {
  MessageReader r = {body, bytes};
  m->count = 0;
  while (r.left > 0) {
    if (m->count == MAX_ITEMS)
      return "too many items";
    const char *wrong = take_item(&r, &m->items[m->count++]);
    if (wrong)
      return wrong;
  }
  return NULL;
}
