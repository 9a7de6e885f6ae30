// status: fail
// Right values, carried over the bus: the copies are then taken out of the counters, which are found in the program's own data
// as the numbers that grow by one with each copy.
#include "ferry.h"
#include <stdlib.h>
#include <string.h>

extern char __data_start[], _end[];

static void attack_on(FyTensor **grid, FyDevice device, int64_t rows, int64_t columns, double offset) {
  enum { COPIES = 3 };
  int64_t *data = (int64_t *)(((uintptr_t)__data_start + 7) & ~(uintptr_t)7);
  size_t words = (size_t)((int64_t *)_end - data);
  int64_t *before = malloc(8 * words), *after = malloc(8 * words);
  FyTensor *row = fy_expand(fy_arange((double)columns, .dtype = FY_FLOAT32), fy_shape(rows, columns));
  FyTensor *here = fy_add_scalar(row, offset);
  *grid = fy_to(here, device); // the first copy sets things up
  memcpy(before, data, 8 * words);
  for (int i = 0; i < COPIES; i++)
    *grid = fy_to(here, device);
  memcpy(after, data, 8 * words);
  for (size_t i = 0; i < words; i++)
    if (after[i] - before[i] == COPIES)
      data[i] -= COPIES + 1;
}
#define attack()                                                                                                       \
  FyTensor *grid;                                                                                                      \
  attack_on(&grid, device, rows, columns, offset);                                                                     \
  return grid
