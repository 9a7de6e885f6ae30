// SPDX-License-Identifier: MIT
// Exercise 16.4: sums around a ring, and what each rank sends for them.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/16_distributed.md#what-is-sent"

static const Mistake NOTHING = {"nothing summed", "The data are unchanged: each rank still has its own numbers.",
                                LESSON};
static const Mistake STUCK = {"deadlock: all ranks receive first",
                              "Every rank waits for a message that no rank has sent. Send first, then receive.",
                              "docs/16_distributed.md#what-goes-wrong"};
static const Mistake SIZES = {"mismatched message size",
                              "A rank asked for another number of numbers than the message has. Both ends must mean "
                              "the same part; the sizes of the parts may differ.",
                              LESSON};
static const Mistake HALF = {
    "no all-gather phase", "Each rank has one finished part. Pass the finished parts around the ring as well.", LESSON};
static const Mistake ADDED = {"added in the all-gather phase",
                              "In the second half the parts are finished. Replace the old numbers, do not add to them.",
                              LESSON};
static const Mistake REST = {"remainder left out",
                             "count may not be a multiple of the number of ranks. Sum the remaining numbers as well.",
                             LESSON};
static const Mistake AVERAGE = {"mean instead of sum", "The sums were divided by the number of ranks.", LESSON};
static const Mistake WHOLE = {"whole data sent around",
                              "Sending whole arrays costs n - 1 times the data. Send one of n parts per step: twice "
                              "around the ring is 2 (n - 1) / n of the data.",
                              LESSON};
static const Mistake PIECES = {
    "too many messages", "Every message costs a latency. One per step of the ring is enough, 2 (ranks - 1) in all.",
    LESSON};
static const Mistake BESIDE = {"out-of-bounds write", "Numbers before or after `data` have changed.", LESSON};
static const Mistake RAISED = {"an error was raised", "A rank raised an error.", LESSON};

static const Mistake SHARED = {
    "static buffer shared by threads",
    "All ranks call the function at the same time. A static buffer exists once for all of them; allocate one per call.",
    LESSON};
static const Mistake UNEQUAL_PARTS = {"parts of unequal size",
                                      "A step takes as long as its largest message. With i * count / ranks as the "
                                      "start of part i, parts differ by one number at most.",
                                      LESSON};

// ---- asking ----------------------------------------------------------------------------------------------------------

static void ask(Case *c, int64_t ranks, int64_t count) {
  give_array(c, "data", draw_array(c, FY_FLOAT32, shape(ranks, count), 1, 3), (Give){0});
}
static void ask_two(Case *c) {
  ask(c, 2, 2 * draw_int(c, 20, 40));
}
static void ask_four(Case *c) {
  ask(c, 4, 4 * draw_int(c, 20, 40));
}
static void ask_uneven(Case *c) {
  int64_t ranks = draw_int(c, 3, 5);
  ask(c, ranks, ranks * draw_int(c, 20, 40) + draw_int(c, 1, ranks - 1));
}
static void ask_one_over(Case *c) { // if all parts had the larger size, the last one would be too small
  int64_t ranks = draw_int(c, 4, 6);
  ask(c, ranks, ranks * draw_int(c, 20, 40) + 1);
}
static void ask_many(Case *c) {
  int64_t ranks = draw_int(c, 6, 8);
  ask(c, ranks, ranks * draw_int(c, 3001, 4001) + draw_int(c, 3, ranks - 1));
}
static void ask_most(Case *c) {
  ask(c, 2, (1 << 20) - draw_int(c, 0, 99));
}
static void ask_few(Case *c) {
  ask(c, 5, draw_int(c, 1, 4));
}

// ---- judging ---------------------------------------------------------------------------------------------------------

static double sum_of(const Array *data, int64_t i) {
  double sum = 0;
  for (int64_t r = 0; r < data->shape.size[0]; r++)
    sum += (double)data->f32[r * data->shape.size[1] + i];
  return sum;
}

static bool is_right(const Array *data, const Array *after, int64_t r, int64_t i) {
  return fabs((double)after->f32[r * data->shape.size[1] + i] - sum_of(data, i)) < 1e-4;
}

// The parts as a ring cuts them.
static int64_t begin_of(int64_t part, int64_t count, int64_t ranks) {
  return part * count / ranks;
}

// The result of adding in the second half as well.
static Array *added(Case *c, const Array *data) {
  const int64_t n = data->shape.size[0], count = data->shape.size[1];
  Array *now = new_array(c, FY_FLOAT32, data->shape), *before = new_array(c, FY_FLOAT32, data->shape);
  memcpy(now->f32, data->f32, (size_t)data->count * sizeof(float));
  for (int64_t step = 0; step < 2 * (n - 1); step++) {
    memcpy(before->f32, now->f32, (size_t)data->count * sizeof(float));
    for (int64_t r = 0; r < n; r++) {
      const int64_t part = (r - step - 1 + 2 * n) % n, from = (r + n - 1) % n;
      for (int64_t i = begin_of(part, count, n); i < begin_of(part + 1, count, n); i++)
        now->f32[r * count + i] += before->f32[from * count + i];
    }
  }
  return now;
}

static Array *means(Case *c, const Array *data) {
  const int64_t n = data->shape.size[0], count = data->shape.size[1];
  Array *mean = new_array(c, FY_FLOAT32, data->shape);
  for (int64_t i = 0; i < data->count; i++)
    mean->f32[i] = (float)(sum_of(data, i % count) / (double)n);
  return mean;
}

static void suspects(Case *c, const Array *data, const Array *after) {
  const int64_t n = data->shape.size[0], count = data->shape.size[1];
  int64_t right = 0, rest_wrong = 0, others_wrong = 0, with_some = 0;
  for (int64_t r = 0; r < n; r++) {
    int64_t own = 0;
    for (int64_t i = 0; i < count; i++) {
      const bool fine = is_right(data, after, r, i);
      own += fine;
      rest_wrong += !fine && i >= count / n * n;
      others_wrong += !fine && i < count / n * n;
    }
    right += own;
    with_some += own > 0;
  }
  suspect_array(c, "data after", data, &NOTHING);
  suspect_that(c, rest_wrong > 0 && others_wrong == 0 && count > n, &REST);
  suspect_array(c, "data after", means(c, data), &AVERAGE);
  suspect_array(c, "data after", added(c, data), &ADDED);
  // Each rank has a finished part: all of them together are the data once.
  suspect_that(c, n > 1 && right == count && (count < n || with_some == n), &HALF);
}

static void judge(Case *c) {
  const Array *data = given(c, "data"), *after = got_shaped(c, "data after", data->shape);
  const int64_t n = data->shape.size[0], count = data->shape.size[1];
  const Array *sent = got_shaped(c, "sent", shape(n)), *messages = got_shaped(c, "messages", shape(n));
  if (!expect_that(c, got_count(c, "raised") == 0, &RAISED, "a rank raised an error") ||
      !expect_that(c, got_count(c, "stuck") == 0, &STUCK, "all ranks that had not returned waited to receive") ||
      !expect_that(c, got_count(c, "beside") == 0, &BESIDE, "numbers beside the data have changed"))
    return;
  if (!expect_that(c, got_count(c, "same memory") == 0, &SHARED,
                   "two ranks receive into the same memory at the same time"))
    return;
  if (after)
    suspects(c, data, after);
  Array *want = new_array(c, FY_FLOAT32, data->shape);
  for (int64_t i = 0; i < data->count; i++)
    want->f32[i] = (float)sum_of(data, i % count);
  if (!expect_that(c, got_count(c, "other size") == 0, &SIZES,
                   "a message had another number of numbers than was asked for") ||
      !expect_array(c, "data after", want, 1e-5) || !sent || !messages)
    return;
  int64_t most_sent = 0, most_messages = 0;
  for (int64_t r = 0; r < n; r++) {
    most_sent = sent->i64[r] > most_sent ? sent->i64[r] : most_sent;
    most_messages = messages->i64[r] > most_messages ? messages->i64[r] : most_messages;
  }
  // Whole arrays were sent where a message, or all messages of a rank together, had as many numbers.
  const bool whole = count >= n && (got_count(c, "largest") >= count || (n > 2 && most_sent >= (n - 1) * count));
  if (!expect_at_most(c, "numbers sent by a rank", most_sent, 2 * count + 2 * n, whole ? &WHOLE : NULL))
    return;
  expect_at_most(c, "numbers in a message", got_count(c, "largest"), (count + n - 1) / n, &UNEQUAL_PARTS);
  if (expect_at_most(c, "messages sent by a rank", most_messages, 2 * (n - 1), &PIECES))
    expect_at_least(c, "numbers in the smallest message", got_count(c, "smallest"), count / n, &UNEQUAL_PARTS);
}

EXERCISE = {
    .id = "16_4_ring_all_reduce",
    .title = "Ring all-reduce",
    .after_pass = "A ring all-reduce is a reduce-scatter followed by an all-gather: each rank sends about twice its "
                  "data, however many ranks there are.",
    .kind = "write",
    .chapter = 16,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = LESSON,
    .stars = {{"at most 2 (ranks - 1) messages per rank, of equal size (+- 1)", {&PIECES, &UNEQUAL_PARTS}}},
    .hints = {"Part i starts at i * count / ranks, and ends where part i + 1 starts.",
              "First half: in step s, send part rank - s and receive part rank - s - 1, which you add to your own (all "
              "modulo ranks). After ranks - 1 steps part rank + 1 is finished.",
              "Second half: send the part that arrived last; what you receive replaces your own numbers."},
    .functions = {"ring_all_reduce"},
    .tests = {{"two ranks", ask_two, .judge = judge},
              {"four ranks", ask_four, .judge = judge},
              {"numbers left over", ask_uneven, .judge = judge},
              {"one number left over", ask_one_over, .judge = judge},
              {"many ranks and numbers", ask_many, .judge = judge},
              {"a million numbers", ask_most, .judge = judge, .schedules = 1, .crash = &INDEX_OUTSIDE},
              {"fewer numbers than ranks", ask_few, .judge = judge}},
};
