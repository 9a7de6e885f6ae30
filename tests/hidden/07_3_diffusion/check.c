// SPDX-License-Identifier: MIT
// Exercise 7.3: a transfer in the loop.
#include "exercise.h"
#include <math.h>
#include <string.h>

static const Mistake TO_AND_FRO = {
    "the state carried to and fro",
    "The state comes to the host after each turn and goes back for the next. It can stay where "
    "it is computed.",
    "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake MADE_HERE = {
    "the changes made on the host",
    "Each turn's change was computed on the CPU and sent over. The device has both states; it can "
    "compute the change where it is wanted.",
    "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake KEPT = {
    "kept from the call before",
    "A later call has the same tensors with other numbers in them: what an earlier call has brought is "
    "of no use to it.",
    "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake TURN_LEFT_OUT = {"a turn left out",
                                      "The loop ended a turn too early: there are as many turns as changes.",
                                      "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake ONE_STEP_BEHIND = {
    "the changes of another turn",
    "The changes are right, but they do not stand where they belong: changes[i] is what turn i has changed.",
    "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake MATRIX_EACH_TURN = {"the same tensor moved in every turn",
                                         "What does not change in the loop crosses once, before it.",
                                         "docs/07_pitfalls.md#many-small-transfers-against-one"};
static const Mistake WAITS = {
    "the host waits in every turn",
    "A number asked for at once (.item(), .cpu()) is a copy to the host and a wait. Leave the "
    "changes on the device.",
    "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake ON_CPU = {"computed on the CPU",
                               "Without a move in the loop, but without the device as well: the work belongs there.",
                               "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake BROUGHT_BACK = {"the result brought back",
                                     "The last state was to stay on the device, for whoever goes on with it there.",
                                     "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake NOT_MOVED = {"the state left on the CPU",
                                  "Also without a single turn, the state belongs on the device.",
                                  "docs/03_tensor_moves.md#one-operation-one-device"};
static const Mistake ROW_BY_ROW = {"one transfer per row",
                                   "The matrix crossed in pieces. Each transfer has a fixed price; move it whole.",
                                   "docs/07_pitfalls.md#many-small-transfers-against-one"};
static const Mistake NOT_FILLED = {
    "another tensor in place of changes",
    "Assigning to the pointer leaves the caller's tensor as it was. fy_copy_ writes into it.",
    "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake FROM_THE_START = {"every turn from the start",
                                       "Each turn goes on from the state that the turn before it has left.",
                                       "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake ALWAYS_CUDA = {"always the current GPU",
                                    ".cuda() and \"cuda\" mean the current CUDA device, whichever was asked for.",
                                    "docs/03_tensor_moves.md#cuda-and-cpu"};
static const Mistake CONSTANT = {"a constant in place of the result",
                                 "What is returned is the same for every input: nothing was computed.",
                                 "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake NOTHING = {"nothing returned", "The function has to return the last state.",
                                "docs/07_pitfalls.md#to-and-fro-against-staying"};

static const Mistake ALL_STAY = {
    "tensors of every turn stay",
    "What a loop makes stays until the scope around it ends: with more turns it takes more "
    "memory. A scope in the loop ends with the turn, and fy_keep lets out what the next one "
    "needs.",
    "docs/03_tensor_moves.md#how-long-a-tensor-lives"};

static const Mistake NEVER_FREED = {"retained and never released",
                                    "When the scope around the call has ended, tensors that the call made are still "
                                    "there: with each call there are more. "
                                    "Each fy_retain needs its fy_release; what is to leave a scope takes fy_keep.",
                                    "docs/03_tensor_moves.md#how-long-a-tensor-lives"};

static void ask_on(Case *c, const char *device, int64_t n, int64_t turns, Give how) {
  give_text(c, "device", device);
  give_number(c, "turns", (double)turns);
  give_array(c, "state", draw_array(c, FY_FLOAT32, shape(n), 1, 4), (Give){.strided = how.strided});
  give_array(c, "transition", draw_array(c, FY_FLOAT32, shape(n, n), -0.5 / (double)n, 2.5 / (double)n), how);
}

static void ask_gpu(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 13, 19), draw_int(c, 5, 12), (Give){0});
}
static void ask_one_turn(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 13, 19), 1, (Give){0});
}
static void ask_no_turns(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 13, 19), 0, (Give){0});
}
static void ask_gaps(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 13, 19), draw_int(c, 5, 12), (Give){.strided = true});
}
static void ask_transposed(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 13, 19), draw_int(c, 5, 12), (Give){.transposed = true});
}
static void ask_large(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 131, 149), draw_int(c, 31, 39), (Give){0});
}
static void ask_both(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 13, 19), draw_int(c, 5, 12), (Give){0});
  give_text(c, "and then", "cpu");
}
static void ask_second(Case *c) {
  ask_on(c, "cuda:1", draw_odd(c, 13, 19), draw_int(c, 5, 12), (Give){0});
}

typedef struct Right {
  Array *state, *changes;
} Right;

static Right right(Case *c) {
  const Array *t = given(c, "transition");
  int64_t n = t->shape.size[0];
  Right r = {array_cast(c, given(c, "state"), FY_FLOAT64),
             new_array(c, FY_FLOAT32, shape((int64_t)given_number(c, "turns")))};
  double *following = new_array(c, FY_FLOAT64, shape(n))->f64;
  for (int64_t turn = 0; turn < r.changes->count; turn++) {
    double change = 0;
    for (int64_t j = 0; j < n; j++) {
      following[j] = 0;
      for (int64_t i = 0; i < n; i++)
        following[j] += r.state->f64[i] * t->f32[i * n + j];
      change += fabs(following[j] - r.state->f64[j]);
    }
    memcpy(r.state->f64, following, (size_t)n * sizeof(double));
    r.changes->f32[turn] = (float)change;
  }
  r.state = array_cast(c, r.state, FY_FLOAT32);
  return r;
}

// After one turn, however many were asked for.
static Array *one_turn(Case *c) {
  const Array *s = given(c, "state"), *t = given(c, "transition");
  Array *wrong = new_array(c, FY_FLOAT32, s->shape);
  for (int64_t i = 0; i < s->count; i++)
    for (int64_t j = 0; j < s->count; j++)
      wrong->f32[j] += s->f32[i] * t->f32[i * s->count + j];
  return wrong;
}

// So many copies to the device were of `bytes` bytes.
static int64_t copies_in_of(const Case *c, int64_t bytes) {
  EventTrace all = event_trace(c);
  int64_t found = 0;
  for (int64_t i = 0; i < all.count; i++)
    found += all.entries[i].kind == TRACE_IN && all.entries[i].bytes == bytes;
  return found;
}

static const Mistake *too_many_copies(const Case *c) {
  const Counts *n = counts(c);
  int64_t rows = given(c, "state")->count, turns = (int64_t)given_number(c, "turns");
  if (turns > 0 && n->device_to_host >= turns)
    return n->host_to_device <= 2                                   ? &WAITS
           : copies_in_of(c, rows * 4) > 1 || !event_trace(c).known ? &TO_AND_FRO
                                                                    : &MADE_HERE;
  if (n->device_to_host > 0)
    return &BROUGHT_BACK;
  return n->host_to_device > rows ? &ROW_BY_ROW : &MATRIX_EACH_TURN;
}

static void suspect_all(Case *c) {
  const Array *changes = got(c, "changes");
  suspect_that(c, !*got_error(c) && !got(c, "result"), &NOTHING);
  suspect_array(c, "result", new_array(c, FY_FLOAT32, given(c, "state")->shape), &CONSTANT);
  int64_t untouched = 0;
  for (int64_t i = 0; changes && changes->dtype == FY_FLOAT32 && i < changes->count; i++)
    untouched += changes->f32[i] == -1;
  suspect_that(c, untouched > 0 && untouched == changes->count, &NOT_FILLED);
  suspect_that(c, untouched == 1 && changes->f32[changes->count - 1] == -1, &TURN_LEFT_OUT);
  suspect_that(c, untouched == 1 && changes->count > 1 && changes->f32[0] == -1, &ONE_STEP_BEHIND);
  if (given_number(c, "turns") > 1)
    suspect_array(c, "result", one_turn(c), &FROM_THE_START);
}

static Right judge_first(Case *c) {
  Right r = right(c);
  const Counts *n = counts(c);
  const char *device = given_text(c, "device");
  suspect_all(c);
  if (!expect_array(c, "result", r.state, 1e-4) || !expect_array(c, "changes", r.changes, 1e-4))
    return r;
  int64_t turns = r.changes->count;
  if (!expect_at_least(c, "kernels started", n->launches, turns, &ON_CPU))
    return r;
  const Mistake *left = n->device_to_host > 1 ? too_many_copies(c) : n->device_to_host ? &BROUGHT_BACK : &NOT_MOVED;
  if (!expect_device(c, "result", device, strcmp(got_device(c, "result"), "cpu") ? &ALWAYS_CUDA : left))
    return r;
  expect_exactly(c, "copies from device to host", n->device_to_host, 0, too_many_copies(c));
  expect_at_most(c, "copies from host to device", n->host_to_device, 2, too_many_copies(c));
  expect_exactly(c, "copies between devices", n->device_to_device, 0, &ALWAYS_CUDA);
  const Array *later = got_shaped(c, "result of changed numbers", r.state->shape);
  suspect_that(c, later != NULL, &KEPT);
  if (expect_array(c, "result of changed numbers", r.state, 1e-4))
    expect_that(c, got_number(c, "left behind") <= 0, &NEVER_FREED,
                "after the scope around the call %g bytes more are in use than before", got_number(c, "left behind"));
  return r;
}

static void judge(Case *c) {
  judge_first(c);
}

// Three vectors and a scalar for each turn are some 3.5 KiB here, as memory is given out.
static void judge_memory(Case *c) {
  Right r = judge_first(c);
  int64_t transition = given(c, "transition")->count * (int64_t)sizeof(float);
  expect_at_most(c, "bytes on the device at the peak", counts(c)->cuda_peak_bytes,
                 2048 * r.changes->count + 16384 + transition, &ALL_STAY);
}

static void judge_both(Case *c) {
  Right r = judge_first(c);
  suspect_that(c, *got_error(c) && got(c, "result"), &ALWAYS_CUDA);
  if (expect_array(c, "second result", r.state, 1e-4) && expect_array(c, "second changes", r.changes, 1e-4))
    expect_device(c, "second result", "cpu", &ALWAYS_CUDA);
}

EXERCISE = {
    .id = "07_3_diffusion",
    .title = "Find the bug: diffusion on a network",
    .after_pass = "What stays on the device between two operations is not paid for twice.",
    .kind = "find the bug",
    .chapter = 7,
    .level = LEVEL_MEDIUM,
    .minutes = 20,
    .essential = true,
    .bug = true,
    .lesson = "docs/07_pitfalls.md#to-and-fro-against-staying",
    .hints =
        {"Go through the loop line by line: what crosses, and in which direction? There are four crossings.",
         "What stays the same in all turns can be moved before the loop. What one turn leaves for the next can stay on "
         "the device.",
         "fy_item brings a number to the host and waits for it. fy_copy_(fy_select(changes, 0, i), ...) leaves it "
         "over there."},
    .functions = {"spread"},
    .tests = {{.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "one turn", .ask = ask_one_turn, .judge = judge},
              {.name = "no turns", .ask = ask_no_turns, .judge = judge},
              {.name = "views with gaps", .ask = ask_gaps, .judge = judge},
              {.name = "transposed", .ask = ask_transposed, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge_memory},
              {.name = "a GPU, then the CPU", .ask = ask_both, .judge = judge_both},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
