// SPDX-License-Identifier: MIT
// The edges of the cache of small blocks: where it is empty, full, or its thread ends.
#include "base/small.h"
#include "base/sanitized.h"
#include <pthread.h>

_Thread_local FySmallCache fy_small_cache;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool usable;

static void empty_cache(void *pointer) {
  FySmallCache *cache = pointer;
  cache->registered = false;
  for (int class = 0; class < FY_SMALL_CLASSES; class ++)
    while (cache->blocks[class]) {
      void *block = cache->blocks[class];
      memcpy(&cache->blocks[class], block, sizeof block);
      free(block);
    }
  memset(cache->counts, 0, sizeof cache->counts);
}

static void set_up(void) {
#ifdef FY_SANITIZED
  const bool wanted = false; // a sanitizer has to see every block go
#else
  const bool wanted = true;
#endif
  usable = wanted && pthread_key_create(&key, empty_cache) == 0;
}

// Whole steps, so that blocks of one class can stand for one another.
void *fy_small_take(size_t bytes) {
  return malloc(fy_small_class(bytes) * FY_SMALL_STEP);
}

// The first block that a thread frees decides whether it keeps the others.
void fy_small_put(void *block, size_t bytes) {
  pthread_once(&once, set_up);
  if (usable && !fy_small_cache.registered && pthread_setspecific(key, &fy_small_cache) == 0) {
    fy_small_cache.registered = true;
    fy_small_free(block, bytes);
    return;
  }
  free(block);
}
