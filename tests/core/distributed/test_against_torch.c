// SPDX-License-Identifier: MIT
// Prints what PyTorch's rules are compared with by test_against_torch.sh: which gradients share a bucket, and which samples a
// rank takes. Without arguments it only checks that the printed buckets are whole.
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
#include "../nn/check.h"
#include "distributed/reducer.h"
#include "ranks.h"
#include <stdlib.h>
#include <string.h>

// "buckets LIMITS;DTYPE:SIZE ...;ORDER ...;BUCKET ..." with -1 for no order
static void print_buckets(uint32_t seed) {
  static const FyDType dtypes[] = {FY_FLOAT32, FY_FLOAT32, FY_FLOAT32, FY_FLOAT64, FY_FLOAT16};
  const int n = 1 + (int)(mix(seed, 0) % 30);
  const size_t limits[] = {1 + mix(seed, 1) % 4000, 1 + mix(seed, 2) % 20000};
  const bool ordered = mix(seed, 3) % 2, single = mix(seed, 4) % 4 == 0;
  int bucket_of[n], place[n], order[n];
  fy_scope {
    FyTensorList *list = fy_tensor_list_new();
    for (int i = 0; i < n; i++) {
      order[i] = i;
      fy_list_add(list, "t",
                  fy_empty(fy_shape(1 + mix(seed, 100u + (uint32_t)i) % 1500),
                           .dtype = dtypes[mix(seed, 200u + (uint32_t)i) % (ordered ? 1 : 5)]));
    }
    for (int i = n - 1; i > 0; i--) {
      int j = (int)(mix(seed, 300u + (uint32_t)i) % (uint32_t)(i + 1)), keep = order[i];
      order[i] = order[j];
      order[j] = keep;
    }
    const int count = fy_assign_buckets(list, ordered ? order : NULL, limits, single ? 1 : 2, bucket_of, place);
    printf("buckets %zu", limits[0]);
    if (!single)
      printf(" %zu", limits[1]);
    printf(";");
    for (int i = 0; i < n; i++)
      printf("%s:%lld ", fy_dtype_name((FyDType)fy_dtype_of(list->items[i])) + 6, (long long)fy_numel(list->items[i]));
    printf(";");
    for (int i = 0; i < n; i++)
      printf("%d ", ordered ? order[i] : -1);
    printf(";");
    for (int b = 0; b < count; b++) {
      for (int p = 0; p < n; p++)
        for (int i = 0; i < n; i++)
          if (bucket_of[i] == b && place[i] == p)
            printf("%d ", i);
      printf("| ");
    }
    printf("\n");
  }
}

// "shares COUNT RANKS RANK DROP_LAST;PERMUTATION ...;OWN ..."
static void print_shares(uint32_t seed) {
  const int64_t count = 1 + mix(seed, 1) % 40;
  const int ranks = 1 + (int)(mix(seed, 2) % 50), rank = (int)(mix(seed, 3) % (uint32_t)ranks);
  const bool drop_last = mix(seed, 4) % 2;
  int64_t permutation[40], own[40];
  fy_scope {
    FySampler *random = fy_random_sampler(count);
    random->order(random, 11 + 2, permutation);
    FySampler *sampler =
        fy_distributed_sampler(count, .num_replicas = ranks, .rank = rank, .seed = 11, .drop_last = drop_last);
    fy_distributed_sampler_set_epoch(sampler, 2);
    sampler->order(sampler, 0, own);
    printf("shares %lld %d %d %d;", (long long)count, ranks, rank, drop_last);
    for (int64_t i = 0; i < count; i++)
      printf("%lld ", (long long)permutation[i]);
    printf(";");
    for (int64_t i = 0; i < sampler->count; i++)
      printf("%lld ", (long long)own[i]);
    printf("\n");
  }
}

static void print(void) {
  for (uint32_t seed = 1; seed <= 300; seed++) {
    print_buckets(seed);
    print_shares(seed);
  }
}

static void every_tensor_has_a_place(void **state) {
  (void)state;
  FyTensorList *list = fy_tensor_list_new();
  for (int i = 0; i < 5; i++)
    fy_list_add(list, "t", fy_empty(fy_shape(10)));
  int bucket_of[5], place[5];
  assert_int_equal(fy_assign_buckets(list, NULL, (size_t[]){80, 40}, 2, bucket_of, place), 4);
  const int buckets[] = {0, 0, 1, 2, 3}, places[] = {0, 1, 0, 0, 0};
  for (int i = 0; i < 5; i++)
    assert_true(bucket_of[i] == buckets[i] && place[i] == places[i]);
}

int main(int argc, char **argv) {
  static const RankCase cases[] = {{"print", print}};
  run_rank(argc, argv, cases, 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_tensor_has_a_place)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
