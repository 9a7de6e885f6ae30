// SPDX-License-Identifier: MIT
// Profiles: which ranges there are, in which thread, what they add up to, and what belongs to whom.
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads
// tsan
#include "profile.h"

// ---- ranges --------------------------------------------------------------------------------------------------------------

static void a_training_step_has_these_rows(void **state) {
  (void)state;
  const Model m = model_on(FY_CPU_DEVICE);
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU) {
    for (int i = 0; i < 3; i++)
      train(&m);
  }
  const FyKeyAverages *a = fy_key_averages(prof);
  expect_calls(a, "fy::linear", 6);
  expect_calls(a, "fy::cross_entropy", 3);
  expect_calls(a, "fy::sgd_step_", 12);
  expect_calls(a, "backward", 3);
  expect_calls(a, "AddmmBackward0", 3); // the other is one op with its ReLU
  expect_calls(a, "ReluBackward0", 3);
  expect_calls(a, "AccumulateGrad", 12);
  expect_calls(a, "Optimizer.step", 3);
  expect_calls(a, "Optimizer.zero_grad", 3);
  expect_calls(a, "item", 3);
  assert_int_equal(a->dropped, 0);
  assert_false(fy_is_watched());
}

// By construction: whatever a range does not spend within others is its own.
static void self_times_add_up_to_the_root(void **state) {
  (void)state;
  const Model m = model_on(some_device());
  FyProfile *prof;
  struct timespec begin, end;
  fy_profile(prof, FY_PROFILE_CPU) {
    clock_gettime(CLOCK_MONOTONIC, &begin);
    fy_record_function("root") {
      for (int i = 0; i < 50; i++)
        train(&m);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
  }
  const FyKeyAverages *a = fy_key_averages(prof);
  const FyAverage *root = wanted(a, "root");
  expect_near(a->self_cpu_time_total, root->cpu_time_total, 1e-6 * root->cpu_time_total);
  double sum = 0, wall = (double)(end.tv_sec - begin.tv_sec) * 1e6 + (double)(end.tv_nsec - begin.tv_nsec) / 1e3;
  for (int i = 0; i < a->count; i++) {
    assert_true(a->rows[i].self_cpu_time_total >= 0);
    assert_true(a->rows[i].self_cpu_time_total <= a->rows[i].cpu_time_total + 1e-6);
    sum += a->rows[i].self_cpu_time_total;
  }
  expect_near(sum, root->cpu_time_total, 1e-6 * sum);
  assert_true(root->cpu_time_total <= wall);
}

static void ranges_nest(void **state) {
  (void)state;
  FyProfile *prof;
  char name[] = "outer";
  fy_profile(prof, FY_PROFILE_CPU) {
    fy_record_function(name) {
      name[0] = '?'; // the name was copied
      for (int i = 0; i < 4; i++)
        fy_record_function("inner") {
          fy_scope {
            fy_ones(fy_shape(3));
          }
        }
    }
  }
  const FyKeyAverages *a = fy_key_averages(prof);
  expect_calls(a, "outer", 1);
  expect_calls(a, "inner", 4);
  const FyAverage *outer = wanted(a, "outer"), *inner = wanted(a, "inner"), *fill = wanted(a, "fy::fill_");
  expect_near(outer->cpu_time_total, outer->self_cpu_time_total + inner->cpu_time_total, 1e-6);
  expect_near(inner->cpu_time_total, inner->self_cpu_time_total + fill->cpu_time_total, 1e-6);
}

static void deep_nesting_keeps_what_it_can(void **state) {
  (void)state;
  FyProfile *prof;
  int marks[200];
  fy_profile(prof, FY_PROFILE_CPU) {
    for (int i = 0; i < 200; i++)
      marks[i] = fy_record_function_enter("deep");
    for (int i = 200; i-- > 0;)
      fy_record_function_exit(marks[i]);
    fy_record_function("after") {
    }
  }
  const FyKeyAverages *a = fy_key_averages(prof);
  expect_calls(a, "deep", 128);
  expect_calls(a, "after", 1);
  assert_int_equal(a->dropped, 72);
}

// ---- threads -------------------------------------------------------------------------------------------------------------

static void threads_have_ranges_of_their_own(void **state) {
  (void)state;
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU, .profile_memory = true) {
    fy_record_function("main") {
      pthread_t threads[3];
      for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, i < 2 ? "worker" : "other"), 0);
      for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    }
  }
  const FyKeyAverages *a = fy_key_averages(prof);
  expect_calls(a, "worker", 40);
  expect_calls(a, "other", 20);
  expect_calls(a, "fy::add", 60);
  const FyAverage *row = wanted(a, "main");
  expect_near(row->self_cpu_time_total, row->cpu_time_total, 1e-6); // what others do is not within it
}

static atomic_bool going;

static void *keep_going(void *unused) {
  while (atomic_load(&going))
    work("busy");
  return unused;
}

// Profiles begin and end while another thread works: nothing is torn, and what is kept is whole.
static void threads_that_work_on(void **state) {
  (void)state;
  pthread_t thread;
  atomic_store(&going, true);
  assert_int_equal(pthread_create(&thread, NULL, keep_going, NULL), 0);
  for (int i = 0; i < 30; i++)
    fy_scope {
      FyProfile *prof;
      fy_profile(prof, FY_PROFILE_CPU, .record_shapes = true, .profile_memory = true) {
        work("mine");
      }
      const FyKeyAverages *a = fy_key_averages(prof, .group_by_input_shape = true);
      expect_calls(a, "mine", 20);
      for (int k = 0; k < a->count; k++)
        assert_true(a->rows[k].self_cpu_time_total >= 0);
    }
  atomic_store(&going, false);
  pthread_join(thread, NULL);
}

// ---- options -------------------------------------------------------------------------------------------------------------

static void shapes_flops_and_lines(void **state) {
  (void)state;
  FyProfile *prof;
  int line = 0;
  fy_profile(prof, FY_PROFILE_CPU, .record_shapes = true, .with_flops = true, .with_stack = true) {
    fy_scope {
      FyTensor *a = fy_ones(fy_shape(5, 13)), *b = fy_ones(fy_shape(13, 7)), *c = fy_ones(fy_shape(5, 7));
      line = __LINE__ + 1;
      fy_matmul(a, b);
      fy_matmul(fy_matmul(a, b), fy_ones(fy_shape(7, 2)));
      fy_mul(c, c);
      fy_conv2d(fy_ones(fy_shape(2, 3, 9, 9)), fy_ones(fy_shape(4, 3, 3, 3)), NULL);
    }
  }
  const FyKeyAverages *a = fy_key_averages(prof, .group_by_input_shape = true);
  const FyAverage *first = wanted(a, "fy::matmul");
  assert_string_equal(first->input_shapes, "[[5, 13], [13, 7]]");
  assert_int_equal(first->count, 2);
  expect_near(first->flops, 2 * 2.0 * 5 * 13 * 7, 0);
  assert_int_equal(first->line, line);
  assert_non_null(strstr(first->file, "test_profiler.c"));
  expect_near(wanted(a, "fy::mul")->flops, 35, 0);
  expect_near(wanted(a, "fy::conv2d")->flops, 2.0 * (2 * 4 * 7 * 7) * (3 * 3 * 3), 0);
  const FyKeyAverages *by_line = fy_key_averages(prof, .group_by_source = true);
  int rows = 0;
  for (int i = 0; i < by_line->count; i++)
    rows += strcmp(by_line->rows[i].key, "fy::matmul") == 0;
  assert_int_equal(rows, 2);
  expect_calls(fy_key_averages(prof), "fy::matmul", 3);
}

static void memory_belongs_to_who_asked(void **state) {
  (void)state;
  FyProfile *prof;
  FyTensor *kept = NULL;
  fy_profile(prof, FY_PROFILE_CPU, .profile_memory = true) {
    fy_record_function("allocates") {
      kept = fy_empty(fy_shape(1000));
    }
    fy_record_function("gives back") {
      fy_drop(kept);
    }
    fy_record_function("both") {
      fy_drop(fy_empty(fy_shape(500)));
    }
  }
  const FyKeyAverages *a = fy_key_averages(prof);
  assert_int_equal(wanted(a, "allocates")->cpu_memory_usage, 4000);
  assert_int_equal(wanted(a, "gives back")->cpu_memory_usage, -4000);
  assert_int_equal(wanted(a, "both")->cpu_memory_usage, 0);
}

static void activities_hide_what_was_not_asked_for(void **state) {
  (void)state;
  if (!fy_cuda_is_simulated()) {
    print_message("needs simulated devices\n");
    skip();
  }
  const Model m = model_on(some_device());
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU) {
    train(&m);
  }
  assert_null(row_of(fy_key_averages(prof), "cudaLaunchKernel"));
  expect_near(fy_key_averages(prof)->self_cuda_time_total, 0, 0);
  fy_profile(prof, FY_PROFILE_CUDA) {
    train(&m);
  }
  const FyKeyAverages *a = fy_key_averages(prof);
  wanted(a, "cudaLaunchKernel");
  assert_null(row_of(a, "fy::linear"));
}

// ---- devices -------------------------------------------------------------------------------------------------------------

static void device_time_belongs_to_the_op_that_launched(void **state) {
  (void)state;
  if (!fy_cuda_is_simulated()) {
    print_message("needs simulated devices\n");
    skip();
  }
  FyDevice device = some_device();
  FyTensor *x = fy_ones(fy_shape(300, 300), .device = device), *host = fy_ones(fy_shape(100));
  fy_synchronize(device);
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU | FY_PROFILE_CUDA) {
    fy_record_function("root") {
      fy_scope {
        fy_mul(x, x);
        fy_to(host, device);
        fy_item(fy_sum(x));
      }
    }
  }
  const FyKeyAverages *a = fy_key_averages(prof);
  assert_true(a->simulated);
  assert_true(wanted(a, "fy::mul")->self_cuda_time_total > 0);
  expect_calls(a, "Memcpy HtoD", 1);
  expect_calls(a, "Memcpy DtoH", 1);
  assert_true(wanted(a, "Memcpy HtoD")->on_device);
  expect_near(wanted(a, "fy::copy")->cuda_time_total, wanted(a, "Memcpy HtoD")->self_cuda_time_total, 1e-6);
  expect_near(wanted(a, "root")->cuda_time_total, a->self_cuda_time_total, 1e-6 * a->self_cuda_time_total);
  expect_near(wanted(a, "item")->self_cuda_time_total, wanted(a, "Memcpy DtoH")->self_cuda_time_total, 1e-6);
  const char *table = fy_key_averages_table(a);
  assert_non_null(strstr(table, "CUDA times are those of a simulated device, not of a GPU."));
  assert_non_null(strstr(table, "(simulated)"));
}

// What a graph repeats belongs to the range around the call that launched it.
static void a_graph_shows_its_launches_and_what_they_ran(void **state) {
  (void)state;
  if (!fy_cuda_is_simulated()) {
    print_message("needs simulated devices\n");
    skip();
  }
  FyDevice device = some_device();
  FyTensor *x = fy_ones(fy_shape(300, 300), .device = device);
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_cuda_graph_capture(graph) fy_sum(fy_mul(fy_add(x, x), x));
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU | FY_PROFILE_CUDA) {
    fy_record_function("replays") {
      for (int i = 0; i < 3; i++)
        fy_cuda_graph_replay(graph);
      fy_synchronize(device);
    }
    fy_add(x, x);
  }
  const FyKeyAverages *a = fy_key_averages(prof);
  int64_t ran = 0;
  for (int i = 0; i < a->count; i++)
    ran += a->rows[i].on_device ? a->rows[i].count : 0;
  expect_calls(a, "cudaGraphLaunch", 3);
  expect_calls(a, "cudaLaunchKernel", 1);
  assert_int_equal(ran, 3 * fy_cuda_graph_node_count(graph) + 1);
  const FyAverage *replays = wanted(a, "replays");
  assert_true(replays->self_cuda_time_total > 0);
  expect_near(a->self_cuda_time_total, replays->cuda_time_total + wanted(a, "fy::add")->self_cuda_time_total,
              1e-6 * a->self_cuda_time_total);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_training_step_has_these_rows),
      TEST(self_times_add_up_to_the_root),
      TEST(ranges_nest),
      TEST(deep_nesting_keeps_what_it_can),
      TEST(threads_have_ranges_of_their_own),
      TEST(threads_that_work_on),
      TEST(shapes_flops_and_lines),
      TEST(memory_belongs_to_who_asked),
      TEST(activities_hide_what_was_not_asked_for),
      TEST(device_time_belongs_to_the_op_that_launched),
      TEST(a_graph_shows_its_launches_and_what_they_ran),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
