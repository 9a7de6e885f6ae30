// SPDX-License-Identifier: MIT
// Times from counts: limits known by hand, and that more work never takes less time.
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/kernel.h"

static void near(double value, double expected, double within) {
  if (fabs(value / expected - 1) > within)
    fail_msg("%g, not about %g", value, expected);
}

// ---- limits known by hand --------------------------------------------------------------------------------------------------

static void long_streams_take_what_memory_gives(void **state) {
  (void)state;
  for (int i = 0; i < model_gpu_count; i++) {
    const struct model_gpu *gpu = &model_gpus[i];
    const double bytes = 4e9, share = gpu->dram_share.value;
    const struct model_time both = model_streaming(gpu, bytes, bytes, bytes / 4);
    if (model_gpu_can_be_simulated(gpu)) {
      assert_int_equal(both.limit, MODEL_DRAM);
      near(2 * bytes / both.seconds, gpu->dram.value * 1e9 * share, 0.1);
    }
    assert_true(2 * bytes / both.seconds <= gpu->dram.value * 1e9 * share); // never beyond
    assert_true(model_streaming(gpu, 2 * bytes, 0, 0).seconds <= both.seconds);
  }
}

static void small_data_comes_from_the_l2_cache(void **state) {
  (void)state;
  const struct model_gpu *a100 = model_gpu_named("a100"); // 40 MiB
  const double cached = model_streaming(a100, 20e6, 0, 0).seconds, beyond = model_streaming(a100, 80e6, 0, 0).seconds;
  assert_true(beyond > 6 * cached);
  assert_int_equal(model_streaming(a100, 20e6, 0, 0).limit, MODEL_L2);
  near(model_streaming(a100, 0, 4, 0).seconds, a100->least.value * 1e-6, 0.01);
}

static void large_products_reach_a_known_share_of_the_peak(void **state) {
  (void)state;
  const double n = 8192, operations = 2 * n * n * n;
  near(operations / model_product(model_gpu_named("a100"), n, n, n, 1, MODEL_PRODUCT_FP32).seconds, 19.5e12, 0.15);
  const double half = operations / model_product(model_gpu_named("a100"), n, n, n, 1, MODEL_PRODUCT_HALF).seconds;
  assert_true(half > 200e12 && half < 312e12);
}

// One tile more than a wave holds costs a wave: 108 multiprocessors, tiles of 128 x 128.
static void products_go_by_waves_of_tiles(void **state) {
  (void)state;
  const struct model_gpu *a100 = model_gpu_named("a100");
  const double k = 8192;
  const double wave = model_product(a100, 128 * 108, 128, k, 1, MODEL_PRODUCT_FP32).seconds;
  const double more = model_product(a100, 128 * 109, 128, k, 1, MODEL_PRODUCT_FP32).seconds;
  const double two = model_product(a100, 128 * 216, 128, k, 1, MODEL_PRODUCT_FP32).seconds;
  assert_true(more > 1.03 * wave); // smaller tiles or a cut of k make up for some of it
  near(two, 2 * wave, 0.1);
  assert_true(model_product(a100, 0, 5, 5, 1, MODEL_PRODUCT_FP32).seconds == 0);
}

static void copies_take_the_link(void **state) {
  (void)state;
  const struct model_gpu *t4 = model_gpu_named("t4");
  near(1e9 / model_copy_seconds(t4, 1e9, 0), t4->link.value * 1e9, 0.01);
  near(1e9 / model_copy_seconds(t4, 1e9, 1), t4->pageable.value * 1e9, 0.01);
  assert_true(model_copy_seconds(t4, 0, 0) == 0);
  near(model_copy_seconds(t4, 4, 0), t4->copy_start.value * 1e-6, 0.01);
}

// Two GPUs send each other what there is, once; eight send 7 / 8 of it twice.
static void rings_take_the_link_between_gpus(void **state) {
  (void)state;
  const struct model_gpu *a100 = model_gpu_named("a100");
  near(1e9 / model_ring_seconds(a100, 1e9, 2), a100->peer.value * 1e9, 0.01);
  assert_true(model_ring_seconds(a100, 1, 8) > 3 * model_ring_seconds(a100, 1, 2));
}

// int32 as long as float32: on lanes of its own it costs what the norm adds, on float32's it comes on top.
static void integers_run_beside_float32_on_lanes_of_their_own(void **state) {
  (void)state;
  static const struct {
    const char *id;
    double ratio;
  } gpus[] = {{"v100", 1.26}, {"t4", 1.26}, {"a100", 1.26}, {"h100", 1.26}, {"rtx3080", 2},
              {"a6000", 2},   {"l40", 2},   {"rtx4090", 2}, {"k20c", 2}};
  for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
    const struct model_gpu *gpu = model_gpu_named(gpus[i].id);
    const struct model_architecture *a = gpu->architecture;
    struct model_counts c = {.blocks = 1e5, .threads = 256, .fp32 = 1e9};
    const double alone = model_kernel(gpu, &c).term[MODEL_ARITHMETIC];
    c.integer = c.fp32 * a->int_lanes.value / (a->fp32_lanes.value * a->fp32_share.value);
    const double both = model_kernel(gpu, &c).term[MODEL_ARITHMETIC];
    if (fabs(both / alone - gpus[i].ratio) > 0.01)
      fail_msg("%s: int32 and float32 take %g times float32 alone", gpu->id, both / alone);
  }
}

// Special functions have 16 lanes of their own: as long as float32, they cost what the norm adds.
static void special_functions_run_beside_float32(void **state) {
  (void)state;
  for (int i = 0; i < model_gpu_count; i++) {
    const struct model_gpu *gpu = &model_gpus[i];
    if (!model_gpu_can_be_simulated(gpu))
      continue;
    struct model_counts c = {.blocks = 1e5, .threads = 256, .special = 1e8};
    const struct model_time alone = model_kernel(gpu, &c);
    near(1e8 * 2 / (gpu->sms.value * gpu->clock.value * 1e6), alone.term[MODEL_ARITHMETIC], 0.01);
    c.fp32 = c.special * gpu->architecture->fp32_lanes.value * gpu->architecture->fp32_share.value / 16;
    near(model_kernel(gpu, &c).term[MODEL_ARITHMETIC] / alone.term[MODEL_ARITHMETIC], 1.26, 0.01);
  }
}

// Cycles of a load of so many cache lines, measured by gpu-benches: the first takes one, each further line a quarter.
static void a_request_to_many_lines_takes_longer(void **state) {
  (void)state;
  const struct model_gpu *a100 = model_gpu_named("a100");
  static const struct { double lines, cycles; } loads[] = {{1, 1}, {5.9, 2.2}, {32, 9.2}};
  for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
    const struct model_counts c = {
        .blocks = 1e5, .threads = 32, .loads = 1e8, .load_lines = 1e8 * loads[i].lines, .load_waves = 1e8};
    const double cycles = model_kernel(a100, &c).term[MODEL_L1] * a100->clock.value * 1e6 * a100->sms.value / 1e8;
    near(cycles, loads[i].cycles, 0.06);
  }
}

// Bytes that an SM reads from shared memory in a cycle: by requests of one wavefront, and of two.
static void shared_memory_gives_its_bytes_a_cycle(void **state) {
  (void)state;
  static const struct {
    const char *id;
    double bytes[2];
  } gpus[] = {{"v100", {128, 128}},       {"t4", {64, 64}},       {"gtx1650", {64, 64}},
              {"rtx2080super", {64, 64}}, {"a100", {128, 128}},   {"h100", {128, 128}},
              {"a6000", {64, 128}},       {"rtx3090", {64, 128}}, {"l40", {64, 128}}};
  for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
    for (int waves = 1; waves <= 2; waves++) {
      const struct model_gpu *gpu = model_gpu_named(gpus[i].id);
      const struct model_counts c = {
          .blocks = 1000 * gpu->sms.value, .threads = 256, .shared = 1e9, .shared_waves = 1e9 * waves};
      const double cycles = model_kernel(gpu, &c).term[MODEL_L1] * gpu->clock.value * 1e6 * gpu->sms.value;
      near(128 * c.shared_waves / cycles, gpus[i].bytes[waves - 1], 1e-6);
    }
}

// A block has 4 KB under way for each latency of the memory: 64 of them leave an A100's bandwidth unused, 1024 do not.
static void few_blocks_wait_for_memory(void **state) {
  (void)state;
  const struct model_gpu *a100 = model_gpu_named("a100");
  const double bytes = 256 << 20, all = model_streaming(a100, bytes, 0, 0).seconds;
  const struct model_time few = model_streaming_in(a100, 64, bytes, 0, 0);
  const double latency = a100->architecture->dram_latency.value / (a100->clock.value * 1e6);
  assert_int_equal(few.limit, MODEL_LATENCY);
  near(few.term[MODEL_LATENCY], bytes / (64 * 4096) * latency, 0.05);
  near(model_streaming_in(a100, 1024, bytes, 0, 0).seconds, all, 0.02);
  near(model_streaming_in(a100, 1e9, bytes, 0, 0).seconds, all, 1e-9);
  near(model_streaming_in(a100, 0, bytes, 0, 0).seconds, all, 1e-9);
  near(model_streaming_in(model_gpu_named("t4"), 64, bytes, 0, 0).seconds,
       model_streaming(model_gpu_named("t4"), bytes, 0, 0).seconds, 0.02); // less bandwidth
}

// ---- more work ---------------------------------------------------------------------------------------------------------------

static const struct model_counts ordinary = {.blocks = 50000,
                                             .threads = 256,
                                             .loads = 8e5,
                                             .load_sectors = 32e5,
                                             .load_lines = 8e5,
                                             .l1_misses = 32e5,
                                             .stores = 4e5,
                                             .store_sectors = 16e5,
                                             .store_lines = 4e5,
                                             .dram_reads = 1e8,
                                             .dram_writes = 5e7,
                                             .shared = 8e5,
                                             .shared_waves = 8e5,
                                             .fp32 = 4e6,
                                             .integer = 2e6,
                                             .branches = 4e5,
                                             .barriers = 4e5,
                                             .ways = 2};

// Each count in turn, far up: the kernel gets slower, by a limit that fits.
static void more_of_anything_is_slower(void **state) {
  (void)state;
  static const struct {
    size_t offset;
    const char *name;
    double up;
    enum model_limit limit;
  } counts[] = {
#define COUNT(field, up, limit) {offsetof(struct model_counts, field), #field, up, limit}
      COUNT(load_waves, 512, MODEL_L1),   COUNT(l1_misses, 32, MODEL_L2),        COUNT(store_sectors, 64, MODEL_L2),
      COUNT(dram_reads, 20, MODEL_DRAM),  COUNT(dram_writes, 20, MODEL_DRAM),    COUNT(shared_waves, 512, MODEL_L1),
      COUNT(shared_passes, 64, MODEL_L1), COUNT(atomic_hottest, 20, MODEL_L2),   COUNT(fp64, 512, MODEL_ARITHMETIC),
      COUNT(divisions, 200, MODEL_ISSUE), COUNT(special, 512, MODEL_ARITHMETIC), COUNT(branches, 4000, MODEL_ISSUE),
      COUNT(ways, 2000, MODEL_LATENCY),
#undef COUNT
  };
  for (int g = 0; g < model_gpu_count; g++) {
    const struct model_gpu *gpu = &model_gpus[g];
    const double before = model_kernel(gpu, &ordinary).seconds;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
      struct model_counts more = ordinary;
      double *count = (double *)((char *)&more + counts[i].offset);
      *count = (*count > 0 ? *count : 1e6) * counts[i].up;
      const struct model_time time = model_kernel(gpu, &more);
      if (!(time.seconds > 1.2 * before))
        fail_msg("%s: %g times %s takes %g of the time", gpu->id, counts[i].up, counts[i].name, time.seconds / before);
      if (strcmp(gpu->id, "a100") == 0 && time.limit != counts[i].limit)
        fail_msg("%s limits %s", model_limit_name(time.limit), counts[i].name);
    }
  }
}

// A sector of which 4 bytes are written costs more than a whole one; of which 28 are, hardly.
static void stores_of_parts_of_sectors_cost_more(void **state) {
  (void)state;
  const struct model_gpu *a100 = model_gpu_named("a100");
  struct model_counts c = ordinary;
  c.store_sectors = 32e6;
  c.store_bytes = 32 * 32e6;
  const double whole = model_kernel(a100, &c).term[MODEL_L2];
  c.store_bytes = 4 * 32e6;
  assert_true(model_kernel(a100, &c).term[MODEL_L2] > 1.8 * whole);
  c.store_bytes = 28 * 32e6;
  assert_true(model_kernel(a100, &c).term[MODEL_L2] < 1.4 * whole);
}

// Half the blocks on a multiprocessor at a time: latency counts twice.
static void fewer_resident_blocks_wait_longer(void **state) {
  (void)state;
  const struct model_gpu *a100 = model_gpu_named("a100");
  struct model_counts c = ordinary;
  c.ways = 40;
  const struct model_time all = model_kernel(a100, &c);
  assert_int_equal(all.resident, 8);
  c.shared_bytes = 38 << 10;
  const struct model_time half = model_kernel(a100, &c);
  assert_int_equal(half.resident, 4);
  near(half.term[MODEL_LATENCY], 2 * all.term[MODEL_LATENCY], 1e-9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(long_streams_take_what_memory_gives),
      cmocka_unit_test(small_data_comes_from_the_l2_cache),
      cmocka_unit_test(large_products_reach_a_known_share_of_the_peak),
      cmocka_unit_test(products_go_by_waves_of_tiles),
      cmocka_unit_test(copies_take_the_link),
      cmocka_unit_test(rings_take_the_link_between_gpus),
      cmocka_unit_test(integers_run_beside_float32_on_lanes_of_their_own),
      cmocka_unit_test(special_functions_run_beside_float32),
      cmocka_unit_test(a_request_to_many_lines_takes_longer),
      cmocka_unit_test(shared_memory_gives_its_bytes_a_cycle),
      cmocka_unit_test(few_blocks_wait_for_memory),
      cmocka_unit_test(more_of_anything_is_slower),
      cmocka_unit_test(stores_of_parts_of_sectors_cost_more),
      cmocka_unit_test(fewer_resident_blocks_wait_longer),
  };
  return cmocka_run_group_tests_name("times from counts", tests, NULL, NULL);
}
