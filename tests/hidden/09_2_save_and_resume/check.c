// SPDX-License-Identifier: MIT
// Exercise 9.2: a run is saved and resumed. The driver compares each part of the resumed run with the run when it was saved.
#include "exercise.h"
#include <string.h>

#define RESUMED "docs/09_training_a_classifier.md#checkpoints-and-resuming"

static const Mistake NOTHING = {
    "missing return value", "save_run returned NULL. Return a Saved that contains everything that resume_run needs.",
    RESUMED};
static const Mistake REFERENCES = {
    "state saved by reference",
    "A state_dict shares its storage with the run, so training changes it. Save copies of the tensors with fy_clone.",
    RESUMED};
static const Mistake NO_WEIGHTS = {"weights not restored",
                                   "Save the fy_state_dict of the model, and load it in resume_run.", RESUMED};
static const Mistake NO_BUFFERS = {
    "buffers not restored", "BatchNorm's running statistics are buffers, not parameters. fy_state_dict includes both.",
    "docs/05_model_moves.md#parameters-and-buffers"};
static const Mistake NO_MOMENTS = {
    "optimizer state not restored",
    "With momentum, a step depends on earlier steps. Save and restore fy_optimizer_state_dict.", RESUMED};
static const Mistake NO_RATE = {
    "learning rate not restored",
    "The scheduler has changed the learning rate, which is part of the optimizer's state. Save and restore that state.",
    RESUMED};
static const Mistake NO_SCHEDULE = {
    "scheduler state not restored",
    "The next change of the learning rate depends on the scheduler's step count. Save and restore fy_scheduler_state.",
    RESUMED};
static const Mistake NO_INITIAL = {"base learning rate not restored",
                                   "The scheduler computes the learning rate from the initial rate of the saved run, "
                                   "which is part of fy_scheduler_state. Restore it.",
                                   RESUMED};
static const Mistake NO_GRADIENTS = {
    "gradients changed by saving", "save_run changed the gradients, which the run still needs. Leave them as they are.",
    RESUMED};
static const Mistake NO_RANDOM = {
    "random generator not restored",
    "Dropout uses the process's random generator. Save its state with fy_get_rng_state, and restore it.", RESUMED};
static const Mistake NO_EPOCH = {
    "epoch not restored",
    "The order of the samples and the end of the training depend on the epoch. Save and restore it.", RESUMED};
static const Mistake OTHER_EPOCH = {"wrong epoch restored",
                                    "`epoch` is the number of finished epochs. Restore it as it was saved.", RESUMED};
static const Mistake NO_BEST = {"best loss not restored", "Restore `best` as it was saved.", RESUMED};
static const Mistake LESSER_BEST = {
    "best loss of the new run kept",
    "The `best` of the new run is not valid. Replace it with the saved value, even if the saved value is larger.",
    RESUMED};
static const Mistake EPOCHS_COUNTED = {
    "epochs used as scheduler steps",
    "A scheduler counts its own steps, which may be batches. Restore its step count from fy_scheduler_state.", RESUMED};
static const Mistake ONE_SAVED = {
    "buffer shared between calls",
    "A later call of save_run overwrote an earlier result. Allocate a new Saved in each call.", RESUMED};
static const Mistake NO_SEED = {
    "generator seed not restored",
    "You restored the generator's offset, but not its seed. Save and restore the whole FyRngState.", RESUMED};
static const Mistake ROUNDED = {"loss of precision",
                                "`best` is a double, but you stored it as a float, which has fewer digits.", RESUMED};
static const Mistake DISTURBED = {"run changed by saving",
                                  "save_run must not change any value of the run, and must not draw random numbers.",
                                  RESUMED};

static void ask_on(Case *c, const char *device, int64_t after, bool adam) {
  int64_t rows = 4 * draw_int(c, 3, 4) + 3, features = draw_int(c, 3, 6);
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(rows, features), -1, 1), (Give){0});
  give_array(c, "y", draw_array(c, FY_FLOAT32, shape(rows, 2), -1, 1), (Give){0});
  give_text(c, "device", device);
  give_number(c, "hidden", (double)draw_odd(c, 5, 11));
  give_number(c, "saved after", (double)after);
  give_number(c, "adam", adam);
  give_number(c, "seed", (double)draw_int(c, 1, 1 << 20));
}

static void ask_cpu(Case *c) {
  ask_on(c, "cpu", 2 * draw_int(c, 1, 2) + 1, false);
}
static void ask_gpu(Case *c) {
  ask_on(c, "cuda:0", 2 * draw_int(c, 1, 2) + 1, false);
}
static void ask_adam(Case *c) {
  ask_on(c, "cuda:0", 3, true);
  give_number(c, "best of the new run", -1);
}
static void ask_batches(Case *c) {
  ask_on(c, "cuda:0", 3, false);
  give_number(c, "a step of the schedule for each batch", 1);
}
static void ask_first(Case *c) {
  ask_on(c, "cuda:0", 1, true);
}
static void ask_second(Case *c) {
  ask_on(c, "cuda:1", 3, false);
}

static bool expect_same(Case *c, const char *what, const Mistake *mistake) {
  return expect_that(c, got_number(c, what) == 1, mistake, "%s: not the same after resume_run as at save_run", what);
}

static void judge(Case *c) {
  double epoch = given_number(c, "saved after"), had = got_number(c, "epoch");
  const char *changed = got_text(c, "changed by saving");
  if (!expect_that(c, got_number(c, "saved") == 1, &NOTHING, "save_run returned NULL") ||
      !expect_that(c, changed[0] == '\0', strcmp(changed, "gradients") == 0 ? &NO_GRADIENTS : &DISTURBED,
                   "save_run changed the run: %s", changed))
    return;
  const Mistake *weights = got_number(c, "as it went on") == 1    ? &REFERENCES
                           : got_number(c, "as saved again") == 1 ? &ONE_SAVED
                                                                  : &NO_WEIGHTS;
  const Mistake *moments = got_number(c, "moments as they went on") == 1 ? &REFERENCES : &NO_MOMENTS;
  const Mistake *random = got_number(c, "same place of another generator") == 1 ? &NO_SEED : &NO_RANDOM;
  const bool given_best = strcmp(case_test(c), "Adam") == 0;
  const Mistake *kept = given_best && got_number(c, "best of the new run kept") == 1 ? &LESSER_BEST : &NO_BEST;
  const Mistake *best = got_number(c, "best rounded") == 1 ? &ROUNDED : kept;
  const Mistake *schedule = got_number(c, "schedule as the epochs") == 1 ? &EPOCHS_COUNTED : &NO_SCHEDULE;
  if (expect_same(c, "parameters", weights) && expect_same(c, "buffers", &NO_BUFFERS) &&
      expect_same(c, "moments", moments) && expect_same(c, "learning rate", &NO_RATE) &&
      expect_same(c, "schedule", schedule) && expect_same(c, "initial rate of the schedule", &NO_INITIAL) &&
      expect_same(c, "random", random) &&
      expect_that(c, had == epoch, had == 0 ? &NO_EPOCH : &OTHER_EPOCH, "epoch: expected %g, got %g", epoch, had) &&
      expect_same(c, "best", best) && expect_that(c, got(c, "straight") != NULL, NULL, "the run did not finish"))
    expect_array(c, "resumed", got(c, "straight"), 0);
}

EXERCISE = {
    .id = "09_2_save_and_resume",
    .title = "Save and resume training",
    .after_pass = "A complete checkpoint contains weights, buffers, optimizer, scheduler, random generator and epoch.",
    .kind = "write",
    .chapter = 9,
    .level = LEVEL_MEDIUM,
    .minutes = 40,
    .essential = true,
    .lesson = RESUMED,
    .hints = {"For each member of Run, ask what the next epoch would do without it. Which state that training uses is "
              "not stored in any member?",
              "fy_state_dict and fy_optimizer_state_dict list tensors that training continues to change. Save clones "
              "of them.",
              "These pairs of functions save and restore state: fy_state_dict and fy_load_state_dict, "
              "fy_optimizer_state_dict and fy_optimizer_load_state_dict, fy_scheduler_state and "
              "fy_scheduler_load_state, fy_get_rng_state and fy_set_rng_state."},
    .functions = {"save_run", "resume_run"},
    .tests = {{.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "after the first epoch", .ask = ask_first, .judge = judge},
              {.name = "Adam", .ask = ask_adam, .judge = judge},
              {.name = "a scheduler that counts batches", .ask = ask_batches, .judge = judge},
              {.name = "on cuda:1", .ask = ask_second, .judge = judge, .devices = 2}},
};
