// SPDX-License-Identifier: MIT
// The instruction mix of each basic block, from the file that FERRY_INSPECT_MIX names: ./ferry inspect reads it from
// the machine code.
#include <stdio.h>
#include <stdlib.h>

#include "inspect/inspect.h"
#include "inspect/mix.h"

static struct mix *mixes; // sorted by program counter
static size_t mix_count;

static int by_pc(const void *a, const void *b) {
  const struct mix *x = a, *y = b;
  return (x->pc > y->pc) - (x->pc < y->pc);
}

void mix_read(void) {
  const char *path = getenv("FERRY_INSPECT_MIX");
  FILE *in = path ? fopen(path, "r") : NULL;
  struct mix m;
  if (in == NULL)
    return;
  while (fscanf(in, "%x %d %d %d %d %d %d %d", &m.pc, &m.fma, &m.fp32, &m.fp64, &m.integer, &m.special, &m.divisions,
                &m.branches) == 8) {
    if ((mix_count & (mix_count - 1)) == 0) // capacity doubles at powers of two
      mixes = inspect_resize(mixes, (mix_count ? 2 * mix_count : 1) * sizeof *mixes);
    mixes[mix_count++] = m;
  }
  fclose(in);
  if (mix_count)
    qsort(mixes, mix_count, sizeof *mixes, by_pc);
}

bool mix_known(void) {
  return mix_count > 0;
}

const struct mix *mix_at(uint32_t pc) {
  static const struct mix none;
  const struct mix wanted = {.pc = pc};
  const struct mix *found = mix_count ? bsearch(&wanted, mixes, mix_count, sizeof *mixes, by_pc) : NULL;
  return found ? found : &none;
}
