// SPDX-License-Identifier: MIT
// Pools of events without timing: for the allocators and for ordering streams.
#include "device/impl.h"
#include <pthread.h>

enum { POOLED = 256 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *pool[FY_MAX_DEVICES][POOLED];
static int pooled[FY_MAX_DEVICES];

int fy_event_take(int device, void **event) {
  *event = NULL;
  pthread_mutex_lock(&lock);
  if (pooled[device])
    *event = pool[device][--pooled[device]];
  pthread_mutex_unlock(&lock);
  return *event ? 0 : fy_backend()->event_create(event, false);
}

void fy_event_give_back(int device, void *event) {
  pthread_mutex_lock(&lock);
  bool room = pooled[device] < POOLED;
  if (room)
    pool[device][pooled[device]++] = event;
  pthread_mutex_unlock(&lock);
  if (!room)
    fy_backend()->event_destroy(event);
}
