// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include <stdio.h>

enum { CALLS = 7 };

typedef struct Call {
  FyDevice device;
  int64_t rows, columns;
  double offset;
} Call;

static FyDevice another_device(FyDevice device) {
  if (device.type == FY_CUDA)
    return device.index == 0 ? FY_CPU_DEVICE : fy_device("cuda:0");
  return fy_cuda_is_available() ? fy_device("cuda:0") : device;
}

// Each call differs from the one before it in one argument, and the last two repeat the first. Between these two the
// caller writes into the result.
static void call_all(Call call, FyTensor *grids[CALLS]) {
  const Call first = call;
  for (int i = 0; i < CALLS; i++) {
    call.offset += i == 1 ? 3 : 0;
    call.rows += i == 2;
    call.columns += i == 3;
    call.device = i == 4 ? another_device(call.device) : call.device;
    call = i == 5 ? first : call;
    grids[i] = offset_grid(call.device, call.rows, call.columns, call.offset);
    if (i == 5 && grids[i] && fy_is_contiguous(grids[i]))
      fy_fill_(grids[i], -1000);
  }
}

void drive(Driver *d) {
  FyDevice device = fy_device(driver_text(d, "device"));
  Call call = {device, (int64_t)driver_number(d, "rows"), (int64_t)driver_number(d, "columns"),
               driver_number(d, "offset")};
  FyTensor *grids[CALLS], *grid;
  bool shared = false;
  driver_count(d);
  call_all(call, grids);
  driver_stop(d);
  grid = grids[CALLS - 1];
  driver_put(d, "grid", grid);
  driver_put_number(d, "one row repeated", grid && fy_dim(grid) == 2 && call.rows > 1 && fy_stride_at(grid, 0) == 0);
  for (int i = 0; i < CALLS - 2; i++) {
    char name[32];
    snprintf(name, sizeof name, "call %d", i + 1);
    driver_put(d, name, grids[i]);
  }
  for (int i = 0; i < CALLS; i++)
    for (int k = 0; k < i; k++)
      shared |= grids[i] && grids[k] && fy_numel(grids[i]) && fy_shares_storage(grids[i], grids[k]);
  driver_put_number(d, "one memory for two", shared);
  driver_put_text(d, "another device", fy_device_name_of(another_device(device)));
}
