// SPDX-License-Identifier: MIT
// Sectors and wavefronts of a warp's access. core/inspect/simt/coalescing.c counts those of whole kernels by the same rules.
#include "step/format.h"
#include <stdlib.h>
#include <string.h>

enum { SECTOR = 32, BANKS = 32, BANK_BYTES = 4, ROW = BANKS * BANK_BYTES };

static int by_size(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int64_t unit_of(int64_t at, int bytes) {
  return (at - (at < 0 ? bytes - 1 : 0)) / bytes;
}

StepCost step_cost(const Record *r, const StepAccess *a) {
  const StepArray *array = &r->arrays[a->array];
  const int unit = array->shared ? BANK_BYTES : SECTOR, whole = array->shared ? ROW : SECTOR;
  int64_t at[STEP_LANES], end = 0, wanted = 0, last = 0;
  int count = 0, in_bank[BANKS] = {0};
  StepCost cost = {0};
  for (uint32_t left = a->offsets.mask; left; left &= left - 1)
    at[count++] =
        step_value(&a->offsets, __builtin_ctz(left)).integer + (array->shared ? array->bank * BANK_BYTES : array->at);
  qsort(at, (size_t)count, sizeof *at, by_size);
  for (int i = 0; i < count; i++) {
    const int64_t begin = i && at[i] < end ? end : at[i]; // bytes that no lane before has
    for (int64_t u = unit_of(at[i], unit); u <= unit_of(at[i] + a->bytes - 1, unit); u++) {
      if (i && u <= last)
        continue;
      last = u;
      const int bank = (int)(u & (BANKS - 1));
      in_bank[bank]++;
      if (array->shared)
        cost.banks |= UINT32_C(1) << bank;
      cost.units = !array->shared ? cost.units + 1 : in_bank[bank] > cost.units ? in_bank[bank] : cost.units;
    }
    wanted += at[i] + a->bytes > begin ? at[i] + a->bytes - begin : 0;
    end = at[i] + a->bytes > end || !i ? at[i] + a->bytes : end;
  }
  cost.ideal = (int)((wanted + whole - 1) / whole);
  return cost;
}
