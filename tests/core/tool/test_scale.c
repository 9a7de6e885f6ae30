// SPDX-License-Identifier: MIT
// Scaling on paper: the formulas against values worked out by hand, against the same schedule message by message in random cases,
// and against published figures; buckets and numbers of parameters against PyTorch's.
// run:
#include "tool/scale/scale.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint64_t state = 1;

static double uniform(double from, double to) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return from + (to - from) * (double)(state >> 11) / 9007199254740992.0;
}

static double spread(double from, double to) { // even on a logarithmic scale
  return exp(uniform(log(from), log(to)));
}

static void assert_near(double value, double want, double relative) {
  if (!(fabs(value - want) <= relative * fabs(want)))
    fail_msg("%.9g in place of %.9g", value, want);
}

// ---- by hand -------------------------------------------------------------------------------------------------------------

static void test_ring(void **unused) {
  (void)unused;
  const ScaleLink link = {1e-6, 1e-9};
  assert_near(scale_ring(1, link, 8000), 0, 0);
  assert_near(scale_ring(2, link, 8000), 2 * (1e-6 + 4e-6), 1e-12);
  assert_near(scale_ring(4, link, 8000), 6 * (1e-6 + 2e-6), 1e-12);
  // Bytes that a GPU sends: 2 (n - 1) / n of the data.
  assert_near(scale_ring(1000, (ScaleLink){0, 1}, 1e6), 2 * 999e3, 1e-12);
}

static void test_tree(void **unused) {
  (void)unused;
  const ScaleLink link = {1e-6, 1e-9};
  assert_near(scale_tree(1, link, 8000), 0, 0);
  // One chunk in each tree: up to the other, and down again.
  assert_near(scale_tree(2, link, 8000), 2 * (1e-6 + 4e-6), 1e-12);
  // Latency grows with the logarithm: 9 levels up and 9 down for 1023, where a ring has 2044 steps.
  assert_near(scale_tree(1023, (ScaleLink){1, 0}, 8000), 18, 1e-12);
  // Bytes: two times the data for the busiest, however many there are.
  assert_near(scale_tree(512, (ScaleLink){0, 1}, 1e9), 2e9, 0.01);
}

static void test_levels(void **unused) {
  (void)unused;
  ScaleCluster c = {3, 4, {1e-6, 1e-9}, {1e-5, 1e-8}, 1e-4};
  // 3 + 3 steps of a quarter within a node, 4 of a third of a quarter between nodes, and the call.
  double want = 1e-4 + 6 * (1e-6 + 3000e-9) + 4 * (1e-5 + 1000e-8);
  assert_near(scale_all_reduce(&c, SCALE_RING, 12000), want, 1e-12);
  c = (ScaleCluster){1, 4, {1e-6, 1e-9}, {1, 1}, 1e-4};
  assert_near(scale_all_reduce(&c, SCALE_RING, 12000), 1e-4 + 6 * (1e-6 + 3000e-9), 1e-12);
  c.per_node = 1;
  assert_near(scale_all_reduce(&c, SCALE_BEST, 12000), 0, 0);
}

static void test_clusters(void **unused) {
  (void)unused;
  ScaleCluster c;
  const ScaleHardware node = {.alpha = 1e-6, .rate = 100e9}, network = {.alpha = 1e-5, .rate = 10e9};
  assert_true(scale_cluster(&c, 24, 8, &node, &network, 4)); // 8 GPUs share 40 GB/s
  assert_true(c.nodes == 3 && c.per_node == 8);
  assert_near(1 / c.net.beta, 5e9, 1e-12);
  assert_near(1 / c.node.beta, 100e9, 1e-12);
  assert_near(c.net.alpha, 1e-5, 0);
  assert_near(c.node.alpha, 1e-6, 0);
  assert_true(scale_cluster(&c, 6, 8, &node, &network, 1));
  assert_true(c.nodes == 1 && c.per_node == 6);
  assert_false(scale_cluster(&c, 12, 8, &node, &network, 1));
  assert_false(scale_cluster(&c, 0, 8, &node, &network, 1));
  for (int i = 0; scale_network_at(i); i++) // 12 of 12.5 GB/s for 100 Gbit/s, as the description has it
    assert_near(scale_network_at(i)->rate, 0.96 * 1e9 / 8 * atof(strchr(scale_network_at(i)->about, ',') + 1), 1e-12);
  ScaleStep step = {.rest = 1};
  scale_divide(&step, 3);
  assert_near(step.forward, 1, 1e-12);
  assert_near(step.backward, 2, 1e-12);
  assert_near(step.rest, 0, 0);
}

static void test_overlap(void **unused) {
  (void)unused;
  const ScaleCluster c = {1, 2, {0, 1e-9}, {0, 1e-9}, 0}; // an all-reduce takes 1 ns a byte
  const ScaleBucket buckets[] = {{3e6, 0.5}, {4e6, 0.75}, {1e6, 1}};
  ScaleStep step = {.forward = 10e-3, .backward = 8e-3, .rest = 2e-3, .bucket_count = 3, .buckets = buckets};
  // Ready at 14, 16, 18 ms; sent 14 to 17, 17 to 21, 21 to 22; then the rest.
  ScaleResult r = scale_step(&c, SCALE_RING, &step);
  assert_near(r.seconds, 24e-3, 1e-12);
  assert_near(r.communication, 8e-3, 1e-12);
  assert_near(r.exposed, 4e-3, 1e-12);
  assert_near(r.efficiency, 20.0 / 24, 1e-12);
  assert_near(scale_step_by_events(&c, SCALE_RING, &step), 24e-3, 1e-12);
  step.bucket_count = 1; // hidden
  r = scale_step(&c, SCALE_RING, &step);
  assert_near(r.seconds, 20e-3, 1e-12);
  assert_near(r.efficiency, 1, 1e-12);
  step.bucket_count = 0;
  assert_near(scale_step(&c, SCALE_RING, &step).efficiency, 1, 0);
  assert_near(scale_step_by_events(&c, SCALE_RING, &step), 20e-3, 1e-12);
}

// ---- message by message ----------------------------------------------------------------------------------------------------

static ScaleCluster random_cluster(void) {
  return (ScaleCluster){.nodes = (int)uniform(1, 9),
                        .per_node = (int)uniform(1, 9),
                        .node = {spread(1e-6, 1e-5), 1 / spread(5e9, 700e9)},
                        .net = {spread(1e-6, 5e-5), 1 / spread(1e8, 5e10)},
                        .call = spread(1e-6, 2e-5)};
}

// A ring's steps are alike on all GPUs, so the formula is exact but for parts that are no whole bytes.
static void test_ring_by_events(void **unused) {
  (void)unused;
  for (int i = 0; i < 1000; i++) {
    ScaleCluster c = random_cluster();
    ScaleBucket bucket = {floor(spread(1e5, 3e7)), uniform(0, 1)};
    ScaleStep step = {.forward = 1e-3, .backward = 2e-3, .bucket_count = 1, .buckets = &bucket};
    assert_near(scale_step(&c, SCALE_RING, &step).seconds, scale_step_by_events(&c, SCALE_RING, &step), 2e-3);
    double n = c.nodes * c.per_node;
    bucket.bytes = n * floor(bucket.bytes / n); // no remainders: nothing is left of the difference
    assert_near(scale_step(&c, SCALE_RING, &step).seconds, scale_step_by_events(&c, SCALE_RING, &step), 1e-9);
  }
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// A tree's chunks wait for each other, which the formula describes roughly: nine in ten cases within 8 %, all within 30.
static void test_tree_by_events(void **unused) {
  (void)unused;
  enum { CASES = 1000 };
  static double off[CASES];
  for (int i = 0; i < CASES; i++) {
    ScaleCluster c = {.nodes = (int)uniform(2, 65), .per_node = 1, .net = {spread(1e-6, 5e-5), 1 / spread(1e8, 5e10)}};
    ScaleBucket bucket = {floor(spread(1e3, 3e7)), 0};
    ScaleStep step = {.bucket_count = 1, .buckets = &bucket};
    off[i] = fabs(scale_step(&c, SCALE_TREE, &step).seconds / scale_step_by_events(&c, SCALE_TREE, &step) - 1);
  }
  qsort(off, CASES, sizeof off[0], by_size);
  print_message("tree: half of the cases within %.1f %%, 9 of 10 within %.1f %%, all within %.1f %%\n",
                100 * off[CASES / 2], 100 * off[CASES * 9 / 10], 100 * off[CASES - 1]);
  assert_true(off[CASES * 9 / 10] < 0.08);
  assert_true(off[CASES - 1] < 0.30);
}

// Whole steps: efficiency in points.
static void test_steps_by_events(void **unused) {
  (void)unused;
  enum { CASES = 600 };
  static double off[3][CASES];
  for (int i = 0; i < CASES; i++) {
    ScaleCluster c = random_cluster();
    ScaleBucket buckets[8];
    ScaleStep step = {.rest = spread(1e-4, 1e-2), .bucket_count = (int)uniform(1, 9), .buckets = buckets};
    step.forward = spread(1e-3, 0.2);
    step.backward = step.forward * uniform(1, 3);
    for (int b = 0; b < step.bucket_count; b++)
      buckets[b] = (ScaleBucket){floor(spread(1e4, 2e7)), (b + 1.0) / step.bucket_count};
    for (int a = 0; a < 3; a++) {
      double events = scale_step_by_events(&c, (ScaleAlgorithm)a, &step);
      assert_true(events > 0);
      off[a][i] = fabs(scale_step(&c, (ScaleAlgorithm)a, &step).efficiency -
                       (step.forward + step.backward + step.rest) / events);
    }
  }
  for (int a = 0; a < 3; a++) {
    qsort(off[a], CASES, sizeof off[a][0], by_size);
    print_message("%s: 9 of 10 steps within %.2f points, all within %.2f\n",
                  a == 0   ? "best"
                  : a == 1 ? "ring"
                           : "tree",
                  100 * off[a][CASES * 9 / 10], 100 * off[a][CASES - 1]);
  }
  assert_true(off[SCALE_RING][CASES - 1] < 0.001);
  assert_true(off[SCALE_BEST][CASES - 1] < 0.05);
  assert_true(off[SCALE_TREE][CASES - 1] < 0.07);
}

// More latency, fewer bytes a second, or more bytes never help; the better algorithm is no worse than either.
static void test_order(void **unused) {
  (void)unused;
  for (int i = 0; i < 2000; i++) {
    ScaleCluster c = random_cluster(), worse = c;
    double bytes = floor(spread(1e3, 1e9));
    if (i % 2)
      worse.net.alpha *= 2;
    else
      worse.net.beta *= 2;
    for (int a = 0; a < 3; a++) {
      assert_true(scale_all_reduce(&worse, (ScaleAlgorithm)a, bytes) >= scale_all_reduce(&c, (ScaleAlgorithm)a, bytes));
      assert_true(scale_all_reduce(&c, SCALE_BEST, bytes) <= scale_all_reduce(&c, (ScaleAlgorithm)a, bytes));
      assert_true(scale_all_reduce(&c, SCALE_RING, 2 * bytes) >= scale_all_reduce(&c, SCALE_RING, bytes));
    }
  }
}

// ---- buckets ---------------------------------------------------------------------------------------------------------------

// torchvision's and transformers' numbers of parameters; the lessons' models by hand.
static void test_models(void **unused) {
  (void)unused;
  const struct {
    const char *name;
    double parameters;
  } known[] = {{"resnet50", 25557032},
               {"resnet101", 44549160},
               {"resnext50_32x4d", 25028904},
               {"resnext101_32x8d", 88791336},
               {"vgg16", 138357544},
               {"bert_base", 109482240},
               {"bert_large", 335141888},
               {"784_256_128_10", 235146},
               {"1024_2048_2048_10", 6316042},
               {"cnn_001", 824458},
               {"cnn_002", 1147466}};
  int count;
  double parameters;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    ScaleBucket *buckets = scale_buckets_of_model(known[i].name, 4, &count, &parameters);
    assert_non_null(buckets);
    assert_near(parameters, known[i].parameters, 0);
    double bytes = 0, before = 0;
    for (int b = 0; b < count; b++) {
      bytes += buckets[b].bytes;
      assert_true(buckets[b].ready >= before && buckets[b].ready <= 1);
      assert_true(b + 1 == count || buckets[b].bytes >= (b ? 25 << 20 : 1 << 20));
      before = buckets[b].ready;
    }
    assert_near(bytes, 4 * parameters, 1e-12);
    assert_near(before, 1, 1e-12);
    free(buckets);
    assert_non_null(scale_model_at((int)i));
  }
  assert_null(scale_model_at(sizeof known / sizeof known[0]));
  assert_null(scale_buckets_of_model("alexnet", 4, &count, &parameters));
}

// What torch.distributed._compute_bucket_assignment_by_size (2.15) makes of these networks' parameters, in bytes.
static void test_as_pytorch(void **unused) {
  (void)unused;
  const struct {
    const char *name;
    double bytes[8];
  } known[] = {{"resnet50", {8196000, 31502336, 26255360, 26550272, 9724160}},
               {"vgg16", {16388000, 67125248, 411058176, 28317696, 28319744, 2221312}},
               {"1024_2048_2048_10", {16867368, 8396800}},
               {"784_256_128_10", {940584}},
               {"cnn_002", {4216872, 372992}}};
  int count;
  double parameters;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    ScaleBucket *buckets = scale_buckets_of_model(known[i].name, 4, &count, &parameters);
    for (int b = 0; b < count; b++)
      assert_near(buckets[b].bytes, known[i].bytes[b], 0);
    assert_near(known[i].bytes[count], 0, 0);
    free(buckets);
  }
}

static void test_cut(void **unused) {
  (void)unused;
  int count;
  ScaleBucket *buckets = scale_buckets_of_parameters(10e6, 4, &count); // 40 MB: 1 MiB, 25 MiB, the rest
  assert_int_equal(count, 3);
  assert_near(buckets[0].bytes, 1 << 20, 0);
  assert_near(buckets[1].bytes, 25 << 20, 0);
  assert_near(buckets[2].bytes, 40e6 - (26 << 20), 1e-12);
  assert_near(buckets[1].ready, (26 << 20) / 40e6, 1e-12);
  assert_near(buckets[2].ready, 1, 1e-12);
  free(buckets);
  buckets = scale_buckets_of_parameters(10, 2, &count);
  assert_int_equal(count, 1);
  assert_near(buckets[0].bytes, 20, 0);
  free(buckets);
  buckets = scale_buckets_of_sizes((const double[]){1, 3}, 2);
  assert_near(buckets[0].ready, 0.25, 1e-12);
  assert_near(buckets[1].ready, 1, 1e-12);
  free(buckets);
}

// ---- published figures -----------------------------------------------------------------------------------------------------

static void test_published(void **unused) {
  (void)unused;
  int met = 0;
  for (int i = 0; scale_published_at(i); i++) {
    const ScalePublished *p = scale_published_at(i);
    assert_non_null(scale_node(p->node));
    assert_non_null(scale_network(p->network));
    assert_non_null(scale_published_source(p->source));
    double modeled = scale_published_modeled(p);
    bool within = modeled > 0 && fabs(modeled - p->efficiency) <= 0.1;
    if (within == (p->missed != NULL))
      fail_msg("%s, %d GPUs: published %.3f, modeled %.3f", p->what, p->gpus, p->efficiency, modeled);
    met += within;
  }
  assert_true(met >= 15);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ring),           cmocka_unit_test(test_tree),
      cmocka_unit_test(test_levels),         cmocka_unit_test(test_overlap),
      cmocka_unit_test(test_clusters),       cmocka_unit_test(test_ring_by_events),
      cmocka_unit_test(test_tree_by_events), cmocka_unit_test(test_steps_by_events),
      cmocka_unit_test(test_order),          cmocka_unit_test(test_models),
      cmocka_unit_test(test_as_pytorch),     cmocka_unit_test(test_cut),
      cmocka_unit_test(test_published),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
