// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include "device/impl.h" // statistics of the pinned allocator
#include <stdio.h>

enum { MOST = 16 };

static void drive_pinned(Driver *d) {
  FyTensor *batch = driver_tensor(d, "batch");
  FyTensor *result = pinned(batch);
  driver_put(d, "pinned", result);
  driver_put_number(d, "the batch itself", result == batch);
}

// A second call, with negated values, shows state that was kept from the first.
static void load_opposite(Driver *d, FyTensor *const *batches, int count, FyDevice device) {
  FyTensor *opposite[MOST + 2], *places[MOST + 2] = {NULL};
  char name[32];
  for (int i = 0; i < MOST + 2; i++)
    opposite[i] = fy_mul_scalar(batches[i > 0 && i <= count ? i - 1 : 0], -1);
  load_all(&opposite[1], count, device, &places[1]);
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "second call: loaded %d", i);
    driver_put(d, name, places[i + 1]);
  }
}

static void drive_load(Driver *d, FyDevice device) {
  // One more element before and after: an answer that goes too far finds a tensor, and writes one.
  FyTensor *given[MOST + 2], **batches = &given[1], *places[MOST + 2] = {NULL}, **loaded = &places[1];
  int count = (int)driver_number(d, "batches");
  char name[32];
  for (int i = 0; i < MOST + 2; i++)
    given[i] = driver_tensor(d, "batch 0");
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "batch %d", i);
    batches[i] = driver_tensor(d, name);
  }
  int64_t before = fy_pinned_memory_stats().allocations;
  driver_count(d);
  load_all(batches, count, device, loaded);
  driver_stop(d);
  driver_put_number(d, "beside", places[0] || loaded[count]);
  driver_put_number(d, "pinned in load_all", (double)(fy_pinned_memory_stats().allocations - before));
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "loaded %d", i);
    driver_put(d, name, loaded[i]);
  }
  load_opposite(d, batches, count, device);
  driver_put(d, "loaded 0 afterwards", loaded[0]);
}

void drive(Driver *d) {
  if (driver_has(d, "batch")) {
    drive_pinned(d);
    return;
  }
  FyDevice device = fy_device(driver_text(d, "device"));
  if (driver_has(d, "another stream")) {
    fy_stream_guard(fy_stream_new(device, 0)) {
      drive_load(d, device);
    }
  } else {
    drive_load(d, device);
  }
}
