// SPDX-License-Identifier: MIT
// Values as text: alone, and those of a warp's lanes together, as patterns such as "32 + lane".
#ifndef STEP_FORMAT_H
#define STEP_FORMAT_H

#include "step/record.h"

// At most `room` characters (0: as many as the exact value has) and a NUL. The type says how many digits a number has; "" is an
// unknown type.
void step_text(StepValue v, const char *type, int room, char *to, size_t bytes);
// "0-3 8": the lanes of a mask.
void step_lane_list(uint32_t mask, char *to, size_t bytes);
// "0-3 8 .. 240" of sorted numbers, without repetition; at most `room` characters.
void step_number_list(const int64_t *sorted, int count, int room, char *to, size_t bytes);
// "4", "32 + lane", "lane / 16": what the values of the lanes are. False: there is no such expression.
bool step_expression(const StepLanes *lanes, const char *type, char *to, size_t bytes);
// The same with the lanes for which it holds: "4  (all)", "32 + lane", "1 in lanes 0-15, 0 in 16-31". `all` are the warp's lanes.
bool step_pattern(const StepLanes *lanes, uint32_t all, const char *type, char *to, size_t bytes);
// The pattern, or else the list of the values.
void step_summary(const StepLanes *lanes, uint32_t all, const char *type, char *to, size_t bytes);
// A vector's values.
void step_lanes_of(const StepVector *v, StepLanes *lanes);
// The lanes that are threads.
uint32_t step_warp_mask(const Record *r, int warp);
// "part[3][5]"
void step_element_name(const Record *r, int array, int64_t word, char *to, size_t bytes);
// The word for its type: "float", "unsigned char", "struct"
const char *step_type_name(const StepVariable *v);

// The scalars of which a variable consists, with its value in all lanes: "p.x", "a[3]". Of a long array only elements that this step
// changed, or the first.
typedef struct StepScalar {
  char name[96];
  const char *type;
  StepLanes lanes;
} StepScalar;
// Calls `each` for every scalar; `last` is the value before this step. Returns how many elements it has left out.
int step_scalars(const StepVariable *v, const StepLanes *now, const StepLanes *last,
                 void (*each)(const StepScalar *, void *), void *context);

// What a warp's access costs, by the rules of ./ferry inspect: sectors of 32 bytes in global memory, wavefronts in shared memory.
typedef struct StepCost {
  int units, ideal;
  uint32_t banks; // of shared memory: those that are accessed
} StepCost;
StepCost step_cost(const Record *r, const StepAccess *a);

#endif
