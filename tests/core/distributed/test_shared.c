// SPDX-License-Identifier: MIT
// Reductions in memory that ranks of one host share: the same bits in every rank, what is not in such memory goes over MPI, and a
// rank that does not do its share is named. Gradients of a training lie there, written there by backward.
// timeout: 400
#include "../../support/child.h"
#include "../nn/check.h"
#include "distributed/reduce.h"
#include "distributed/shared.h"
#include "ranks.h"
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEGMENT_BYTES = 1 << 20 };

static void begin(double timeout) {
  fy_init_process_group("mpi", .timeout = timeout);
}

static int64_t shared_calls(void) {
  return fy_distributed_traffic().shared;
}

// A tensor from byte `offset` of a segment.
static FyTensor *tensor_at(FyShared *segment, size_t offset, FyDType dtype, int64_t count) {
  return fy_new_tensor_in((char *)fy_shared_data(segment) + offset, segment, dtype, count);
}

static FyShared *segment_of(FyGroup *group) {
  FyShared *segment = fy_shared_new(group, SEGMENT_BYTES);
  must(segment != NULL);
  return segment;
}

// ---- every dtype and operation -----------------------------------------------------------------------------------------------

static void fill(FyTensor *t, uint32_t seed) {
  const int64_t count = fy_numel(t);
  FyTensor *values = fy_empty(fy_shape(count));
  float *data = fy_data_ptr(values);
  const bool real = fy_dtype_is_floating((FyDType)t->array.dtype);
  for (int64_t i = 0; i < count; i++) {
    const uint32_t r = mix(seed, (uint32_t)i);
    data[i] = real && r % 97 == 0 ? NAN : real ? (float)(r % 4001) / 500 - 4 : (float)(r % 3);
  }
  fy_copy_(t, values);
}

// What the ranks' data come to, rank by rank: the very bits.
static void *expected(FyTensor *own, FyReduceOp op) {
  const int n = fy_get_world_size();
  const size_t bytes = fy_nbytes(own), count = (size_t)fy_numel(own);
  FyTensor *all = fy_empty(fy_shape(n * fy_numel(own)), .dtype = (FyDType)own->array.dtype);
  fy_all_gather_into_tensor(all, own);
  char *data = fy_data_ptr(all);
  for (int r = 1; r < n; r++)
    fy_reduce_two(data, data + (size_t)r * bytes, count, own->array.dtype, op);
  if (op == FY_REDUCE_OP_AVG)
    fy_reduce_divide(data, count, own->array.dtype, n);
  return data;
}

static void one_reduction(FyShared *segment, FyDType dtype, FyReduceOp op, int64_t count, size_t offset) {
  fy_scope {
    FyTensor *t = tensor_at(segment, offset, dtype, count);
    fill(t, (uint32_t)(fy_get_rank() * 1000 + op));
    const void *wanted = expected(fy_clone(t), op);
    fy_barrier(); // nobody writes to another's before it has been copied
    const int64_t before = shared_calls();
    fy_all_reduce(t, .op = op);
    must(shared_calls() == before + 1);
    if (memcmp(fy_data_ptr(t), wanted, fy_nbytes(t)) != 0) {
      fprintf(stderr, "rank %d: %s, operation %d, %lld elements\n", fy_get_rank(), fy_dtype_name(dtype), (int)op,
              (long long)count);
      _exit(9);
    }
  }
}

static void every_type(void) {
  begin(20);
  FyShared *segment = segment_of(fy_group_required(NULL));
  const int64_t counts[] = {13001, 20000, 65537};
  for (int dtype = 0; dtype < FY_DTYPE_COUNT; dtype++)
    for (int op = 0; op < FY_REDUCE_OP_COUNT; op++)
      for (int k = 0; k < 3; k++)
        if (dtype != FY_DEFAULT_DTYPE && !(dtype == FY_BOOL && op == FY_REDUCE_OP_AVG))
          one_reduction(segment, (FyDType)dtype, (FyReduceOp)op, counts[k], (size_t)k * 64);
  fy_destroy_process_group();
}

// ---- which memory ------------------------------------------------------------------------------------------------------------

static void must_add_up(FyTensor *t, FyGroup *group, bool shared) {
  const int64_t before = shared_calls();
  fy_fill_(t, fy_get_rank() + 1);
  fy_barrier(.group = group);
  fy_all_reduce(t, .group = group);
  double sum = 0;
  for (int r = 0; r < fy_group_size(group); r++)
    sum += group ? group->ranks[r] + 1 : r + 1;
  must(fy_item(fy_min(t)) == sum && fy_item(fy_max(t)) == sum);
  must(shared_calls() - before == shared);
}

static void other_memory(void) {
  begin(20);
  const int rank = fy_get_rank();
  FyGroup *pair = fy_new_group((int[]){1, 0}, 2), *all = fy_group_required(NULL);
  FyShared *of_all = segment_of(all);
  must_add_up(tensor_at(of_all, 0, FY_FLOAT32, 10000), NULL, true);
  must_add_up(tensor_at(of_all, 4096, FY_FLOAT32, 10000), NULL, true);
  must_add_up(tensor_at(of_all, 0, FY_FLOAT32, 100), NULL, false);                             // short: with the call
  must_add_up(tensor_at(of_all, rank == 0 ? 0 : 4096, FY_FLOAT32, 10000), NULL, false);        // not at one place
  must_add_up(rank == 0 ? fy_zeros(fy_shape(10000)) : tensor_at(of_all, 0, FY_FLOAT32, 10000), // not in all ranks
              NULL, false);
  FyShared *again = segment_of(all);
  must_add_up(tensor_at(rank == 0 ? again : of_all, 0, FY_FLOAT32, 10000), NULL, false); // two segments
  if (pair) {
    FyShared *of_pair = segment_of(pair);
    must_add_up(tensor_at(of_pair, 0, FY_FLOAT32, 10000), pair, true);
    must_add_up(tensor_at(of_all, 0, FY_FLOAT32, 10000), pair, false); // of other ranks, or in another order
  }
  fy_barrier();
  if (rank == 1)
    setenv("FERRY_DISTRIBUTED_SHARED", "OFF", 1);
  must(fy_shared_new(all, SEGMENT_BYTES) == NULL); // one that cannot is enough
  fy_destroy_process_group();
}

// Several at once, waited for in another order, by a thread behind and without one.
static void at_once(void) {
  begin(20);
  FyShared *segment = segment_of(fy_group_required(NULL));
  const int n = fy_get_world_size();
  for (int turn = 0; turn < 50; turn++) {
    FyTensor *t[4];
    FyWork *works[4];
    for (int i = 0; i < 4; i++) {
      t[i] = tensor_at(segment, (size_t)i << 16, FY_FLOAT32, 10000);
      fy_fill_(t[i], i + turn);
    }
    fy_barrier();
    for (int i = 0; i < 4; i++)
      works[i] =
          i % 2 ? fy_all_reduce(t[i], .async_op = true) : fy_average_bucket(fy_group_required(NULL), t[i], false);
    while (turn % 3 == 0 && !fy_work_is_completed(works[3]))
      ;
    for (int i = 3; i >= 0; i--) {
      fy_work_wait(works[i]);
      must(fy_item(fy_max(t[i])) == (i + turn) * (i % 2 ? n : 1) && fy_item(fy_min(t[i])) == fy_item(fy_max(t[i])));
    }
    fy_barrier();
  }
  fy_destroy_process_group();
}

// ---- ranks that do not do their share -----------------------------------------------------------------------------------------

static void expect_error(FyTensor *t, const char *text, const char *more) {
  FyError error;
  usleep(300000); // rank 1 calls first, and does not find the others
  fy_trap(error) {
    fy_all_reduce(t, .op = FY_REDUCE_OP_AVG);
  }
  if (error.kind != FY_RUNTIME_ERROR || !strstr(error.message, text) || !strstr(error.message, more)) {
    fprintf(stderr, "rank %d: not \"%s\" but \"%s\"\n", fy_get_rank(), text, error.kind ? error.message : "no error");
    _exit(9);
  }
  printf("seen\n");
}

// Rank 1 calls, and then neither waits nor works.
static void one_does_no_share(void) {
  begin(2);
  FyShared *segment = segment_of(fy_group_required(NULL));
  FyTensor *t = tensor_at(segment, 0, FY_FLOAT32, 100000);
  fy_barrier();
  if (fy_get_rank() == 1) {
    fy_average_bucket(fy_group_required(NULL), t, false);
    sleep(4);
    _exit(0);
  }
  expect_error(t, "all_reduce(avg, torch.float32, 100000 elements), sequence ",
               ": rank 1 called it and did not finish it within 2 s");
}

static void one_dies_before_its_share(void) {
  begin(20);
  FyShared *segment = segment_of(fy_group_required(NULL));
  FyTensor *t = tensor_at(segment, 0, FY_FLOAT32, 100000);
  fy_barrier();
  if (fy_get_rank() == 1) {
    fy_average_bucket(fy_group_required(NULL), t, false);
    usleep(600000);
    raise(SIGKILL);
  }
  expect_error(t, "all_reduce(avg, torch.float32, 100000 elements), sequence ", ": rank 1 (process ");
}

// Between two gradients a rank may compute for longer than the timeout: that is no waiting.
static void all_are_slow(void) {
  begin(2);
  FyShared *segment = segment_of(fy_group_required(NULL));
  FyTensor *t = tensor_at(segment, 0, FY_FLOAT32, 100000);
  fy_fill_(t, fy_get_rank());
  fy_barrier();
  if (fy_get_rank() == 0)
    usleep(300000); // finds the others' calls, and does its share
  FyWork *work = fy_average_bucket(fy_group_required(NULL), t, false);
  if (fy_get_rank() == 0) {
    sleep(3);
    must(!fy_work_is_completed(work));
  } else {
    sleep(4);
  }
  fy_work_wait(work);
  must(fy_item(fy_max(t)) == (fy_get_world_size() - 1) / 2.0);
  fy_destroy_process_group();
}

// ---- a training ----------------------------------------------------------------------------------------------------------------

static FyModule *net(void) {
  return fy_nn_sequential(fy_nn_conv2d(3, 32, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2),
                          fy_nn_conv2d(32, 32, 3), fy_nn_flatten(), fy_nn_linear(32 * 6 * 6, 300), fy_nn_relu(),
                          fy_nn_linear(300, 10));
}

static FyTensorList *train(void) {
  fy_manual_seed(3);
  FyModule *inner = net(), *ddp = fy_distributed_data_parallel(inner);
  FyOptimizer *optimizer = fy_sgd(fy_parameters(inner), .lr = 0.05, .momentum = 0.9);
  for (int step = 0; step < 6; step++)
    fy_scope {
      fy_manual_seed((uint64_t)(100 * step + fy_get_rank()));
      FyTensor *x = fy_randn(fy_shape(6, 3, 16, 16)), *y = fy_randint(0, 10, fy_shape(6));
      fy_zero_grad(optimizer);
      fy_backward(fy_cross_entropy(fy_forward(ddp, x), y));
      fy_step(optimizer);
    }
  return fy_parameters(inner);
}

// With MPI's sums instead of ours: for two ranks the very same bits, and for more nearly.
static void trains_alike(void) {
  begin(20);
  const int64_t before = shared_calls();
  FyTensorList *shared = train();
  const int64_t after = shared_calls();
  must(after - before == 11); // one bucket in the first step, then two
  FyTensorList *again = train();
  setenv("FERRY_DISTRIBUTED_SHARED", "OFF", 1);
  const int64_t off = shared_calls();
  FyTensorList *plain = train();
  must(shared_calls() == off);
  for (int i = 0; i < shared->count; i++) {
    must(fy_equal(shared->items[i], again->items[i]));
    if (fy_get_world_size() == 2)
      must(fy_equal(shared->items[i], plain->items[i]));
    must(fy_allclose(shared->items[i], plain->items[i], 1e-5, 1e-5));
  }
  fy_destroy_process_group();
}

// Gradients stay at one place in the buckets, whichever way .grad was left, and are added to what is there.
static void written_in_place(void) {
  begin(20);
  FyModule *inner = net(), *ddp = fy_distributed_data_parallel(inner);
  FyTensorList *p = fy_parameters(inner);
  FyTensor *x = fy_randn(fy_shape(6, 3, 16, 16)), *once[16];
  const void *where[16];
  for (int step = 0; step < 5; step++) {
    fy_scope {
      const bool twice = step == 4; // the sum of two backwards
      if (step < 3)
        fy_module_zero_grad(ddp);
      for (int i = 0; step == 3 && i < p->count; i++)
        fy_zero_(fy_grad(p->items[i])); // PyTorch's set_to_none=False
      fy_backward(fy_mean(fy_forward(ddp, x)));
      for (int i = 0; i < p->count; i++) {
        FyTensor *grad = fy_grad(p->items[i]);
        if (step == 1) { // the buckets have been made anew
          where[i] = fy_data_ptr(grad);
          once[i] = fy_retain(fy_clone(grad));
        }
        if (step < 1)
          continue;
        const int last = p->count - 1;
        must(fy_data_ptr(grad) == where[i]);
        must(fy_shares_storage(grad, fy_grad(p->items[last])) ==
             (fy_ddp_bucket_of(ddp, i) == fy_ddp_bucket_of(ddp, last)));
        must(fy_allclose(grad, fy_mul_scalar(once[i], twice ? 2 : 1), 1e-4, 1e-6));
      }
    }
  }
  for (int i = 0; i < p->count; i++)
    fy_release(once[i]);
  fy_destroy_process_group();
}

// One weight in two layers, and a gradient that a hook replaces: sums and replacements end in the bucket, too.
typedef struct Tied {
  FyModule base;
  FyModule *layer;
} Tied;

static FyTensor *tied_forward(FyModule *self, FyTensor *x) {
  FyModule *layer = ((Tied *)self)->layer;
  return fy_forward(layer, fy_forward(layer, x));
}

static FyTensor *tripled(FyTensor *grad, void *unused) {
  (void)unused;
  return fy_mul_scalar(grad, 3);
}

static void sums_and_hooks(void) {
  begin(20);
  const int rank = fy_get_rank(), n = fy_get_world_size();
  fy_manual_seed(9);
  Tied *tied = fy_module_new(Tied, tied_forward);
  fy_register_module(tied, layer, fy_nn_linear(120, 120));
  FyTensor *weight = fy_parameters(tied)->items[0];
  FyModule *ddp = fy_distributed_data_parallel(tied);
  for (int hooked = 0; hooked < 2; hooked++) {
    FyTensor *mean = fy_zeros(fy_shape(120, 120));
    for (int r = 0; r < n; r++) { // every rank's, by each
      FyTensor *y = tied_forward(&tied->base, fy_full(r + 1, fy_shape(2, 120))), *grad;
      fy_autograd_grad(fy_sum(y), (FyTensors){1, &weight}, NULL, false, &grad);
      fy_add_(mean, fy_mul_scalar(grad, 1.0 / n));
    }
    if (hooked)
      fy_register_hook(weight, tripled, NULL, NULL);
    for (int step = 0; step < 2; step++) {
      fy_module_zero_grad(ddp);
      fy_backward(fy_sum(fy_forward(ddp, fy_full(rank + 1, fy_shape(2, 120)))));
      must(fy_allclose(fy_grad(weight), fy_mul_scalar(mean, hooked ? 3 : 1), 1e-4, 1e-3));
    }
  }
  fy_destroy_process_group();
}

// ---- the tests ---------------------------------------------------------------------------------------------------------------

static const RankCase cases[] = {
    {"every_type", every_type},
    {"other_memory", other_memory},
    {"at_once", at_once},
    {"trains_alike", trains_alike},
    {"all_are_slow", all_are_slow},
    {"written_in_place", written_in_place},
    {"sums_and_hooks", sums_and_hooks},
    {"one_does_no_share", one_does_no_share},
    {"one_dies_before_its_share", one_dies_before_its_share},
};
enum { ALL = sizeof cases / sizeof *cases, CASES = ALL - 2 };

static void in_ranks(void **state) {
  (void)state;
  needs_ranks();
  for (int i = 0; i < CASES; i++)
    for (int n = 2; n <= 4; n++)
      expect_ranks(n, cases[i].name, "");
}

static void named_in_every_rank(void **state) {
  (void)state;
  needs_ranks();
  for (int i = CASES; i < ALL; i++)
    for (int n = 2; n <= 3; n++) {
      start_ranks(n, cases[i].name, "", true, 30);
      int seen = 0;
      for (const char *at = ranks_said; (at = strstr(at, "seen")); at++)
        seen++;
      if (strstr(ranks_said, "not \"") || seen != n - 1 || ranks_took > 15)
        fail_msg("%s with %d ranks took %.1f s and said: %s", cases[i].name, n, ranks_took, ranks_said);
    }
}

int main(int argc, char **argv) {
  run_rank(argc, argv, cases, ALL);
  const struct CMUnitTest tests[] = {cmocka_unit_test(in_ranks), cmocka_unit_test(named_in_every_rank)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
