// SPDX-License-Identifier: MIT
// Exercise 27.5: c = a @ b by nvcuda::wmma, for matrices of any size. All products and sums are exact, in any order, but not in 16 bits.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/27_the_matrix_product.md"
#define TENSOR LESSON "#tensor-cores"
#define ANY_SIZE LESSON "#matrices-of-any-size"

static const Mistake NO_TENSOR_CORES = {"no tensor cores",
                                        "The kernel multiplied fewer fragments than the product needs, so it computed "
                                        "with ordinary multiply-adds. Use wmma::mma_sync for all products.",
                                        TENSOR};
static const Mistake REFUSED = {
    "misaligned fragment",
    "load_matrix_sync and store_matrix_sync need an address that is a multiple of 32 bytes, and a stride that is a "
    "multiple of 8 halfs or 4 floats. Copy the tile to an aligned shared array first.",
    ANY_SIZE};
static const Mistake LANES = {"divergent warp function",
                              "All 32 lanes of a warp must call each wmma function together. Compute conditions around "
                              "such a call from the number of the warp or the block, not from the lane.",
                              TENSOR};
static const Mistake NO_BARRIER = {
    "missing barrier",
    "Threads use shared memory that other threads still read, or have not written yet. Put a __syncthreads() after "
    "the tiles are loaded, and another one before they are overwritten.",
    "docs/23_shared_memory.md#shared-memory-and-barriers"};
static const Mistake OUTSIDE = {"out-of-bounds access",
                                "A thread reads or writes outside of a matrix. Compare the row and the column with the "
                                "sizes of this matrix, for each of a, b and c.",
                                ANY_SIZE};
static const Mistake NO_PADDING = {
    "missing zero padding",
    "The part of a tile that is outside of its matrix must be 0, because mma_sync multiplies whole tiles. Write a 0 "
    "where there is no element.",
    ANY_SIZE};
static const Mistake TRANSPOSED = {"transposed operand",
                                   "The elements of a tile are used with rows and columns swapped. The layout of the "
                                   "fragment, row_major or col_major, must be that of the tile in memory.",
                                   TENSOR};
static const Mistake RESET = {"sum reset in every step",
                              "The result is the product of the last step only. Call fill_fragment once, before the "
                              "loop over k.",
                              TENSOR};
static const Mistake NOT_ZEROED = {"accumulator not initialized",
                                   "A fragment is uninitialized at first. Call fill_fragment(sum, 0) before the loop "
                                   "over k.",
                                   TENSOR};
static const Mistake LAST_STEP = {"number of steps rounded down",
                                  "The last columns of a and rows of b are missing in the sums. Let the loop go on as "
                                  "long as p < k.",
                                  ANY_SIZE};
static const Mistake HALF_SUMS = {"16-bit accumulator",
                                  "The sums are rounded to 16 bits. Use an accumulator fragment of float, and store it "
                                  "to floats.",
                                  TENSOR};
static const Mistake TOO_SMALL = {"grid size rounded down",
                                  "The last rows or columns of c have no block. Round the number of blocks up in both "
                                  "directions.",
                                  ANY_SIZE};
static const Mistake UNCOALESCED = {"uncoalesced access",
                                    "Neighboring lanes load elements that are far apart. Let neighboring threads load "
                                    "neighboring columns of a row.",
                                    "docs/22_global_memory.md#sectors-and-coalescing"};
static const Mistake SMALL_TILES = {"too little reuse",
                                    "Each element of a and b is loaded many times. Let a block of several warps "
                                    "compute a tile of at least 32 x 32, whose warps share the tiles of a and b.",
                                    LESSON "#tiling-in-shared-memory"};

enum { TILE = 16 };

// ---- asking ----------------------------------------------------------------------------------------------------------

static void ask(Case *c, int64_t m, int64_t n, int64_t k) {
  give_array(c, "a", array_cast(c, draw_steps(c, shape(m, k), 1, 4, 0.5), FY_FLOAT16), (Give){.device = "cuda:0"});
  give_array(c, "b", array_cast(c, draw_steps(c, shape(k, n), 1, 4, 0.5), FY_FLOAT16), (Give){.device = "cuda:0"});
  give_number(c, "m", (double)m);
  give_number(c, "n", (double)n);
  give_number(c, "k", (double)k);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 33, 47), draw_odd(c, 65, 79), draw_odd(c, 49, 63));
}
static void ask_tall(Case *c) {
  ask(c, draw_odd(c, 97, 111), draw_odd(c, 3, 13), draw_odd(c, 17, 31));
}
static void ask_whole(Case *c) {
  ask(c, 64, 96, 80);
}
static void ask_long(Case *c) { // the sums do not fit into 16 bits
  ask(c, draw_odd(c, 17, 31), draw_odd(c, 17, 31), draw_odd(c, 401, 499));
}
static void ask_traffic(Case *c) {
  ask(c, 128, 128, 127);
}
static void ask_small(Case *c) {
  ask(c, draw_odd(c, 3, 15), draw_odd(c, 3, 15), draw_odd(c, 3, 15));
}
static void ask_one(Case *c) {
  ask(c, 1, 1, 1);
}
static void ask_large(Case *c) {
  ask(c, draw_odd(c, 201, 299), draw_odd(c, 201, 299), draw_odd(c, 101, 199));
}

// ---- judging ---------------------------------------------------------------------------------------------------------

static int64_t size_of(const Case *c, const char *name) {
  return (int64_t)given_number(c, name);
}
static int64_t steps(int64_t size) {
  return (size + TILE - 1) / TILE;
}

// The sums over p from `first` to `end`.
static Array *product(Case *c, int64_t first, int64_t end) {
  const int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  const Array *a = array_cast(c, given(c, "a"), FY_FLOAT32), *b = array_cast(c, given(c, "b"), FY_FLOAT32);
  Array *sums = new_array(c, FY_FLOAT32, shape(m, n));
  for (int64_t row = 0; row < m; row++)
    for (int64_t p = first; p < end; p++)
      for (int64_t column = 0; column < n; column++)
        sums->f32[row * n + column] += a->f32[row * k + p] * b->f32[p * n + column];
  return sums;
}

// Where neither is transposed, and of whole tiles, so are a's tiles, b's, or both.
static Array *product_of_transposed_tiles(Case *c, bool of_a, bool of_b) {
  const int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  const Array *a = array_cast(c, given(c, "a"), FY_FLOAT32), *b = array_cast(c, given(c, "b"), FY_FLOAT32);
  Array *sums = new_array(c, FY_FLOAT32, shape(m, n));
  for (int64_t row = 0; row < m; row++)
    for (int64_t column = 0; column < n; column++)
      for (int64_t p = 0; p < k; p++) {
        const int64_t r = of_a ? row / TILE * TILE + p % TILE : row, q = of_a ? p / TILE * TILE + row % TILE : p;
        const int64_t s = of_b ? p / TILE * TILE + column % TILE : p;
        const int64_t t = of_b ? column / TILE * TILE + p % TILE : column;
        sums->f32[row * n + column] += a->f32[r * k + q] * b->f32[s * n + t];
      }
  return sums;
}

// Whether the elements that are wrong differ by no more than rounding to 16 bits at each step may cause.
static bool is_rounded(const Case *c, const Array *want) {
  const Array *got = got_shaped(c, "c", want->shape);
  bool wrong = false;
  for (int64_t i = 0; got && i < got->count; i++) {
    const double off = fabs(got->f32[i] - (double)want->f32[i]);
    if (!(off <= 0.05 * want->f32[i]))
      return false;
    wrong |= off > 0;
  }
  return wrong;
}

static bool has_filling(const Case *c, const Array *want) {
  const Array *got = got_shaped(c, "c", want->shape);
  return got && got->count > 0 && array_is_filling(got, got->count - 1) && !array_is_filling(got, 0);
}

static bool sums_have_nan(const Case *c, const Array *want) {
  const Array *got = got_shaped(c, "c", want->shape);
  return got && array_has_nan(got);
}

static bool broken_guard(const Case *c) {
  const Array *a = got(c, "c");
  return a && a->flags & ARRAY_GUARD_BROKEN;
}

static void suspect_mistakes(Case *c, const Array *want) {
  const int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_error(c, "lanes", &LANES);
  suspect_finding(c, "divergent", &LANES);
  suspect_sure(c, got_count(c, "refused fragments") > 0, &REFUSED);
  suspect_finding(c, "bounds-global", &OUTSIDE);
  suspect_sure(c, broken_guard(c), &OUTSIDE);
  suspect_error(c, ": it reads ", &OUTSIDE);
  suspect_error(c, ": it writes ", &OUTSIDE);
  suspect_that(c, has_shared_race(c), &NO_BARRIER);
  suspect_finding(c, "uninitialized-shared", &NO_PADDING);
  suspect_faults(c);
  if (*got_error(c))
    return;
  suspect_that(c, got_count(c, "fragment products") == 0, &NO_TENSOR_CORES);
  suspect_array(c, "c", product(c, (steps(k) - 1) * TILE, k), &RESET);
  suspect_array(c, "c", product(c, 0, k / TILE * TILE), &LAST_STEP);
  if (m % TILE == 0 && n % TILE == 0 && k % TILE == 0)
    for (int which = 1; which < 4; which++)
      suspect_array(c, "c", product_of_transposed_tiles(c, which & 1, which & 2), &TRANSPOSED);
  suspect_that(c, has_filling(c, want), &TOO_SMALL);
  suspect_that(c, sums_have_nan(c, want), &NOT_ZEROED);
  suspect_that(c, is_rounded(c, want), &HALF_SUMS);
}

static bool judge_values(Case *c) {
  const int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  const Array *want = product(c, 0, k);
  suspect_mistakes(c, want);
  if (!expect_array(c, "c", want, 1e-6) || !expect_by_kernel(c))
    return false;
  // On a GPU, nothing counts them.
  const int64_t products = got_count(c, "fragment products"), refused = got_count(c, "refused fragments");
  if (products >= 0 && !expect_at_least(c, "products of fragments (mma_sync)", products,
                                        (m * n * k + TILE * TILE * TILE - 1) / (TILE * TILE * TILE), &NO_TENSOR_CORES))
    return false;
  if (refused >= 0 &&
      !expect_exactly(c, "fragments with an address or stride that is not aligned", refused, 0, &REFUSED))
    return false;
  return expect_no_finding(c);
}

static void judge(Case *c) {
  judge_values(c);
}

static void judge_traffic(Case *c) {
  const int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  const double elements = (double)(m * k * ((n + 31) / 32) + k * n * ((m + 31) / 32));
  if (judge_values(c) && expect_inspected(c, LOADED_SECTORS, (Where){.in_all = true}, 2.2, &UNCOALESCED))
    expect_inspected(c, SECTORS_LOADED, (Where){.in_all = true}, 2.2 * elements * 2 / 32, &SMALL_TILES);
}

EXERCISE = {
    .id = "27_5_tensor_cores",
    .title = "Tensor cores: matrices of any size",
    .after_pass =
        "Your kernel multiplies on tensor cores, for every size. Libraries pad tiles in the same way; what they "
        "add is larger tiles, more buffers and asynchronous copies.",
    .kind = "kernel",
    .chapter = 27,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = ANY_SIZE,
    .stars = {{"coalesced: at most 2.2 x the ideal sectors per load", {&UNCOALESCED}},
              {"reuse: all loads together access at most 2.2 x the sectors that tiles of 32 x 32 elements of c need",
               {&SMALL_TILES}}},
    .hints =
        {"Begin with one warp per block and a tile of 16 x 16. Copy the 16 x 16 tiles of a and b to shared arrays, "
         "with a 0 where the row or the column is outside of the matrix. Then load the fragments from there.",
         "Declare the shared arrays with __align__(32). The stride of a tile in shared memory is the length of its "
         "rows there, for example 16, and not k or n.",
         "c has odd rows, too. Store the accumulator to a shared array of floats, then let each thread copy the "
         "elements that are inside of c.",
         "For the third star, let a block of four warps compute 32 x 32 elements: tiles of 32 x 16 elements of a "
         "and 16 x 32 elements of b, and for each warp one quarter of the sums."},
    .functions = {"matmul_on_device"},
    .tests = {{.name = "whole tiles", .ask = ask_whole, .judge = judge, .inspect = true},
              {.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "tall", .ask = ask_tall, .judge = judge, .inspect = true},
              {.name = "less than a tile", .ask = ask_small, .judge = judge, .inspect = true},
              {.name = "traffic", .ask = ask_traffic, .judge = judge_traffic, .inspect = true},
              {.name = "long sums", .ask = ask_long, .judge = judge, .schedules = 2},
              {.name = "one element", .ask = ask_one, .judge = judge, .schedules = 2},
              {.name = "large", .ask = ask_large, .judge = judge, .schedules = 1}},
};
