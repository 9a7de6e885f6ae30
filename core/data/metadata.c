// SPDX-License-Identifier: MIT
// __metadata__: texts by name, in the order in which they were set, with a hash table of their places beside them.
#include "base/c_locale.h"
#include "base/fnv.h"
#include "base/json_text.h"
#include "data/safetensors.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void destroy_metadata(void *object) {
  FyMetadata *self = object;
  for (int i = 0; i < self->count; i++) {
    free(self->keys[i]);
    free(self->values[i]);
  }
  free(self->keys);
  free(self->values);
  free(self->slots);
  free(self);
}

FyMetadata *fy_metadata_new(void) {
  return fy_object_new(sizeof(FyMetadata), destroy_metadata);
}

// The key's slot, or the free one that is to be its own (open addressing; FNV-1a). There are slots.
static int *slot_of(const FyMetadata *self, const char *key) {
  for (uint64_t i = fy_fnv(FY_FNV_BEGIN, key, strlen(key));; i++) {
    int *slot = &self->slots[i & (self->slot_count - 1)];
    if (!*slot || strcmp(self->keys[*slot - 1], key) == 0)
      return slot;
  }
}

static int find(const FyMetadata *self, const char *key) {
  return self->slots ? *slot_of(self, key) - 1 : -1;
}

// At most half of the slots are taken.
static bool grow_slots(FyMetadata *self, size_t capacity) {
  int *slots = calloc(2 * capacity, sizeof *slots);
  if (!slots)
    return false;
  free(self->slots);
  self->slots = slots;
  self->slot_count = 2 * capacity;
  for (int i = 0; i < self->count; i++)
    *slot_of(self, self->keys[i]) = i + 1;
  return true;
}

static bool grow(FyMetadata *self) {
  size_t capacity = self->count ? 2 * (size_t)self->count : 1;
  char **keys = realloc(self->keys, capacity * sizeof *keys);
  if (keys)
    self->keys = keys;
  char **values = realloc(self->values, capacity * sizeof *values);
  if (values)
    self->values = values;
  return keys && values && grow_slots(self, capacity);
}

// Takes `value` over.
static bool add(FyMetadata *self, const char *key, char *value) {
  bool full = (self->count & (self->count - 1)) == 0; // at every power of two
  char *copy = strdup(key);
  if (!copy || (full && !grow(self))) {
    free(copy);
    return false;
  }
  self->keys[self->count] = copy;
  self->values[self->count++] = value;
  *slot_of(self, copy) = self->count;
  return true;
}

void fy_metadata_set(FyMetadata *metadata, const char *key, const char *format, ...) {
  fy_check(metadata && key, FY_TYPE_ERROR, "fy_metadata_set: the metadata or the key is NULL");
  char *value = NULL;
  va_list arguments;
  va_start(arguments, format);
  const locale_t before = uselocale(fy_c_locale());
  int length = vasprintf(&value, format, arguments);
  uselocale(before);
  va_end(arguments);
  fy_check(length >= 0, FY_OUT_OF_MEMORY_ERROR, "out of host memory for the metadata \"%s\"", key);
  if (!fy_is_utf8(key, strlen(key)) || !fy_is_utf8(value, (size_t)length)) {
    free(value);
    fy_raise(FY_VALUE_ERROR, "the metadata \"%s\" is not UTF-8 text", key);
  }
  int i = find(metadata, key);
  if (i >= 0) {
    free(metadata->values[i]);
    metadata->values[i] = value;
  } else if (!add(metadata, key, value)) {
    free(value);
    fy_raise(FY_OUT_OF_MEMORY_ERROR, "out of host memory for the metadata \"%s\"", key);
  }
}

const char *fy_metadata_get(const FyMetadata *metadata, const char *key) {
  int i = metadata ? find(metadata, key) : -1;
  return i >= 0 ? metadata->values[i] : NULL;
}
