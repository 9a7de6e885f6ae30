// SPDX-License-Identifier: MIT
// The instruction mix of a basic block (mix.c).
#ifndef INSPECT_MIX_H
#define INSPECT_MIX_H

#include <stdbool.h>
#include <stdint.h>

// Instructions of a basic block, as a GPU would execute them: multiply-adds (which fp32 includes), float32, float64,
// ...
struct mix {
  uint32_t pc;
  int fma, fp32, fp64, integer, special, divisions, branches;
};
void mix_read(void);
bool mix_known(void); // false: there is no file, and every block's mix is empty
const struct mix *mix_at(uint32_t pc);

#endif
