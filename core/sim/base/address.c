// SPDX-License-Identifier: MIT
// Addresses: device after device in one reserved range (runtime/memory.c).
#include "sim/base/address.h"

#include <stdint.h>
#include <stdio.h>

#include "sim/base/sim.h"

int sim_device_of(const void *address) {
  uintptr_t offset = (uintptr_t)address - (uintptr_t)sim.arena;
  if (sim.arena == NULL || offset >= sim.span * (size_t)sim.config.devices)
    return -1;
  return (int)(offset / sim.span);
}

void sim_describe(const void *address, char *text, size_t size) {
  int device = sim_device_of(address);
  int length = snprintf(text, size, "cuda:%d", device);
  const struct sim_piece *piece = sim_heap_find(&sim.device[device].heap, address);
  if (piece)
    snprintf(text + length, size - (size_t)length, ", byte %zu of a %zu-byte allocation%s",
             sim_piece_offset(piece, address), piece->asked, piece->used ? "" : ", already freed");
}
