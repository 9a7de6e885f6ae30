#include "driver.h"
#include "answer.h"
#include "device/impl.h" // what the pinned allocator served
#include <stdio.h>

enum { MOST = 16 };

static void drive_pinned(Driver *d) {
  FyTensor *batch = driver_tensor(d, "batch");
  FyTensor *result = pinned(batch);
  driver_put(d, "pinned", result);
  driver_put_number(d, "the batch itself", result == batch);
}

void drive(Driver *d) {
  if (driver_has(d, "batch")) {
    drive_pinned(d);
    return;
  }
  // There is a place before and one behind: who goes too far finds a tensor, and writes one.
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
  load_all(batches, count, fy_device(driver_text(d, "device")), loaded);
  driver_stop(d);
  driver_put_number(d, "beside", places[0] || loaded[count]);
  driver_put_number(d, "pinned in load_all", (double)(fy_pinned_memory_stats().allocations - before));
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "loaded %d", i);
    driver_put(d, name, loaded[i]);
  }
}
