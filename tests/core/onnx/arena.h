// SPDX-License-Identifier: MIT
// Memory for networks that tests unpack and change: their parts come to stand in several places, and go all at once.
#ifndef FERRY_TEST_ONNX_ARENA_H
#define FERRY_TEST_ONNX_ARENA_H

#include "onnx.pb-c.h"
#include <string.h>

static _Alignas(16) uint8_t arena[1 << 22];
static size_t arena_used;

static void *arena_take(void *nobody, size_t bytes) {
  void *memory = arena + arena_used;
  (void)nobody;
  if (bytes > sizeof arena - arena_used - 16)
    return NULL;
  arena_used += (bytes + 15) / 16 * 16;
  return memory;
}
static void arena_give_back(void *nobody, void *memory) {
  (void)nobody;
  (void)memory;
}

// What was unpacked before is gone.
static Onnx__ModelProto *arena_unpack(const uint8_t *bytes, size_t length) {
  ProtobufCAllocator allocator = {.alloc = arena_take, .free = arena_give_back};
  arena_used = 0;
  return onnx__model_proto__unpack(&allocator, length, bytes);
}

#endif
