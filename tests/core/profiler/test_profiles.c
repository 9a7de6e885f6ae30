// SPDX-License-Identifier: MIT
// Profiles as a whole: schedules, tables, errors, traces for others, and what stays when it is off.
// run: FERRY_CUDA=off
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads
// tsan
#include "profile.h"

// ---- schedules -----------------------------------------------------------------------------------------------------------

typedef struct Seen {
  int calls;
  int64_t at[8], steps[8], adds[8], warm[8];
} Seen;

static void look(FyProfile *prof, void *context) {
  Seen *seen = context;
  const FyKeyAverages *a = fy_key_averages(prof);
  const FyAverage *adds = row_of(a, "fy::add"), *steps = row_of(a, "ProfilerStep*"), *warm = row_of(a, "fy::mul");
  seen->at[seen->calls] = fy_profile_step_num(prof);
  seen->adds[seen->calls] = adds ? adds->count : 0;
  seen->steps[seen->calls] = steps ? steps->count : 0;
  seen->warm[seen->calls] = warm ? warm->count : 0;
  seen->calls++;
}

// Step i makes i + 1 additions, and every first and second of a cycle of four a product.
static void step_of(int i) {
  fy_scope {
    FyTensor *x = fy_ones(fy_shape(2));
    for (int k = 0; k <= i; k++)
      fy_add(x, x);
    if (i % 4 < 2)
      fy_mul(x, x);
  }
}

static void a_schedule_records_its_active_steps(void **state) {
  (void)state;
  Seen seen = {0};
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU, .schedule = {.wait = 1, .warmup = 1, .active = 2}, .on_trace_ready = look,
             .context = &seen) {
    for (int i = 0; i < 9; i++) {
      step_of(i);
      fy_profile_step(prof);
    }
  }
  assert_int_equal(seen.calls, 2);
  assert_int_equal(seen.at[0], 4);
  assert_int_equal(seen.at[1], 8);
  assert_int_equal(seen.adds[0], 3 + 4);
  assert_int_equal(seen.adds[1], 7 + 8);
  assert_int_equal(seen.steps[0], 2);
  assert_int_equal(seen.warm[0] + seen.warm[1], 0);
}

static void a_schedule_repeats_and_skips(void **state) {
  (void)state;
  Seen seen = {0};
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU, .schedule = {.skip_first = 2, .warmup = 1, .active = 1, .repeat = 2},
             .on_trace_ready = look, .context = &seen) {
    for (int i = 0; i < 10; i++) {
      step_of(i);
      fy_profile_step(prof);
    }
  }
  assert_int_equal(seen.calls, 2);
  assert_int_equal(seen.adds[0], 4); // step 3
  assert_int_equal(seen.adds[1], 6); // step 5
}

// As in PyTorch: what was being recorded when the block ends is handed over, what was being warmed up is not.
static void a_loop_that_ends_early(void **state) {
  (void)state;
  for (int steps = 1; steps <= 4; steps++) {
    Seen seen = {0};
    FyProfile *prof;
    fy_profile(prof, FY_PROFILE_CPU, .schedule = {.wait = 1, .warmup = 1, .active = 2}, .on_trace_ready = look,
               .context = &seen) {
      for (int i = 0; i < steps; i++) {
        step_of(i);
        fy_profile_step(prof);
      }
    }
    assert_int_equal(seen.calls, steps >= 2);
    assert_int_equal(seen.adds[0], steps == 4 ? 7 : steps == 3 ? 3 : 0);
  }
}

static void without_a_schedule_steps_are_counted_only(void **state) {
  (void)state;
  Seen seen = {0};
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU, .on_trace_ready = look, .context = &seen) {
    for (int i = 0; i < 3; i++) {
      step_of(i);
      fy_profile_step(prof);
    }
  }
  assert_int_equal(seen.calls, 1);
  assert_int_equal(seen.adds[0], 6);
  assert_int_equal(seen.steps[0], 0);
  assert_int_equal(seen.at[0], 3);
}

// ---- tables --------------------------------------------------------------------------------------------------------------

static int lines_of(const char *text) {
  int n = 0;
  for (; *text; text++)
    n += *text == '\n';
  return n;
}

static void tables_are_sorted_and_cut(void **state) {
  (void)state;
  const Model m = model_on(FY_CPU_DEVICE);
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU) {
    fy_record_function("the whole") {
      train(&m);
    }
  }
  const FyKeyAverages *a = fy_key_averages(prof);
  const char *table = fy_key_averages_table(a, .sort_by = "cpu_time_total", .row_limit = 4);
  assert_int_equal(lines_of(table), 3 + 4 + 2);
  const char *third = table;
  for (int i = 0; i < 3; i++)
    third = strchr(third, '\n') + 1;
  char first[400];
  snprintf(first, sizeof first, "%.*s", (int)strcspn(third, "\n"), third);
  assert_non_null(strstr(first, "the whole"));
  assert_non_null(strstr(first, "100.00%"));
  assert_non_null(strstr(table, "Self CPU time total: "));
  assert_null(strstr(table, "CUDA"));
  const char *all = fy_key_averages_table(a);
  assert_int_equal(lines_of(all), 3 + a->count + 2);
  assert_raises_about(FY_VALUE_ERROR, "nothing to sort by is named 'time'",
                      fy_key_averages_table(a, .sort_by = "time"));
}

static void an_empty_profile(void **state) {
  (void)state;
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU) {
  }
  const FyKeyAverages *a = fy_key_averages(prof);
  assert_int_equal(a->count, 0);
  assert_string_equal(fy_key_averages_table(a), "");
}

// ---- errors --------------------------------------------------------------------------------------------------------------

static void an_error_within_ends_the_profile(void **state) {
  (void)state;
  Seen seen = {0};
  FyProfile *prof;
  FyError error;
  fy_trap(error) {
    fy_profile(prof, FY_PROFILE_CPU, .on_trace_ready = look, .context = &seen) {
      fy_record_function("half") {
        fy_add(fy_ones(fy_shape(2)), fy_ones(fy_shape(3)));
      }
    }
  }
  assert_int_equal(error.kind, FY_RUNTIME_ERROR);
  assert_int_equal(seen.calls, 0);
  assert_false(fy_is_watched());
  fy_profile(prof, FY_PROFILE_CPU) {
  }
}

static void an_error_trapped_within_ends_its_ranges(void **state) {
  (void)state;
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU) {
    fy_record_function("outer") {
      FyError error;
      fy_trap(error) {
        fy_record_function("half") {
          fy_add(fy_ones(fy_shape(2)), fy_ones(fy_shape(3)));
        }
      }
      assert_int_equal(error.kind, FY_RUNTIME_ERROR);
      fy_record_function("after") {
      }
    }
  }
  const FyKeyAverages *a = fy_key_averages(prof);
  expect_calls(a, "half", 1);
  expect_calls(a, "fy::add", 1);
  const FyAverage *outer = wanted(a, "outer");
  expect_near(a->self_cpu_time_total, outer->cpu_time_total, 1e-6 * outer->cpu_time_total);
  expect_near(outer->cpu_time_total,
              outer->self_cpu_time_total + wanted(a, "half")->cpu_time_total + wanted(a, "after")->cpu_time_total,
              1e-6 * outer->cpu_time_total);
}

static void mistakes(void **state) {
  (void)state;
  FyProfile *prof = NULL;
  assert_raises_about(FY_VALUE_ERROR, "Invalid profiler schedule arguments. Got wait=-1 (need >= 0)",
                      fy_profile_begin((FyProfileOptions){.schedule = {.wait = -1, .active = 1}}));
  assert_raises_about(FY_VALUE_ERROR, "active=0 (need > 0)",
                      fy_profile_begin((FyProfileOptions){.schedule = {.wait = 1}}));
  assert_raises(FY_VALUE_ERROR, "No valid profiler activities found",
                fy_profile_begin((FyProfileOptions){.activities = 8}));
  fy_profile(prof, FY_PROFILE_CPU) {
    assert_raises_about(FY_RUNTIME_ERROR, "one at a time", fy_profile_begin((FyProfileOptions){.activities = 0}));
    assert_raises_about(FY_RUNTIME_ERROR, "still records", fy_key_averages(prof));
    assert_raises_about(FY_RUNTIME_ERROR, "still records", fy_export_chrome_trace(prof, "/nowhere"));
  }
  assert_raises_about(FY_RUNTIME_ERROR, "within fy_profile's block", fy_profile_step(prof));
  assert_raises_about(FY_VALUE_ERROR, ".record_shapes = true", fy_key_averages(prof, .group_by_input_shape = true));
  assert_raises_about(FY_VALUE_ERROR, ".with_stack = true", fy_key_averages(prof, .group_by_source = true));
  assert_raises_about(FY_OS_ERROR, "/nowhere/trace.json", fy_export_chrome_trace(prof, "/nowhere/trace.json"));
}

static void off_nothing_is_kept(void **state) {
  (void)state;
  assert_int_equal(fy_record_function_enter("nobody"), 0);
  fy_record_function_exit(0);
  const Model m = model_on(FY_CPU_DEVICE);
  train(&m);
  FyProfile *prof;
  fy_profile(prof, FY_PROFILE_CPU) {
    train(&m);
  }
  train(&m);
  expect_calls(fy_key_averages(prof), "backward", 1);
}

// ---- traces --------------------------------------------------------------------------------------------------------------

static void a_trace_that_others_read(void **state) {
  (void)state;
  if (system("python3 -c '' 2>/dev/null") != 0)
    skip();
  if (fy_cuda_is_available() && !fy_cuda_is_simulated())
    skip();
  const Model m = model_on(some_device());
  char path[] = "/tmp/ferry-trace-XXXXXX", command[256];
  const int file = mkstemp(path);
  assert_true(file >= 0);
  FyProfile *prof;
  fy_profile(prof, 0, .record_shapes = true, .profile_memory = true, .with_stack = true, .with_flops = true) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, work, "a \"quoted\" \\ name, \xc3\xa9 and \xff\n"), 0);
    for (int i = 0; i < 3; i++)
      fy_record_function("step") {
        train(&m);
        fy_cpu(m.x);
      }
    pthread_join(thread, NULL);
  }
  fy_export_chrome_trace(prof, path);
  snprintf(command, sizeof command, "python3 tests/core/profiler/check_trace.py %s %s", path,
           fy_cuda_is_simulated() ? "simulated" : "none");
  assert_int_equal(system(command), 0);
  remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_schedule_records_its_active_steps),
      TEST(a_schedule_repeats_and_skips),
      TEST(a_loop_that_ends_early),
      TEST(without_a_schedule_steps_are_counted_only),
      TEST(tables_are_sorted_and_cut),
      TEST(an_empty_profile),
      TEST(an_error_within_ends_the_profile),
      TEST(an_error_trapped_within_ends_its_ranges),
      TEST(mistakes),
      TEST(off_nothing_is_kept),
      TEST(a_trace_that_others_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
