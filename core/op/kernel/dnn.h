// SPDX-License-Identifier: MIT
// What the products and convolutions by oneDNN share: its engine, descriptions of memory, running a primitive, and a cache of
// what was made for a shape. With the API of oneDNN 2 or 3.
#ifndef FERRY_OP_DNN_H
#define FERRY_OP_DNN_H

#include <oneapi/dnnl/dnnl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

// Memory descriptions: plain structs until oneDNN 2, opaque handles since 3.
#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t FyDnnDesc;
#else
typedef const dnnl_memory_desc_t *FyDnnDesc;
#endif

// The process's CPU engine, NULL when there is none.
dnnl_engine_t fy_dnn_engine(void);

// Whether the processor has tiles that multiply bfloat16 numbers (AMX), and the system lets the process use them, which oneDNN has
// asked for.
bool fy_dnn_has_amx(void);

// Whether the processor has AVX-512's instruction for dot products of bfloat16 numbers. Ferry's matrix products use it. oneDNN's kernels
// by it are not used: they took twice the time of float32's where it was measured (Sapphire Rapids, oneDNN 2.6).
bool fy_dnn_has_avx512_bf16(void);

// Limits oneDNN to the calling thread; returns what fy_dnn_release_threads takes to undo it.
int fy_dnn_hold_threads(void);
void fy_dnn_release_threads(int held);

// A description of an array, by its format or by strides in elements; NULL when it cannot be made. To be freed.
FyDnnDesc fy_dnn_desc(dnnl_data_type_t type, int ndim, const dnnl_dim_t *dims, dnnl_format_tag_t tag);
FyDnnDesc fy_dnn_desc_strided(dnnl_data_type_t type, int ndim, const dnnl_dim_t *dims, const dnnl_dim_t *strides);
void fy_dnn_desc_free(FyDnnDesc desc); // NULL is allowed

// ---- running a primitive -----------------------------------------------------------------------------------------------

// Begins as {.status = dnnl_success}; what fails first is what fy_dnn_execute returns.
typedef struct FyDnnExecution {
  dnnl_exec_arg_t arguments[6];
  int count;
  dnnl_status_t status;
} FyDnnExecution;

void fy_dnn_argument(FyDnnExecution *e, int argument, FyDnnDesc desc, const void *data);

// Runs it to its end, and gives the arguments back.
dnnl_status_t fy_dnn_execute(FyDnnExecution *e, dnnl_primitive_t primitive, dnnl_stream_t stream);

// ---- the cache -----------------------------------------------------------------------------------------------------------

// The first member of what is cached.
typedef struct FyDnnCached {
  atomic_int references; // the cache's, and that of each call that uses it
  void (*destroy)(struct FyDnnCached *self);
} FyDnnCached;

enum { FY_DNN_MOST_KEY = 160 }; // bytes

// What `make` returned for these bytes: from the cache, which keeps what was used last, or made now. NULL where it returned
// NULL, which is remembered too. To be released. Any thread; `make` runs on one at a time.
FyDnnCached *fy_dnn_cached(const void *key, size_t size, FyDnnCached *(*make)(const void *key));
void fy_dnn_cached_release(FyDnnCached *cached); // NULL is allowed

// For tests, since a plan takes milliseconds: how many plans there are in memory; empties the cache, and lets it grow to
// `limit` plans, at least 1, from now on.
int fy_dnn_plans_alive(void);
void fy_dnn_limit_plans(int limit);

#endif
