// SPDX-License-Identifier: MIT
// Exercise 14.2: the three most expensive ops of an invented profile. Rows are drawn again until all known mistakes lead to
// different results.
#include "exercise.h"
#include "names.h"
#include <math.h>
#include <string.h>

#define SELF_AND_TOTAL "docs/14_profiling.md#self-time-and-total-time"

static const Mistake NOTHING = {"no result", "Return the number of ops found, and fill in their keys and times.",
                                SELF_AND_TOTAL};
static const Mistake TOTAL = {
    "total time instead of self time",
    "You ranked by cpu_time_total, which includes the time of called ops. Use self_cpu_time_total.", SELF_AND_TOTAL};
static const Mistake TOTALS_TOLD = {
    "total time returned",
    "The ops are correct, but you returned their total times. Return the sums of self_cpu_time_total.", SELF_AND_TOTAL};
static const Mistake ALL_ROWS = {"rows not filtered by prefix",
                                 "Ranges, runtime calls and kernels are rows as well. Use only rows whose key begins "
                                 "with \"fy::\".",
                                 "docs/14_profiling.md#a-first-profile"};
static const Mistake ROW_BY_ROW = {"rows of an op not summed",
                                   "An op has a row for each combination of input sizes. Add up all rows with the same "
                                   "key. Compare the keys with strcmp.",
                                   "docs/14_profiling.md#a-first-profile"};
static const Mistake DEVICE = {"device time instead of CPU time",
                               "You ranked by the time on the device. Use self_cpu_time_total.",
                               "docs/14_profiling.md#synchronization-in-a-profile"};
static const Mistake CALLS = {"ranked by number of calls",
                              "You ranked by the number of calls. Use self_cpu_time_total.", SELF_AND_TOTAL};
static const Mistake ONE_CALL = {"ranked by time per call",
                                 "You ranked by the time per call. Use the time of all calls, self_cpu_time_total.",
                                 SELF_AND_TOTAL};
static const Mistake CHEAPEST = {"sorted in ascending order",
                                 "You returned the ops with the least time. Sort in descending order.", SELF_AND_TOTAL};
static const Mistake BACKWARDS = {"results in reverse order",
                                  "The three ops are correct, but in reverse order. Put the most expensive op first.",
                                  SELF_AND_TOTAL};
static const Mistake UNIT = {"wrong time unit", "The rows are in microseconds. Divide by 1000 to get milliseconds.",
                             "docs/14_profiling.md#a-first-profile"};
static const Mistake ALWAYS_THREE = {
    "fixed number of results", "A profile can have fewer than three ops. Return the number of ops that you found.",
    SELF_AND_TOTAL};
static const Mistake AS_INTS = {"comparator truncates to int",
                                "Differences below 1 microsecond become 0 as an int. Return (a < b) - (a > b) instead "
                                "of a difference.",
                                SELF_AND_TOTAL};
static const Mistake ROOM = {"array too small",
                             "You considered only the first ops. A profile can have any number of ops: allocate as "
                             "many entries as there are rows.",
                             SELF_AND_TOTAL};
static const Mistake BEGINNING = {
    "prefix comparison of strings",
    "fy::add_ begins with fy::add, but is a different op. Compare whole keys with strcmp.",
    "docs/14_profiling.md#a-first-profile"};
static const Mistake IDLE = {"op with zero time skipped", "Include ops with a time of 0.", SELF_AND_TOTAL};
static const Mistake CHANGED = {"input modified", "Your function changed the averages. Sort a copy instead.",
                                SELF_AND_TOTAL};

// ---- rankings --------------------------------------------------------------------------------------------------------

typedef struct Rows {
  const Array *name, *self, *total, *cuda, *calls;
} Rows;

static Rows given_rows(const Case *c) {
  return (Rows){given(c, "name"), given(c, "self"), given(c, "total"), given(c, "cuda"), given(c, "calls")};
}

typedef struct Ranking {
  int found;
  int64_t keys[3];
  double times[3]; // milliseconds
} Ranking;

typedef enum Measure { BY_SELF, BY_TOTAL, BY_CUDA, BY_CALLS, BY_ONE_CALL, BY_LEAST } Measure;

enum { MOST_ROWS = 2048 }; // at least four of each name

typedef struct Sums {
  double self, total, cuda, calls;
  int64_t key;
} Sums;

static double measured(const Sums *s, Measure measure) {
  switch (measure) {
  case BY_TOTAL:
    return s->total;
  case BY_CUDA:
    return s->cuda;
  case BY_CALLS:
    return s->calls;
  case BY_ONE_CALL:
    return s->self / s->calls;
  case BY_LEAST:
    return -s->self;
  default:
    return s->self;
  }
}

static Ranking rank(const Rows *rows, Measure measure, bool all_rows, bool row_by_row) {
  const Array *name = rows->name;
  Sums sums[MOST_ROWS] = {{0}};
  int count = 0;
  for (int64_t i = 0; i < name->count; i++) {
    if (name->i64[i] >= OPS && !all_rows)
      continue;
    int k = 0;
    while (k < count && (row_by_row || sums[k].key != name->i64[i]))
      k++;
    count += k == count;
    sums[k].key = name->i64[i];
    sums[k].self += rows->self->f64[i];
    sums[k].total += rows->total->f64[i];
    sums[k].cuda += rows->cuda->f64[i];
    sums[k].calls += rows->calls->f64[i];
  }
  Ranking r = {.found = count < 3 ? count : 3, .keys = {-1, -1, -1}};
  for (int index = 0; index < r.found; index++) {
    int best = index;
    for (int k = index; k < count; k++)
      if (measured(&sums[k], measure) > measured(&sums[best], measure))
        best = k;
    Sums s = sums[best];
    sums[best] = sums[index];
    r.keys[index] = s.key;
    r.times[index] = s.self / 1000;
  }
  return r;
}

static bool same_keys(const Ranking *a, const Ranking *b) {
  return a->found == b->found && memcmp(a->keys, b->keys, sizeof a->keys) == 0;
}

static const struct {
  Measure measure;
  bool all_rows, row_by_row;
  const Mistake *mistake;
} known[] = {
    {BY_TOTAL, false, false, &TOTAL},    {BY_SELF, true, false, &ALL_ROWS},  {BY_SELF, false, true, &ROW_BY_ROW},
    {BY_CUDA, false, false, &DEVICE},    {BY_CALLS, false, false, &CALLS},   {BY_ONE_CALL, false, false, &ONE_CALL},
    {BY_LEAST, false, false, &CHEAPEST}, {BY_TOTAL, true, false, &ALL_ROWS}, {BY_TOTAL, false, true, &TOTAL},
    {BY_SELF, true, true, &ALL_ROWS},    {BY_CUDA, true, false, &DEVICE},
};
enum { KNOWN = sizeof known / sizeof *known };

// The ranking that each known mistake gives; the last one is the right ranking in reverse.
static void rank_as_known(const Rows *rows, const Ranking *right, Ranking of[KNOWN + 1]) {
  for (int i = 0; i < KNOWN; i++)
    of[i] = rank(rows, known[i].measure, known[i].all_rows, known[i].row_by_row);
  of[KNOWN] = *right;
  for (int i = 0; i < right->found; i++)
    of[KNOWN].keys[i] = right->keys[right->found - 1 - i];
}

static const Mistake *known_mistake(int i) {
  return i < KNOWN ? known[i].mistake : &BACKWARDS;
}

// No mistake leads to the right ranking, or to that of another mistake.
static bool tells_all_apart(const Rows *rows) {
  const Ranking right = rank(rows, BY_SELF, false, false);
  Ranking of[KNOWN + 1];
  rank_as_known(rows, &right, of);
  for (int i = 0; i <= KNOWN; i++) {
    if (same_keys(&right, &of[i]))
      return false;
    for (int k = 0; k < i; k++)
      if (known_mistake(k) != known_mistake(i) && same_keys(&of[k], &of[i]))
        return false;
  }
  return true;
}

// ---- asking ----------------------------------------------------------------------------------------------------------

typedef struct Drawn {
  Array *name, *self, *total, *cuda, *calls;
} Drawn;

static void draw_row(Case *c, const Drawn *d, int64_t i, int64_t name) {
  const bool op = name < OPS, kernel = name >= FIRST_KERNEL;
  d->name->i64[i] = name;
  d->self->f64[i] = kernel ? 0 : draw_real(c, 1, op ? 3000 : 9000);
  d->total->f64[i] = d->self->f64[i] + (kernel || draw_int(c, 0, 2) ? 0 : draw_real(c, 100, 20000));
  d->cuda->f64[i] = draw_real(c, 1, 9000);
  d->calls->f64[i] = (double)draw_int(c, 1, 500);
}

static void swap_rows(const Drawn *d, int64_t i, int64_t k) {
  double *const columns[] = {d->self->f64, d->total->f64, d->cuda->f64, d->calls->f64};
  const int64_t name = d->name->i64[i];
  d->name->i64[i] = d->name->i64[k];
  d->name->i64[k] = name;
  for (int j = 0; j < 4; j++) {
    const double value = columns[j][i];
    columns[j][i] = columns[j][k];
    columns[j][k] = value;
  }
}

static void draw_rows(Case *c, const Drawn *d, const int64_t *rows_of) {
  int64_t count = 0;
  for (int64_t name = 0; name < NAMES; name++)
    for (int64_t k = 0; k < rows_of[name]; k++)
      draw_row(c, d, count++, name);
  for (int64_t i = count - 1; i > 0; i--)
    swap_rows(d, i, draw_int(c, 0, i));
}

static void give_rows(Case *c, const Drawn *d) {
  give_array(c, "name", d->name, (Give){0});
  give_array(c, "self", d->self, (Give){0});
  give_array(c, "total", d->total, (Give){0});
  give_array(c, "cuda", d->cuda, (Give){0});
  give_array(c, "calls", d->calls, (Give){0});
}

static Drawn new_rows(Case *c, int64_t count) {
  return (Drawn){new_array(c, FY_INT64, shape(count)), new_array(c, FY_FLOAT64, shape(count)),
                 new_array(c, FY_FLOAT64, shape(count)), new_array(c, FY_FLOAT64, shape(count)),
                 new_array(c, FY_FLOAT64, shape(count))};
}

// Row i is the first one of its op.
static bool is_single(const Drawn *d, int64_t i) {
  for (int64_t k = 0; k < i; k++)
    if (d->name->i64[k] == d->name->i64[i])
      return false;
  return true;
}

// Rows of `ops` ops. With `others` there are rows of no op as well; with `apart` all known mistakes give different rankings.
static Drawn draw_with(Case *c, int64_t ops, bool others, bool apart) {
  int64_t rows_of[NAMES] = {0}, count = 0;
  const int64_t from = ops > USUAL ? OPS : USUAL, first = draw_int(c, 0, from - 1);
  for (int64_t k = 0; k < ops; k++)
    rows_of[(first + k) % from] = draw_int(c, 1, 4);
  for (int64_t k = OPS; k < NAMES; k++)
    rows_of[k] = others ? draw_int(c, 1, 2) : 0;
  for (int64_t k = 0; k < NAMES; k++)
    count += rows_of[k];
  const Drawn d = new_rows(c, count);
  const Rows rows = {d.name, d.self, d.total, d.cuda, d.calls};
  for (int tries = 0; tries < 2000; tries++) {
    draw_rows(c, &d, rows_of);
    if (!apart || tells_all_apart(&rows))
      break;
  }
  return d;
}

static void ask_with(Case *c, int64_t ops, bool others, bool apart) {
  const Drawn d = draw_with(c, ops, others, apart);
  give_rows(c, &d);
}

static void ask_many(Case *c) {
  ask_with(c, USUAL, true, true);
}
static void ask_some(Case *c) {
  ask_with(c, draw_int(c, 6, USUAL - 1), true, true);
}
static void ask_only_ops(Case *c) {
  ask_with(c, draw_int(c, 5, USUAL), false, false);
}
// Hundreds of ops, the three most expensive at the end of the rows.
static void ask_hundreds(Case *c) {
  const Drawn d = draw_with(c, OPS, true, false);
  int64_t found = 0;
  for (int64_t i = d.name->count - 1; i >= 0 && found < 3; i--)
    if (d.name->i64[i] < OPS && is_single(&d, i))
      d.self->f64[i] = draw_real(c, 20000, 90000), found++;
  give_rows(c, &d);
}
// Three ops, one of which has no time of its own.
static void ask_idle(Case *c) {
  const Drawn d = draw_with(c, 3, true, false);
  int64_t idle = -1;
  for (int64_t i = 0; i < d.name->count; i++) {
    if (d.name->i64[i] < OPS && idle < 0)
      idle = d.name->i64[i];
    if (d.name->i64[i] == idle)
      d.self->f64[i] = 0;
  }
  give_rows(c, &d);
}
// The first three ops are not those of the right ranking or of a known mistake.
static bool tells_first_apart(const Drawn *d) {
  const Rows rows = {d->name, d->self, d->total, d->cuda, d->calls};
  const Ranking right = rank(&rows, BY_SELF, false, false);
  Ranking of[KNOWN + 1], first = {0};
  for (int64_t i = 0; i < d->name->count && first.found < 3; i++)
    if (is_single(d, i))
      first.keys[first.found++] = d->name->i64[i];
  rank_as_known(&rows, &right, of);
  for (int i = 0; i <= KNOWN; i++)
    if (same_keys(&first, &of[i]))
      return false;
  return !same_keys(&first, &right);
}

// Times less than a microsecond apart, below or above the range of an int. As ints all are equal and keep their order.
static void ask_near(Case *c) {
  const double most = draw_int(c, 0, 1) ? 10 : 3e9;
  Drawn d;
  do {
    d = draw_with(c, USUAL, false, false);
    for (int64_t i = 0; i < d.name->count; i++)
      d.self->f64[i] = is_single(&d, i) ? most + draw_real(c, 0, 0.99) : 0;
  } while (!tells_first_apart(&d));
  give_rows(c, &d);
}
static void ask_two(Case *c) {
  ask_with(c, 2, true, false);
}
static void ask_none(Case *c) {
  ask_with(c, 0, true, false);
}

// ---- judging ---------------------------------------------------------------------------------------------------------

static bool got_keys(const Case *c, Ranking *r) {
  const Array *keys = got(c, "keys"), *times = got(c, "milliseconds");
  if (!keys || keys->dtype != FY_INT64 || keys->count != 3 || !times || times->dtype != FY_FLOAT64 || times->count != 3)
    return false;
  memcpy(r->keys, keys->i64, sizeof r->keys);
  memcpy(r->times, times->f64, sizeof r->times);
  r->found = (int)got_number(c, "found");
  return true;
}

// Only the first `found` elements count.
static bool same_found(const Ranking *got, const Ranking *want) {
  return got->found == want->found && memcmp(got->keys, want->keys, (size_t)want->found * sizeof *want->keys) == 0;
}

// The given rows with a copy of their names in `numbers`, which may be changed.
static Rows rows_to_rename(const Case *c, Array *name, int64_t numbers[MOST_ROWS]) {
  Rows rows = given_rows(c);
  *name = *rows.name;
  memcpy(numbers, name->i64, (size_t)name->count * sizeof *numbers);
  name->i64 = numbers;
  rows.name = name;
  return rows;
}

// The ranking if a key counts as an earlier one with the same first characters. ALL_OF_IT: as an earlier one that is its prefix,
// like fy::add of fy::add_.
enum { FEW_CHARACTERS = 8, ALL_OF_IT = 64 };
static Ranking by_beginning(const Case *c, size_t characters) {
  Array name;
  int64_t numbers[MOST_ROWS];
  const Rows rows = rows_to_rename(c, &name, numbers);
  for (int64_t i = 0; i < name.count; i++)
    for (int64_t k = 0; k < i && numbers[i] < OPS; k++) {
      if (numbers[k] >= OPS)
        continue;
      const char *earlier = names[numbers[k]];
      if (strncmp(names[numbers[i]], earlier, characters == ALL_OF_IT ? strlen(earlier) : characters) == 0) {
        numbers[i] = numbers[k];
        break;
      }
    }
  return rank(&rows, BY_SELF, false, false);
}

// Different keys counted as one because of their first characters. The evidence is the keys, or, if these are right, the time
// at `index`.
enum { BY_KEYS = -1 };
static bool is_by_beginning(const Case *c, const Ranking *r, const Ranking *want, int index) {
  for (size_t characters = FEW_CHARACTERS; characters <= ALL_OF_IT; characters++) {
    const Ranking merged = by_beginning(c, characters);
    const bool right_keys = same_keys(&merged, want);
    if (index == BY_KEYS ? !right_keys && same_found(r, &merged)
                         : right_keys && fabs(r->times[index] - merged.times[index]) <= 1e-9 * want->times[index])
      return true;
  }
  return false;
}

// The ranking of the `room` ops that come first in the rows.
static Ranking first_ops(const Case *c, int64_t room) {
  Array name;
  int64_t numbers[MOST_ROWS];
  const Rows rows = rows_to_rename(c, &name, numbers);
  bool seen[NAMES] = {false};
  for (int64_t i = 0; i < name.count; i++) {
    if (numbers[i] >= OPS || seen[numbers[i]])
      continue;
    if (room-- > 0)
      seen[numbers[i]] = true;
    else
      numbers[i] = NAMES - 1; // no op
  }
  return rank(&rows, BY_SELF, false, false);
}

// Stores the known mistake that leads to the ranking in *mistake. Returns false if several do, so that none can be named.
static bool at_most_one_known(const Rows *rows, const Ranking *r, const Ranking *want, const Mistake **mistake) {
  Ranking of[KNOWN + 1];
  rank_as_known(rows, want, of);
  *mistake = NULL;
  for (int i = 0; i <= KNOWN; i++) {
    if (same_keys(&of[i], want) || !same_found(r, &of[i]))
      continue;
    if (*mistake && *mistake != known_mistake(i))
      return false;
    *mistake = known_mistake(i);
  }
  return true;
}

static const Mistake *mistake_of_keys(Case *c, const Ranking *r, const Ranking *want) {
  const Rows rows = given_rows(c);
  if (same_found(r, want))
    return NULL;
  const Mistake *mistake;
  if (!at_most_one_known(&rows, r, want, &mistake))
    return NULL;
  const bool by_merging = is_by_beginning(c, r, want, BY_KEYS);
  if (mistake || by_merging)
    return mistake && by_merging ? NULL : mistake ? mistake : &BEGINNING;
  const int told = r->found < 3 ? r->found : 3;
  int near = 0; // ops whose time is almost that of the right op
  for (int i = 0; i < told && told == want->found; i++)
    near += r->keys[i] >= 0 && r->keys[i] < OPS && fabs(r->times[i] - want->times[i]) < 1e-3;
  if (near == 3)
    return &AS_INTS;
  for (int i = 0; i < told; i++)
    if (r->keys[i] >= OPS)
      return &ALL_ROWS;
  if (r->found == 3 && want->found < 3 && r->keys[2] < 0)
    return &ALWAYS_THREE;
  for (int64_t room = 3; room < OPS; room++) {
    const Ranking some = first_ops(c, room);
    if (!same_keys(&some, want) && same_found(r, &some))
      return &ROOM;
  }
  return r->found == want->found - 1 && want->times[r->found] == 0 ? &IDLE : NULL;
}

static double total_of(const Case *c, int64_t key) {
  const Rows rows = given_rows(c);
  double total = 0;
  for (int64_t i = 0; i < rows.name->count; i++)
    if (rows.name->i64[i] == key)
      total += rows.total->f64[i];
  return total / 1000;
}

// The ops are right and in order, but the time at `index` is wrong.
static const Mistake *mistake_of_time(Case *c, const Ranking *r, const Ranking *want, int index) {
  const Rows rows = given_rows(c);
  const double time = r->times[index], right = want->times[index], factor = time / right;
  if (fabs(factor - 1e3) < 1e-3 || fabs(factor - 1e6) < 1 || fabs(factor - 1e-3) < 1e-9)
    return &UNIT;
  if (fabs(time - total_of(c, want->keys[index])) <= 1e-9 * right)
    return &TOTALS_TOLD;
  const Ranking row_by_row = rank(&rows, BY_SELF, false, true);
  if (is_by_beginning(c, r, want, index))
    return &BEGINNING;
  return same_keys(&row_by_row, want) && fabs(time - row_by_row.times[index]) <= 1e-9 * right ? &ROW_BY_ROW : NULL;
}

static void judge(Case *c) {
  const Rows rows = given_rows(c);
  const Ranking want = rank(&rows, BY_SELF, false, false);
  Ranking r;
  if (!expect_that(c, got_keys(c, &r), NULL, "no result"))
    return;
  if (!expect_that(c, r.found >= 0 && (r.found > 0 || want.found == 0), &NOTHING, "the function returned %d", r.found))
    return;
  const Mistake *mistake = mistake_of_keys(c, &r, &want);
  suspect_that(c, mistake != NULL, mistake);
  if (!expect_exactly(c, "ops found", r.found, want.found, NULL))
    return;
  for (int i = 0; i < want.found; i++)
    if (!expect_that(c, r.keys[i] == want.keys[i], NULL, "keys[%d] is %s, expected %s", i,
                     r.keys[i] < 0 ? "no key of the profile" : names[r.keys[i]], names[want.keys[i]]))
      return;
  for (int i = 0; i < want.found; i++)
    if (!(fabs(r.times[i] - want.times[i]) <= 1e-9 * want.times[i])) {
      const Mistake *of_time = mistake_of_time(c, &r, &want, i);
      suspect_that(c, of_time != NULL, of_time);
      expect_that(c, false, NULL, "milliseconds[%d] of %s is %g, expected %g", i, names[want.keys[i]], r.times[i],
                  want.times[i]);
      return;
    }
  expect_exactly(c, "changes of the averages", got_count(c, "changed"), 0, &CHANGED);
}

EXERCISE = {
    .id = "14_2_top_three_ops",
    .title = "The three most expensive ops",
    .after_pass = "Self time excludes the ops that an op calls, so a sum of self times counts nothing twice.",
    .kind = "write",
    .chapter = 14,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .lesson = SELF_AND_TOTAL,
    .hints =
        {"Loop over the rows, and skip those whose key does not begin with \"fy::\" (strncmp).",
         "Keep a list of ops with their times. Add the self_cpu_time_total of each row to the op with the same key "
         "(strcmp).",
         "Remove the op with the largest time from the list, three times or until the list is empty. Divide the times "
         "by 1000."},
    .functions = {"three_costliest"},
    .tests = {{.name = "a training step", .ask = ask_many, .judge = judge},
              {.name = "only rows of ops", .ask = ask_only_ops, .judge = judge},
              {.name = "a smaller profile", .ask = ask_some, .judge = judge},
              {.name = "two ops", .ask = ask_two, .judge = judge},
              {.name = "no ops", .ask = ask_none, .judge = judge},
              {.name = "an op with no time", .ask = ask_idle, .judge = judge},
              {.name = "less than a microsecond apart", .ask = ask_near, .judge = judge},
              {.name = "hundreds of ops", .ask = ask_hundreds, .judge = judge}},
};
