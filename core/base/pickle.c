// SPDX-License-Identifier: MIT
#include "base/pickle.h"
#include "base/atomic_file.h"
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 16, MEMO_ENTRIES = 256, MEMO_BYTES = 32 };

// The opcodes, by the names they have in Python's pickletools.
enum {
  PROTO = 0x80,
  MARK = '(',
  STOP = '.',
  EMPTY_DICT = '}',
  SETITEMS = 'u',
  EMPTY_LIST = ']',
  APPEND = 'a',
  TUPLE2 = 0x86,
  BINUNICODE = 'X',
  BINPUT = 'q',
  BINGET = 'h',
  BININT = 'J',
  LONG1 = 0x8a,
  BINFLOAT = 'G',
  NEWTRUE = 0x88,
  NEWFALSE = 0x89,
};

struct FyPickle {
  FyObject object;
  FyAtomicFile *file;
  size_t used;
  int memo_count;
  char memo[MEMO_ENTRIES][MEMO_BYTES]; // short strings written before: keys, mostly
  unsigned char buffer[BUFFER_BYTES];
};

static void destroy(void *object) {
  FyPickle *p = object;
  fy_release(p->file);
  free(p);
}

static void flush(FyPickle *p) {
  fy_atomic_file_write(p->file, p->buffer, p->used);
  p->used = 0;
}

static void write_byte(FyPickle *p, int byte) {
  if (p->used == BUFFER_BYTES)
    flush(p);
  p->buffer[p->used++] = (unsigned char)byte;
}

static void put_little_endian(FyPickle *p, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++)
    write_byte(p, (int)(value >> 8 * i & 0xff));
}

FyPickle *fy_pickle_open(const char *path) {
  FyPickle *p = fy_object_new(sizeof *p, destroy);
  fy_scope {
    p->file = fy_retain(fy_atomic_file_open(path));
  }
  write_byte(p, PROTO);
  write_byte(p, 2);
  return p;
}

void fy_pickle_commit(FyPickle *p) {
  write_byte(p, STOP);
  flush(p);
  fy_atomic_file_commit(p->file);
}

// ---- what holds others -----------------------------------------------------------------------------------------------

void fy_pickle_dict(FyPickle *p) {
  write_byte(p, EMPTY_DICT);
  write_byte(p, MARK);
}

void fy_pickle_dict_end(FyPickle *p) {
  write_byte(p, SETITEMS);
}

void fy_pickle_list(FyPickle *p) {
  write_byte(p, EMPTY_LIST);
}

void fy_pickle_append(FyPickle *p) {
  write_byte(p, APPEND);
}

void fy_pickle_pair(FyPickle *p) {
  write_byte(p, TUPLE2);
}

// ---- values ----------------------------------------------------------------------------------------------------------

// True when the string had been written before, and now is fetched from the reader's memory.
static bool from_memo(FyPickle *p, const char *text) {
  for (int i = 0; i < p->memo_count; i++) {
    if (strcmp(p->memo[i], text) == 0) {
      write_byte(p, BINGET);
      write_byte(p, i);
      return true;
    }
  }
  return false;
}

void fy_pickle_string(FyPickle *p, const char *text) {
  size_t length = strlen(text);
  bool brief = length < MEMO_BYTES;
  if (brief && from_memo(p, text))
    return;
  write_byte(p, BINUNICODE);
  put_little_endian(p, length, 4);
  for (size_t i = 0; i < length; i++)
    write_byte(p, (unsigned char)text[i]);
  if (brief && p->memo_count < MEMO_ENTRIES) {
    write_byte(p, BINPUT);
    write_byte(p, p->memo_count);
    strcpy(p->memo[p->memo_count++], text);
  }
}

void fy_pickle_int(FyPickle *p, int64_t value) {
  bool wide = value < INT32_MIN || value > INT32_MAX;
  write_byte(p, wide ? LONG1 : BININT);
  if (wide)
    write_byte(p, 8);
  put_little_endian(p, (uint64_t)value, wide ? 8 : 4);
}

void fy_pickle_float(FyPickle *p, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  write_byte(p, BINFLOAT);
  for (int i = 7; i >= 0; i--)
    write_byte(p, (int)(bits >> 8 * i & 0xff));
}

void fy_pickle_bool(FyPickle *p, bool value) {
  write_byte(p, value ? NEWTRUE : NEWFALSE);
}
