// SPDX-License-Identifier: MIT
// FNV-1a, a hash of 64 bits that tells texts and versions apart. It keeps no secret.
#ifndef FERRY_BASE_FNV_H
#define FERRY_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FY_FNV_BEGIN ((uint64_t)0xcbf29ce484222325u)

// The hash of what has been hashed before (FY_FNV_BEGIN: nothing) and of these bytes.
static inline uint64_t fy_fnv(uint64_t before, const void *bytes, size_t count) {
  const unsigned char *at = (const unsigned char *)bytes;
  for (size_t i = 0; i < count; i++)
    before = (before ^ at[i]) * 0x100000001b3u;
  return before;
}

#endif
