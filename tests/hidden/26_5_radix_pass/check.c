// SPDX-License-Identifier: MIT
// Exercise 26.5: one pass of a radix sort. No key and no value has all bits set, as unwritten elements do.
#include "exercise.h"
#include <stdlib.h>
#include <string.h>

#define LESSON "docs/26_scan.md"
enum { DIGITS = 16 };

static const Mistake UNSTABLE = {
    "sort not stable",
    "The digits are in order, but pairs with equal digits are not in the order of the input. An atomic counter numbers "
    "them in the order in which the threads run. Count the pairs before each one that have the same digit.",
    LESSON "#radix-sort"};
static const Mistake LEFT = {"values not moved with their keys",
                             "The keys are right, but each value has the same index as before. Write values[i] to the "
                             "index that keys[i] is written to.",
                             LESSON "#radix-sort"};
static const Mistake INDICES = {"index instead of value",
                                "out_values has the indices of the pairs in the input. Write values[i], not i.",
                                LESSON "#radix-sort"};
static const Mistake DIGIT = {
    "digit instead of key", "out_keys has the digits in order. Write the whole key to out_keys.", LESSON "#radix-sort"};
static const Mistake OTHER_BITS = {"sorted by the wrong bits",
                                   "The pairs are in the order of other bits of the key. The digit is keys[i] >> shift "
                                   "& 15: the four bits from bit shift on.",
                                   LESSON "#radix-sort"};
static const Mistake HIGHEST_FIRST = {"highest bit first",
                                      "The pairs are sorted by the highest bit first and by the lowest bit last, so "
                                      "the lowest bit decides. Sort by the lowest bit first.",
                                      LESSON "#radix-sort"};
static const Mistake WHOLE_KEY = {
    "sorted by the whole key",
    "The pairs are in the order of their whole keys. One pass compares only the digit keys[i] >> shift & 15.",
    LESSON "#radix-sort"};
static const Mistake DESCENDING = {"descending order", "Digit 0 comes first in out_keys, and digit 15 last.",
                                   LESSON "#radix-sort"};
static const Mistake BLOCK_BY_BLOCK = {
    "counts scanned block by block",
    "Each block's pairs are sorted, but the blocks are one after another. All pairs with digit 0 come first, from all "
    "blocks. In the scan, let the counts of digit 0 of all blocks precede those of digit 1: "
    "counts[digit * blocks + block].",
    LESSON "#radix-sort"};
static const Mistake SAME_INDEX = {
    "same index for several pairs",
    "Pairs with equal digits overwrite each other, and the end of each digit's range in out_keys is unwritten. Add the "
    "number of pairs with this digit in all earlier blocks, warps and lanes.",
    LESSON "#radix-sort"};
static const Mistake INCLUSIVE = {"inclusive instead of exclusive scan",
                                  "out_keys[0] is not written, and pairs are too far to the right. An index is the "
                                  "number of pairs before this one. An inclusive scan counts the pair itself, too.",
                                  LESSON "#radix-sort"};
static const Mistake FIRST_COUNTS = {
    "more counts than threads",
    "Only the smallest digits are in their place. There may be more counts than threads in the block that scans them. "
    "Let it loop over the counts.",
    LESSON "#scan-over-several-blocks"};
static const Mistake OUTSIDE = {
    "out-of-bounds access",
    "The last block may have more threads than pairs. Compare i with n before you read keys[i], count it or write it. "
    "If another index is out of bounds: the digit is at most 15 because of & 15, and an index in out is the number of "
    "pairs before the pair.",
    LESSON "#radix-sort"};
static const Mistake PADDING = {"threads past the end counted",
                                "Pairs with digits above 0 are too far to the right. Threads past the end counted a "
                                "digit 0. Count only if i < n.",
                                LESSON "#radix-sort"};
static const Mistake NO_BARRIER = {"missing barrier",
                                   "Threads of a block read shared memory that other threads write. Put a "
                                   "__syncthreads() between the writes and the reads.",
                                   LESSON "#scan-within-a-block"};
static const Mistake DIVERGENT = {"divergent barrier",
                                  "Some threads returned before a barrier, a vote or a shuffle, or skipped it in a "
                                  "branch. All threads must reach it, "
                                  "including those past the end.",
                                  LESSON "#scan-within-a-block"};
static const Mistake NOT_ZEROED = {"counts not zeroed",
                                   "Your counts start with what was in memory before. Set them to 0 in each call, and "
                                   "put a barrier or a launch between this and the counting.",
                                   LESSON "#histogram"};
static const Mistake EMPTY_GRID = {"empty grid",
                                   "For n = 0, a grid with one thread per pair has 0 blocks, which is an invalid "
                                   "configuration. Launch nothing.",
                                   LESSON "#scan-over-several-blocks"};
static const Mistake SERIAL = {"serial kernel",
                               "One lane of a warp does most of the work while the others are idle. Let neighboring "
                               "threads process neighboring pairs.",
                               LESSON "#radix-sort"};
static const Mistake SINGLE_BLOCK = {
    "single block",
    "A single block runs on one multiprocessor, and all others are idle. Distribute the pairs over many blocks.",
    LESSON "#radix-sort"};
static const Mistake LAUNCHES = {"one scan per bit or digit",
                                 "Three launches are enough: count the digits of each block, scan all counts, move the "
                                 "pairs.",
                                 LESSON "#radix-sort"};

// ---- inputs --------------------------------------------------------------------------------------------------------------

static uint32_t *bits(const Array *a) {
  return (uint32_t *)a->i32;
}

static uint32_t digit_of(uint32_t key, int shift) {
  return key >> shift & (DIGITS - 1);
}

static Array *draw_keys(Case *c, int64_t n) {
  Array *keys = draw_array(c, FY_INT32, shape(n), INT32_MIN, INT32_MAX);
  for (int64_t i = 0; i < n; i++)
    if (keys->i32[i] == -1)
      keys->i32[i] = -2;
  return keys;
}

static void ask_keys(Case *c, Array *keys, int64_t shift) {
  give_array(c, "keys", keys, (Give){.device = "cuda:0"});
  give_array(c, "values", draw_array(c, FY_INT32, keys->shape, 0, 999999999), (Give){.device = "cuda:0"});
  give_number(c, "shift", (double)shift);
  give_number(c, "n", (double)keys->count);
}
static void ask(Case *c, int64_t n, int64_t shift) {
  ask_keys(c, draw_keys(c, n), shift);
}
static void ask_whole(Case *c) {
  ask(c, 2048, 8);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 4097, 4999), draw_odd(c, 5, 23));
}
static void ask_lowest(Case *c) {
  ask(c, draw_odd(c, 1025, 1999), 0);
}
static void ask_highest(Case *c) {
  ask(c, draw_odd(c, 1025, 1999), 28);
}
static void ask_small(Case *c) {
  ask(c, draw_odd(c, 13, 29), 4);
}
static void ask_large(Case *c) {
  ask(c, 1024 * draw_int(c, 79, 96) + 1, 12); // one pair more than whole blocks have
}
static void ask_one(Case *c) {
  ask(c, 1, 16);
}
static void ask_none_first(Case *c) {
  ask(c, draw_odd(c, 13, 29), 4);
  give_number(c, "none first", 1);
}
// All keys have the same digit.
static void ask_one_digit(Case *c) {
  Array *keys = draw_keys(c, draw_odd(c, 1025, 1999));
  const uint32_t digit = (uint32_t)draw_int(c, 1, DIGITS - 2);
  for (int64_t i = 0; i < keys->count; i++)
    bits(keys)[i] = (bits(keys)[i] & ~(15u << 20)) | digit << 20;
  ask_keys(c, keys, 20);
}
// Three different keys, two of which have the same digit: only the values tell equal ones apart.
static void ask_equal(Case *c) {
  Array *keys = draw_keys(c, draw_odd(c, 1025, 1999));
  const uint32_t some[3] = {0xc0000005, 0x30000001, 0xc0000003};
  for (int64_t i = 0; i < keys->count; i++)
    bits(keys)[i] = some[draw_int(c, 0, 2)];
  ask_keys(c, keys, 28);
}
// In the order of the whole keys, so that nothing moves by the highest digit; each block has one digit or two.
static int by_key(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}
static void ask_sorted(Case *c) {
  Array *keys = draw_keys(c, draw_odd(c, 4097, 4999));
  qsort(keys->i32, (size_t)keys->count, sizeof *keys->i32, by_key);
  ask_keys(c, keys, 28);
}

// ---- results -------------------------------------------------------------------------------------------------------------

typedef struct Pairs {
  Array *keys, *values;
} Pairs;

// Digits in other orders: descending, and with the lowest bit as the highest.
static const uint8_t DOWN[DIGITS] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
static const uint8_t REVERSED[DIGITS] = {0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};

// A stable sort of each `chunk` pairs by key >> shift & mask, or by what `order` has for it.
static Pairs sorted(Case *c, int shift, uint32_t mask, const uint8_t *order, int64_t chunk) {
  const Array *keys = given(c, "keys"), *values = given(c, "values");
  Pairs p = {new_array(c, FY_INT32, keys->shape), new_array(c, FY_INT32, keys->shape)};
  int64_t to = 0;
  for (int64_t begin = 0; begin < keys->count; begin += chunk)
    for (uint32_t rank = 0; rank <= mask; rank++)
      for (int64_t i = begin; i < keys->count && i < begin + chunk; i++) {
        const uint32_t digit = bits(keys)[i] >> shift & mask;
        if ((order ? order[digit] : digit) != rank)
          continue;
        p.keys->i32[to] = keys->i32[i];
        p.values->i32[to++] = values->i32[i];
      }
  return p;
}

static Pairs results(const Case *c) {
  const Shape size = given(c, "keys")->shape;
  const Array *keys = got_shaped(c, "out_keys", size), *values = got_shaped(c, "out_values", size);
  return keys && values ? (Pairs){(Array *)keys, (Array *)values} : (Pairs){NULL, NULL};
}

static bool same(const Array *a, const Array *b) {
  return memcmp(a->i32, b->i32, (size_t)a->count * sizeof *a->i32) == 0;
}

static bool unwritten(Pairs p, int64_t i) {
  return p.keys->i32[i] == -1;
}

static int by_pair(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

// The pairs of p as numbers, in ascending order.
static uint64_t *ascending(Case *c, Pairs p) {
  uint64_t *all = (uint64_t *)new_array(c, FY_INT64, p.keys->shape)->i64;
  for (int64_t i = 0; i < p.keys->count; i++)
    all[i] = (uint64_t)bits(p.keys)[i] << 32 | bits(p.values)[i];
  qsort(all, (size_t)p.keys->count, sizeof *all, by_pair);
  return all;
}

// The digits are in order, and so are all pairs there, but some with equal digits have another order.
static bool reordered(Case *c, Pairs out, Pairs want, int shift) {
  const int64_t n = want.keys->count;
  for (int64_t i = 0; i < n; i++)
    if (digit_of(bits(out.keys)[i], shift) != digit_of(bits(want.keys)[i], shift))
      return false;
  return memcmp(ascending(c, out), ascending(c, want), (size_t)n * sizeof(uint64_t)) == 0;
}

// Some elements are unwritten, but none at the beginning of a digit's range, and all others have the right digits.
static bool overwritten(Pairs out, Pairs want, int shift) {
  int64_t missing = 0;
  for (int64_t i = 0; i < want.keys->count; i++) {
    const uint32_t digit = digit_of(bits(want.keys)[i], shift);
    const bool first = i == 0 || digit != digit_of(bits(want.keys)[i - 1], shift);
    missing += unwritten(out, i);
    if (unwritten(out, i) ? first : digit_of(bits(out.keys)[i], shift) != digit)
      return false;
  }
  return missing > 0;
}

// Each pair is too far to the right, by one or by as many as its block has with its digit. So the first pairs of each block with the
// smallest digit are in the place of the next block's, and the beginning is unwritten.
static bool too_far(const Case *c, Pairs out, Pairs want) {
  const int64_t n = want.keys->count;
  int64_t by = 0;
  while (by < n && unwritten(out, by))
    by++;
  if (by == 0 || by == n || !(out.keys->flags & ARRAY_GUARD_BROKEN || has_finding(c, "bounds") || *got_error(c)))
    return false;
  for (int64_t i = 0; i < by && by + i < n; i++)
    if (out.keys->i32[by + i] != want.keys->i32[i] || out.values->i32[by + i] != want.values->i32[i])
      return false;
  return true;
}

// All digits above 0 are too far to the right, by the threads that the last block has too many.
static bool padded(Pairs out, Pairs want, int shift) {
  const int64_t n = want.keys->count;
  int64_t zeros = 0, gap = 0;
  while (zeros < n && digit_of(bits(want.keys)[zeros], shift) == 0)
    zeros++;
  while (zeros + gap < n && unwritten(out, zeros + gap))
    gap++;
  bool is_so = gap > 0 && zeros + gap < n && (n + gap) % 32 == 0;
  for (int64_t i = 0; i < n && is_so; i++)
    if (i < zeros || i >= zeros + gap)
      is_so = out.keys->i32[i] == want.keys->i32[i < zeros ? i : i - gap];
  return is_so;
}

// Right up to some index, and unwritten after it, since all other pairs were written to the beginning.
static bool first_counts(Pairs out, Pairs want) {
  enum { BEGINNING = 2048 };
  int64_t i = BEGINNING;
  while (i < want.keys->count && out.keys->i32[i] == want.keys->i32[i] && out.values->i32[i] == want.values->i32[i])
    i++;
  if (i == BEGINNING || i >= want.keys->count || memcmp(out.keys->i32, want.keys->i32, BEGINNING * sizeof(int)) == 0)
    return false;
  while (i < want.keys->count && unwritten(out, i))
    i++;
  return i == want.keys->count;
}

static bool only_unwritten(Pairs out, Pairs want) {
  for (int64_t i = 0; i < want.keys->count; i++)
    if (!unwritten(out, i) && out.keys->i32[i] != want.keys->i32[i])
      return false;
  return true;
}

// ---- what is suspected ---------------------------------------------------------------------------------------------------

static bool is_of_other_bits(Case *c, Pairs out, int shift) {
  static const uint32_t masks[] = {1, 3, 7, 31, 255};
  const int shifts[] = {0, shift / 4, 28 - shift, shift + 1, shift + 4};
  for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
    if (same(out.keys, sorted(c, shift, masks[i], NULL, INT32_MAX).keys))
      return true;
  for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++)
    if (shifts[i] != shift && shifts[i] <= 28 && same(out.keys, sorted(c, shifts[i], 15, NULL, INT32_MAX).keys))
      return true;
  return false;
}

static bool is_by_whole_key(Case *c, Pairs out) {
  const Array *keys = given(c, "keys");
  Array *whole = new_array(c, FY_INT32, keys->shape);
  memcpy(whole->i32, keys->i32, (size_t)keys->count * sizeof *keys->i32);
  qsort(whole->i32, (size_t)keys->count, sizeof *whole->i32, by_key);
  return same(out.keys, whole);
}

static bool are_digits(Pairs out, Pairs want, int shift) {
  for (int64_t i = 0; i < want.keys->count; i++)
    if (bits(out.keys)[i] != digit_of(bits(want.keys)[i], shift))
      return false;
  return true;
}

// The values are the indices of the pairs in the input.
static bool are_indices(const Case *c, Pairs out, Pairs want) {
  const Array *values = given(c, "values");
  for (int64_t i = 0; i < want.values->count; i++) {
    const int32_t from = out.values->i32[i];
    if (from < 0 || from >= values->count || values->i32[from] != want.values->i32[i])
      return false;
  }
  return true;
}

static void suspect_values(Case *c, Pairs out, Pairs want, int shift) {
  const int64_t n = want.keys->count;
  if (same(out.keys, want.keys)) {
    suspect_that(c, same(out.values, given(c, "values")), &LEFT);
    suspect_that(c, are_indices(c, out, want), &INDICES);
    suspect_that(c, reordered(c, out, want, shift), &UNSTABLE);
    return;
  }
  suspect_that(c, are_digits(out, want, shift), &DIGIT);
  suspect_that(c, is_by_whole_key(c, out), &WHOLE_KEY);
  suspect_that(c, reordered(c, out, want, shift), &UNSTABLE);
  suspect_that(c, same(out.keys, sorted(c, shift, 15, REVERSED, INT32_MAX).keys), &HIGHEST_FIRST);
  suspect_that(c, is_of_other_bits(c, out, shift), &OTHER_BITS);
  suspect_that(c, same(out.keys, sorted(c, shift, 15, DOWN, INT32_MAX).keys), &DESCENDING);
  for (int64_t chunk = 32; chunk <= 2048 && chunk < n; chunk *= 2)
    suspect_that(c, same(out.keys, sorted(c, shift, 15, NULL, chunk).keys), &BLOCK_BY_BLOCK);
  suspect_that(c, overwritten(out, want, shift), &SAME_INDEX);
  suspect_that(c, padded(out, want, shift), &PADDING);
  suspect_that(c, too_far(c, out, want), &INCLUSIVE);
  suspect_that(c, n > 4096 && first_counts(out, want), &FIRST_COUNTS);
  suspect_that(c, only_unwritten(out, want), &NOT_WRITTEN);
}

static void suspect_mistakes(Case *c, Pairs want, int shift) {
  const Pairs out = results(c);
  const bool wrong = out.keys && !(same(out.keys, want.keys) && same(out.values, want.values));
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_finding(c, "divergent", &DIVERGENT);
  // Wrong counts lead to wrong indices in global memory, but not the other way around.
  const bool shared_astray = has_finding(c, "bounds-array") || has_finding(c, "bounds-dynamic");
  suspect_that(c, has_shared_race(c) && !shared_astray, &NO_BARRIER);
  suspect_that(c, has_finding(c, "uninitialized-shared") && !shared_astray, &NOT_ZEROED);
  suspect_that(c, has_finding(c, "uninitialized-global") && !has_finding(c, "bounds"), &NOT_ZEROED);
  if (wrong && !*got_error(c))
    suspect_values(c, out, want, shift);
  suspect_finding(c, "bounds", &OUTSIDE);
  suspect_that(c, out.keys && (out.keys->flags | out.values->flags) & ARRAY_GUARD_BROKEN, &OUTSIDE);
  suspect_error(c, ": it reads ", &OUTSIDE);
  suspect_error(c, ": it writes ", &OUTSIDE);
}

static bool expect_pairs(Case *c, Pairs want, int shift) {
  const Pairs out = results(c);
  if (!expect_that(c, out.keys != NULL, NULL, "out_keys or out_values did not come back") ||
      !expect_that(c, !(out.keys->flags & ARRAY_GUARD_BROKEN), NULL, "memory around out_keys was written") ||
      !expect_that(c, !(out.values->flags & ARRAY_GUARD_BROKEN), NULL, "memory around out_values was written"))
    return false;
  for (int64_t i = 0; i < want.keys->count; i++) {
    const uint32_t a = bits(out.keys)[i], b = bits(want.keys)[i];
    if (a == UINT32_MAX)
      return expect_that(c, false, NULL, "out_keys[%lld]: expected 0x%08x, got an unwritten element", (long long)i, b);
    if (a != b)
      return expect_that(c, false, NULL, "out_keys[%lld]: expected 0x%08x (digit %u), got 0x%08x (digit %u)",
                         (long long)i, b, digit_of(b, shift), a, digit_of(a, shift));
    if (out.values->i32[i] != want.values->i32[i])
      return expect_that(c, false, NULL, "out_values[%lld]: expected %d, got %d", (long long)i, want.values->i32[i],
                         out.values->i32[i]);
  }
  return true;
}

static bool judge_pairs(Case *c) {
  const int shift = (int)given_number(c, "shift");
  const Pairs want = sorted(c, shift, 15, NULL, INT32_MAX);
  suspect_mistakes(c, want, shift);
  return expect_pairs(c, want, shift) && expect_by_kernel(c) && expect_no_finding(c);
}

static void judge(Case *c) {
  judge_pairs(c);
}

static void judge_lanes(Case *c) {
  if (judge_pairs(c))
    expect_inspected(c, ACTIVE_LANES, (Where){.in_all = true}, 0.2, &SERIAL);
}

static void judge_blocks(Case *c) {
  int64_t most = 0;
  if (!judge_pairs(c))
    return;
  for (int i = 0; launch_shape(c, i); i++) {
    const int64_t *s = launch_shape(c, i);
    most = s[0] * s[1] * s[2] > most ? s[0] * s[1] * s[2] : most;
  }
  expect_that(c, most != 1, &SINGLE_BLOCK, "no launch has more than one block, for %lld pairs",
              (long long)given(c, "keys")->count);
  expect_at_most(c, "launches", counts(c)->launches, 8, &LAUNCHES);
}

EXERCISE = {
    .id = "26_5_radix_pass",
    .title = "Radix sort: one pass",
    .after_pass = "One pass of a radix sort: a scan of the digits' counts gives each block its index for each digit.",
    .kind = "kernel",
    .chapter = 26,
    .level = LEVEL_HARD,
    .minutes = 75,
    .lesson = LESSON "#radix-sort",
    .stars = {{"parallel: several blocks, and at least 20 % active lanes overall", {&SERIAL, &SINGLE_BLOCK}},
              {"at most 8 kernel launches", {&LAUNCHES}}},
    .hints =
        {"The index of a pair in out is the number of pairs with a smaller digit, plus the number of earlier pairs "
         "with the same digit. These are in earlier blocks, or before it in its own block.",
         "First launch: each block counts its digits in shared memory, and stores counts[digit * blocks + block]. "
         "In this order, all counts of digit 0 come before those of digit 1.",
         "Second launch, one block: the exclusive scan of all counts. Now counts[digit * blocks + block] is the "
         "index of the block's first pair with this digit.",
         "Third launch: add the number of earlier pairs of the block with the same digit. Within a warp, four "
         "votes, one for each bit, show which lanes have the same digit. Count those with __popc.",
         "Let each warp store how many of its pairs have each digit, in shared memory. After a barrier, each "
         "thread adds these counts for all earlier warps."},
    .functions = {"radix_pass_on_device"},
    .tests = {{.name = "whole blocks", .ask = ask_whole, .judge = judge_lanes, .inspect = true},
              {.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "less than a warp", .ask = ask_small, .judge = judge, .inspect = true},
              {.name = "one pair", .ask = ask_one, .judge = judge},
              {.name = "lowest digit", .ask = ask_lowest, .judge = judge},
              {.name = "highest digit", .ask = ask_highest, .judge = judge},
              {.name = "all digits are equal", .ask = ask_one_digit, .judge = judge},
              {.name = "equal keys", .ask = ask_equal, .judge = judge},
              {.name = "sorted keys", .ask = ask_sorted, .judge = judge, .schedules = 2},
              {.name = "large and odd", .ask = ask_large, .judge = judge_blocks, .schedules = 2},
              {.name = "no pairs, then some", .ask = ask_none_first, .judge = judge}},
};
