// SPDX-License-Identifier: MIT
// Exercise 16.4: sums around a ring, and what each rank sends for them.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/16_distributed.md#gradient-buckets-and-all-reduce"

static const Mistake NOTHING = {"data unchanged",
                                "Each rank still has its own numbers. Send, receive and add the parts.", LESSON};
static const Mistake STUCK = {"deadlock",
                              "All ranks wait in receive for messages that no rank has sent. Send before you receive, "
                              "and receive as often as the previous rank sends.",
                              "docs/16_distributed.md#failures-in-distributed-programs"};
static const Mistake SIZES = {"message size mismatch",
                              "A rank called receive with a different count than the message has. Sender and receiver "
                              "must use the same part, and parts may differ in size.",
                              LESSON};
static const Mistake HALF = {
    "missing all-gather",
    "After the reduce-scatter, each rank has only one complete part. Send the complete parts around the ring as well.",
    LESSON};
static const Mistake ADDED = {
    "added instead of replaced in the all-gather",
    "In the second half, the parts are complete. Replace your numbers with the received ones.", LESSON};
static const Mistake REST = {
    "remainder left out",
    "count is not a multiple of ranks, and you did not sum the last numbers. Make some parts one number longer.",
    LESSON};
static const Mistake AVERAGE = {"mean instead of sum", "Do not divide by the number of ranks.", LESSON};
static const Mistake WHOLE = {"whole array sent in each step",
                              "The more ranks there are, the more data each rank sends. Divide the array into one part "
                              "per rank, and send one part in each step.",
                              LESSON};
static const Mistake MESSAGES = {
    "too many messages",
    "Each message has a latency. The ring needs only one message per step, 2 (ranks - 1) in total.", LESSON};
static const Mistake OUTSIDE = {
    "out-of-bounds write", "Numbers before or after `data` have changed. Check the start and the length of each part.",
    LESSON};
static const Mistake SHARED = {"static buffer shared by threads",
                               "All ranks are threads of one process and share static memory. Allocate the buffer in "
                               "each call.",
                               LESSON};
static const Mistake UNEQUAL_PARTS = {"unequal parts",
                                      "A step takes as long as its largest message. Let the sizes of the parts differ "
                                      "by at most one: part i starts at i * count / ranks.",
                                      LESSON};

// ---- asking

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
static void ask_one_over(Case *c) {
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

// ---- judging

static double sum_of(const Array *data, int64_t i) {
  double sum = 0;
  for (int64_t r = 0; r < data->shape.size[0]; r++)
    sum += (double)data->f32[r * data->shape.size[1] + i];
  return sum;
}

static bool is_right(const Array *data, const Array *after, int64_t r, int64_t i) {
  return fabs((double)after->f32[r * data->shape.size[1] + i] - sum_of(data, i)) < 1e-4;
}

// The start of a part.
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
  // Each rank has one complete part, and all of these together are the data once.
  suspect_that(c, n > 1 && right == count && (count < n || with_some == n), &HALF);
}

static void judge(Case *c) {
  const Array *data = given(c, "data"), *after = got_shaped(c, "data after", data->shape);
  const int64_t n = data->shape.size[0], count = data->shape.size[1];
  const Array *sent = got_shaped(c, "sent", shape(n)), *messages = got_shaped(c, "messages", shape(n));
  if (!expect_that(c, got_count(c, "raised") == 0, NULL, "a rank raised an error") ||
      !expect_that(c, got_count(c, "stuck") == 0, &STUCK, "all ranks that had not returned were waiting in receive") ||
      !expect_that(c, got_count(c, "outside") == 0, &OUTSIDE, "numbers before or after the data have changed") ||
      !expect_that(c, got_count(c, "same memory") == 0, &SHARED,
                   "two ranks receive into the same memory at the same time"))
    return;
  if (after)
    suspects(c, data, after);
  Array *want = new_array(c, FY_FLOAT32, data->shape);
  for (int64_t i = 0; i < data->count; i++)
    want->f32[i] = (float)sum_of(data, i % count);
  if (!expect_that(c, got_count(c, "other size") == 0, &SIZES,
                   "a rank called receive with a different count than the message has") ||
      !expect_array(c, "data after", want, 1e-5) || !sent || !messages)
    return;
  int64_t most_sent = 0, most_messages = 0;
  for (int64_t r = 0; r < n; r++) {
    most_sent = sent->i64[r] > most_sent ? sent->i64[r] : most_sent;
    most_messages = messages->i64[r] > most_messages ? messages->i64[r] : most_messages;
  }
  const int64_t part = (count + n - 1) / n, largest = got_count(c, "largest");
  if (!expect_at_most(c, "numbers sent by a rank", most_sent, 3 * (count + n), largest >= count ? &WHOLE : NULL))
    return;
  expect_at_most(c, "numbers in a message", largest, part, &UNEQUAL_PARTS);
  expect_at_most(c, "messages sent by a rank", most_messages, 2 * (n - 1), &MESSAGES);
}

EXERCISE = {
    .id = "16_4_ring_all_reduce",
    .title = "Ring all-reduce",
    .after_pass = "A ring all-reduce is a reduce-scatter and an all-gather; each rank sends less than twice its data.",
    .kind = "write",
    .chapter = 16,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = LESSON,
    .stars = {{"no message has more than ceil(count / ranks) numbers", {&UNEQUAL_PARTS}},
              {"at most 2 (ranks - 1) messages per rank", {&MESSAGES}}},
    .hints =
        {"Divide the data into one part per rank: part i starts at i * count / ranks and ends where part i + 1 starts.",
         "The first half is a reduce-scatter. In step s, a rank sends part rank - s, receives part rank - s - 1, and "
         "adds it to its own numbers (all modulo ranks). After ranks - 1 steps, part rank + 1 is complete.",
         "The second half is an all-gather. In each step, a rank sends the part that it received or completed last, "
         "and replaces its own numbers with the received ones."},
    .functions = {"ring_all_reduce"},
    .tests = {{"two ranks", ask_two, .judge = judge},
              {"four ranks", ask_four, .judge = judge},
              {"remainder", ask_uneven, .judge = judge},
              {"remainder of one", ask_one_over, .judge = judge},
              {"many ranks and numbers", ask_many, .judge = judge},
              {"a million numbers", ask_most, .judge = judge, .schedules = 1, .crash = &INDEX_OUTSIDE},
              {"fewer numbers than ranks", ask_few, .judge = judge}},
};
