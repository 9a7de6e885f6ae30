// SPDX-License-Identifier: MIT
// The loaders of all ranks and of two epochs, and the first epoch a second time.
#include "driver.h"
#include "answer.h"
#include <stdlib.h>
#include <string.h>

enum { PASSES = 3 };

void drive(Driver *d) {
  const int ranks = (int)driver_number(d, "ranks"), batch = (int)driver_number(d, "batch");
  const int64_t count = (int64_t)driver_number(d, "samples");
  const int64_t epoch = (int64_t)driver_number(d, "epoch");
  FyTensor *x = fy_zeros(fy_shape(count, 2)), *ids = fy_empty(fy_shape(count), .dtype = FY_INT64);
  for (int64_t i = 0; i < count; i++)
    ((int64_t *)fy_data_ptr(ids))[i] = i;
  int64_t *seen = malloc((size_t)(PASSES * ranks * (count + 1)) * sizeof *seen);
  int64_t *sizes = calloc((size_t)(PASSES * ranks), sizeof *sizes), largest = 0;
  for (int schedule = 0; schedule < PASSES; schedule++)
    for (int r = 0; r < ranks; r++) {
      int64_t *own = seen + (int64_t)(schedule * ranks + r) * (count + 1), n = 0;
      fy_manual_seed(schedule < 2 ? 50 + (uint64_t)r : 900 + (uint64_t)r); // a process of its own
      for (int64_t i = 0; i <= count; i++)
        own[i] = -1;
      fy_scope {
        FyDataset *data = fy_tensor_dataset(x, ids);
        FyDataLoader *loader = batches_of_epoch(data, r, ranks, schedule == 1 ? epoch + 1 : epoch, batch);
        if (loader) {
          fy_for_batches(b, loader) {
            const int64_t *got = fy_data_ptr(b.target);
            largest = fy_numel(b.target) > largest ? fy_numel(b.target) : largest;
            for (int64_t i = 0; i < fy_numel(b.target); i++, n++)
              if (n < count)
                own[n] = got[i];
          }
        }
      }
      sizes[schedule * ranks + r] = n;
    }
  driver_put_array(d, "seen", FY_INT64, shape(PASSES, ranks, count + 1), seen);
  driver_put_array(d, "sizes", FY_INT64, shape(PASSES, ranks), sizes);
  driver_put_number(d, "largest batch", (double)largest);
}
