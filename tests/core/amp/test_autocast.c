// SPDX-License-Identifier: MIT
// Regions of autocast: settings, nesting, the cache of cast parameters, errors, threads.
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
// run check: FERRY_CUDA=off
#include "../nn/check.h"
#include "base/options.h"
#include "op/op.h"
#include <pthread.h>

static int copies; // casts among them

static void count_copies(FyOpHooks *hooks, const FyOpCall *call) {
  (void)hooks;
  copies += call->op == &fy_op_copy;
}

static FyOpHooks count_copies_hooks = {.kernel = count_copies};

static FyDType product_dtype(FyTensor *x, FyTensor *w) {
  return fy_dtype_of(fy_matmul(x, w));
}

static FyTensor *ones(FyDevice device, bool grad) {
  return fy_ones(fy_shape(3, 3), .device = device, .requires_grad = grad);
}

// ---- settings ------------------------------------------------------------------------------------------------------------

static void options_by_name(void **state) {
  (void)state;
  assert_true(fy_option_is_named(FY_TEXT_OF(FY_CPU, .enabled = false), "enabled"));
  assert_true(fy_option_is_named(FY_TEXT_OF(FY_CPU, .dtype = FY_FLOAT16, .enabled = false), "enabled"));
  assert_false(fy_option_is_named(FY_TEXT_OF(FY_CPU, .cache_enabled = false), "enabled"));
  assert_false(fy_option_is_named(FY_TEXT_OF(options.enabled ? FY_CPU : FY_CUDA), "enable"));
  assert_false(fy_option_is_named(FY_TEXT_OF(device.type), "enabled"));
  assert_false(fy_option_is_named(FY_TEXT_OF(a.enabled == 0 ? FY_CPU : FY_CUDA), "enabled"));
  assert_false(fy_option_is_named(FY_TEXT_OF(f(FY_CPU, .enabled = 0), .dtype = g(1, 2)), "enabled"));
  assert_false(fy_option_is_named(FY_TEXT_OF(")\"'", ',', "x, .enabled = 0"), "enabled"));
  assert_true(fy_option_is_named(FY_TEXT_OF(f("(\"", '('), .enabled = 0), "enabled"));
  assert_true(fy_option_is_named(NULL, "enabled"));
  assert_true(fy_option_or(FY_TEXT_OF(p, .lr = 0), "lr", 0, 2) == 0);
  assert_true(fy_option_or(FY_TEXT_OF(p, .lr = 3), "lr", 3, 2) == 3);
  assert_true(fy_option_or(FY_TEXT_OF(p), "lr", 0, 2) == 2);
  assert_true(fy_option_or(FY_TEXT_OF(p, 3), "lr", 3, 2) == 3); // by its place
  assert_true(fy_option_or(NULL, "lr", 0, 2) == 2);
#define OFF .enabled = false
  assert_true(fy_option_is_named(FY_TEXT_OF(FY_CPU, OFF), "enabled"));
}

static void defaults(void **state) {
  (void)state;
  assert_false(fy_is_autocast_enabled(FY_CPU));
  assert_false(fy_is_autocast_enabled(FY_CUDA));
  assert_int_equal(fy_get_autocast_dtype(FY_CPU), FY_BFLOAT16);
  assert_int_equal(fy_get_autocast_dtype(FY_CUDA), FY_FLOAT16);
  assert_true(fy_is_autocast_cache_enabled());
}

static void a_region_and_what_is_after_it(void **state) {
  FyTensor *x = ones(FY_CPU_DEVICE, false);
  (void)state;
  int entered = 0;
  fy_autocast(FY_CPU) {
    entered++;
    assert_true(fy_is_autocast_enabled(FY_CPU));
    assert_false(fy_is_autocast_enabled(FY_CUDA));
    assert_int_equal(product_dtype(x, x), FY_BFLOAT16);
    assert_int_equal(fy_dtype_of(x), FY_FLOAT32);
    fy_autocast(FY_CPU, .dtype = FY_FLOAT16) {
      assert_int_equal(product_dtype(x, x), FY_FLOAT16);
      fy_autocast(FY_CPU, .enabled = false) {
        assert_int_equal(product_dtype(x, x), FY_FLOAT32);
        assert_int_equal(fy_get_autocast_dtype(FY_CPU), FY_FLOAT16);
      }
      assert_int_equal(product_dtype(x, x), FY_FLOAT16);
    }
    assert_int_equal(product_dtype(x, x), FY_BFLOAT16);
    assert_int_equal(fy_get_autocast_dtype(FY_CPU), FY_BFLOAT16);
  }
  assert_int_equal(entered, 1);
  bool use = false;
  fy_autocast(FY_CPU, .enabled = use) assert_int_equal(product_dtype(x, x), FY_FLOAT32);
  defaults(state);
}

// A region of one device type leaves tensors on the other alone; both may be on.
static void by_device_type(void **state) {
  (void)state;
  if (!fy_cuda_is_available()) {
    print_message("needs CUDA, real or simulated, and there is none\n");
    skip();
  }
  FyTensor *host = ones(FY_CPU_DEVICE, false), *there = ones(fy_cuda_device(0), false);
  fy_autocast(FY_CUDA) {
    assert_int_equal(product_dtype(host, host), FY_FLOAT32);
    assert_int_equal(product_dtype(there, there), FY_FLOAT16);
    fy_autocast(FY_CPU) {
      assert_int_equal(product_dtype(host, host), FY_BFLOAT16);
      assert_int_equal(product_dtype(there, there), FY_FLOAT16);
    }
    assert_int_equal(product_dtype(host, host), FY_FLOAT32);
  }
}

static void an_error_leaves_as_if_nothing_had_been(void **state) {
  FyTensor *w = ones(FY_CPU_DEVICE, true);
  (void)state;
  assert_raises_about(
      FY_RUNTIME_ERROR, "mat1 and mat2 shapes cannot be multiplied",
      fy_autocast(FY_CPU, .dtype = FY_FLOAT16, .cache_enabled = true) {
        fy_matmul(w, w);
        fy_matmul(w, fy_ones(fy_shape(5, 5)));
      });
  defaults(state);
  // The cache is gone with the region: a change shows in the next one.
  FyTensor *before = NULL, *after = NULL;
  fy_autocast(FY_CPU) before = fy_matmul(w, w);
  fy_no_grad {
    fy_fill_(w, 2);
  }
  fy_autocast(FY_CPU) after = fy_matmul(w, w);
  assert_true(fy_item(fy_max(before)) == 3);
  assert_true(fy_item(fy_max(after)) == 12);
}

static void what_it_does_not_take(void **state) {
  FyTensor *x = ones(FY_CPU_DEVICE, false);
  (void)state;
  assert_raises(FY_RUNTIME_ERROR, "User specified an unsupported autocast device_type 'mps'", fy_autocast(FY_MPS){});
  assert_raises_about(FY_RUNTIME_ERROR, "unsupported autocast device_type", fy_is_autocast_enabled(7));
  assert_false(fy_is_autocast_available(FY_MPS));
  assert_true(fy_is_autocast_available(FY_CPU));
  fy_autocast(FY_CPU, .dtype = FY_FLOAT32) { // warns, and is off
    assert_false(fy_is_autocast_enabled(FY_CPU));
    assert_int_equal(fy_get_autocast_dtype(FY_CPU), FY_FLOAT32);
    assert_int_equal(product_dtype(x, x), FY_FLOAT32);
  }
  if (fy_cuda_is_available())
    return;
  fy_autocast(FY_CUDA) // warns, and is off
      assert_false(fy_is_autocast_enabled(FY_CUDA));
}

// ---- the cache -------------------------------------------------------------------------------------------------------------

static int casts_of(FyTensor *x, FyTensor *w) {
  copies = 0;
  fy_matmul(x, w);
  return copies;
}

static void a_parameter_is_cast_once(void **state) {
  FyTensor *x = fy_to_dtype(ones(FY_CPU_DEVICE, false), FY_BFLOAT16), *w = ones(FY_CPU_DEVICE, true);
  (void)state;
  fy_op_hooks_add(&count_copies_hooks);
  fy_autocast(FY_CPU) {
    assert_int_equal(casts_of(x, w), 1);
    assert_int_equal(casts_of(x, w), 0);
    fy_autocast(FY_CPU, .enabled = false) // an inner region's end does not drop it
        assert_int_equal(copies, 0);
    assert_int_equal(casts_of(x, w), 0);
    fy_autocast(FY_CPU, .cache_enabled = false) {
      assert_int_equal(casts_of(x, w), 1); // neither looked for nor kept
      assert_int_equal(casts_of(x, w), 1);
    }
    fy_autocast(FY_CPU, .dtype = FY_FLOAT16)
        assert_int_equal(casts_of(x, w), 2); // another dtype is another cast, of x too
    assert_int_equal(casts_of(x, w), 0);
    fy_clear_autocast_cache();
    assert_int_equal(casts_of(x, w), 1);
  }
  fy_autocast(FY_CPU) assert_int_equal(casts_of(x, w), 1);
  fy_op_hooks_remove(&count_copies_hooks);
}

static void what_is_not_cached(void **state) {
  FyTensor *x = fy_to_dtype(ones(FY_CPU_DEVICE, false), FY_BFLOAT16), *leaf = ones(FY_CPU_DEVICE, true);
  FyTensor *wide = fy_ones(fy_shape(3, 3), .dtype = FY_FLOAT16, .requires_grad = true);
  FyTensor *plain = ones(FY_CPU_DEVICE, false), *computed = fy_mul_scalar(leaf, 2), *view = fy_t(leaf);
  FyTensor *const others[] = {wide, plain, computed, view};
  (void)state;
  fy_op_hooks_add(&count_copies_hooks);
  fy_autocast(FY_CPU) for (int i = 0; i < 4; i++) {
    assert_int_equal(casts_of(x, others[i]), 1);
    assert_int_equal(casts_of(x, others[i]), 1);
  }
  fy_op_hooks_remove(&count_copies_hooks);
}

// As PyTorch: within a region the first cast stands, whatever happens to the parameter.
static void a_change_is_not_seen_before_the_region_ends(void **state) {
  FyTensor *x = ones(FY_CPU_DEVICE, false), *w = ones(FY_CPU_DEVICE, true);
  (void)state;
  fy_autocast(FY_CPU) {
    assert_true(fy_item(fy_max(fy_matmul(x, w))) == 3);
    fy_no_grad {
      fy_fill_(w, 5);
    }
    assert_true(fy_item(fy_max(fy_matmul(x, w))) == 3);
  }
  fy_autocast(FY_CPU) assert_true(fy_item(fy_max(fy_matmul(x, w))) == 15);
}

// A cast first made under no_grad still leads gradients to the parameter.
static void gradients_through_the_cache(void **state) {
  FyTensor *x = ones(FY_CPU_DEVICE, false), *w = ones(FY_CPU_DEVICE, true), *loss = NULL;
  (void)state;
  fy_autocast(FY_CPU) {
    fy_no_grad {
      assert_false(fy_requires_grad(fy_matmul(x, w)));
    }
    loss = fy_add(fy_sum(fy_matmul(x, w)), fy_sum(fy_matmul(x, w))); // one cast in two products
  }
  fy_backward(loss);
  assert_int_equal(fy_dtype_of(fy_grad(w)), FY_FLOAT32);
  assert_true(fy_item(fy_max(fy_grad(w))) == 6);
}

static void a_parameter_may_die_within(void **state) {
  FyTensor *x = ones(FY_CPU_DEVICE, false);
  (void)state;
  fy_autocast(FY_CPU) for (int i = 1; i < 80; i++) fy_scope {
    FyTensor *w = fy_full(i, fy_shape(3, 3), .requires_grad = true);
    assert_true(fy_item(fy_max(fy_matmul(x, w))) == 3 * i);
  }
}

// ---- threads -----------------------------------------------------------------------------------------------------------------

static void *other_thread(void *argument) {
  FyTensor *x = argument;
  FyDType *dtypes = malloc(3 * sizeof *dtypes);
  fy_scope {
    dtypes[0] = product_dtype(x, x);
    fy_autocast(FY_CPU, .dtype = FY_FLOAT16) dtypes[1] = product_dtype(x, x);
    dtypes[2] = product_dtype(x, x);
  }
  return dtypes;
}

static void each_thread_has_its_own(void **state) {
  FyTensor *x = ones(FY_CPU_DEVICE, true);
  pthread_t thread;
  void *result;
  (void)state;
  fy_autocast(FY_CPU) {
    assert_int_equal(product_dtype(x, x), FY_BFLOAT16);
    assert_int_equal(pthread_create(&thread, NULL, other_thread, x), 0);
    pthread_join(thread, &result);
    assert_int_equal(product_dtype(x, x), FY_BFLOAT16);
  }
  const FyDType *dtypes = result;
  assert_int_equal(dtypes[0], FY_FLOAT32);
  assert_int_equal(dtypes[1], FY_FLOAT16);
  assert_int_equal(dtypes[2], FY_FLOAT32);
  free(result);
}

static void data_parallel_goes_on_with_it(void **state) {
  (void)state;
  if (fy_cuda_device_count() < 2) {
    print_message("needs two CUDA devices\n");
    skip();
  }
  FyModule *net = fy_module_to(fy_nn_linear(6, 4), fy_cuda_device(0));
  FyModule *parallel = fy_nn_data_parallel(net, ((int[]){0, 1}), 2);
  FyTensor *x = fy_randn(fy_shape(8, 6), .device = fy_cuda_device(0)), *y = NULL, *alone = NULL;
  for (int k = 0; k < 2; k++) {
    const FyDType dtype = k ? FY_BFLOAT16 : FY_FLOAT16;
    fy_autocast(FY_CUDA, .dtype = dtype) {
      y = fy_forward(parallel, x);
      alone = fy_forward(net, x);
    }
    assert_int_equal(fy_dtype_of(y), dtype);
    assert_true(fy_allclose(fy_cpu(fy_float(y)), fy_cpu(fy_float(alone)), 0, 0));
  }
  fy_backward(fy_sum(y));
  FyTensorList *parameters = fy_parameters(net);
  for (int i = 0; i < parameters->count; i++)
    assert_int_equal(fy_dtype_of(fy_grad(parameters->items[i])), FY_FLOAT32);
  assert_int_equal(fy_dtype_of(fy_forward(parallel, x)), FY_FLOAT32);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_by_name),
      cmocka_unit_test(defaults),
      cmocka_unit_test(a_region_and_what_is_after_it),
      cmocka_unit_test(by_device_type),
      cmocka_unit_test(an_error_leaves_as_if_nothing_had_been),
      cmocka_unit_test(what_it_does_not_take),
      cmocka_unit_test(a_parameter_is_cast_once),
      cmocka_unit_test(what_is_not_cached),
      cmocka_unit_test(a_change_is_not_seen_before_the_region_ends),
      cmocka_unit_test(gradients_through_the_cache),
      cmocka_unit_test(a_parameter_may_die_within),
      cmocka_unit_test(each_thread_has_its_own),
      cmocka_unit_test(data_parallel_goes_on_with_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
