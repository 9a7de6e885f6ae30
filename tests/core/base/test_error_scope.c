// SPDX-License-Identifier: MIT
// Traps and scopes: who is restored, who is freed, and when.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
// tsan
#include "child.h"
#include "ferry.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct Probe {
  FyObject object;
  int *alive;
} Probe;

static void probe_destroy(void *pointer) {
  Probe *probe = pointer;
  --*probe->alive;
  free(probe);
}

static Probe *probe(int *alive) {
  Probe *p = fy_object_new(sizeof *p, probe_destroy);
  p->alive = alive;
  ++*alive;
  return p;
}

static void test_trap_catches(void **state) {
  (void)state;
  FyError error;
  volatile bool after = false;
  fy_trap(error) {
    fy_matmul(fy_zeros(fy_shape(2, 3)), fy_zeros(fy_shape(4, 5)));
    after = true;
  }
  assert_false(after);
  assert_int_equal(error.kind, FY_RUNTIME_ERROR);
  assert_string_equal(error.message, "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)");
  assert_non_null(strstr(error.file, "test_error_scope.c"));
  assert_in_range(error.line, __LINE__ - 8, __LINE__ - 7);
}

static void test_trap_without_error(void **state) {
  (void)state;
  FyError error;
  fy_trap(error) {
    fy_zeros(fy_shape(1));
  }
  assert_int_equal(error.kind, FY_NO_ERROR);
}

static void test_traps_nest(void **state) {
  (void)state;
  FyError outer, inner;
  fy_trap(outer) {
    fy_trap(inner) {
      fy_device("toaster");
    }
    assert_int_equal(inner.kind, FY_RUNTIME_ERROR);
    fy_raise_again(&inner);
  }
  assert_string_equal(outer.message, inner.message);
}

static void test_raise_closes_scopes_and_restores(void **state) {
  (void)state;
  int alive = 0;
  FyError error;
  fy_trap(error) {
    fy_scope {
      probe(&alive);
      fy_scope {
        probe(&alive);
        fy_no_grad {
          fy_raise(FY_VALUE_ERROR, "no %d", 7);
        }
      }
    }
  }
  assert_int_equal(alive, 0);
  assert_true(fy_is_grad_enabled());
  assert_string_equal(error.message, "no 7");
}

static void test_raise_restores_the_device(void **state) {
  (void)state;
  FyError error;
  if (fy_cuda_device_count() < 2) {
    print_message("this run has fewer than 2 CUDA devices\n");
    skip();
  }
  fy_trap(error) {
    fy_cuda_device_guard(1)
      fy_raise(FY_VALUE_ERROR, "on the other device");
  }
  assert_int_equal(fy_cuda_current_device(), 0);
}

static void test_scope_frees_in_order(void **state) {
  (void)state;
  int alive = 0;
  fy_scope {
    probe(&alive);
    Probe *dropped = probe(&alive);
    fy_drop(dropped);
    assert_int_equal(alive, 1);
    fy_scope {
      probe(&alive);
    }
    assert_int_equal(alive, 1);
  }
  assert_int_equal(alive, 0);
}

static void test_keep_hands_out(void **state) {
  (void)state;
  int alive = 0;
  fy_scope {
    Probe *kept = NULL;
    fy_scope {
      probe(&alive);
      kept = fy_keep(probe(&alive));
      probe(&alive);
    }
    assert_int_equal(alive, 1);
    assert_ptr_equal(fy_keep(kept), kept); // to the outermost scope
  }
  assert_int_equal(alive, 1);
}

static void test_retain_outlives_the_scope(void **state) {
  (void)state;
  int alive = 0;
  Probe *p = NULL;
  fy_scope {
    p = fy_retain(probe(&alive));
  }
  assert_int_equal(alive, 1);
  fy_scope {
    fy_adopt(p);
  }
  assert_int_equal(alive, 0);
}

static void test_what_a_scope_holds(void **state) {
  (void)state;
  int alive = 0;
  assert_false(fy_is_in_scope(NULL));
  fy_scope {
    Probe *p = fy_retain(probe(&alive));
    fy_scope {
      assert_true(fy_is_in_scope(p)); // the one around
      fy_object_know_weakly(p);
      fy_retain(p); // others' references make no difference
    }
    fy_drop(p);
    assert_false(fy_is_in_scope(p));
    fy_release(p);
    fy_adopt(p);
    assert_true(fy_is_in_scope(p));
  }
  assert_int_equal(alive, 0);
}

static void test_close_closes_inner_scopes(void **state) {
  (void)state;
  int alive = 0, outer = fy_scope_open();
  probe(&alive);
  fy_scope_open();
  probe(&alive);
  fy_scope_close(outer);
  assert_int_equal(alive, 0);
}

static void *in_thread(void *context) {
  fy_scope {
    probe(context);
  }
  probe(context); // the thread's outermost scope
  return NULL;
}

static void test_threads_have_their_own(void **state) {
  (void)state;
  int alive[4] = {0};
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, in_thread, &alive[i]), 0);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < 4; i++)
    assert_int_equal(alive[i], 0);
}

typedef struct Meeting {
  pthread_barrier_t barrier;
  Probe *shared;
  int alive;
} Meeting;

// A thread that shares an object, and drops it after the other has kept what stood beside it.
static void *share(void *context) {
  Meeting *m = context;
  fy_scope {
    Probe *own[3];
    for (int i = 0; i < 3; i++)
      own[i] = probe(&m->alive);
    fy_adopt(fy_retain(m->shared));
    pthread_barrier_wait(&m->barrier); // both own it
    pthread_barrier_wait(&m->barrier); // the other has kept its neighbor
    fy_drop(m->shared);
    for (int i = 0; i < 3; i++)
      fy_drop(own[i]);
  }
  return NULL;
}

static void test_threads_share_an_object(void **state) {
  (void)state;
  Meeting m = {.alive = 0};
  pthread_t thread;
  pthread_barrier_init(&m.barrier, NULL, 2);
  fy_scope {
    Probe *neighbor = NULL;
    fy_scope {
      m.shared = probe(&m.alive);
      probe(&m.alive);
      neighbor = probe(&m.alive);
      assert_int_equal(pthread_create(&thread, NULL, share, &m), 0);
      pthread_barrier_wait(&m.barrier);
      fy_keep(neighbor);
      pthread_barrier_wait(&m.barrier);
      pthread_join(thread, NULL);
      assert_int_equal(m.alive, 3); // the other thread gave back all that it had
      fy_keep(m.shared);            // taken by another thread since, but still here
    }
    assert_int_equal(m.alive, 2);
    fy_drop(m.shared);
    fy_drop(neighbor);
    assert_int_equal(m.alive, 0);
  }
  pthread_barrier_destroy(&m.barrier);
}

static void test_many_objects(void **state) {
  (void)state;
  int alive = 0;
  fy_scope {
    for (int i = 0; i < 10000; i++) {
      Probe *p = probe(&alive);
      if (i % 3)
        fy_drop(p);
    }
    assert_int_equal(alive, 3334);
  }
  assert_int_equal(alive, 0);
}

static int view_badly(void *context) {
  (void)context;
  fy_view(fy_zeros(fy_shape(2, 3)), fy_shape(4));
  return 0;
}

// An error nobody traps: the message with the caller's line on standard error, and exit status 1.
static void test_untrapped_error_ends_the_program(void **state) {
  (void)state;
  assert_int_equal(run_child(view_badly, NULL), 1);
  expect_child_wrote("RuntimeError: shape '[4]' is invalid for input of size 6\n");
  expect_child_wrote("test_error_scope.c:");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_trap_catches),
      cmocka_unit_test(test_trap_without_error),
      cmocka_unit_test(test_traps_nest),
      cmocka_unit_test(test_raise_closes_scopes_and_restores),
      cmocka_unit_test(test_raise_restores_the_device),
      cmocka_unit_test(test_scope_frees_in_order),
      cmocka_unit_test(test_keep_hands_out),
      cmocka_unit_test(test_retain_outlives_the_scope),
      cmocka_unit_test(test_what_a_scope_holds),
      cmocka_unit_test(test_close_closes_inner_scopes),
      cmocka_unit_test(test_threads_have_their_own),
      cmocka_unit_test(test_threads_share_an_object),
      cmocka_unit_test(test_many_objects),
      cmocka_unit_test(test_untrapped_error_ends_the_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
