// SPDX-License-Identifier: MIT
// Exercise 7.7: copies queued from pinned memory, and one wait for all of them.
#include "exercise.h"
#include <stdio.h>
#include <string.h>

static const Mistake NOT_PINNED = {
    "a copy that is not pinned",
    "The result is in ordinary memory. fy_pin_memory, or a factory with `.pin_memory = true`, takes pages that stay.",
    "docs/07_pitfalls.md#a-copy-read-before-it-has-arrived"};
static const Mistake IGNORED = {"the result of pin_memory ignored",
                                "fy_pin_memory does not pin its argument: it returns another tensor, which is pinned.",
                                "docs/03_tensor_moves.md#questions"};
static const Mistake PINNED_TWICE = {"pinned twice",
                                     "This batch was in pinned memory already. Copying it there again only costs time.",
                                     "docs/03_tensor_moves.md#questions"};
static const Mistake WITHOUT_CUDA = {"pinned without CUDA",
                                     "Pages are locked by the CUDA driver, so ask fy_cuda_is_available() first.",
                                     "docs/02_device_check.md#choosing-once-at-the-start"};
static const Mistake PAGEABLE = {
    "non_blocking from ordinary memory",
    "From ordinary memory the driver copies to pinned memory of its own first, and the host waits for that, whatever "
    ".non_blocking says. Pin the batch first.",
    "docs/03_tensor_moves.md#questions"};
static const Mistake NOT_USED = {"pinned, and the pinned copy not used",
                                 "Pinned memory was taken, and the copies came from ordinary memory all the same: "
                                 "fy_pin_memory does not pin its argument, it returns another tensor.",
                                 "docs/03_tensor_moves.md#questions"};
static const Mistake EACH_WAITED = {"a wait for each copy",
                                    "The host waited after each copy. It goes on only when what is copied is the "
                                    "pinned tensor, `.non_blocking = true` says so, "
                                    "and nothing else in the loop waits: fy_synchronize belongs behind it.",
                                    "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake NOBODY_WAITED = {
    "nobody waited",
    "The copies were queued and the function returned. Whoever uses the batches has to know that they are there: "
    "one fy_synchronize at the end.",
    "docs/07_pitfalls.md#a-copy-read-before-it-has-arrived"};
static const Mistake WAITED_EARLY = {
    "waited before the last copy was queued",
    "The one wait came too early: it says nothing about the copies that were queued after it.",
    "docs/07_pitfalls.md#a-copy-read-before-it-has-arrived"};
static const Mistake WAITED_ELSEWHERE = {"waited for another device or stream",
                                         "The host did wait, but not for the queue in which the copies are: on return "
                                         "they had not arrived. fy_synchronize(device) "
                                         "waits for all queues of the device that was given.",
                                         "docs/07_pitfalls.md#a-copy-read-before-it-has-arrived"};
static const Mistake COPIED_HERE = {"a copy without CUDA",
                                    "Where there is no CUDA, nothing is pinned, and the batch itself is the answer.",
                                    "docs/02_device_check.md#choosing-once-at-the-start"};
static const Mistake OVERWRITTEN = {"staging memory used again too early",
                                    "The next batch was written into the pinned memory while the last was still to be "
                                    "copied from there. Each batch needs "
                                    "its own until the device has it.",
                                    "docs/07_pitfalls.md#a-copy-read-before-it-has-arrived"};
static const Mistake ROW_BY_ROW = {"one transfer per row", "A batch crosses in one copy, however many rows it has.",
                                   "docs/07_pitfalls.md#many-small-transfers-against-one"};
static const Mistake JOINED = {
    "all batches in one copy",
    "Each batch crosses in a copy of its own, into memory of its own: batches that share one lie "
    "there as long as any of them is needed.",
    "docs/07_pitfalls.md#many-small-transfers-against-one"};
static const Mistake FIRST_GPU = {"the first GPU, not the one given",
                                  "The batches were asked for on the device that was given.",
                                  "docs/06_several_gpus.md#the-gpu-of-your-choice"};
static const Mistake BESIDE = {"a place beside `loaded` written",
                               "There are places for `count` tensors: loaded[0] to loaded[count - 1].",
                               "docs/07_pitfalls.md#a-copy-read-before-it-has-arrived"};
static const Mistake NOT_MOVED = {"left on the CPU",
                                  "Pinned memory is the host's. From there the batch has still to be moved.",
                                  "docs/03_tensor_moves.md#todevice"};

static const Mistake KEPT = {
    "kept from the call before",
    "What came back in a second call is what the first was given. Each call has batches of its own.",
    "docs/07_pitfalls.md#a-copy-read-before-it-has-arrived"};

static const Mistake USED_AGAIN = {"memory of an earlier call used again",
                                   "What a call has loaded is the caller's. The next call needs memory of its own on "
                                   "the device.",
                                   "docs/07_pitfalls.md#a-copy-read-before-it-has-arrived"};

// ---- one batch -------------------------------------------------------------------------------------------------------

static void ask_batch(Case *c, Give how) {
  give_array(c, "batch", draw_array(c, FY_FLOAT32, shape(draw_odd(c, 5, 31), draw_int(c, 40, 60)), -4, 4), how);
}
static void ask_ordinary(Case *c) {
  ask_batch(c, (Give){0});
}
static void ask_gaps(Case *c) {
  ask_batch(c, (Give){.strided = true});
}
static void ask_pinned(Case *c) {
  ask_batch(c, (Give){.pinned = true});
}

static void judge_batch(Case *c) {
  const Array *batch = given(c, "batch"), *result = got(c, "pinned");
  bool itself = got_number(c, "the batch itself") == 1;
  suspect_that(c, case_devices(c) == 0 && strstr(got_error(c), "CUDA"), &WITHOUT_CUDA);
  if (!expect_array(c, "pinned", batch, 0))
    return;
  if (case_devices(c) > 0)
    expect_that(c, result->flags & ARRAY_PINNED, itself ? &IGNORED : &NOT_PINNED, "pinned: it is not in pinned memory");
  if (case_devices(c) == 0 || batch->flags & ARRAY_PINNED)
    expect_that(c, itself, case_devices(c) ? &PINNED_TWICE : &COPIED_HERE,
                "pinned: expected the batch itself, got a copy of it");
}

// ---- many batches ----------------------------------------------------------------------------------------------------

// `how` by turns.
static void ask_batches_of(Case *c, const char *device, const Give *how, int ways) {
  int64_t count = draw_int(c, 4, 7), rows = draw_odd(c, 9, 21), columns = draw_int(c, 40, 60);
  char name[32];
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "batch %d", i);
    Shape size = shape(i + 1 < count ? rows : rows / 2, columns);
    give_array(c, name, draw_array(c, FY_FLOAT32, size, -4, 4), how[i % ways]);
  }
  give_number(c, "batches", (double)count);
  give_text(c, "device", device);
}
static void ask_batches(Case *c, const char *device, Give how) {
  ask_batches_of(c, device, &how, 1);
}
static void ask_load_mixed(Case *c) {
  ask_batches_of(c, "cuda:0", (const Give[]){{.pinned = true}, {0}, {.strided = true}}, 3);
}
static void ask_load(Case *c) {
  ask_batches(c, "cuda:0", (Give){0});
}
static void ask_load_gaps(Case *c) {
  ask_batches(c, "cuda:0", (Give){.strided = true});
}
static void ask_load_pinned(Case *c) {
  ask_batches(c, "cuda:0", (Give){.pinned = true});
}
static void ask_load_second(Case *c) {
  ask_batches(c, "cuda:1", (Give){0});
}
static void ask_load_stream(Case *c) {
  ask_batches(c, "cuda:0", (Give){0});
  give_number(c, "another stream", 1);
}
static void ask_load_cpu(Case *c) {
  ask_batches(c, "cpu", (Give){0});
}

static const Array *batch_at(const Case *c, const char *what, int i) {
  char name[32];
  snprintf(name, sizeof name, "%s %d", what, i);
  return what[0] == 'b' ? given(c, name) : got(c, name);
}

// Does loaded batch i hold what another batch begins with?
static bool holds_another(const Case *c, int i, int count) {
  const Array *a = batch_at(c, "loaded", i);
  for (int k = 0; a && a->count && k < count; k++) {
    const Array *b = batch_at(c, "batch", k);
    size_t bytes = (size_t)(a->count < b->count ? a->count : b->count) * sizeof(float);
    if (k != i && memcmp(a->data, b->data, bytes) == 0)
      return true;
  }
  return false;
}

// A second call was given the opposite of everything.
static bool judge_again(Case *c, int count) {
  char name[32];
  for (int i = 0; i < count; i++) {
    const Array *batch = batch_at(c, "batch", i);
    snprintf(name, sizeof name, "then loaded %d", i);
    suspect_array(c, name, batch, &KEPT);
    if (!expect_array(c, name, array_negated(c, batch), 0))
      return false;
  }
  const Array *first = given(c, "batch 0"), *now = got_shaped(c, "loaded 0 afterwards", first->shape);
  bool same = now && now->dtype == FY_FLOAT32 && memcmp(now->data, first->data, (size_t)first->count * 4) == 0;
  return expect_that(c, same, &USED_AGAIN, "what the first call had loaded has other values after the second");
}

// Was a wait the last thing that happened?
// It waited for an event, and that was recorded before the last copy was queued.
static bool event_before_copy(const Case *c) {
  EventTrace all = event_trace(c);
  int64_t recorded = -1, copy = -1;
  for (int64_t i = 0; i < all.count; i++) {
    recorded = all.entries[i].kind == TRACE_RECORD ? i : recorded;
    copy = all.entries[i].kind == TRACE_IN ? i : copy;
  }
  return recorded >= 0 && recorded < copy;
}

static bool waited_last(const Case *c) {
  EventTrace all = event_trace(c);
  int64_t wait = -1, copy = -1;
  for (int64_t i = 0; i < all.count; i++) {
    wait = all.entries[i].kind == TRACE_WAIT || all.entries[i].kind == TRACE_QUERY ? i : wait;
    copy = all.entries[i].kind == TRACE_IN ? i : copy;
  }
  return wait > copy;
}

static void judge_costs(Case *c, int count) {
  const Counts *n = counts(c);
  bool all_pinned = true;
  for (int i = 0; i < count; i++)
    all_pinned &= (batch_at(c, "batch", i)->flags & ARRAY_PINNED) != 0;
  const bool none = !all_pinned && got_number(c, "pinned in load_all") == 0;
  EventTrace all = event_trace(c);
  int64_t ordinary = 0;
  for (int64_t i = 0; i < all.count; i++)
    ordinary += all.entries[i].kind == TRACE_IN && all.entries[i].number != 1;
  expect_at_most(c, "copies from host to device", n->host_to_device, count, &ROW_BY_ROW);
  if (n->device_to_device == 0)
    expect_at_least(c, "copies from host to device", n->host_to_device, count, &JOINED);
  expect_exactly(c, "copies between devices", n->device_to_device, 0, &FIRST_GPU);
  expect_exactly(c, "copies from memory that is not pinned", ordinary, 0, none ? &PAGEABLE : &NOT_USED);
  expect_at_least(c, "synchronisations", n->synchronizations, 1, &NOBODY_WAITED);
  expect_at_most(c, "synchronisations", n->synchronizations, 1, none ? &PAGEABLE : &EACH_WAITED);
  expect_exactly(c, "copies that had not arrived on return", trace_unfinished(c), 0,
                 waited_last(c) && !event_before_copy(c) ? &WAITED_ELSEWHERE : &WAITED_EARLY);
}

static void judge_load(Case *c) {
  int count = (int)given_number(c, "batches");
  const char *device = given_text(c, "device");
  char name[32];
  bool staged_once = got_number(c, "pinned in load_all") < count;
  suspect_that(c, case_devices(c) == 0 && strstr(got_error(c), "CUDA"), &WITHOUT_CUDA);
  for (int i = 0; i < count; i++)
    suspect_that(c, staged_once && holds_another(c, i, count), &OVERWRITTEN);
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "loaded %d", i);
    if (!expect_array(c, name, batch_at(c, "batch", i), 0))
      return;
    if (!expect_device(c, name, device, strcmp(got_device(c, name), "cpu") == 0 ? &NOT_MOVED : &FIRST_GPU))
      return;
  }
  if (expect_that(c, got_number(c, "beside") == 0, &BESIDE, "loaded[-1] or loaded[%d] was written", count) &&
      judge_again(c, count) && case_devices(c) > 0)
    judge_costs(c, count);
}

EXERCISE = {
    .id = "07_7_pinned_memory",
    .title = "Batches through pinned memory",
    .after_pass = "A copy from pinned memory goes on after the call; one wait at the end serves all of them.",
    .kind = "write",
    .chapter = 7,
    .level = LEVEL_HARD,
    .minutes = 40,
    .lesson = "docs/07_pitfalls.md#a-copy-read-before-it-has-arrived",
    .hints = {"fy_pin_memory(batch) returns a pinned copy, or the batch itself when it is pinned. It needs CUDA.",
              "fy_to(x, device, .non_blocking = true) queues the copy and returns, if x is in pinned memory.",
              "One pinned tensor for each batch, all copies queued in the loop, one fy_synchronize(device) behind it."},
    .streams = true,
    .functions = {"pinned", "load_all"},
    .tests = {{"one batch pinned", ask_ordinary, .judge = judge_batch},
              {"one batch with gaps", ask_gaps, .judge = judge_batch},
              {"one that is pinned already", ask_pinned, .judge = judge_batch},
              {"one batch without CUDA", ask_ordinary, .judge = judge_batch, .no_cuda = true},
              {"one with gaps without CUDA", ask_gaps, .judge = judge_batch, .no_cuda = true},
              {"batches to a GPU", ask_load, .judge = judge_load},
              {"batches with gaps", ask_load_gaps, .judge = judge_load},
              {"batches that are pinned already", ask_load_pinned, .judge = judge_load},
              {"some batches pinned already", ask_load_mixed, .judge = judge_load},
              {"batches to the second GPU", ask_load_second, .judge = judge_load, .devices = 2},
              {"with another stream current", ask_load_stream, .judge = judge_load},
              {"batches without CUDA", ask_load_cpu, .judge = judge_load, .no_cuda = true}},
};
