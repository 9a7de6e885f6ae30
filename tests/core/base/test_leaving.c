// SPDX-License-Identifier: MIT
// Blocks that open something and are left by return, break, goto or continue: closed as at their end.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
#include "base/scope_impl.h"
#include "ferry.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

// How many objects of the block are alive: each counts itself down when it goes.
static int alive;

static void gone(void *object) {
  alive--;
  free(object);
}

static void *made(void) {
  alive++;
  return fy_object_new(sizeof(FyObject), gone);
}

static int returns_from_scope(void) {
  fy_scope {
    made();
    fy_scope {
      made();
      return 1;
    }
  }
  return 0;
}

static void *keeps_one(void) {
  fy_scope {
    made();
    return fy_keep(made());
  }
  return NULL;
}

static void scope_is_closed(void **state) {
  (void)state;
  const int depth = fy_scope_depth();
  assert_int_equal(returns_from_scope(), 1);
  assert_int_equal(alive, 0);
  assert_int_equal(fy_scope_depth(), depth);
  fy_scope {
    made();
    break;
  }
  assert_int_equal(alive, 0);
  for (int i = 0; i < 3; i++) {
    fy_scope {
      made();
      if (i == 1)
        continue; // the scope's own: it ends
      made();
    }
    assert_int_equal(alive, 0);
  }
  fy_scope {
    made();
    goto after;
  }
after:
  assert_int_equal(alive, 0);
  assert_int_equal(fy_scope_depth(), depth);
}

static void what_is_kept_is_returned(void **state) {
  (void)state;
  fy_scope {
    assert_non_null(keeps_one());
    assert_int_equal(alive, 1);
  }
  assert_int_equal(alive, 0);
}

static void returns_from_trap(FyError *error) {
  fy_trap(*error) {
    made();
    return;
  }
}

static void trap_is_closed(void **state) {
  (void)state;
  FyError inner = {0}, outer = {0};
  fy_trap(outer) {
    returns_from_trap(&inner); // an open trap here would jump into a function that has returned
    fy_raise(FY_VALUE_ERROR, "for the outer one");
  }
  assert_int_equal(inner.kind, FY_NO_ERROR);
  assert_int_equal(outer.kind, FY_VALUE_ERROR);
  fy_trap(outer) {
    fy_trap(inner) {
      break;
    }
    fy_raise(FY_INDEX_ERROR, "again");
  }
  assert_int_equal(outer.kind, FY_INDEX_ERROR);
}

static bool no_grad_left(void) {
  fy_no_grad {
    return fy_is_grad_enabled();
  }
  return true;
}

static void modes_are_restored(void **state) {
  (void)state;
  assert_false(no_grad_left());
  assert_true(fy_is_grad_enabled());
  fy_autocast(FY_CPU) {
    assert_true(fy_is_autocast_enabled(FY_CPU));
    break;
  }
  assert_false(fy_is_autocast_enabled(FY_CPU));
  fy_record_function("left") {
    break;
  }
  FyProfile *profile = NULL;
  fy_profile(profile, FY_PROFILE_CPU) {
    break;
  }
  assert_non_null(profile);
  fy_profile(profile, FY_PROFILE_CPU) { // raises while another one is open
    fy_ones(fy_shape(2));
  }
}

static void devices_and_streams_are_restored(void **state) {
  (void)state;
  if (fy_cuda_device_count() < 2)
    skip();
  fy_cuda_device_guard(1) {
    assert_int_equal(fy_cuda_current_device(), 1);
    break;
  }
  assert_int_equal(fy_cuda_current_device(), 0);
  FyDevice device = fy_device("cuda:1");
  FyStream *before = fy_current_stream(device);
  fy_stream_guard(fy_stream_new(device, 0)) {
    assert_ptr_not_equal(fy_current_stream(device), before);
    break;
  }
  assert_ptr_equal(fy_current_stream(device), before);
  assert_int_equal(fy_cuda_current_device(), 0);
  FyCudaGraph *graph = fy_cuda_graph_new();
  FyTensor *x = fy_ones(fy_shape(4), .device = fy_device("cuda:0"));
  fy_cuda_graph_capture(graph) {
    fy_mul_scalar(x, 2);
    break;
  }
  fy_cuda_graph_replay(graph);
  fy_synchronize(fy_device("cuda:0"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scope_is_closed),
      cmocka_unit_test(what_is_kept_is_returned),
      cmocka_unit_test(trap_is_closed),
      cmocka_unit_test(modes_are_restored),
      cmocka_unit_test(devices_and_streams_are_restored),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
