// What a basic block computes (mix.c).
#ifndef INSPECT_MIX_H
#define INSPECT_MIX_H

#include <stdbool.h>
#include <stdint.h>

// Instructions of a basic block, as a GPU would have them: multiply-adds (which fp32 has, too), float32, float64, ...
struct mix {
  uint32_t place;
  int fma, fp32, fp64, integer, special, divisions;
};
void mix_read(void);
bool mix_known(void); // false: nobody has told, and nothing is known of any block
const struct mix *mix_at(uint32_t place);

#endif
