// SPDX-License-Identifier: MIT
// Exercise 25.2: y = alpha * (A @ x) + beta * y for a matrix in CSR format. All products and sums are exact, in any order.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/25_warps.md"
#define SPARSE LESSON "#sparse-matrix-vector-product"

static const Mistake POSITION = {"element position instead of column",
                                 "k is the position of an element in values. Multiply it by x[columns[k]], not by the "
                                 "element of x at a position.",
                                 SPARSE};
static const Mistake TRANSPOSED = {"transposed matrix",
                                   "y is the product of the transposed matrix and x. Element k adds values[k] * "
                                   "x[columns[k]] to y[row].",
                                   SPARSE};
static const Mistake NO_ALPHA = {"alpha missing", "Multiply the product by alpha.", SPARSE};
static const Mistake NO_BETA = {"y overwritten", "Add beta * y[row], with the old value of y[row], to the product.",
                                SPARSE};
static const Mistake BETA_ONE = {"beta missing", "Multiply the old value of y[row] by beta before you add it.", SPARSE};
static const Mistake BETA_AGAIN = {"y added several times",
                                   "Several lanes of a row add beta * y[row]. Let only one of them add it.", SPARSE};
static const Mistake ALPHA_BOTH = {"alpha applied to y", "Multiply only the product by alpha, not beta * y[row].",
                                   SPARSE};
static const Mistake EMPTY_ROW = {"empty rows skipped",
                                  "The product of an empty row is 0, so y[row] must become beta * y[row].", SPARSE};
static const Mistake BETA_ZERO = {"y read although beta is 0",
                                  "If beta is 0, y is uninitialized and may be NaN, and 0 * NaN is NaN. Do not read y.",
                                  SPARSE};
static const Mistake FIRST_LANES = {"missing loop over the row",
                                    "Each lane read only one element. A row may have more elements than a warp has "
                                    "lanes, so let each lane loop in steps of 32.",
                                    LESSON "#one-warp-per-row"};
static const Mistake ONE_LANE = {"missing warp reduction",
                                 "Lane 0 wrote the sum of its own elements only. Combine the sums of all lanes with "
                                 "shuffles.",
                                 LESSON "#warp-shuffles"};
static const Mistake TOO_SMALL = {
    "grid too small",
    "The last rows are unchanged, so they have no warp. Round the number of blocks up. If you limit it, let each warp "
    "loop over several rows.",
    LESSON "#one-warp-per-row"};
static const Mistake OUTSIDE = {
    "out-of-bounds access",
    "The last block may have more warps than there are rows left. Compare the row with rows before you read offsets. "
    "The elements of a row end before index offsets[row + 1].",
    SPARSE};
static const Mistake EMPTY_GRID = {
    "empty grid",
    "If rows or count is 0, the grid has 0 blocks, which is an invalid configuration. Skip such launches.", SPARSE};
static const Mistake LANES_MISSING = {"shuffle with missing lanes",
                                      "A lane in the mask has returned or did not reach the shuffle, so the value read "
                                      "from it is undefined. Let lanes without an element take part with 0.",
                                      LESSON "#masks"};
static const Mistake NO_BARRIER = {"missing barrier",
                                   "Threads of a block read shared memory that other threads write. Put a "
                                   "__syncthreads() between the writes and the reads.",
                                   "docs/23_shared_memory.md#shared-memory-and-barriers"};
static const Mistake NOT_ATOMIC = {"lost update",
                                   "Several threads add to the same element of y with ordinary loads and stores. Add "
                                   "their values with shuffles, or use atomicAdd.",
                                   LESSON "#atomics"};
static const Mistake BLOCK_ORDER = {"data race between blocks",
                                    "The result is wrong if the blocks run in a different order: one block adds to an "
                                    "element of y before another block has written beta * y. Use a separate launch to "
                                    "initialize y.",
                                    LESSON "#memory-model-visibility-and-fences"};
static const Mistake UNCOALESCED = {"uncoalesced access",
                                    "The lanes of a request read elements that are far apart. Let the lanes of a warp "
                                    "share a row, so that neighboring lanes read neighboring elements of it.",
                                    SPARSE};
static const Mistake AGAIN = {
    "sectors loaded several times",
    "With a warp per row, a short row uses only a part of the sectors that the warp loads. "
    "With a thread per row, the same sectors are loaded in several iterations. Let a group of "
    "lanes share a row: choose 1, 2, 4, 8, 16 or 32 by the average length of a row.",
    LESSON "#shuffles-within-groups-of-lanes"};

// ---- the matrices ----------------------------------------------------------------------------------------------------

typedef int64_t Length(Case *c, int64_t row); // of a row, in elements

// Row r has elements in columns start, start + step, ..., each modulo the number of columns, which is odd: none twice. With `whole`
// both starts and steps are such that whole sectors are read.
static void give_matrix(Case *c, int64_t rows, int64_t columns, Length *length, bool whole) {
  Array *offsets = new_array(c, FY_INT32, shape(rows + 1));
  for (int64_t r = 0; r < rows; r++)
    offsets->i32[r + 1] = offsets->i32[r] + (int32_t)length(c, r);
  const int64_t count = offsets->i32[rows];
  Array *column = new_array(c, FY_INT32, shape(count));
  for (int64_t r = 0; r < rows; r++) {
    const int64_t of_row = offsets->i32[r + 1] - offsets->i32[r], step = whole ? 1 : (int64_t)1 << draw_int(c, 0, 5);
    int64_t at = whole ? 8 * draw_int(c, 0, (columns - of_row) / 8) : draw_int(c, 0, columns - 1);
    for (int64_t k = 0; k < of_row; k++, at = (at + step) % columns)
      column->i32[offsets->i32[r] + k] = (int32_t)at;
  }
  give_array(c, "offsets", offsets, (Give){.device = "cuda:0"});
  give_array(c, "columns", column, (Give){.device = "cuda:0"});
  give_array(c, "values", draw_steps(c, shape(count), 1, 4, 0.5), (Give){.device = "cuda:0"});
  give_array(c, "x", draw_steps(c, shape(columns), -4, 4, 0.5), (Give){.device = "cuda:0"});
  give_number(c, "rows", (double)rows);
  give_number(c, "count", (double)count);
}

static void ask(Case *c, int64_t rows, int64_t columns, Length *length) {
  give_matrix(c, rows, columns, length, false);
  give_array(c, "y", draw_steps(c, shape(rows), 1, 4, 0.5), (Give){.device = "cuda:0"});
  const double sign = rows > 1 ? -1 : 1;
  give_number(c, "alpha", (draw_int(c, 0, 1) ? sign : 1) * 0.5 * (double)draw_odd(c, 3, 7));
  give_number(c, "beta", sign * 0.5 * (double)draw_odd(c, 3, 7));
}

// Less than one element per row on average, but some rows are longer than a warp.
static int64_t mostly_empty(Case *c, int64_t row) {
  return row % 100 == 7 ? draw_odd(c, 33, 69) : row % 9 == 0 ? draw_int(c, 1, 3) : 0;
}
static int64_t any_length(Case *c, int64_t row) {
  return row % 7 == 3 ? 0 : draw_int(c, 1, 70);
}
static int64_t few(Case *c, int64_t row) {
  (void)row;
  return draw_int(c, 0, 5);
}
static int64_t four(Case *c, int64_t row) {
  (void)c, (void)row;
  return 4;
}
static int64_t long_and_whole(Case *c, int64_t row) {
  (void)row;
  return 32 * draw_int(c, 2, 5);
}
static int64_t one_is_long(Case *c, int64_t row) {
  return row == 2 ? draw_odd(c, 15001, 19999) : draw_int(c, 0, 2);
}
static int64_t empty(Case *c, int64_t row) {
  (void)c, (void)row;
  return 0;
}
static int64_t one(Case *c, int64_t row) {
  (void)c, (void)row;
  return 1;
}

static void ask_mostly_empty(Case *c) { // square, and x is longer than values
  const int64_t rows = draw_odd(c, 701, 799);
  ask(c, rows, rows, mostly_empty);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 41, 69), draw_odd(c, 301, 399), any_length);
}
static void ask_few(Case *c) {
  ask(c, draw_odd(c, 301, 399), draw_odd(c, 11, 29), few);
}
static void give_whole(Case *c, int64_t rows, Length *length) {
  give_matrix(c, rows, 1024, length, true);
  give_array(c, "y", draw_steps(c, shape((int64_t)given_number(c, "rows")), 1, 4, 0.5), (Give){.device = "cuda:0"});
  give_number(c, "alpha", 1.5);
  give_number(c, "beta", 0.5);
}
static void ask_four(Case *c) {
  give_whole(c, 512, four);
}
static void ask_whole(Case *c) {
  give_whole(c, draw_odd(c, 65, 79), long_and_whole);
}
static void ask_uninitialized(Case *c) {
  give_matrix(c, draw_odd(c, 41, 69), draw_odd(c, 301, 399), any_length, false);
  give_number(c, "alpha", 0.5 * (double)draw_odd(c, 3, 7));
  give_number(c, "beta", 0);
}
static void ask_long(Case *c) {
  ask(c, draw_odd(c, 5, 9), 20001, one_is_long);
}
// More rows than 1024 blocks of 256 threads have groups of 4 threads.
static void ask_many_rows(Case *c) {
  ask(c, draw_odd(c, 66001, 69999), draw_odd(c, 101, 199), few);
}
static void ask_all_empty(Case *c) {
  ask(c, draw_odd(c, 101, 199), 5, empty);
}
static void ask_one(Case *c) {
  ask(c, 1, 1, one);
  given(c, "x")->f32[0] = 1; // the result is larger than y
}
static void ask_none_first(Case *c) {
  ask(c, 5, 9, few);
  give_number(c, "none first", 1);
}

// ---- judging ---------------------------------------------------------------------------------------------------------

// A product: alpha * (A @ x) + beta * y, by the elements of each row whose position in it is below `end` and a multiple of `every`.
typedef struct Product {
  double alpha, beta;
  int64_t end, every;
  bool transposed, skips_empty;
  enum { BY_COLUMN, BY_INDEX, BY_POSITION } from; // the element of x: columns[k], k, or k - offsets[row]
} Product;

static Product the_product(const Case *c) {
  return (Product){.alpha = given_number(c, "alpha"), .beta = given_number(c, "beta"), .end = INT64_MAX, .every = 1};
}

static int64_t rows_of(const Case *c) {
  return (int64_t)given_number(c, "rows");
}

static double old_y(const Case *c, int64_t row) {
  return given_number(c, "beta") == 0 ? 0 : given(c, "y")->f32[row];
}

static Array *product(Case *c, Product p) {
  const Array *offsets = given(c, "offsets"), *columns = given(c, "columns"), *values = given(c, "values");
  const Array *x = given(c, "x");
  const int64_t rows = rows_of(c);
  Array *y = new_array(c, FY_FLOAT32, shape(rows)), *sums = new_array(c, FY_FLOAT32, shape(rows));
  for (int64_t r = 0; r < rows; r++)
    for (int64_t k = offsets->i32[r]; k < offsets->i32[r + 1]; k++) {
      const int64_t position = k - offsets->i32[r], from = p.from == BY_INDEX ? k : p.from ? position : columns->i32[k];
      const int64_t to = p.transposed ? columns->i32[k] : r;
      if (position < p.end && position % p.every == 0 && to < rows && from < x->count)
        sums->f32[to] += values->f32[k] * x->f32[p.transposed ? r % x->count : from];
    }
  for (int64_t r = 0; r < rows; r++) {
    const bool kept = p.skips_empty && offsets->i32[r] == offsets->i32[r + 1];
    y->f32[r] = (float)(kept ? old_y(c, r) : p.alpha * sums->f32[r] + p.beta * old_y(c, r));
  }
  return y;
}

// From some row on, y is as it was; all rows before are right.
static bool last_rows_missing(const Case *c, const Array *want) {
  const Array *y = got_shaped(c, "y", want->shape);
  int64_t r = 0;
  while (y && r < y->count && y->f32[r] == want->f32[r])
    r++;
  if (!y || r == 0 || r == y->count)
    return false;
  for (; r < y->count; r++)
    if (given_number(c, "beta") == 0 ? !array_is_filling(y, r) : y->f32[r] != given(c, "y")->f32[r])
      return false;
  return true;
}

// Each wrong row is wrong by the same multiple, 1 to 1023, of beta * y.
static bool is_added_again(const Case *c, const Array *want) {
  const Array *y = got_shaped(c, "y", want->shape);
  double times = 0;
  for (int64_t r = 0; y && r < y->count; r++) {
    const double more = (y->f32[r] - want->f32[r]) / (given_number(c, "beta") * old_y(c, r));
    if (!(more > 0.5) || more > 1023 || more != floor(more) || (times > 0 && more != times))
      return false;
    times = more;
  }
  return times > 0;
}

static bool has_nan(const Case *c, const Array *want) {
  const Array *y = got_shaped(c, "y", want->shape);
  return y && array_has_nan(y);
}

static bool broken_guard(const Case *c, const char *name) {
  const Array *a = got(c, name);
  return a && a->flags & ARRAY_GUARD_BROKEN;
}

static void suspect_mistakes(Case *c, const Array *want) {
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0 && want->count > 0, &NO_KERNEL);
  suspect_sure(c, got_count(c, "lanes missing") > 0, &LANES_MISSING);
  suspect_finding(c, "lanes", &LANES_MISSING);
  suspect_finding(c, "bounds-global", &OUTSIDE);
  suspect_sure(c, broken_guard(c, "y"), &OUTSIDE);
  suspect_error(c, ": it reads ", &OUTSIDE);
  suspect_error(c, ": it writes ", &OUTSIDE);
  const bool no_error = !*got_error(c);
  suspect_that(c, no_error && given_number(c, "beta") == 0 && has_nan(c, want), &BETA_ZERO);
  const bool race = has_finding(c, "race-block") || has_finding(c, "race-warp");
  const bool shared = inspected_shared(c, false) > 0 || inspected_shared(c, true) > 0;
  suspect_that(c, race && !has_finding(c, "bounds"), shared ? &NO_BARRIER : &NOT_ATOMIC);
  const CaseSchedule schedule = case_schedule(c);
  suspect_that(c, no_error && (schedule == SCHEDULE_BLOCKS_DOWN || schedule == SCHEDULE_BETWEEN_BLOCKS), &BLOCK_ORDER);
  suspect_that(c, no_error && last_rows_missing(c, want), &TOO_SMALL);
  suspect_that(c, no_error && is_added_again(c, want), &BETA_AGAIN);
}

static void suspect_results(Case *c) {
  Product p = the_product(c), q;
#define SUSPECT(CHANGE, MISTAKE) (q = p, CHANGE, suspect_array(c, "y", product(c, q), &MISTAKE))
  SUSPECT(q.from = BY_INDEX, POSITION);
  SUSPECT(q.from = BY_POSITION, POSITION);
  SUSPECT(q.transposed = true, TRANSPOSED);
  SUSPECT(q.skips_empty = true, EMPTY_ROW);
  SUSPECT(q.end = 32, FIRST_LANES);
  SUSPECT(q.every = 32, ONE_LANE);
  SUSPECT(q.alpha = 1, NO_ALPHA);
  SUSPECT(q.beta = 0, NO_BETA);
  SUSPECT(q.beta = 1, BETA_ONE);
  SUSPECT(q.beta *= q.alpha, ALPHA_BOTH);
#undef SUSPECT
}

static bool judge_values(Case *c) {
  const Array *want = product(c, the_product(c));
  suspect_mistakes(c, want);
  if (!expect_array(c, "y", want, 1e-6)) {
    suspect_results(c);
    return false;
  }
  if (want->count > 0 && !expect_by_kernel(c))
    return false;
  if (!isnan(got_number(c, "lanes missing")) && !expect_exactly(c, "shuffles that some lanes in the mask did not reach",
                                                                got_count(c, "lanes missing"), 0, &LANES_MISSING))
    return false;
  return expect_no_finding(c);
}

static void judge(Case *c) {
  judge_values(c);
}

static void judge_coalesced(Case *c) {
  if (judge_values(c))
    expect_inspected(c, LOADED_SECTORS, (Where){.in_all = true}, 1.6, &UNCOALESCED);
}

static void judge_short(Case *c) {
  const double sectors = (double)(given(c, "values")->count * 2 + given(c, "offsets")->count) / 8;
  if (judge_values(c))
    expect_inspected(c, SECTORS_LOADED, (Where){.in_all = true}, 3.5 * sectors, &AGAIN);
}

EXERCISE = {
    .id = "25_2_spmv",
    .title = "Sparse matrix-vector product",
    .after_pass = "The sparse matrix-vector product is the main step of iterative solvers and of graph algorithms. You "
                  "have chosen which lanes share a row.",
    .kind = "kernel",
    .chapter = 25,
    .level = LEVEL_MEDIUM,
    .minutes = 45,
    .lesson = SPARSE,
    .stars = {{"coalesced in long rows: at most 1.6 x the ideal sectors per load", {&UNCOALESCED}},
              {"in rows of 4 elements, all loads together access at most 3.5 x the sectors of the matrix", {&AGAIN}}},
    .hints =
        {"Give each row to one warp. The elements of a row are at indices offsets[row] to offsets[row + 1] - 1 of "
         "columns and values.",
         "Lane l adds the products of elements offsets[row] + l, offsets[row] + l + 32, and so on. Start with 0, so "
         "that lanes without an element and empty rows need no special case.",
         "Add the 32 sums with __shfl_down_sync. All lanes must reach it, including those without an element. "
         "Then lane 0 writes alpha * sum + beta * y[row]. If beta is 0, do not read y[row].",
         "For short rows, let a group of 1, 2, 4, 8, 16 or 32 lanes share a row. Choose the size on the host, by "
         "the average length count / rows, and pass it to the kernel and to the shuffles as their width."},
    .functions = {"spmv_on_device"},
    .tests = {{.name = "most rows empty", .ask = ask_mostly_empty, .judge = judge, .inspect = true},
              {.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "long rows: traffic", .ask = ask_whole, .judge = judge_coalesced, .inspect = true},
              {.name = "rows of 4 elements: traffic", .ask = ask_four, .judge = judge_short, .inspect = true},
              {.name = "short rows", .ask = ask_few, .judge = judge, .inspect = true},
              {.name = "beta is 0", .ask = ask_uninitialized, .judge = judge, .inspect = true},
              {.name = "one long row", .ask = ask_long, .judge = judge},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "many rows", .ask = ask_many_rows, .judge = judge, .schedules = 2},
              {.name = "all rows empty", .ask = ask_all_empty, .judge = judge},
              {.name = "no rows, then some", .ask = ask_none_first, .judge = judge}},
};
