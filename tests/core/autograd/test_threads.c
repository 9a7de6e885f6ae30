// SPDX-License-Identifier: MIT
// Several threads run backward: into one leaf, over one graph, and drop tensors meanwhile.
// tsan
// run check: FERRY_CUDA=off
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 50 };

static FyTensor *shared_leaf, *shared_loss, *shared_view;

static void each_thread(void *(*function)(void *)) {
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, function, (void *)i), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
}

static void *own_graph(void *number) {
  for (int round = 0; round < ROUNDS; round++)
    fy_scope {
      fy_backward(fy_sum(fy_mul_scalar(shared_leaf, (double)((long)number + 1))));
    }
  return NULL;
}

static void test_one_leaf(void **state) {
  (void)state;
  shared_leaf = leaf(fy_floats(1, 2, 3), 3);
  each_thread(own_graph);
  const float total = ROUNDS * (1 + 2 + 3 + 4);
  expect(fy_grad(shared_leaf), fy_floats(total, total, total));
}

static void *shared_graph(void *number) {
  (void)number;
  for (int round = 0; round < ROUNDS; round++)
    fy_scope {
      fy_backward(shared_loss, .retain_graph = true);
    }
  return NULL;
}

static void test_one_graph(void **state) {
  (void)state;
  shared_leaf = leaf(fy_floats(1, 1, 1), 3);
  shared_loss = fy_sum(fy_mul(fy_mul(shared_leaf, shared_leaf), shared_leaf));
  each_thread(shared_graph);
  const float total = THREADS * ROUNDS * 3;
  expect(fy_grad(shared_leaf), fy_floats(total, total, total));
}

// One of them is first; the others get its gradient too, or an error, and never freed memory.
static void *once(void *number) {
  (void)number;
  FyError error;
  fy_trap(error) {
    fy_backward(shared_loss);
  }
  if (error.kind && !strstr(error.message, "Trying to backward through the graph a second time"))
    fy_panic("%s", error.message);
  return NULL;
}

static void test_one_graph_that_is_given_up(void **state) {
  (void)state;
  for (int round = 0; round < ROUNDS; round++)
    fy_scope {
      shared_leaf = leaf(fy_floats(0, 0, 0), 3);
      shared_loss = fy_sum(fy_exp(fy_mul(fy_exp(shared_leaf), fy_exp(shared_leaf))));
      each_thread(once);
    }
}

static void *read_view(void *number) {
  (void)number;
  for (int round = 0; round < ROUNDS; round++)
    fy_scope {
      assert_true(fy_requires_grad(shared_view));
      fy_backward(fy_sum(fy_mul_scalar(shared_view, 1)), .retain_graph = true);
    }
  return NULL;
}

static void test_a_stale_view(void **state) {
  (void)state;
  shared_leaf = leaf(fy_floats(1, 2, 3), 3);
  FyTensor *base = fy_mul_scalar(shared_leaf, 2);
  shared_view = fy_view(base, fy_shape(3, 1));
  fy_mul_scalar_(base, 5);
  each_thread(read_view);
  const float total = THREADS * ROUNDS * 10;
  expect(fy_grad(shared_leaf), fy_floats(total, total, total));
}

static void *keep_and_drop(void *number) {
  for (int round = 0; round < ROUNDS; round++)
    fy_scope {
      if ((long)number % 2) {
        fy_backward(shared_loss, .retain_graph = true);
      } else {
        FyTensor *view = fy_view(shared_view, fy_shape(3));
        fy_retain_grad(view);
      }
    }
  return NULL;
}

static void test_retained_tensors_that_go(void **state) {
  (void)state;
  shared_leaf = leaf(fy_floats(1, 2, 3), 3);
  shared_view = fy_mul_scalar(shared_leaf, 2);
  shared_loss = fy_sum(shared_view);
  each_thread(keep_and_drop);
  assert_non_null(fy_grad(shared_leaf));
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_leaf),
      cmocka_unit_test(test_one_graph),
      cmocka_unit_test(test_one_graph_that_is_given_up),
      cmocka_unit_test(test_a_stale_view),
      cmocka_unit_test(test_retained_tensors_that_go),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
