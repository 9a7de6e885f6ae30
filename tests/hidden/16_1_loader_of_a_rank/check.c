// SPDX-License-Identifier: MIT
// Exercise 16.1: which samples each rank gets.
#include "exercise.h"
#include <string.h>

#define LESSON "docs/16_distributed.md#failures-in-distributed-programs"
#define TRAINING "docs/16_distributed.md#training-with-ddp"

static const Mistake EVERYWHERE = {"all samples on every rank",
                                   "Each rank trains on the whole data set. Shuffle in the same way on all ranks, and "
                                   "give each rank its share of that order.",
                                   LESSON};
static const Mistake NOTHING = {"no samples", "Return a loader that yields batches.", TRAINING};
static const Mistake OVERLAP = {"different permutation on each rank",
                                "Some samples are in several shares, and others are in none. Use the same seed on all "
                                "ranks, then split the order among them.",
                                TRAINING};
static const Mistake LEFT_OUT = {"samples left out",
                                 "The number of samples is not a multiple of `ranks`, and the last samples are in no "
                                 "share. Repeat some samples, so that all shares have the same size.",
                                 TRAINING};
static const Mistake UNEQUAL = {"unequal shares",
                                "One rank has more samples than another. With one more batch, it would wait forever in "
                                "an all-reduce. Give all ranks the same number of samples.",
                                TRAINING};
static const Mistake TOO_MANY = {"shares larger than needed",
                                 "Repeat only as many samples as needed to make all shares equal.", TRAINING};
static const Mistake IN_ORDER = {"not shuffled", "The samples come in the order of the data set. Shuffle them.",
                                 TRAINING};
static const Mistake SAME_EPOCH = {"same order in every epoch", "The order of the samples must depend on the epoch.",
                                   TRAINING};
static const Mistake SAME_SHARE = {"shuffled within a fixed share",
                                   "A rank has the same samples in every epoch, only in a different order. Shuffle all "
                                   "samples first, then split them into shares.",
                                   TRAINING};
static const Mistake BY_CHANCE = {"not reproducible",
                                  "The order of the same epoch differs between runs, because it depends on the "
                                  "process's random generator. Use a fixed seed.",
                                  TRAINING};
static const Mistake BATCHES = {"wrong batch size", "Every batch except the last must have batch_size samples.",
                                TRAINING};

static void ask(Case *c, int64_t ranks, int64_t samples) {
  give_number(c, "ranks", (double)ranks);
  give_number(c, "samples", (double)samples);
  give_number(c, "batch", (double)draw_int(c, 5, 9));
  give_number(c, "epoch", ranks == 8 ? 0 : (double)draw_int(c, 0, 20));
}
static void ask_even(Case *c) {
  int64_t ranks = draw_int(c, 2, 4);
  ask(c, ranks, ranks * draw_int(c, 30, 50));
}
static void ask_uneven(Case *c) {
  int64_t ranks = draw_int(c, 3, 5);
  ask(c, ranks, ranks * draw_int(c, 30, 50) + draw_int(c, 1, ranks - 2)); // two samples short of full shares, or more
}
static void ask_many(Case *c) {
  ask(c, 8, draw_odd(c, 801, 1201));
}

// ---- judging

typedef struct Seen {
  const Array *ids, *sizes;
  int64_t ranks, samples, each;
} Seen;

static int64_t id_at(const Seen *s, int64_t schedule, int64_t rank, int64_t i) {
  return s->ids->i64[(schedule * s->ranks + rank) * (s->samples + 1) + i];
}
static int64_t size_of(const Seen *s, int64_t schedule, int64_t rank) {
  return s->sizes->i64[schedule * s->ranks + rank];
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static bool same_order(const Seen *s, int64_t a, int64_t b) {
  for (int64_t r = 0; r < s->ranks; r++) {
    if (size_of(s, a, r) != size_of(s, b, r))
      return false;
    for (int64_t i = 0; i < least(size_of(s, a, r), s->samples); i++)
      if (id_at(s, a, r, i) != id_at(s, b, r, i))
        return false;
  }
  return true;
}

// How often the sample occurs in an epoch, on one rank or (rank -1) on all.
static int64_t times(const Seen *s, int64_t schedule, int64_t rank, int64_t sample) {
  int64_t count = 0;
  for (int64_t r = 0; r < s->ranks; r++)
    for (int64_t i = 0; (rank < 0 || r == rank) && i < least(size_of(s, schedule, r), s->samples); i++)
      count += id_at(s, schedule, r, i) == sample;
  return count;
}

static int64_t missing(const Seen *s) {
  int64_t count = 0;
  for (int64_t sample = 0; sample < s->samples; sample++)
    count += times(s, 0, -1, sample) == 0;
  return count;
}

static bool rises(const Seen *s) {
  for (int64_t i = 1; i < least(size_of(s, 0, 0), s->samples) - 1; i++) // the padding may be last
    if (id_at(s, 0, 0, i) < id_at(s, 0, 0, i - 1))
      return false;
  return true;
}

// How many of the first rank's samples it has in the next epoch as well.
static int64_t repeated(const Seen *s) {
  int64_t count = 0;
  for (int64_t sample = 0; sample < s->samples; sample++)
    count += times(s, 0, 0, sample) > 0 && times(s, 1, 0, sample) > 0;
  return count;
}

static void judge(Case *c) {
  Seen s = {.ranks = (int64_t)given_number(c, "ranks"), .samples = (int64_t)given_number(c, "samples")};
  s.ids = got_shaped(c, "seen", shape(3, s.ranks, s.samples + 1));
  s.sizes = got_shaped(c, "sizes", shape(3, s.ranks));
  s.each = (s.samples + s.ranks - 1) / s.ranks;
  if (!expect_that(c, s.ids && s.sizes, &NOTHING, "the loader returned no samples"))
    return;
  int64_t total = 0, most = 0, fewest = s.samples + 1;
  for (int64_t r = 0; r < s.ranks; r++) {
    const int64_t n = size_of(&s, 0, r);
    total += n;
    most = n > most ? n : most;
    fewest = n < fewest ? n : fewest;
  }
  const int64_t lost = missing(&s);
  if (!expect_that(c, total > 0, &NOTHING, "there were no samples") ||
      !expect_that(c, fewest < s.samples, &EVERYWHERE, "each of the %lld ranks had all %lld samples",
                   (long long)s.ranks, (long long)s.samples) ||
      !expect_that(c, lost == 0,
                   lost < s.ranks && total == s.samples - lost ? &LEFT_OUT
                   : total >= s.samples                        ? &OVERLAP
                                                               : NULL,
                   "%lld of %lld samples are on no rank", (long long)lost, (long long)s.samples) ||
      !expect_that(c, most == fewest, &UNEQUAL, "one rank had %lld samples, another %lld", (long long)most,
                   (long long)fewest))
    return;
  expect_at_most(c, "samples of a rank", most, s.each, &TOO_MANY);
  expect_exactly(c, "samples of the largest batch", got_count(c, "largest batch"), (int64_t)given_number(c, "batch"),
                 &BATCHES);
  expect_that(c, !rises(&s), &IN_ORDER, "the samples of the first rank are in the order of the data set");
  expect_that(c, same_order(&s, 0, 2), &BY_CHANCE, "the same epoch had a different order in a second run");
  if (expect_that(c, !same_order(&s, 0, 1), &SAME_EPOCH, "the next epoch had the same order"))
    expect_at_most(c, "samples that a rank gets again in the next epoch", repeated(&s),
                   (s.each + s.each / s.ranks) / 2 + s.each / 4, &SAME_SHARE);
}

EXERCISE = {
    .id = "16_1_loader_of_a_rank",
    .title = "Find the bug: the loader of a rank",
    .after_pass = "A distributed sampler gives each rank its share of one permutation; set_epoch reshuffles it.",
    .kind = "find the bug",
    .chapter = 16,
    .level = LEVEL_MEDIUM,
    .minutes = 15,
    .essential = true,
    .bug = true,
    .lesson = LESSON,
    .stars = {{"a rank gets different samples in the next epoch", {&SAME_SHARE}}},
    .hints =
        {"Print the samples that two ranks get in an epoch, and compare them.",
         "All ranks shuffle with the same seed, so they have the same order. Which part of it belongs to one rank? "
         "And what must change in the next epoch?",
         "A loader of all samples ignores rank and ranks. Create a sampler with fy_distributed_sampler(data->count, "
         ".num_replicas = ranks, .rank = rank), call fy_distributed_sampler_set_epoch, and pass the sampler to the "
         "loader as .sampler."},
    .functions = {"batches_of_epoch"},
    .tests = {{"shares of equal size", ask_even, .judge = judge},
              {"samples left over", ask_uneven, .judge = judge},
              {"many ranks", ask_many, .judge = judge}},
};
