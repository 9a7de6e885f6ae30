// SPDX-License-Identifier: MIT
#include "op/kernel/dnn.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

int fy_dnn_hold_threads(void) {
#ifdef _OPENMP
  int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  return threads;
#else
  return 1;
#endif
}

void fy_dnn_release_threads(int held) {
#ifdef _OPENMP
  omp_set_num_threads(held);
#else
  (void)held;
#endif
}

static dnnl_engine_t engine;
static bool has_amx, has_avx512_bf16;

static void make_engine(void) {
  if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success)
    engine = NULL;
  const int amx = (int)dnnl_cpu_isa_avx512_core_amx,
            bf16 = (int)dnnl_cpu_isa_avx512_core_bf16; // with the bits of what they build on
  const int isa = engine ? (int)dnnl_get_effective_cpu_isa() : 0;
  has_amx = (isa & amx) == amx;
  has_avx512_bf16 = (isa & bf16) == bf16;
}

dnnl_engine_t fy_dnn_engine(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_engine);
  return engine;
}

bool fy_dnn_has_amx(void) {
  return fy_dnn_engine() && has_amx;
}

bool fy_dnn_has_avx512_bf16(void) {
  return fy_dnn_engine() && has_avx512_bf16;
}

// ---- descriptions --------------------------------------------------------------------------------------------------------

#if DNNL_VERSION_MAJOR >= 3

FyDnnDesc fy_dnn_desc(dnnl_data_type_t type, int ndim, const dnnl_dim_t *dims, dnnl_format_tag_t tag) {
  dnnl_memory_desc_t desc = NULL;
  return dnnl_memory_desc_create_with_tag(&desc, ndim, dims, type, tag) == dnnl_success ? desc : NULL;
}

FyDnnDesc fy_dnn_desc_strided(dnnl_data_type_t type, int ndim, const dnnl_dim_t *dims, const dnnl_dim_t *strides) {
  dnnl_memory_desc_t desc = NULL;
  return dnnl_memory_desc_create_with_strides(&desc, ndim, dims, type, strides) == dnnl_success ? desc : NULL;
}

void fy_dnn_desc_free(FyDnnDesc desc) {
  if (desc)
    dnnl_memory_desc_destroy((dnnl_memory_desc_t)(uintptr_t)desc);
}

#else

static FyDnnDesc kept_if(dnnl_status_t status, dnnl_memory_desc_t *desc) {
  if (status == dnnl_success)
    return desc;
  free(desc);
  return NULL;
}

FyDnnDesc fy_dnn_desc(dnnl_data_type_t type, int ndim, const dnnl_dim_t *dims, dnnl_format_tag_t tag) {
  dnnl_memory_desc_t *desc = malloc(sizeof *desc);
  return desc ? kept_if(dnnl_memory_desc_init_by_tag(desc, ndim, dims, type, tag), desc) : NULL;
}

FyDnnDesc fy_dnn_desc_strided(dnnl_data_type_t type, int ndim, const dnnl_dim_t *dims, const dnnl_dim_t *strides) {
  dnnl_memory_desc_t *desc = malloc(sizeof *desc);
  return desc ? kept_if(dnnl_memory_desc_init_by_strides(desc, ndim, dims, type, strides), desc) : NULL;
}

void fy_dnn_desc_free(FyDnnDesc desc) {
  free((void *)(uintptr_t)desc);
}

#endif

// ---- running a primitive -----------------------------------------------------------------------------------------------

void fy_dnn_argument(FyDnnExecution *e, int argument, FyDnnDesc desc, const void *data) {
  dnnl_memory_t memory;
  if (e->status != dnnl_success)
    return;
  e->status = dnnl_memory_create(&memory, desc, fy_dnn_engine(), (void *)(uintptr_t)data);
  if (e->status == dnnl_success)
    e->arguments[e->count++] = (dnnl_exec_arg_t){argument, memory};
}

dnnl_status_t fy_dnn_execute(FyDnnExecution *e, dnnl_primitive_t primitive, dnnl_stream_t stream) {
  if (e->status == dnnl_success)
    e->status = dnnl_primitive_execute(primitive, stream, e->count, e->arguments);
  if (e->status == dnnl_success)
    e->status = dnnl_stream_wait(stream);
  for (int i = 0; i < e->count; i++)
    dnnl_memory_destroy(e->arguments[i].memory);
  return e->status;
}

// ---- the cache -----------------------------------------------------------------------------------------------------------

// The plans of the shapes used last. A refusal is remembered too, as an entry without a plan. An image classifier has a few
// dozen shapes; a program whose shapes never come again makes each plan once, and keeps no more than these.
enum { CACHE_SIZE = 512 };

typedef FyDnnCached *Maker(const void *key);

typedef struct CachedPrimitive {
  Maker *make;
  size_t size;
  unsigned char key[FY_DNN_MOST_KEY];
  FyDnnCached *plan;
  uint64_t used; // when it was asked for last
} CachedPrimitive;

static struct {
  pthread_mutex_t lock;
  int count, limit;
  uint64_t now;
  CachedPrimitive entries[CACHE_SIZE];
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER, .limit = CACHE_SIZE};

static atomic_int plans_alive;

int fy_dnn_plans_alive(void) {
  return atomic_load(&plans_alive);
}

void fy_dnn_limit_plans(int limit) {
  pthread_mutex_lock(&cache.lock);
  while (cache.count > 0)
    fy_dnn_cached_release(cache.entries[--cache.count].plan);
  cache.limit = limit < CACHE_SIZE ? limit : CACHE_SIZE;
  pthread_mutex_unlock(&cache.lock);
}

void fy_dnn_cached_release(FyDnnCached *cached) {
  if (!cached || atomic_fetch_sub_explicit(&cached->references, 1, memory_order_acq_rel) > 1)
    return;
  cached->destroy(cached);
  atomic_fetch_sub(&plans_alive, 1);
}

// An entry for a new key: a free one, or that of the plan which was not asked for the longest. Whoever runs that plan at this
// moment holds a reference.
static CachedPrimitive *vacate(void) {
  if (cache.count < cache.limit)
    return &cache.entries[cache.count++];
  CachedPrimitive *oldest = &cache.entries[0];
  for (int i = 1; i < cache.count; i++)
    if (cache.entries[i].used < oldest->used)
      oldest = &cache.entries[i];
  fy_dnn_cached_release(oldest->plan);
  return oldest;
}

static CachedPrimitive *find_or_make(const void *key, size_t size, Maker *make) {
  for (int i = 0; i < cache.count; i++) {
    CachedPrimitive *entry = &cache.entries[i];
    if (entry->make == make && entry->size == size && memcmp(entry->key, key, size) == 0)
      return entry;
  }
  CachedPrimitive *entry = vacate();
  entry->make = make;
  entry->size = size;
  memcpy(entry->key, key, size);
  entry->plan = make(key);
  if (entry->plan) {
    atomic_init(&entry->plan->references, 1);
    atomic_fetch_add(&plans_alive, 1);
  }
  return entry;
}

FyDnnCached *fy_dnn_cached(const void *key, size_t size, Maker *make) {
  if (!fy_dnn_engine())
    return NULL;
  pthread_mutex_lock(&cache.lock);
  CachedPrimitive *entry = find_or_make(key, size, make);
  entry->used = ++cache.now;
  FyDnnCached *plan = entry->plan;
  if (plan)
    atomic_fetch_add_explicit(&plan->references, 1, memory_order_relaxed);
  pthread_mutex_unlock(&cache.lock);
  return plan;
}
