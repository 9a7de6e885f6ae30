// SPDX-License-Identifier: MIT
// Exercise 9.2: what a run is resumed from. The driver says which parts of the run are again what they were when it was saved.
#include "exercise.h"
#include <string.h>

#define RESUMED "docs/09_training_a_classifier.md#interrupted-and-resumed"

static const Mistake NOTHING = {"nothing saved", "save_run has to return what resume_run needs.", RESUMED};
static const Mistake REFERENCES = {"what was saved goes on changing",
                                   "A state_dict shares its storage with the parameters, so training goes on in it. "
                                   "Save copies (fy_clone).",
                                   RESUMED};
static const Mistake NO_WEIGHTS = {"the weights left out", "The new run goes on with weights of its own.", RESUMED};
static const Mistake NO_BUFFERS = {
    "the buffers left out",
    "BatchNorm's running mean and variance are buffers, not parameters. fy_state_dict has "
    "both.",
    "docs/05_model_moves.md#parameters-and-buffers-too"};
static const Mistake NO_MOMENTS = {
    "the optimizer left out",
    "With momentum a step depends on the steps before it: the optimizer has a state of its "
    "own.",
    RESUMED};
static const Mistake NO_RATE = {"the learning rate left out",
                                "The schedule has changed the rate since the beginning, and the new optimizer begins "
                                "with the first one.",
                                RESUMED};
static const Mistake NO_SCHEDULE = {
    "the schedule left out", "When the rate falls next depends on how many epochs the schedule has counted.", RESUMED};
static const Mistake NO_INITIAL = {
    "the schedule's initial rate left out",
    "The schedule counts from the initial rate of the run that was saved, not of the new "
    "one: fy_scheduler_state has both, the count and that rate.",
    RESUMED};
static const Mistake NO_GRADIENTS = {"the gradients changed by saving",
                                     "The run has gradients when it is saved, and they are its own: leave them there.",
                                     RESUMED};
static const Mistake NO_RANDOM = {
    "the generator left out", "Dropout draws from the process's generator, which has to go on where it was.", RESUMED};
static const Mistake NO_EPOCH = {
    "the epoch left out", "The order of the samples goes by the epoch, and so does when the training ends.", RESUMED};
static const Mistake OTHER_EPOCH = {"another epoch than the next",
                                    "`epoch` counts what is done. Put back what was saved, no more and no less.",
                                    RESUMED};
static const Mistake NO_BEST = {"the best result left out",
                                "The next epoch would count as the best so far, whatever its loss is.", RESUMED};
static const Mistake LESSER_BEST = {"the new run's best kept",
                                    "`best` of the new run is of nothing that was trained. Put back what was saved, "
                                    "whichever of the two is less.",
                                    RESUMED};
static const Mistake EPOCHS_COUNTED = {
    "the epochs taken for the schedule's count",
    "A schedule counts its own steps, which may be batches: fy_scheduler_state says how many there were.", RESUMED};
static const Mistake ONE_SAVED = {
    "one Saved for all calls",
    "A later call of save_run overwrote what the earlier one had returned. Each call has a Saved of its own.", RESUMED};
static const Mistake NO_SEED = {
    "the generator's seed left out",
    "How far the generator has come was put back, and not of which numbers: both are its state.", RESUMED};
static const Mistake ROUNDED = {"the best result rounded", "`best` is a double; a float loses half of its digits.",
                                RESUMED};
static const Mistake DISTURBED = {
    "the run disturbed by saving",
    "A run that is saved has to go on as one that is not: no value changed, no random number "
    "drawn.",
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
  return expect_that(c, got_number(c, what) == 1, mistake, "%s: after resuming it is not what it was when it was saved",
                     what);
}

static void judge(Case *c) {
  double epoch = given_number(c, "saved after"), had = got_number(c, "epoch");
  const char *changed = got_text(c, "changed by saving");
  if (!expect_that(c, got_number(c, "saved") == 1, &NOTHING, "save_run returned NULL") ||
      !expect_that(c, changed[0] == '\0', strcmp(changed, "gradients") == 0 ? &NO_GRADIENTS : &DISTURBED,
                   "after save_run the run is not what it was before: %s", changed))
    return;
  const Mistake *weights = got_number(c, "as it went on") == 1    ? &REFERENCES
                           : got_number(c, "as saved again") == 1 ? &ONE_SAVED
                                                                  : &NO_WEIGHTS;
  const Mistake *moments = got_number(c, "moments as they went on") == 1 ? &REFERENCES : &NO_MOMENTS;
  const Mistake *random = got_number(c, "same place of another generator") == 1 ? &NO_SEED : &NO_RANDOM;
  const bool given_best = strcmp(case_test(c), "with Adam") == 0;
  const Mistake *kept = given_best && got_number(c, "best of the new run kept") == 1 ? &LESSER_BEST : &NO_BEST;
  const Mistake *best = got_number(c, "best rounded") == 1 ? &ROUNDED : kept;
  const Mistake *schedule = got_number(c, "schedule as the epochs") == 1 ? &EPOCHS_COUNTED : &NO_SCHEDULE;
  if (expect_same(c, "parameters", weights) && expect_same(c, "buffers", &NO_BUFFERS) &&
      expect_same(c, "moments", moments) && expect_same(c, "learning rate", &NO_RATE) &&
      expect_same(c, "schedule", schedule) && expect_same(c, "initial rate of the schedule", &NO_INITIAL) &&
      expect_same(c, "random", random) &&
      expect_that(c, had == epoch, had == 0 ? &NO_EPOCH : &OTHER_EPOCH, "epoch: expected %g, got %g", epoch, had) &&
      expect_same(c, "best", best) && expect_that(c, got(c, "straight") != NULL, NULL, "the run did not end"))
    expect_array(c, "resumed", got(c, "straight"), 0);
}

EXERCISE = {
    .id = "09_2_save_and_resume",
    .title = "Save and resume training",
    .after_pass = "A run resumes to the bit when weights, buffers, optimizer, schedule and generator come back.",
    .kind = "write",
    .chapter = 9,
    .level = LEVEL_MEDIUM,
    .minutes = 40,
    .essential = true,
    .lesson = RESUMED,
    .hints =
        {"Go through the members of Run, and ask of each what the next epoch would do without it. Then: what else "
         "does a training depend on that is in no member?",
         "fy_state_dict and fy_optimizer_state_dict list tensors, fy_load_state_dict and "
         "fy_optimizer_load_state_dict put them back. What else reads and writes those tensors meanwhile?",
         "fy_scheduler_state, fy_get_rng_state, and their counterparts fy_scheduler_load_state, fy_set_rng_state."},
    .functions = {"save_run", "resume_run"},
    .tests = {{.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "with Adam", .ask = ask_adam, .judge = judge},
              {.name = "a schedule that counts batches", .ask = ask_batches, .judge = judge},
              {.name = "after the first epoch", .ask = ask_first, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
