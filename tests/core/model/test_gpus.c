// SPDX-License-Identifier: MIT
// The table of GPUs: every number is there, says where it is from, and agrees with the others.
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/gpu.h"
#include "model/kernel.h"

static void has_a_source(const char *gpu, const char *field, const struct model_value *v, int may_be_zero) {
  const int good = v->source && strlen(v->source) > 3 && (v->value > 0 || (may_be_zero && v->value == 0));
  if (!good)
    fail_msg("%s: %s is %g, from \"%s\"", gpu, field, v->value, v->source ? v->source : "nowhere");
}

static void every_number_has_a_source(void **state) {
  (void)state;
  for (int i = 0; i < model_gpu_count; i++) {
    const struct model_gpu *gpu = &model_gpus[i];
#define X(field, unit, what)                                                                                           \
  has_a_source(gpu->id, #field, &gpu->field, strcmp(#field, "tensor") == 0 || strcmp(#field, "l2") == 0);
    MODEL_GPU_VALUES(X)
#undef X
#define X(field, unit, what)                                                                                           \
  has_a_source(gpu->id, #field, &gpu->architecture->field, strcmp(#field, "int_beside") == 0);
    MODEL_ARCHITECTURE_VALUES(X)
#undef X
  }
}

static void ids_lead_to_their_gpu_alone(void **state) {
  (void)state;
  for (int i = 0; i < model_gpu_count; i++)
    assert_ptr_equal(model_gpu_named(model_gpus[i].id), &model_gpus[i]);
  assert_null(model_gpu_named("a1000"));
  assert_null(model_gpu_named(""));
  static const char *const asked[] = {"t4", "rtx4090", "a100", "h100", "a6000"};
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
    assert_true(model_gpu_can_be_simulated(model_gpu_named(asked[i])));
  assert_false(model_gpu_can_be_simulated(model_gpu_named("k20c")));
}

// Two transfers a cycle over the bus are the peak, but for rounded clocks.
static void bandwidth_agrees_with_clock_and_bus(void **state) {
  (void)state;
  for (int i = 0; i < model_gpu_count; i++) {
    const struct model_gpu *gpu = &model_gpus[i];
    const double peak = 2 * gpu->memory_clock.value * 1e6 * gpu->memory_bus.value / 8 / 1e9;
    if (fabs(peak / gpu->dram.value - 1) > 0.03)
      fail_msg("%s: %g GB/s by clock and bus, %g in the table", gpu->id, peak, gpu->dram.value);
    assert_true(gpu->dram_share.value > 0.5 && gpu->dram_share.value < 1);
  }
}

// FP32 peaks as data sheets state them, in TFLOP/s.
static void peaks_agree_with_data_sheets(void **state) {
  (void)state;
  static const struct {
    const char *id;
    double tflops;
  } sheets[] = {{"t4", 8.1}, {"a100", 19.5}, {"h100", 67}, {"a6000", 38.7}, {"rtx4090", 82.6}, {"l40", 90.5}};
  for (size_t i = 0; i < sizeof sheets / sizeof *sheets; i++) {
    const struct model_gpu *gpu = model_gpu_named(sheets[i].id);
    const double peak = 2 * gpu->sms.value * gpu->architecture->fp32_lanes.value * gpu->clock.value * 1e-6;
    assert_true(fabs(peak / sheets[i].tflops - 1) < 0.02);
  }
}

// As CUDA's occupancy functions give them on an A100: by threads, by blocks, by shared memory, by registers.
static void residency_is_cudas(void **state) {
  (void)state;
  const struct model_gpu *a100 = model_gpu_named("a100");
  assert_int_equal(model_resident_blocks(a100, 1024, 0, 0), 2);
  assert_int_equal(model_resident_blocks(a100, 32, 0, 0), 32);
  assert_int_equal(model_resident_blocks(a100, 33, 0, 0), 32);
  assert_int_equal(model_resident_blocks(a100, 256, 49152, 0), 3); // 164 KB / 49 KB
  assert_int_equal(model_resident_blocks(a100, 256, 0, 128), 2);
  assert_int_equal(model_resident_blocks(a100, 256, 0, 37), 6); // 40 registers a thread
  assert_int_equal(model_resident_blocks(a100, 256, 200 << 10, 0), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_number_has_a_source),
      cmocka_unit_test(ids_lead_to_their_gpu_alone),
      cmocka_unit_test(bandwidth_agrees_with_clock_and_bus),
      cmocka_unit_test(peaks_agree_with_data_sheets),
      cmocka_unit_test(residency_is_cudas),
  };
  return cmocka_run_group_tests_name("GPUs", tests, NULL, NULL);
}
