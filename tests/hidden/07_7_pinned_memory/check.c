// SPDX-License-Identifier: MIT
// Exercise 7.7: copies queued from pinned memory, and one wait for all of them.
#include "exercise.h"
#include <stdio.h>
#include <string.h>

#define ARRIVED "docs/07_pitfalls.md#reading-an-asynchronous-copy-too-early"
#define PINNED "docs/03_tensor_moves.md#questions"

static const Mistake NOT_PINNED = {"batch not pinned",
                                   "The result is in pageable memory. fy_pin_memory does not change its argument. "
                                   "Return the tensor that fy_pin_memory returns.",
                                   PINNED};
static const Mistake PINNED_TWICE = {"redundant pinned copy",
                                     "This batch was already in pinned memory. Return the batch itself.", PINNED};
static const Mistake WITHOUT_CUDA = {
    "missing CUDA availability check",
    "Only the CUDA driver can pin memory, and this machine has no CUDA driver. Check fy_cuda_is_available() first.",
    "docs/02_device_check.md#device-agnostic-code"};
static const Mistake PAGEABLE = {"copy from pageable memory",
                                 "The host waits for a copy from pageable memory, even with .non_blocking = true. Pin "
                                 "each batch, and copy the tensor that fy_pin_memory returns.",
                                 PINNED};
static const Mistake EACH_WAITED = {"host synchronization in the loop",
                                    "The host waited for each copy. Set .non_blocking = true, and call fy_synchronize "
                                    "once, after the loop.",
                                    "docs/07_pitfalls.md#implicit-synchronization-in-a-loop"};
static const Mistake EXTRA_WAIT = {"redundant synchronization",
                                   "One synchronization after the last copy is enough for all copies.", ARRIVED};
static const Mistake NOT_WAITED = {"missing synchronization",
                                   "load_all returned before the copies had completed. Call fy_synchronize(device) at "
                                   "the end.",
                                   ARRIVED};
static const Mistake WAITED_EARLY = {
    "synchronization before the last copy",
    "A synchronization covers only the work that was queued before. Synchronize after you have queued the last copy.",
    ARRIVED};
static const Mistake WAITED_ELSEWHERE = {
    "synchronization with the wrong stream",
    "The host waited for a different stream or device. fy_synchronize(device) waits for all streams of `device`.",
    ARRIVED};
static const Mistake COPIED_HERE = {"unnecessary copy",
                                    "Without CUDA, memory cannot be pinned. Return the batch itself.",
                                    "docs/02_device_check.md#device-agnostic-code"};
static const Mistake OVERWRITTEN = {"staging buffer reused too early",
                                    "You wrote the next batch to pinned memory before the copy from this memory had "
                                    "completed. Use separate pinned memory for each batch.",
                                    ARRIVED};
static const Mistake ROW_BY_ROW = {"many small transfers", "Each copy has a fixed cost. Copy each batch with one call.",
                                   "docs/07_pitfalls.md#one-large-transfer-instead-of-many-small-ones"};
static const Mistake HARD_CODED = {"hard-coded device", "Copy the batches to the argument `device`.",
                                   "docs/06_several_gpus.md#choose-a-gpu"};
static const Mistake BESIDE = {"out-of-bounds write", "loaded has `count` elements: loaded[0] to loaded[count - 1].",
                               ARRIVED};
static const Mistake NOT_MOVED = {"batch not moved to the device",
                                  "Pinned memory is host memory. Copy the batch from pinned memory to the device.",
                                  "docs/03_tensor_moves.md#copying-with-todevice"};
static const Mistake KEPT = {"state kept between calls",
                             "The second call returned batches from the first call. A static variable keeps its value "
                             "between calls. Load the batches that the caller passes.",
                             ARRIVED};
static const Mistake USED_AGAIN = {
    "buffer shared between calls",
    "The second call overwrote the result of the first call. Allocate new device memory in each call.", ARRIVED};

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
  suspect_sure(c, case_devices(c) == 0 && strstr(got_error(c), "CUDA"), &WITHOUT_CUDA);
  if (!expect_array(c, "pinned", batch, 0))
    return;
  if (case_devices(c) > 0)
    expect_that(c, result->flags & ARRAY_PINNED, &NOT_PINNED, "pinned: the result is not in pinned memory");
  if (case_devices(c) == 0 || batch->flags & ARRAY_PINNED)
    expect_that(c, itself, case_devices(c) ? &PINNED_TWICE : &COPIED_HERE,
                "pinned: expected the batch itself, got a copy of it");
}

// ---- many batches ----------------------------------------------------------------------------------------------------

// The batches are given in these ways, cyclically.
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

// Does loaded batch i have the values of another batch?
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

// The second call got the negated batches.
static bool judge_again(Case *c, int count) {
  static char name[32]; // suspect_array keeps the pointer
  for (int i = 0; i < count; i++) {
    const Array *batch = batch_at(c, "batch", i);
    snprintf(name, sizeof name, "second call: loaded %d", i);
    suspect_array(c, name, batch, &KEPT);
    if (!expect_array(c, name, array_negated(c, batch), 0))
      return false;
  }
  const Array *first = given(c, "batch 0"), *now = got_shaped(c, "loaded 0 afterwards", first->shape);
  bool same = now && now->dtype == FY_FLOAT32 && memcmp(now->data, first->data, (size_t)first->count * 4) == 0;
  return expect_that(c, same, &USED_AGAIN, "the second call changed the tensors that the first call had loaded");
}

// An event was recorded, and the last copy was queued after it.
static bool event_before_copy(const Case *c) {
  EventTrace all = event_trace(c);
  int64_t recorded = -1, copy = -1;
  for (int64_t i = 0; i < all.count; i++) {
    recorded = all.entries[i].kind == TRACE_RECORD ? i : recorded;
    copy = all.entries[i].kind == TRACE_IN ? i : copy;
  }
  return recorded >= 0 && recorded < copy;
}

// The last wait came after the last copy.
static bool waited_last(const Case *c) {
  EventTrace all = event_trace(c);
  int64_t wait = -1, copy = -1;
  for (int64_t i = 0; i < all.count; i++) {
    wait = all.entries[i].kind == TRACE_WAIT || all.entries[i].kind == TRACE_QUERY ? i : wait;
    copy = all.entries[i].kind == TRACE_IN ? i : copy;
  }
  return wait > copy;
}

enum { WAITS = 2 };

static void judge_costs(Case *c, int count) {
  const Counts *n = counts(c);
  EventTrace all = event_trace(c);
  int64_t pageable = 0;
  for (int64_t i = 0; i < all.count; i++)
    pageable += all.entries[i].kind == TRACE_IN && all.entries[i].number != 1;
  if (!expect_exactly(c, "copies from pageable memory", pageable, 0, &PAGEABLE) ||
      !expect_at_most(c, "synchronizations", n->synchronizations, WAITS,
                      n->synchronizations >= count ? &EACH_WAITED : NULL))
    return;
  expect_exactly(c, "copies that had not completed on return", trace_unfinished(c), 0,
                 n->synchronizations == 0                  ? &NOT_WAITED
                 : waited_last(c) && !event_before_copy(c) ? &WAITED_ELSEWHERE
                                                           : &WAITED_EARLY);
  expect_at_most(c, "synchronizations", n->synchronizations, 1, &EXTRA_WAIT);
  expect_at_most(c, "copies from host to device", n->host_to_device, count, &ROW_BY_ROW);
}

static void judge_load(Case *c) {
  int count = (int)given_number(c, "batches"), ordinary = 0;
  const char *device = given_text(c, "device");
  char name[32];
  for (int i = 0; i < count; i++)
    ordinary += !(batch_at(c, "batch", i)->flags & ARRAY_PINNED);
  const double stages = got_number(c, "pinned in load_all");
  suspect_sure(c, case_devices(c) == 0 && strstr(got_error(c), "CUDA"), &WITHOUT_CUDA);
  for (int i = 0; i < count; i++)
    suspect_that(c, stages > 0 && stages < ordinary && holds_another(c, i, count), &OVERWRITTEN);
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "loaded %d", i);
    if (!expect_array(c, name, batch_at(c, "batch", i), 0))
      return;
    if (!expect_device(c, name, device, strcmp(got_device(c, name), "cpu") == 0 ? &NOT_MOVED : &HARD_CODED))
      return;
  }
  if (expect_that(c, got_number(c, "beside") == 0, &BESIDE, "loaded[-1] or loaded[%d] was written", count) &&
      judge_again(c, count) && case_devices(c) > 0)
    judge_costs(c, count);
}

EXERCISE = {
    .id = "07_7_pinned_memory",
    .title = "Batches through pinned memory",
    .after_pass = "A copy from pinned memory is asynchronous: queue all copies, then synchronize once.",
    .kind = "write",
    .chapter = 7,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .lesson = ARRIVED,
    .stars = {{"one copy per batch, and one synchronization in total", {&EXTRA_WAIT, &ROW_BY_ROW}},
              {"`pinned` copies a batch only if necessary", {&PINNED_TWICE, &COPIED_HERE}}},
    .hints =
        {"fy_pin_memory(batch) returns a pinned copy, or the batch itself if it is already pinned. This function needs "
         "CUDA.",
         "If x is in pinned memory, fy_to(x, device, .non_blocking = true) queues the copy and returns immediately.",
         "In the loop: loaded[i] = fy_to(pinned(batches[i]), device, .non_blocking = true). After it: "
         "fy_synchronize(device)."},
    .streams = true,
    .functions = {"pinned", "load_all"},
    .tests = {{"pinned: one batch", ask_ordinary, .judge = judge_batch},
              {"pinned: a strided view", ask_gaps, .judge = judge_batch},
              {"pinned: in pinned memory", ask_pinned, .judge = judge_batch},
              {"pinned: no CUDA", ask_ordinary, .judge = judge_batch, .no_cuda = true},
              {"pinned: strided, no CUDA", ask_gaps, .judge = judge_batch, .no_cuda = true},
              {"load_all: to a GPU", ask_load, .judge = judge_load},
              {"load_all: strided views", ask_load_gaps, .judge = judge_load},
              {"load_all: from pinned memory", ask_load_pinned, .judge = judge_load},
              {"load_all: some in pinned memory", ask_load_mixed, .judge = judge_load},
              {"load_all: to cuda:1", ask_load_second, .judge = judge_load, .devices = 2},
              {"load_all: another current stream", ask_load_stream, .judge = judge_load},
              {"load_all: no CUDA", ask_load_cpu, .judge = judge_load, .no_cuda = true}},
};
