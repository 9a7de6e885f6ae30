// SPDX-License-Identifier: MIT
// Exercise 16.1: which samples each rank gets.
#include "exercise.h"
#include <string.h>

#define LESSON "docs/16_distributed.md#what-goes-wrong"
#define TRAINING "docs/16_distributed.md#a-training-in-every-rank"

static const Mistake EVERYWHERE = {
    "all samples in every rank",
    "Each rank loads the whole data set. A rank takes its share of one permutation that is the same in all ranks.",
    LESSON};
static const Mistake NOTHING = {"no samples", "The loader returned no batches.", TRAINING};
static const Mistake OVERLAP = {"ranks use different permutations",
                                "Some samples are in several shares, others in none. All ranks must derive the "
                                "permutation from numbers that they have in common.",
                                TRAINING};
static const Mistake LEFT_OUT = {
    "remainder dropped",
    "If the samples do not divide evenly, the last ones are in no share. Repeat a few from the beginning instead.",
    TRAINING};
static const Mistake UNEQUAL = {"unequal shares",
                                "A rank with more samples may have one batch more, and would wait for the others "
                                "forever. Pad the shares to equal size.",
                                TRAINING};
static const Mistake TOO_MANY = {"too much padding",
                                 "More samples are loaded twice than it takes to fill up the shares.", TRAINING};
static const Mistake IN_ORDER = {"not shuffled", "The samples come in the order of the data set.", TRAINING};
static const Mistake SAME_EPOCH = {"same order in every epoch",
                                   "Include the number of the epoch in the seed (set_epoch).", TRAINING};
static const Mistake SAME_SHARE = {
    "same share in every epoch",
    "A rank gets the same samples in the next epoch. Shuffle all samples first, then divide them.", TRAINING};
static const Mistake PLACES = {"only the shares change owners",
                               "The permutation is the same in every epoch, and only the ranks exchange their shares. "
                               "Include the epoch in the shuffling.",
                               TRAINING};
static const Mistake THRICE = {"one sample pads several gaps",
                               "Pad with the first samples of the permutation, each used once.", TRAINING};
static const Mistake BY_CHANCE = {
    "order not reproducible",
    "The same epoch has another order in another run: it depends on the state of the random generator of the process.",
    TRAINING};
static const Mistake BATCHES = {"wrong batch size", "All batches but the last must have batch_size samples.", TRAINING};

static void ask(Case *c, int64_t ranks, int64_t samples, int64_t further) {
  give_number(c, "ranks", (double)ranks);
  give_number(c, "samples", (double)samples);
  give_number(c, "batch", (double)draw_int(c, 5, 9));
  give_number(c, "epoch", ranks == 8 ? 0 : (double)draw_int(c, 0, 20));
  give_number(c, "further", (double)further); // the other epoch, so many later
}
static void ask_even(Case *c) {
  int64_t ranks = draw_int(c, 2, 4);
  ask(c, ranks, ranks * draw_int(c, 30, 50), 1);
}
static void ask_uneven(Case *c) {
  int64_t ranks = draw_int(c, 3, 5); // after as many epochs, shares that rotate among the ranks are back
  ask(c, ranks, ranks * draw_int(c, 30, 50) + draw_int(c, 1, ranks - 2), ranks); // two gaps at least
}
static void ask_many(Case *c) {
  ask(c, 8, draw_odd(c, 801, 1201), 12);
}

// ---- judging ---------------------------------------------------------------------------------------------------------

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

// How often the sample occurs in an epoch, in one rank or (rank -1) in all.
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
  for (int64_t i = 1; i < least(size_of(s, 0, 0), s->samples) - 1; i++) // the padding may come last
    if (id_at(s, 0, 0, i) < id_at(s, 0, 0, i - 1))
      return false;
  return true;
}

// How many of its samples the first rank has again in the next epoch.
static int64_t met_again(const Seen *s) {
  int64_t count = 0;
  for (int64_t sample = 0; sample < s->samples; sample++)
    count += times(s, 0, 0, sample) > 0 && times(s, 1, 0, sample) > 0;
  return count;
}

// Does a rank in the other epoch have the samples of any rank in the first, in the same order?
static bool changed_places(const Seen *s) {
  for (int64_t a = 0; a < s->ranks; a++)
    for (int64_t b = 0; b < s->ranks; b++) {
      int64_t same = 0, n = least(size_of(s, 0, a), s->samples);
      for (int64_t i = 0; i < n && size_of(s, 1, b) == size_of(s, 0, a); i++)
        same += id_at(s, 0, a, i) == id_at(s, 1, b, i);
      if (n > 2 && same == n)
        return true;
    }
  return false;
}

static int64_t most_often(const Seen *s) {
  int64_t most = 0;
  for (int64_t sample = 0; sample < s->samples; sample++) {
    const int64_t n = times(s, 0, -1, sample);
    most = n > most ? n : most;
  }
  return most;
}

static void judge(Case *c) {
  Seen s = {.ranks = (int64_t)given_number(c, "ranks"), .samples = (int64_t)given_number(c, "samples")};
  s.ids = got_shaped(c, "seen", shape(3, s.ranks, s.samples + 1));
  s.sizes = got_shaped(c, "sizes", shape(3, s.ranks));
  s.each = (s.samples + s.ranks - 1) / s.ranks;
  if (!expect_that(c, s.ids && s.sizes, &NOTHING, "no samples came back"))
    return;
  int64_t total = 0, most = 0, fewest = s.samples + 1;
  for (int64_t r = 0; r < s.ranks; r++) {
    const int64_t n = size_of(&s, 0, r);
    total += n;
    most = n > most ? n : most;
    fewest = n < fewest ? n : fewest;
  }
  const int64_t lost = missing(&s);
  if (!expect_that(c, total > 0, &NOTHING, "no samples came") ||
      !expect_that(c, fewest < s.samples, &EVERYWHERE, "each of the %lld ranks had all %lld samples",
                   (long long)s.ranks, (long long)s.samples) ||
      !expect_that(c, lost == 0,
                   lost < s.ranks && total == s.samples - lost ? &LEFT_OUT
                   : total >= s.samples                        ? &OVERLAP
                                                               : NULL,
                   "%lld of %lld samples came to no rank", (long long)lost, (long long)s.samples) ||
      !expect_that(c, most == fewest, &UNEQUAL, "one rank had %lld samples, another %lld", (long long)most,
                   (long long)fewest))
    return;
  if (expect_at_most(c, "samples of a rank", most, s.each, &TOO_MANY))
    expect_at_most(c, "times that a sample comes in an epoch", most_often(&s), 2, &THRICE);
  expect_exactly(c, "samples of the largest batch", got_count(c, "largest batch"), (int64_t)given_number(c, "batch"),
                 &BATCHES);
  expect_that(c, !rises(&s), &IN_ORDER, "the first rank's samples came in order");
  expect_that(c, same_order(&s, 0, 2), &BY_CHANCE, "the same epoch in another run had another order");
  if (expect_that(c, !same_order(&s, 0, 1), &SAME_EPOCH, "another epoch had the same order") &&
      expect_that(c, !changed_places(&s), size_of(&s, 0, 0) > 2 && met_again(&s) == s.each ? &SAME_SHARE : &PLACES,
                  "in another epoch a rank had the samples of an earlier one's share, in the same order"))
    expect_at_most(c, "samples that a rank meets in another epoch again", met_again(&s),
                   (s.each + s.each / s.ranks) / 2 + s.each / 4, &SAME_SHARE);
}

EXERCISE = {
    .id = "16_1_loader_of_a_rank",
    .title = "Find the bug: the loader of a rank",
    .after_pass = "A DistributedSampler gives each rank its share of one permutation that all ranks have in common.",
    .kind = "find the bug",
    .chapter = 16,
    .level = LEVEL_MEDIUM,
    .minutes = 15,
    .essential = true,
    .bug = true,
    .lesson = LESSON,
    .hints =
        {"Count the samples that each rank loads in an epoch.",
         "The same seed gives all ranks the same permutation, which is right. But each rank must take only its share "
         "of it.",
         "fy_distributed_sampler(data->count, .num_replicas = ranks, .rank = rank) is such a share; a loader takes it "
         "as .sampler, without .shuffle. Call fy_distributed_sampler_set_epoch before the loader starts."},
    .functions = {"batches_of_epoch"},
    .tests = {{"shares of equal size", ask_even, .judge = judge},
              {"samples left over", ask_uneven, .judge = judge},
              {"many ranks", ask_many, .judge = judge}},
};
