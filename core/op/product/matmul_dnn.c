// Products of bfloat16 matrices by oneDNN, which has kernels for the processor's units: AMX's tiles, or AVX-512's pairs of
// products.
//
// As in gemm.c, each product is cut into blocks of C by its shape alone, and a block is computed by one thread, so that no
// element's sum depends on the number of threads. A block has a primitive of its size, made once and kept (kernel/dnn.h).
#include "op/product/matmul_dnn.h"
#include "base/threads.h"
#include "op/copy/convert.h"
#include "op/elementwise/pointwise_math.h"
#include "op/kernel/dnn.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct Key {
  int64_t m, n, k;
  int64_t trans_a, trans_b, lda, ldb, ldc;
  int64_t bias;
} Key;

enum { A, B, C, BIAS, ARRAYS };

typedef struct Plan {
  FyDnnCached cached;
  FyDnnDesc arrays[ARRAYS], scratchpad;
  dnnl_primitive_desc_t description; // owns the scratchpad's description
  dnnl_primitive_t product;
  size_t scratchpad_bytes;
} Plan;

// ---- making a plan -------------------------------------------------------------------------------------------------------

static FyDnnDesc matrix(int64_t rows, int64_t columns, bool trans, int64_t ld) {
  return fy_dnn_desc_strided(dnnl_bf16, 2, (dnnl_dims_t){rows, columns}, (dnnl_dims_t){trans ? 1 : ld, trans ? ld : 1});
}

static dnnl_status_t describe(Plan *plan, dnnl_primitive_attr_t attr) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl_matmul_primitive_desc_create(&plan->description, fy_dnn_engine(), plan->arrays[A], plan->arrays[B],
                                           plan->arrays[BIAS], plan->arrays[C], attr);
#else
  dnnl_matmul_desc_t desc;
  dnnl_status_t status =
      dnnl_matmul_desc_init(&desc, plan->arrays[A], plan->arrays[B], plan->arrays[BIAS], plan->arrays[C]);
  return status == dnnl_success ? dnnl_primitive_desc_create(&plan->description, &desc, attr, fy_dnn_engine(), NULL)
                                : status;
#endif
}

static void free_plan(FyDnnCached *cached) {
  Plan *plan = (Plan *)(void *)cached;
  for (int i = 0; i < ARRAYS; i++)
    fy_dnn_desc_free(plan->arrays[i]);
  if (plan->product)
    dnnl_primitive_destroy(plan->product);
  if (plan->description)
    dnnl_primitive_desc_destroy(plan->description);
  free(plan);
}

// Every primitive takes its scratch memory from the caller: the library's own is shared by all threads of a primitive.
static bool fill_plan(Plan *plan, const Key *key, dnnl_primitive_attr_t attr) {
  plan->arrays[A] = matrix(key->m, key->k, key->trans_a, key->lda);
  plan->arrays[B] = matrix(key->k, key->n, key->trans_b, key->ldb);
  plan->arrays[C] = matrix(key->m, key->n, false, key->ldc);
  plan->arrays[BIAS] = key->bias ? matrix(1, key->n, false, key->n) : NULL;
  for (int i = 0; i < ARRAYS; i++)
    if (!plan->arrays[i] && (i != BIAS || key->bias))
      return false;
  if (dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user) != dnnl_success ||
      describe(plan, attr) != dnnl_success || dnnl_primitive_create(&plan->product, plan->description) != dnnl_success)
    return false;
  plan->scratchpad = dnnl_primitive_desc_query_md(plan->description, dnnl_query_scratchpad_md, 0);
  plan->scratchpad_bytes = dnnl_memory_desc_get_size(plan->scratchpad);
  return true;
}

static FyDnnCached *make_plan(const void *key) {
  Plan *plan = calloc(1, sizeof *plan);
  dnnl_primitive_attr_t attr;
  if (!plan || dnnl_primitive_attr_create(&attr) != dnnl_success) {
    free(plan);
    return NULL;
  }
  plan->cached.destroy = free_plan;
  int held = fy_dnn_hold_threads(); // a primitive is made for as many threads as it finds
  bool made = fill_plan(plan, key, attr);
  fy_dnn_release_threads(held);
  dnnl_primitive_attr_destroy(attr);
  if (made)
    return &plan->cached;
  free_plan(&plan->cached);
  return NULL;
}

// ---- blocks ----------------------------------------------------------------------------------------------------------------

typedef struct Job {
  const FyMatmulPlan *p;
  const uint16_t *a, *b, *bias;
  uint16_t *c;
  bool relu, trans_a; // A as it lies, or as a copy of it does
  int64_t lda;
  const uint16_t *columns;                      // copies of B's blocks of columns, when not NULL
  int64_t block_m, block_n, blocks_m, blocks_n; // rows and columns of a block, and their numbers
  Plan *plans[2][2];                            // of a whole block, and of those at the lower and the right edge
  char *slots;                                  // of each thread: the primitives' scratch, then a block of C
  size_t slot_bytes, scratchpad_bytes;
  atomic_int status;
} Job;

static int64_t part_of(int64_t size, int64_t parts) {
  enum { STEP = 32 }; // elements of a tile's row
  return ((size + parts - 1) / parts + STEP - 1) / STEP * STEP;
}

// Cuts the longer side in halves, by the shape alone: enough blocks for many threads, each with work worth the overhead of some
// microseconds, and small enough for the caches.
static void cut_into_blocks(Job *job) {
  enum { LARGEST = 256 * 1024, SMALLEST_SIDE = 64, GRAIN = 1 << 20, MOST_PARTS = 8 };
  int64_t m = job->p->m, n = job->p->n, work = m * n * job->p->k, parts_m = 1, parts_n = 1;
  int64_t wanted = work / GRAIN < MOST_PARTS ? work / GRAIN : MOST_PARTS;
  for (;;) {
    int64_t rows = m / parts_m, columns = n / parts_n;
    if ((parts_m * parts_n >= wanted && rows * columns <= LARGEST) ||
        (rows < columns ? columns : rows) < 2 * SMALLEST_SIDE)
      break;
    *(rows >= columns ? &parts_m : &parts_n) *= 2;
  }
  job->block_m = part_of(m, parts_m);
  job->block_n = part_of(n, parts_n);
  job->blocks_m = (m + job->block_m - 1) / job->block_m;
  job->blocks_n = (n + job->block_n - 1) / job->block_n;
}

// Rows or columns of a block that begins at `first`: the last one takes what is left.
static int64_t extent(int64_t size, int64_t block, int64_t first) {
  return size - first < block ? size - first : block;
}

static bool choose_plans(Job *job) {
  const FyMatmulPlan *p = job->p;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
      Key key = {.k = p->k, .trans_a = job->trans_a, .trans_b = p->b.trans, .lda = job->lda, .bias = job->bias != NULL};
      key.m = extent(p->m, job->block_m, i ? (job->blocks_m - 1) * job->block_m : 0);
      key.n = extent(p->n, job->block_n, j ? (job->blocks_n - 1) * job->block_n : 0);
      key.ldb = job->columns ? key.n : p->b.ld;
      key.ldc = key.n;
      job->plans[i][j] = (Plan *)(void *)fy_dnn_cached(&key, sizeof key, make_plan);
      if (!job->plans[i][j])
        return false;
      size_t bytes = (job->plans[i][j]->scratchpad_bytes + 63) / 64 * 64;
      job->scratchpad_bytes = bytes > job->scratchpad_bytes ? bytes : job->scratchpad_bytes;
    }
  return true;
}

// ---- operands without gaps ---------------------------------------------------------------------------------------------------
// oneDNN's best kernels want matrices without gaps between their rows, which a block of columns has; and rows of A rather than
// columns. So such an operand is copied first where it then serves many rows or columns of the result.

static FyArray part_of_matrix(uint16_t *data, int64_t rows, int64_t columns, int64_t row_stride,
                              int64_t column_stride) {
  return (FyArray){.data = data,
                   .numel = rows * columns,
                   .dtype = FY_BFLOAT16,
                   .ndim = 2,
                   .shape = {rows, columns},
                   .stride = {row_stride, column_stride}};
}

static void copy_part(const uint16_t *from, int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride,
                      uint16_t *to) {
  FyArray in = part_of_matrix((uint16_t *)(uintptr_t)from, rows, columns, row_stride, column_stride);
  FyArray out = part_of_matrix(to, rows, columns, columns, 1);
  fy_convert(&out, &in);
}

// A transposed, row by row.
static int turn_a(FyLaunch *l, Job *job) {
  const FyMatmulPlan *p = job->p;
  uint16_t *rows = l->workspace(l, (size_t)(p->m * p->k) * sizeof *rows);
  if (!rows)
    return FY_LAUNCH_NO_MEMORY;
  copy_part(job->a, p->m, p->k, 1, p->a.ld, rows);
  job->a = rows;
  job->trans_a = false;
  job->lda = p->k;
  return FY_LAUNCH_OK;
}

// B's blocks of columns, one after the other.
static int separate_columns(FyLaunch *l, Job *job) {
  const FyMatmulPlan *p = job->p;
  uint16_t *columns = l->workspace(l, (size_t)(p->k * p->n) * sizeof *columns);
  if (!columns)
    return FY_LAUNCH_NO_MEMORY;
  for (int64_t j = 0; j < p->n; j += job->block_n)
    copy_part(job->b + j, p->k, extent(p->n, job->block_n, j), p->b.ld, 1, columns + j * p->k);
  job->columns = columns;
  return FY_LAUNCH_OK;
}

static int close_gaps(FyLaunch *l, Job *job) {
  enum { MANY = 512 };
  const FyMatmulPlan *p = job->p;
  int status = FY_LAUNCH_OK;
  if (p->batches > 1)
    return status;
  if (p->a.trans && p->n >= MANY)
    status = turn_a(l, job);
  if (status == FY_LAUNCH_OK && !p->b.trans && (job->blocks_n > 1 || p->b.ld > p->n) && p->m >= MANY)
    status = separate_columns(l, job);
  return status;
}

// ---- running blocks ------------------------------------------------------------------------------------------------------------

// From a block to where it belongs in C. ReLU of what is rounded is what ReLU would round to; oneDNN's own would make a NaN 0.
static void store_block(const uint16_t *block, uint16_t *c, int64_t ldc, int64_t rows, int64_t columns, bool relu) {
  for (int64_t r = 0; r < rows; r++, c += ldc, block += columns)
    if (relu)
      for (int64_t j = 0; j < columns; j++)
        c[j] = fy_relu_bf16(block[j]);
    else if (c != block)
      memcpy(c, block, (size_t)columns * sizeof *c);
}

static dnnl_status_t run_block(const Job *job, int64_t task, char *slot, dnnl_stream_t stream) {
  const FyMatmulPlan *p = job->p;
  int64_t blocks = job->blocks_m * job->blocks_n, batch = task / blocks, block = task % blocks, a, b;
  int64_t i = block / job->blocks_n, j = block % job->blocks_n;
  int64_t row = i * job->block_m, column = j * job->block_n;
  int64_t rows = extent(p->m, job->block_m, row), columns = extent(p->n, job->block_n, column);
  const Plan *plan = job->plans[i == job->blocks_m - 1][j == job->blocks_n - 1];
  uint16_t *c = job->c + batch * p->m * p->n + row * p->n + column;
  uint16_t *made = columns == p->n ? c : (uint16_t *)(void *)(slot + job->scratchpad_bytes);
  fy_matmul_plan_offsets(p, batch, &a, &b);
  const uint16_t *right =
      job->columns ? job->columns + column * p->k : job->b + b + (p->b.trans ? column * p->b.ld : column);
  FyDnnExecution e = {.status = dnnl_success};
  fy_dnn_argument(&e, DNNL_ARG_SRC, plan->arrays[A], job->a + a + (job->trans_a ? row : row * job->lda));
  fy_dnn_argument(&e, DNNL_ARG_WEIGHTS, plan->arrays[B], right);
  fy_dnn_argument(&e, DNNL_ARG_DST, plan->arrays[C], made);
  if (job->bias)
    fy_dnn_argument(&e, DNNL_ARG_BIAS, plan->arrays[BIAS], job->bias + column);
  fy_dnn_argument(&e, DNNL_ARG_SCRATCHPAD, plan->scratchpad, slot);
  dnnl_status_t status = fy_dnn_execute(&e, plan->product, stream);
  if (status == dnnl_success && (job->relu || made != c))
    store_block(made, c, p->n, rows, columns, job->relu);
  return status;
}

static void run_blocks(int worker, FyTurns *turns, void *context) {
  Job *job = context;
  dnnl_stream_t stream = NULL;
  int held = fy_dnn_hold_threads();
  dnnl_status_t status = dnnl_stream_create(&stream, fy_dnn_engine(), dnnl_stream_default_flags);
  for (int64_t i; status == dnnl_success && fy_next_turn(turns, &i);)
    status = run_block(job, i, job->slots + (size_t)worker * job->slot_bytes, stream);
  if (stream)
    dnnl_stream_destroy(stream);
  fy_dnn_release_threads(held);
  if (status != dnnl_success)
    atomic_store(&job->status, FY_LAUNCH_DNN - (int)status);
}

static int run_job(FyLaunch *l, Job *job) {
  int status = close_gaps(l, job);
  if (status != FY_LAUNCH_OK)
    return status;
  if (!choose_plans(job))
    return FY_LAUNCH_DNN - (int)dnnl_unimplemented;
  job->slot_bytes = job->scratchpad_bytes;
  if (job->blocks_n > 1)
    job->slot_bytes += (size_t)(job->block_m * job->block_n * (int64_t)sizeof *job->c + 63) / 64 * 64;
  job->slots = l->workspace(l, job->slot_bytes * (size_t)fy_get_num_threads() + 64);
  if (!job->slots)
    return FY_LAUNCH_NO_MEMORY;
  fy_parallel_turns(job->p->batches * job->blocks_m * job->blocks_n, run_blocks, job);
  return atomic_load(&job->status);
}

bool fy_dnn_multiplies(int64_t m, int64_t n, int64_t k) {
  enum { LEAST = 1 << 14 };
  return m * n * k >= LEAST && fy_dnn_has_bfloat16();
}

int fy_dnn_matmul(FyLaunch *l, const FyMatmulPlan *p, const void *a, const void *b, const void *bias, bool relu,
                  void *c) {
  Job job = {.p = p, .a = a, .b = b, .bias = bias, .c = c, .relu = relu, .trans_a = p->a.trans, .lda = p->a.ld};
  cut_into_blocks(&job);
  int status = run_job(l, &job);
  for (int i = 0; i < 4; i++)
    fy_dnn_cached_release(job.plans[i / 2][i % 2] ? &job.plans[i / 2][i % 2]->cached : NULL);
  return status;
}
