// SPDX-License-Identifier: MIT
// FERRY_CHECKED=1: a tensor that is used after it was freed is an error that says where it was made and where it went, never
// another tensor's data.
//
// run check: FERRY_CHECKED=1 FERRY_CUDA=off
// run: FERRY_CHECKED=1 FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy
#include "base/checked.h"
#include "child.h"
#include "ferry.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

// cmocka takes SIGSEGV for itself in each test: the library's handlers, as they were before.
static struct sigaction segv, bus;

static void give_the_handlers_back(void) {
  assert_int_equal(sigaction(SIGSEGV, &segv, NULL) | sigaction(SIGBUS, &bus, NULL), 0);
}

// What a call said of a tensor that is gone, "" where it said nothing.
static char said[1536];

static void look_at(FyTensor *t) {
  FyError error;
  give_the_handlers_back();
  *said = '\0';
  fy_trap(error) {
    fy_item(t);
  }
  if (error.kind != FY_NO_ERROR)
    snprintf(said, sizeof said, "%s", error.message);
}

static void assert_says(const char *part) {
  if (!strstr(said, part))
    fail_msg("expected \"%s\", but it said \"%s\"", part, said);
}

static FyTensor *made_in_a_scope(int *made_at, int *freed_at) {
  FyTensor *t = NULL;
  fy_scope {
    *made_at = __LINE__ + 1;
    t = fy_full(7, FY_SCALAR);
    *freed_at = __LINE__ - 3; // the scope's line
  }
  return t;
}

static void used_after_its_scope(void **state) {
  (void)state;
  int made_at, freed_at;
  char place[64];
  FyTensor *t = made_in_a_scope(&made_at, &freed_at);
  look_at(t);
  assert_says("a tensor is used after its scope has ended");
  snprintf(place, sizeof place, "made at tests/core/base/test_checked.c:%d", made_at);
  assert_says(place);
  snprintf(place, sizeof place, "freed with the scope at tests/core/base/test_checked.c:%d", freed_at);
  assert_says(place);
  assert_says("`x = fy_keep(x)` at the end");
}

static void dropped(void **state) {
  (void)state;
  FyTensor *t = fy_full(7, FY_SCALAR);
  fy_drop(t);
  look_at(t);
  assert_says("a tensor is used after it was freed");
  assert_says("given up (fy_drop, fy_release)");
}

// Nothing that is alive is touched: kept, retained, made anew in the place of another.
static void the_living_are_left_alone(void **state) {
  (void)state;
  FyTensor *kept = NULL, *held = NULL;
  fy_scope {
    kept = fy_keep(fy_full(3, FY_SCALAR));
    held = fy_retain(fy_full(4, FY_SCALAR));
  }
  look_at(kept);
  assert_string_equal(said, "");
  look_at(held);
  assert_string_equal(said, "");
  fy_release(held);
  look_at(held);
  assert_says("a tensor is used after it was freed");
}

// Thousands of later ones do not take its place: a page is used again when all others have been.
static void another_does_not_take_its_place(void **state) {
  (void)state;
  FyTensor *t = fy_full(7, FY_SCALAR);
  fy_drop(t);
  for (int i = 0; i < 20000; i++)
    fy_drop(fy_full(i, FY_SCALAR));
  look_at(t);
  assert_says("a tensor is used after it was freed");
}

// More tensors than there are pages: the rest lives as without the mode.
static void more_than_there_is_room_for(void **state) {
  (void)state;
  fy_scope {
    FyTensor *last = NULL;
    for (int i = 0; i < 70000; i++)
      last = fy_full(i, FY_SCALAR);
    assert_true(fy_item(last) == 69999);
  }
  FyTensor *after = fy_full(5, FY_SCALAR);
  assert_true(fy_item(after) == 5);
}

// ---- behind the data ---------------------------------------------------------------------------------------------------------

// What is said of host code that touches the element at `index`.
static void touch(FyTensor *t, int64_t index, bool writes) {
  FyError error;
  float *data = fy_data_ptr(t);
  give_the_handlers_back();
  *said = '\0';
  fy_trap(error) {
    float *volatile at = data + index;
    if (writes)
      *(volatile float *)at = 1;
    else
      (void)*(volatile float *)at;
  }
  if (error.kind == FY_INDEX_ERROR)
    snprintf(said, sizeof said, "%s", error.message);
}

static void one_place_too_far(void **state) {
  (void)state;
  static const int64_t counts[] = {1, 3, 7, 12, 64, 100, 1023, 1024, 1025, 40000, 600001};
  char expected[200];
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    for (int writes = 0; writes < 2; writes++) {
      const int made_at = __LINE__ + 1;
      FyTensor *t = fy_zeros(fy_shape(counts[i]));
      touch(t, counts[i] - 1, writes);
      assert_string_equal(said, "");
      touch(t, counts[i], writes);
      snprintf(expected, sizeof expected,
               "host code reads or writes at byte %ld of a tensor's memory that has %ld bytes, made at "
               "tests/core/base/test_checked.c:%d",
               (long)counts[i] * 4, (long)counts[i] * 4, made_at);
      assert_says(expected);
      fy_drop(t);
    }
  }
}

static int writes_before(void *context) {
  const int64_t *index = context;
  FyTensor *t = fy_zeros(fy_shape(1024));
  ((float *)fy_data_ptr(t))[*index] = 1;
  fy_drop(t);
  return 0;
}

static void before_the_first(void **state) {
  (void)state;
  for (int64_t index = -4; index <= 0; index++) {
    const int status = run_child(writes_before, &index);
    assert_true(index == 0 ? status == 0 : status == 128 + 6 || status == 1); // 1: a sanitizer's report
  }
}

// Memory that was another's before ends where its new owner's data does.
static void a_smaller_one_in_the_same_memory(void **state) {
  (void)state;
  for (int64_t count = 40; count > 30; count--) { // of one size class
    FyTensor *t = fy_ones(fy_shape(count));
    touch(t, count, false);
    assert_says("host code reads or writes");
    fy_drop(t);
  }
}

static void what_nobody_wrote_is_nan(void **state) {
  (void)state;
  fy_drop(fy_ones(fy_shape(5)));
  FyTensor *t = fy_empty(fy_shape(5));
  for (int i = 0; i < 5; i++)
    assert_true(((float *)fy_data_ptr(t))[i] != ((float *)fy_data_ptr(t))[i]);
  fy_drop(t);
}

// What is no tensor's is no business of the mode's: the program ends by the signal, as it does without.
static int writes_to_nothing(void *context) {
  (void)context;
  give_the_handlers_back();
  volatile char *volatile nothing = (char *)16;
  *nothing = 1;
  return 0;
}

static void other_faults_end_the_program(void **state) {
  (void)state;
  const int status = run_child(writes_to_nothing, NULL);
  assert_true(status == 128 + 11 || status == 1); // 1: a sanitizer's report
}

// The heap is damaged where the allocator gives memory back, which it does while it holds its lock.
static bool damaged;

int munmap(void *memory, size_t bytes) {
  volatile char *volatile nothing = (char *)16;
  if (damaged)
    *nothing = 1;
  return (int)syscall(SYS_munmap, memory, bytes);
}

static int faults_in_the_allocator(void *context) {
  (void)context;
  give_the_handlers_back();
  fy_drop(fy_full(7, fy_shape(100)));
  alarm(60); // a handler that waits for the lock would wait for ever
  damaged = true;
  fy_empty_cache();
  return 0;
}

static void a_fault_of_the_allocator_ends_the_program(void **state) {
  (void)state;
  const int status = run_child(faults_in_the_allocator, NULL);
  assert_true(status == 128 + 11 || status == 1); // 1: a sanitizer's report
}

static void is_on(void **state) {
  (void)state;
  assert_true(fy_checked);
}

int main(void) {
  sigaction(SIGSEGV, NULL, &segv);
  sigaction(SIGBUS, NULL, &bus);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_on),
      cmocka_unit_test(used_after_its_scope),
      cmocka_unit_test(dropped),
      cmocka_unit_test(the_living_are_left_alone),
      cmocka_unit_test(another_does_not_take_its_place),
      cmocka_unit_test(more_than_there_is_room_for),
      cmocka_unit_test(one_place_too_far),
      cmocka_unit_test(before_the_first),
      cmocka_unit_test(a_smaller_one_in_the_same_memory),
      cmocka_unit_test(what_nobody_wrote_is_nan),
      cmocka_unit_test(other_faults_end_the_program),
      cmocka_unit_test(a_fault_of_the_allocator_ends_the_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
