// SPDX-License-Identifier: MIT
// The memory of CUDA graphs: pools of their own, shared ones, when it is given back, what statistics and blocks tell, and random
// orders of captures, replays, resets and other people's work.
//
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=threads FERRY_SIM_THREADS=4
// run: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=sync
// tsan
#include "expect.h"
#include "ferry.h"
#include <math.h>
#include <stdlib.h>

static FyDevice device;

static bool is_same(FyPoolId a, FyPoolId b) {
  return a.id[0] == b.id[0] && a.id[1] == b.id[1];
}

// Bytes of a device's blocks in a pool: all of them, or those in use.
static size_t bytes_in(FyPoolId pool, bool used) {
  static FyMemoryBlock blocks[4096];
  size_t count = fy_memory_blocks(device, blocks, 4096), bytes = 0;
  for (size_t i = 0; i < count; i++)
    if (is_same(blocks[i].pool, pool) && (!used || blocks[i].state == FY_MEMORY_ACTIVE_ALLOCATED))
      bytes += blocks[i].size;
  return bytes;
}

static int nothing_is_held(void **state) {
  (void)state;
  fy_empty_cache();
  if (fy_memory_reserved(device) == 0)
    return 0;
  print_message("%zu bytes are held\n", fy_memory_reserved(device));
  return -1;
}

#define TEST(name)                                                                                                     \
  static void name##_body(void);                                                                                       \
  static void name(void **state) {                                                                                     \
    (void)state;                                                                                                       \
    fy_scope                                                                                                           \
      name##_body();                                                                                                   \
  }                                                                                                                    \
  static void name##_body(void)

// NaN wherever the cache would give memory out.
static void spoil_free_memory(void) {
  fy_scope {
    for (int i = 0; i < 40; i++)
      fy_fill_(fy_empty(fy_shape(1 << (4 + i % 16)), .device = device), NAN);
  }
}

// ---- what a pool is ----------------------------------------------------------------------------------------------------

TEST(dead_tensors_keep_their_memory) {
  FyTensor *x = fy_zeros(fy_shape(1000), .device = device), *y = NULL;
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_cuda_graph_capture(graph) {
    fy_scope {
      y = x;
      for (int i = 0; i < 10; i++)
        y = fy_add(fy_mul_scalar(y, 2), fy_add_scalar(x, 1));
      fy_keep(y);
    }
  }
  for (int i = 0; i < 3; i++) {
    float want = 0, in = (float)i;
    spoil_free_memory();
    fy_fill_(x, i);
    want = in;
    for (int k = 0; k < 10; k++)
      want = 2 * want + in + 1;
    fy_cuda_graph_replay(graph);
    spoil_free_memory();
    assert_true((float)fy_item(fy_min(y)) == want && (float)fy_item(fy_max(y)) == want);
  }
}

TEST(blocks_and_statistics_tell_of_it) {
  FyTensor *x = fy_zeros(fy_shape(1 << 20), .device = device), *y = NULL;
  fy_zeros(fy_shape(1), .device = device); // a segment for small blocks: each graph's place among random numbers is one
  FyCudaGraph *graph = fy_cuda_graph_new();
  size_t before = fy_memory_reserved(device);
  fy_record_memory_history(true);
  fy_cuda_graph_capture(graph) {
    fy_scope
      y = fy_keep(fy_add_scalar(fy_add_scalar(x, 1), 1));
  }
  static FyMemoryEvent events[256];
  size_t count = fy_memory_history(device, events, 256), in_pool = 0;
  FyPoolId pool = fy_cuda_graph_pool(graph);
  for (size_t i = 0; i < count; i++)
    in_pool += is_same(events[i].pool, pool);
  fy_record_memory_history(false);
  assert_int_equal(pool.id[1], 0);
  assert_int_not_equal(pool.id[0], 0);
  assert_int_equal(in_pool, 1 + 2 + 2); // a segment, two blocks, one of them freed
  assert_int_equal(bytes_in(pool, true), 4 * MIB);
  assert_int_equal(fy_memory_reserved(device) - before, bytes_in(pool, false));
  size_t reserved = fy_memory_reserved(device);
  fy_drop(y);
  assert_int_equal(bytes_in(pool, true), 0);
  fy_empty_cache(); // it is the graph's
  assert_int_equal(fy_memory_reserved(device), reserved);
  fy_cuda_graph_reset(graph);
  assert_int_equal(fy_memory_reserved(device), reserved);
  fy_empty_cache();
  assert_int_equal(bytes_in(pool, false), 0);
  assert_int_equal(fy_memory_reserved(device), before);
}

TEST(a_tensor_outlives_its_graph) {
  FyTensor *x = fy_ones(fy_shape(100), .device = device), *y = NULL;
  fy_scope {
    FyCudaGraph *graph = fy_cuda_graph_new();
    fy_cuda_graph_capture(graph) y = fy_retain(fy_add_scalar(x, 2));
    fy_cuda_graph_replay(graph);
  }
  fy_empty_cache();
  spoil_free_memory();
  assert_true(fy_item(fy_sum(y)) == 300);
  fy_release(y);
}

static FyTensor *add_twice_and_sum(FyTensor *x) {
  FyTensor *sum = NULL;
  fy_scope
    sum = fy_keep(fy_sum(fy_add_scalar(fy_add_scalar(x, 1), 1)));
  return sum;
}

TEST(graphs_share_a_pool) {
  FyTensor *x = fy_zeros(fy_shape(6 << 20), .device = device), *first = NULL, *second = NULL;
  FyCudaGraph *a = fy_cuda_graph_new(), *b = fy_cuda_graph_new(), *apart = fy_cuda_graph_new();
  fy_cuda_graph_capture(a) {
    first = add_twice_and_sum(x);
  }
  size_t reserved = fy_memory_reserved(device);
  fy_cuda_graph_capture(b, .pool = fy_cuda_graph_pool(a)) {
    second = add_twice_and_sum(x);
  }
  assert_true(is_same(fy_cuda_graph_pool(a), fy_cuda_graph_pool(b)));
  assert_int_equal(fy_memory_reserved(device), reserved);
  FyTensor *third = NULL;
  fy_cuda_graph_capture(apart) {
    third = add_twice_and_sum(x);
  }
  assert_true(fy_memory_reserved(device) >= reserved + 48 * MIB);
  for (int i = 0; i < 3; i++) {
    fy_fill_(x, i);
    fy_cuda_graph_replay(a);
    fy_cuda_graph_replay(b);
    fy_cuda_graph_replay(apart);
    assert_true(fy_item(first) == (6 << 20) * (double)(i + 2));
    assert_true(fy_item(second) == (6 << 20) * (double)(i + 2));
    assert_true(fy_item(third) == (6 << 20) * (double)(i + 2));
  }
  fy_cuda_graph_reset(a);
  fy_empty_cache();
  spoil_free_memory();
  fy_cuda_graph_replay(b); // still its memory
  assert_true(fy_item(second) == (6 << 20) * 4.0);
  size_t both = fy_memory_reserved(device);
  fy_drop(first);
  fy_drop(second);
  fy_cuda_graph_reset(b);
  fy_empty_cache();
  assert_true(fy_memory_reserved(device) <= both - 48 * MIB);
}

TEST(a_pool_of_the_callers) {
  FyPoolId pool = fy_cuda_graph_pool_handle(), other = fy_cuda_graph_pool_handle();
  FyTensor *x = fy_zeros(fy_shape(10), .device = device);
  FyCudaGraph *a = fy_cuda_graph_new(), *b = fy_cuda_graph_new();
  assert_int_equal(pool.id[0], 0);
  assert_false(is_same(pool, other));
  fy_cuda_graph_capture(a, .pool = pool) {
    fy_add_scalar(x, 1);
    expect_error(FY_RUNTIME_ERROR, "beginAllocateToPool: already recording to mempool_id",
                 fy_cuda_graph_capture(b, .pool = pool, .stream = fy_stream_new(device, 0)){});
  }
  assert_true(is_same(fy_cuda_graph_pool(a), pool));
  assert_true(bytes_in(pool, false) > 0);
  fy_cuda_graph_reset(a);
  fy_cuda_graph_capture(a, .pool = pool) fy_add_scalar(x, 1); // used again after its last graph
  fy_cuda_graph_replay(a);
}

TEST(other_streams_use_the_common_pool) {
  FyTensor *x = fy_zeros(fy_shape(10), .device = device), *own = NULL, *others = NULL;
  FyStream *side = fy_stream_new(device, 0);
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_stream_guard(side)
    fy_drop(fy_zeros(fy_shape(1000), .device = device)); // a block for later
  fy_cuda_graph_capture(graph, .error_mode = FY_CAPTURE_ERRORS_RELAXED) {
    fy_stream_guard(side)
      others = fy_ones(fy_shape(1000), .device = device); // runs now
    own = fy_add_scalar(x, 1);
  }
  assert_int_equal(bytes_in(fy_cuda_graph_pool(graph), true), 512);
  fy_stream_synchronize(side);
  assert_true(fy_item(fy_sum(others)) == 1000);
  fy_cuda_graph_replay(graph);
  assert_true(fy_item(fy_sum(own)) == 10);
}

// Blocks that other streams have used are freed while nothing may be asked of events.
TEST(frees_during_a_capture_wait_for_its_end) {
  FyStream *side = fy_stream_new(device, 0);
  FyTensor *x = fy_zeros(fy_shape(10), .device = device);
  FyTensor *used = fy_zeros(fy_shape(5000), .device = device), *pinned = fy_pin_memory(fy_ones(fy_shape(10)));
  fy_synchronize(device);
  fy_stream_guard(side) {
    fy_record_stream(used, side);
    fy_fill_(used, 1);
    fy_to(pinned, device, .non_blocking = true);
  }
  FyCudaGraph *graph = fy_cuda_graph_new();
  int64_t active = fy_memory_stats(device).active_blocks;
  fy_cuda_graph_capture(graph) {
    fy_add_scalar(x, 1);
    fy_drop(used);
    fy_drop(pinned);
    fy_pin_memory(fy_ones(fy_shape(10)));
    for (int i = 0; i < 5; i++)
      fy_add_scalar(x, 1);
    assert_int_equal(fy_memory_stats(device).active_blocks,
                     active + 6 + 1); // and the graph's place among random numbers
  }
  for (int i = 0; i < 2; i++) { // the allocator makes the marks, and sees that they have passed
    fy_scope
      fy_zeros(fy_shape(10), .device = device);
    fy_synchronize(device);
  }
  fy_scope
    fy_zeros(fy_shape(10), .device = device);
  assert_int_equal(fy_memory_stats(device).active_blocks, active + 6 + 1 - 1);
}

// The same for blocks that the capturing stream itself has used: a mark in it would be no mark, but a part of the graph.
TEST(frees_of_what_the_capture_uses) {
  FyTensor *x = fy_ones(fy_shape(5000), .device = device), *y = NULL;
  FyTensor *used = fy_ones(fy_shape(5000), .device = device), *pinned = fy_pin_memory(fy_ones(fy_shape(5000)));
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_cuda_graph_capture(graph) {
    fy_record_stream(used, fy_current_stream(device));
    fy_drop(used);
    fy_scope {
      fy_to(pinned, device, .non_blocking = true);
    }
    fy_drop(pinned);
    y = fy_add(x, x);
  }
  for (int i = 0; i < 3; i++)
    fy_scope {
      fy_pin_memory(fy_ones(fy_shape(5000)));
      assert_true(fy_item(fy_sum(fy_ones(fy_shape(5000), .device = device))) == 5000);
    }
  fy_drop(y);
}

TEST(the_cache_is_given_back_first) {
  FyTensor *x = fy_ones(fy_shape(10), .device = device);
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_drop(fy_empty(fy_shape(64 << 20), .device = device));
  assert_true(fy_memory_reserved(device) > 256 * MIB);
  fy_cuda_graph_capture(graph) {
    fy_add(x, x);
  }
  assert_true(fy_memory_reserved(device) < 32 * MIB);
}

TEST(running_out_of_memory_leaves_the_capture_as_it_is) {
  FyTensor *x = fy_ones(fy_shape(10), .device = device), *y = NULL;
  FyTensor *cached = fy_empty(fy_shape(8 << 20), .device = device);
  FyCudaGraph *graph = fy_cuda_graph_new();
  fy_cuda_graph_capture(graph) {
    fy_drop(cached); // cudaFree could have it, if it were allowed now
    expect_error(FY_OUT_OF_MEMORY_ERROR, "CUDA out of memory", fy_empty(fy_shape((int64_t)1 << 40), .device = device));
    fy_empty_cache();
    y = fy_add(x, x);
  }
  fy_cuda_graph_replay(graph);
  assert_true(fy_item(fy_sum(y)) == 20);
}

TEST(memory_that_cannot_be_had_during_a_capture) {
  FyTensor *x = fy_zeros(fy_shape(10), .device = device), *y = NULL;
  FyCudaGraph *graph = fy_cuda_graph_new();
  expect_error(
      FY_OUT_OF_MEMORY_ERROR, "CUDA out of memory. Tried to allocate", fy_cuda_graph_capture(graph) {
        fy_add_scalar(x, 1);
        fy_empty(fy_shape((int64_t)1 << 40), .device = device);
      });
  fy_cuda_graph_capture(graph) y = fy_add_scalar(x, 1);
  fy_cuda_graph_replay(graph);
  assert_true(fy_item(fy_sum(y)) == 10);
}

// ---- random orders -----------------------------------------------------------------------------------------------------

enum { GRAPHS = 6, POOLS = 3, ROUNDS = 400, NOISE = 8, MOST_OPS = 12 };

typedef struct Program {
  FyCudaGraph *graph;
  FyTensor *x, *y; // counted; y: the output
  int pool, order; // of its pool's captures
  int count;
  float factor[MOST_OPS], term[MOST_OPS];
} Program;

static unsigned seed;

static int below(int n) {
  return (int)((unsigned)rand_r(&seed) % (unsigned)n);
}

static FyTensor *run(const Program *p) {
  FyTensor *y = p->x;
  fy_scope {
    for (int i = 0; i < p->count; i++) {
      y = fy_add_scalar(fy_mul_scalar(y, (double)p->factor[i]), (double)p->term[i]);
      if (i % 3 == 0)
        y = fy_add(y, fy_zeros_like(y));
    }
    fy_keep(y);
  }
  return y;
}

static float expected(const Program *p, float x) {
  for (int i = 0; i < p->count; i++)
    x = x * p->factor[i] + p->term[i];
  return x;
}

static void forget(Program *p) {
  fy_release(p->x);
  fy_release(p->y);
  fy_release(p->graph);
  *p = (Program){0};
}

// A capture that comes to nothing.
static void fail_to_capture(const Program *p, FyPoolId pool) {
  FyError error;
  fy_trap(error) {
    fy_scope {
      fy_cuda_graph_capture(p->graph, .pool = pool) {
        run(p);
        fy_synchronize(fy_device_of(p->x));
      }
    }
  }
  assert_int_equal(error.kind, FY_RUNTIME_ERROR);
}

static void capture(Program *p, const FyPoolId *pools, int *order) {
  FyDevice on = fy_cuda_device(below(2) && fy_cuda_device_count() > 1);
  forget(p);
  p->pool = below(POOLS + 1); // the last: one of its own
  p->order = ++*order;
  p->count = 1 + below(MOST_OPS);
  for (int i = 0; i < p->count; i++) {
    p->factor[i] = (float)(below(3) - 1);
    p->term[i] = (float)below(9);
  }
  fy_cuda_device_guard(on.index)
    fy_scope {
      FyPoolId pool = p->pool < POOLS ? pools[p->pool] : (FyPoolId){{0, 0}};
      p->x = fy_retain(fy_zeros(fy_shape(1 << below(18)), .device = on));
      p->graph = fy_retain(fy_cuda_graph_new());
      if (below(4) == 0)
        fail_to_capture(p, pool);
      fy_cuda_graph_capture(p->graph, .pool = pool) {
        p->y = fy_retain(run(p));
      }
    }
}

// With the graphs of its pool that were captured before it, in that order, as a shared pool demands.
static void replay(Program *all, Program *p, FyStream *const *streams) {
  float value = (float)below(100);
  FyDevice on = fy_device_of(p->x);
  FyStream *stream = below(2) ? streams[on.index] : fy_default_stream(on);
  fy_stream_wait_stream(stream, fy_current_stream(on));
  fy_stream_guard(stream)
    fy_scope {
      for (int order = 1; order <= p->order; order++)
        for (int i = 0; i < GRAPHS; i++)
          if (all[i].graph && all[i].order == order && (&all[i] == p || (all[i].pool == p->pool && p->pool < POOLS)) &&
              fy_device_equal(fy_device_of(all[i].x), on)) {
            fy_fill_(all[i].x, (double)value);
            fy_cuda_graph_replay(all[i].graph);
          }
      float want = expected(p, value);
      if (!((float)fy_item(fy_min(p->y)) == want && (float)fy_item(fy_max(p->y)) == want))
        fail_msg("a replay of %d ops gave %g to %g for %g, not %g", p->count, fy_item(fy_min(p->y)),
                 fy_item(fy_max(p->y)), (double)value, (double)want);
    }
  fy_stream_wait_stream(fy_current_stream(on), stream);
}

TEST(captures_replays_and_resets_in_any_order) {
  Program programs[GRAPHS] = {{0}};
  FyPoolId pools[POOLS];
  FyTensor *noise[NOISE] = {NULL};
  int devices = fy_cuda_device_count(), order = 0;
  FyStream *streams[FY_MAX_DEVICES];
  for (int d = 0; d < devices; d++)
    streams[d] = fy_stream_new(fy_cuda_device(d), 0);
  for (int i = 0; i < POOLS; i++)
    pools[i] = fy_cuda_graph_pool_handle();
  seed = 99;
  for (int round = 0; round < ROUNDS; round++)
    fy_scope {
      Program *p = &programs[below(GRAPHS)];
      int which = below(NOISE);
      switch (below(8)) {
      case 0:
        capture(p, pools, &order);
        break;
      case 1:
        if (below(3) == 0)
          forget(p);
        break;
      case 2:
        fy_release(noise[which]);
        noise[which] = fy_retain(fy_full(NAN, fy_shape(1 << below(20)), .device = fy_cuda_device(below(2) % devices)));
        break;
      case 3:
        fy_empty_cache();
        break;
      default:
        if (p->graph)
          replay(programs, p, streams);
      }
    }
  for (int i = 0; i < GRAPHS; i++)
    forget(&programs[i]);
  for (int i = 0; i < NOISE; i++)
    fy_release(noise[i]);
  fy_empty_cache();
  for (int d = 0; d < devices; d++)
    assert_int_equal(fy_memory_reserved(fy_cuda_device(d)), 0);
}

static int set_up(void **state) {
  (void)state;
  device = fy_cuda_device(0);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(dead_tensors_keep_their_memory, nothing_is_held),
      cmocka_unit_test_teardown(blocks_and_statistics_tell_of_it, nothing_is_held),
      cmocka_unit_test_teardown(a_tensor_outlives_its_graph, nothing_is_held),
      cmocka_unit_test_teardown(graphs_share_a_pool, nothing_is_held),
      cmocka_unit_test_teardown(a_pool_of_the_callers, nothing_is_held),
      cmocka_unit_test_teardown(other_streams_use_the_common_pool, nothing_is_held),
      cmocka_unit_test_teardown(frees_during_a_capture_wait_for_its_end, nothing_is_held),
      cmocka_unit_test_teardown(frees_of_what_the_capture_uses, nothing_is_held),
      cmocka_unit_test_teardown(the_cache_is_given_back_first, nothing_is_held),
      cmocka_unit_test_teardown(running_out_of_memory_leaves_the_capture_as_it_is, nothing_is_held),
      cmocka_unit_test_teardown(memory_that_cannot_be_had_during_a_capture, nothing_is_held),
      cmocka_unit_test_teardown(captures_replays_and_resets_in_any_order, nothing_is_held),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
