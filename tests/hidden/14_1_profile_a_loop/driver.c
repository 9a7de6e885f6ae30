// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include "base/watch.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 64, MOST_ROWS = 1000 };

typedef struct Loop {
  FyTensor *narrow, *wide; // two sizes
  int calls;
  int64_t order[MOST_STEPS];   // the numbers of the steps in the order in which they ran
  int64_t watched[MOST_STEPS]; // was a profiler on in step i?
} Loop;

// Step i makes i + 2 additions, so that their number tells which steps were recorded.
static void one_step(void *context, int i) {
  Loop *loop = context;
  if (loop->calls < MOST_STEPS)
    loop->order[loop->calls++] = i;
  if (i >= 0 && i < MOST_STEPS)
    loop->watched[i] = fy_is_watched();
  fy_scope {
    fy_mul(loop->wide, loop->wide);
    for (int k = 0; k <= i; k++)
      fy_add(loop->narrow, loop->narrow);
    fy_add(loop->wide, loop->wide);
  }
}

static void put_rows(Driver *d, const FyKeyAverages *averages) {
  int64_t adds = 0, add_rows = 0, ranges = 0;
  for (int i = 0; i < averages->count; i++) {
    const FyAverage *row = &averages->rows[i];
    if (strcmp(row->key, "fy::add") == 0) {
      adds += row->count;
      add_rows++;
    } else if (strcmp(row->key, "training_step") == 0) {
      ranges += row->count;
    }
  }
  driver_put_number(d, "additions", (double)adds);
  driver_put_number(d, "rows of additions", (double)add_rows);
  driver_put_number(d, "ranges", (double)ranges);
}

// Freed memory is overwritten, so that freed averages look the same in every run.
static void overwrite_what_is_free(void) {
  enum { BLOCKS = 16, LARGEST = 32768 };
  for (size_t bytes = 32; bytes <= LARGEST; bytes += bytes < 2048 ? 16 : 1024) {
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
      blocks[i] = malloc(bytes);
      if (blocks[i])
        memset(blocks[i], 0xA5, bytes);
    }
    for (int i = 0; i < BLOCKS; i++)
      free(blocks[i]);
  }
}

void drive(Driver *d) {
  Loop loop = {.narrow = driver_tensor(d, "narrow"), .wide = driver_tensor(d, "wide")};
  const int steps = (int)driver_number(d, "steps");
  const FyKeyAverages *averages = profile_loop(one_step, &loop, steps, (int)driver_number(d, "active"));
  driver_put_number(d, "calls", loop.calls);
  driver_put_array(d, "order", FY_INT64, shape(loop.calls), loop.order);
  driver_put_array(d, "watched", FY_INT64, shape(steps), loop.watched);
  driver_put_number(d, "returned", averages != NULL);
  FyError error;
  fy_trap(error) {
    fy_profile_end(fy_profile_begin((FyProfileOptions){.activities = FY_PROFILE_CPU}));
  }
  driver_put_number(d, "left open", error.kind != FY_NO_ERROR);
  if (!averages)
    return;
  overwrite_what_is_free();
  driver_put_number(d, "rows", averages->count);
  if (averages->count >= 0 && averages->count < MOST_ROWS)
    put_rows(d, averages);
}
