// SPDX-License-Identifier: MIT
// Exercise 16.4: sums around a ring, and what each rank sends for them.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/16_distributed.md#what-is-sent"

static const Mistake NOTHING = {"nothing summed", "The data are what they were: each rank has its own numbers still.",
                                LESSON};
static const Mistake STUCK = {
    "all wait to receive",
    "Every rank waits for a message that nobody has sent. Send first, then receive: a send does "
    "not wait.",
    "docs/16_distributed.md#what-goes-wrong"};
static const Mistake SIZES = {
    "a message of another size",
    "A rank asked for another number of numbers than the message had. Parts differ by one where "
    "the numbers do not divide evenly, and both ends have to mean the same part.",
    LESSON};
static const Mistake HALF = {
    "summed, and not passed on",
    "Each rank has one part that is done, and the rest is not: the finished parts have to go around, "
    "too.",
    LESSON};
static const Mistake ADDED = {
    "added where it was to be replaced",
    "In the second half the parts are done. What arrives takes the place of what was there; it "
    "is not added to it.",
    LESSON};
static const Mistake REST = {"the rest left out",
                             "The numbers are no multiple of the ranks, and those that are left over were not summed.",
                             LESSON};
static const Mistake AVERAGE = {"the mean instead of the sum", "The sums were divided by the number of ranks.", LESSON};
static const Mistake WHOLE = {
    "all the data to everybody",
    "Whole data went around, which are n - 1 times as much as there are: cut them in n parts, each of which goes "
    "around twice. Then no rank sends more than 2 (n - 1) / n of its data.",
    LESSON};
static const Mistake PIECES = {
    "too many messages", "Each message costs a latency: one for each step of the ring, 2 (n - 1) in all.", LESSON};
static const Mistake BESIDE = {"wrote beside the data", "Numbers before or behind `data` have changed.", LESSON};
static const Mistake RAISED = {"an error", "A rank raised an error.", LESSON};

static const Mistake SHARED = {"memory shared by the ranks",
                               "All ranks call the function at once. What is static is there once for all of them; "
                               "numbers that arrive need memory of each "
                               "call's own.",
                               LESSON};
static const Mistake UNEQUAL_PARTS = {
    "parts of unequal size",
    "A step takes as long as its largest message. Parts differ by one number at most: "
    "i * count / ranks is where part i begins.",
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
static void ask_one_over(Case *c) { // parts of the larger size for all would leave the last one too little
  int64_t ranks = draw_int(c, 4, 6);
  ask(c, ranks, ranks * draw_int(c, 20, 40) + 1);
}
static void ask_many(Case *c) {
  int64_t ranks = draw_int(c, 6, 8);
  ask(c, ranks, ranks * draw_int(c, 3001, 4001) + draw_int(c, 3, ranks - 1));
}
// Parts longer than somebody may have made room for.
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

// What comes of adding in the second half, too.
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
  // Each rank has a part of its own that is done: all of them together are the data once.
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
  // Whole data went around where a message, or all of a rank's together, had as much; else a step too many was made.
  const bool whole = count >= n && (got_count(c, "largest") >= count || (n > 2 && most_sent >= (n - 1) * count));
  expect_at_most(c, "numbers sent by a rank", most_sent, 2 * (n - 1) * ((count + n - 1) / n),
                 whole                         ? &WHOLE
                 : most_messages > 2 * (n - 1) ? &PIECES
                                               : NULL);
  expect_at_most(c, "numbers in a message", got_count(c, "largest"), (count + n - 1) / n,
                 whole ? &WHOLE : &UNEQUAL_PARTS);
  if (expect_at_most(c, "messages sent by a rank", most_messages, 2 * (n - 1), &PIECES))
    expect_at_least(c, "numbers in the smallest message", got_count(c, "smallest"), count / n, &UNEQUAL_PARTS);
}

EXERCISE = {
    .id = "16_4_ring_all_reduce",
    .title = "Ring all-reduce",
    .after_pass = "In a ring each rank sends about twice its data, however many ranks there are.",
    .kind = "write",
    .chapter = 16,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = LESSON,
    .hints = {"Part i begins at i * count / ranks, and ends where part i + 1 begins.",
              "First half: in step s a rank sends part rank - s and receives part rank - s - 1, which it adds to its "
              "own (all "
              "modulo the number of ranks). After ranks - 1 steps part rank + 1 is done.",
              "Second half: it sends the part that came last, and what arrives takes the place of its own."},
    .functions = {"ring_all_reduce"},
    .tests = {{"two ranks", ask_two, .judge = judge},
              {"four ranks", ask_four, .judge = judge},
              {"numbers left over", ask_uneven, .judge = judge},
              {"one number left over", ask_one_over, .judge = judge},
              {"many ranks and numbers", ask_many, .judge = judge},
              {"a million numbers", ask_most, .judge = judge, .schedules = 1, .crash = &INDEX_OUTSIDE},
              {"fewer numbers than ranks", ask_few, .judge = judge}},
};
