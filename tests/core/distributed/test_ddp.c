// SPDX-License-Identifier: MIT
// DistributedDataParallel: what N ranks with a part of each batch do is what one process does with all of it.
// timeout: 600
#include "../../support/child.h"
#include "../nn/check.h"
#include "ranks.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 36, STEPS = 20 }; // BATCH: of all ranks together

static FyDevice device_of_rank(void) {
  return getenv("TEST_ON_CUDA") ? fy_cuda_device(fy_get_node_local_rank()) : FY_CPU_DEVICE;
}

static void begin(void) {
  fy_init_process_group(NULL, .timeout = 20);
  fy_manual_seed(1);
}

// ---- models ----------------------------------------------------------------------------------------------------------------

static FyModule *mlp(void) {
  return fy_nn_sequential(fy_nn_linear(20, 32), fy_nn_relu(), fy_nn_linear(32, 16), fy_nn_relu(), fy_nn_linear(16, 5));
}

static FyModule *cnn(void) {
  return fy_nn_sequential(fy_nn_conv2d(3, 8, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2), fy_nn_flatten(),
                          fy_nn_linear(8 * 4 * 4, 5));
}

typedef struct Branches { // one of its layers is used by some ranks alone, one by none
  FyModule base;
  FyModule *first, *second, *third;
  int use; // bits
} Branches;

static FyTensor *branches_forward(FyModule *self, FyTensor *x) {
  Branches *b = (Branches *)self;
  FyTensor *y = fy_forward(b->first, x);
  if (b->use & 1)
    y = fy_add(y, fy_forward(b->second, x));
  if (b->use & 2)
    y = fy_add(y, fy_forward(b->third, x));
  return y;
}

static Branches *branches(int use) {
  Branches *b = fy_module_new(Branches, branches_forward);
  fy_register_module(b, first, fy_nn_linear(6, 4));
  fy_register_module(b, second, fy_nn_linear(6, 4));
  fy_register_module(b, third, fy_nn_linear(6, 4));
  b->use = use;
  return b;
}

// ---- against one process ---------------------------------------------------------------------------------------------------

typedef struct Setting {
  FyModule *(*model)(void);
  FySize input; // of a sample
  bool adam, autocast, scaled, clipped, checkpointed;
  int accumulate; // so many parts of each batch, all but the last in no_sync
} Setting;

static FyTensor *batch_of(const Setting *s, int step, int samples, int first, int count) {
  FyTensor *all =
      fy_empty(fy_shape(samples, s->input.dim[0] * (s->input.ndim == 3 ? s->input.dim[1] * s->input.dim[2] : 1)));
  float *data = fy_data_ptr(all);
  for (int64_t i = 0; i < fy_numel(all); i++)
    data[i] = (float)(mix((uint32_t)step, (uint32_t)i) % 2000) / 1000 - 1;
  FySize size = {.ndim = s->input.ndim + 1, .dim = {count}};
  for (int d = 0; d < s->input.ndim; d++)
    size.dim[d + 1] = s->input.dim[d];
  return fy_view(fy_narrow(all, 0, first, count), size);
}

static FyTensor *target_of(int step, int samples, int first, int count) {
  FyTensor *all = fy_empty(fy_shape(samples), .dtype = FY_INT64);
  int64_t *data = fy_data_ptr(all);
  for (int i = 0; i < samples; i++)
    data[i] = mix((uint32_t)step + 500, (uint32_t)i) % 5;
  return fy_narrow(all, 0, first, count);
}

static FyTensor *loss_of(const Setting *s, FyModule *model, FyModule *inner, FyTensor *x, FyTensor *y, int parts) {
  FyTensor *loss = NULL;
  (void)inner;
  fy_autocast(FY_CPU, .enabled = s->autocast) {
    FyTensor *output = fy_forward(model, x);
    loss = fy_cross_entropy(fy_float(output), y);
  }
  return parts > 1 ? fy_div_scalar(loss, parts) : loss;
}

static FyTensor *checkpointed_forward(FyModule *self, FyTensor *x);
typedef struct Checkpointed {
  FyModule base;
  FyModule *inner;
} Checkpointed;
static FyTensor *checkpointed_forward(FyModule *self, FyTensor *x) {
  return fy_checkpoint_sequential(((Checkpointed *)self)->inner, 2, x);
}

// Trains on this rank's part (of ranks 1: all) of each batch; the parameters after the last step.
static FyTensorList *train(const Setting *s, bool distributed) {
  const int ranks = distributed ? fy_get_world_size() : 1, rank = distributed ? fy_get_rank() : 0;
  const FyDevice device = device_of_rank();
  const int parts = s->accumulate ? s->accumulate : 1, own = BATCH / ranks / parts;
  fy_manual_seed(distributed ? 7 + (uint64_t)rank : 7); // the first rank's parameters are broadcast
  FyModule *inner = fy_module_to(s->model(), device), *model = inner;
  if (s->checkpointed) {
    Checkpointed *c = fy_module_new(Checkpointed, checkpointed_forward);
    fy_register_module(c, inner, inner);
    model = (FyModule *)c;
  }
  if (distributed)
    model = fy_distributed_data_parallel(model);
  FyTensorList *parameters = fy_parameters(model);
  FyOptimizer *optimizer = s->adam ? fy_adam(parameters, .lr = 0.01) : fy_sgd(parameters, .lr = 0.1, .momentum = 0.9);
  FyGradScaler *scaler = fy_grad_scaler(device.type, .init_scale = 1024, .enabled = s->scaled);
  for (int step = 0; step < STEPS; step++) {
    fy_scope {
      fy_zero_grad(optimizer);
      for (int part = 0; part < parts; part++) {
        const int first = (part * ranks + rank) * own;
        FyTensor *x = fy_to(batch_of(s, step, BATCH, first, own), device),
                 *y = fy_to(target_of(step, BATCH, first, own), device);
        if (distributed && part + 1 < parts)
          fy_ddp_no_sync(model) fy_backward(fy_scaler_scale(scaler, loss_of(s, model, inner, x, y, parts)));
        else
          fy_backward(fy_scaler_scale(scaler, loss_of(s, model, inner, x, y, parts)));
      }
      if (s->clipped) {
        fy_scaler_unscale_(scaler, optimizer);
        fy_clip_grad_norm_(parameters, 0.5);
      }
      fy_scaler_step(scaler, optimizer);
      fy_scaler_update(scaler);
    }
  }
  return parameters;
}

static double difference(const FyTensorList *a, const FyTensorList *b) {
  double most = 0;
  for (int i = 0; i < a->count; i++) {
    double d = fy_item(fy_max(fy_abs(fy_sub(fy_detach(a->items[i]), fy_detach(b->items[i])))));
    most = d > most ? d : most;
  }
  return most;
}

static bool same_bits_in_all_ranks(const FyTensorList *list) {
  bool same = true;
  for (int i = 0; i < list->count; i++) {
    FyTensor *mine = fy_clone(fy_detach(list->items[i])), *first = fy_clone(mine);
    fy_broadcast(first, 0);
    same &= fy_equal(mine, first);
  }
  FyTensor *all = fy_full(same, FY_SCALAR, .device = device_of_rank());
  fy_all_reduce(all, .op = FY_REDUCE_OP_MIN);
  return fy_item(all) == 1;
}

static const Setting settings[] = {
    {.model = mlp, .input = {1, {20}}},
    {.model = cnn, .input = {3, {3, 8, 8}}},
    {.model = mlp, .input = {1, {20}}, .accumulate = 3},
    {.model = mlp, .input = {1, {20}}, .clipped = true, .scaled = true},
    {.model = mlp, .input = {1, {20}}, .checkpointed = true},
    {.model = mlp, .input = {1, {20}}, .autocast = true},
    {.model = mlp, .input = {1, {20}}, .adam = true},
};

static void equals_one_process(void) {
  begin();
  for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
    fy_scope {
      const Setting *s = &settings[k];
      FyTensorList *here = train(s, true), *again = train(s, true), *one = train(s, false);
      must(same_bits_in_all_ranks(here));
      for (int i = 0; i < here->count; i++)
        must(fy_equal(here->items[i], again->items[i])); // the same bits twice
      // Adam divides by the size of a gradient, and bfloat16 rounds coarsely: small differences grow.
      const double most = s->autocast ? 2e-2 : s->adam ? 1e-3 : 1e-5, d = difference(here, one);
      if (d > most) {
        fprintf(stderr, "setting %zu: %g apart after %d steps\n", k, d, STEPS);
        _exit(9);
      }
    }
  }
  fy_destroy_process_group();
}

// ---- its own behavior -------------------------------------------------------------------------------------------------------

static void begins_alike(void) {
  begin();
  fy_manual_seed(100 + (uint64_t)fy_get_rank());
  FyModule *net = fy_module_to(fy_nn_sequential(fy_nn_linear(4, 3), fy_nn_batch_norm1d(3)), device_of_rank());
  if (fy_get_rank() > 0)
    fy_no_grad
      fy_fill_(fy_buffers(net)->items[0], 5);
  FyModule *ddp = fy_distributed_data_parallel(net);
  must(same_bits_in_all_ranks(fy_parameters(ddp)) && same_bits_in_all_ranks(fy_buffers(ddp)));
  must(fy_ddp_module(ddp) == net);
  must(strcmp(fy_parameters(ddp)->names[0], "module.0.weight") == 0);
  // Running means drift apart, and are the first rank's again in the next forward.
  for (int step = 0; step < 3; step++) {
    FyTensor *x = fy_randn(fy_shape(8, 4), .device = device_of_rank());
    fy_backward(fy_sum(fy_forward(ddp, x)));
    must(!same_bits_in_all_ranks(fy_buffers(ddp)));
    fy_no_grad
      fy_forward(ddp, x);
  }
  fy_eval(ddp);
  fy_forward(ddp, fy_randn(fy_shape(8, 4), .device = device_of_rank()));
  fy_forward(ddp, fy_randn(fy_shape(8, 4), .device = device_of_rank()));
  must(same_bits_in_all_ranks(fy_buffers(ddp)));
  FyModule *kept =
      fy_distributed_data_parallel(fy_module_to(fy_nn_batch_norm1d(4), device_of_rank()), .broadcast_buffers = false);
  for (int step = 0; step < 2; step++)
    fy_backward(fy_sum(fy_forward(kept, fy_randn(fy_shape(8, 4), .device = device_of_rank()))));
  must(!same_bits_in_all_ranks(fy_buffers(kept)));
  fy_destroy_process_group();
}

static void gradients(void) {
  begin();
  const FyDevice device = device_of_rank();
  const int n = fy_get_world_size(), rank = fy_get_rank();
  FyModule *layer = fy_module_to(fy_nn_linear(3, 2), device), *ddp = fy_distributed_data_parallel(layer);
  FyTensor *weight = fy_parameters(layer)->items[0], *bias = fy_parameters(layer)->items[1];
  for (int step = 0; step < 3; step++) {
    fy_set_grad(weight, NULL);
    fy_set_grad(bias, NULL);
    fy_backward(fy_sum(fy_forward(ddp, fy_full(rank + 1, fy_shape(1, 3), .device = device))));
    must(fy_item(fy_mean(fy_grad(weight))) == (n + 1) / 2.0); // the mean of 1 .. n
    must(fy_shares_storage(fy_grad(weight), fy_grad(bias)));  // both in one bucket
  }
  // Without synchronization each rank has its own; the next one averages the sums.
  fy_set_grad(weight, NULL);
  fy_ddp_no_sync(ddp) fy_backward(fy_sum(fy_forward(ddp, fy_full(rank + 1, fy_shape(1, 3), .device = device))));
  must(fy_item(fy_mean(fy_grad(weight))) == rank + 1);
  fy_backward(fy_sum(fy_forward(ddp, fy_full(rank + 1, fy_shape(1, 3), .device = device))));
  must(fy_item(fy_mean(fy_grad(weight))) == n + 1);
  // An error inside ends the block, too.
  FyError error;
  fy_trap(error) {
    fy_ddp_no_sync(ddp) fy_raise(FY_VALUE_ERROR, "out of here");
  }
  fy_set_grad(weight, NULL);
  fy_backward(fy_sum(fy_forward(ddp, fy_full(rank + 1, fy_shape(1, 3), .device = device))));
  must(fy_item(fy_mean(fy_grad(weight))) == (n + 1) / 2.0);
  fy_destroy_process_group();
}

static void unused(void) {
  begin();
  const int n = fy_get_world_size(), rank = fy_get_rank();
  const FyDevice device = device_of_rank();
  Branches *b = branches(rank == 0 ? 1 : 0); // the second is the first rank's alone, the third nobody's
  fy_module_to(b, device);
  FyModule *ddp = fy_distributed_data_parallel(b, .find_unused_parameters = true);
  for (int step = 0; step < 3; step++) {
    fy_module_zero_grad(ddp);
    fy_backward(fy_sum(fy_forward(ddp, fy_ones(fy_shape(1, 6), .device = device))));
    FyTensorList *p = fy_parameters(b);
    must(fy_item(fy_mean(fy_grad(p->items[0]))) == 1);
    must(fabs(fy_item(fy_mean(fy_grad(p->items[2]))) - 1.0 / n) < 1e-6);
    must(fy_grad(p->items[4]) == NULL && fy_grad(p->items[5]) == NULL);
  }
  // Not looked for, they are an error of the next forward.
  Branches *c = branches(0);
  fy_module_to(c, device);
  FyModule *strict = fy_distributed_data_parallel(c);
  fy_backward(fy_sum(fy_forward(strict, fy_ones(fy_shape(1, 6), .device = device))));
  FyError error;
  fy_trap(error) {
    fy_forward(strict, fy_ones(fy_shape(1, 6), .device = device));
  }
  must(error.kind == FY_RUNTIME_ERROR &&
       strstr(error.message, "Expected to have finished reduction in the prior iteration"));
  char wanted[200];
  snprintf(
      wanted, sizeof wanted,
      "Parameter indices which did not receive grad for rank %d: 2 3 4 5\nParameters which did not receive grad for "
      "rank %d: second.weight, second.bias, third.weight, third.bias",
      rank, rank);
  must(strstr(error.message, wanted) != NULL);
  fy_destroy_process_group();
}

// One bucket at first; then 1 MiB and 25 MiB, in the order of the gradients: the last layer's first.
static void buckets(void) {
  begin();
  FyModule *net = fy_module_to(fy_nn_sequential(fy_nn_linear(1000, 400), fy_nn_linear(400, 700), fy_nn_linear(700, 10)),
                               device_of_rank());
  FyModule *ddp = fy_distributed_data_parallel(net);
  must(fy_ddp_bucket_count(ddp) == 1);
  for (int step = 0; step < 2; step++)
    fy_backward(fy_sum(fy_forward(ddp, fy_ones(fy_shape(1, 1000), .device = device_of_rank()))));
  must(fy_ddp_bucket_count(ddp) == 2);
  must(fy_ddp_bucket_of(ddp, 5) == 0 && fy_ddp_bucket_of(ddp, 4) == 0 && fy_ddp_bucket_of(ddp, 0) == 1);
  must(fy_ddp_bucket_bytes(ddp, 0) + fy_ddp_bucket_bytes(ddp, 1) == 4 * (400400 + 280700 + 7010));
  must(fy_ddp_bucket_bytes(ddp, 0) >= 1 << 20);
  FyTraffic before = fy_distributed_traffic();
  fy_backward(fy_sum(fy_forward(ddp, fy_ones(fy_shape(1, 1000), .device = device_of_rank()))));
  FyTraffic after = fy_distributed_traffic();
  must(after.collectives - before.collectives == 2);
  must(after.collective_bytes - before.collective_bytes == 4 * (400400 + 280700 + 7010));
  FyModule *small = fy_distributed_data_parallel(fy_module_to(mlp(), device_of_rank()), .bucket_cap_mb = 0.001);
  for (int step = 0; step < 2; step++)
    fy_backward(fy_sum(fy_forward(small, fy_ones(fy_shape(1, 20), .device = device_of_rank()))));
  must(fy_ddp_bucket_count(small) == 3);
  fy_destroy_process_group();
}

static void a_part_of_the_ranks(void) {
  begin();
  const int rank = fy_get_rank();
  FyGroup *pair = fy_new_group((int[]){1, 0}, 2);
  if (rank < 2) {
    fy_manual_seed((uint64_t)rank);
    FyModule *layer = fy_module_to(fy_nn_linear(3, 2), device_of_rank());
    FyModule *ddp = fy_distributed_data_parallel(layer, .group = pair);
    fy_backward(fy_sum(fy_forward(ddp, fy_full(rank, fy_shape(1, 3), .device = device_of_rank()))));
    must(fy_item(fy_mean(fy_grad(fy_parameters(layer)->items[0]))) == 0.5);
  }
  fy_destroy_process_group();
}

static void other_models(void) {
  begin();
  FyError error;
  fy_trap(error) {
    fy_distributed_data_parallel(fy_get_rank() == 1 ? fy_nn_linear(4, 3) : fy_nn_linear(4, 2));
  }
  must(error.kind == FY_RUNTIME_ERROR);
  must(strstr(error.message, "params[0] (weight) in this process with sizes"));
  must(strstr(error.message, "appears not to match sizes of the same param in process"));
  fy_trap(error) {
    fy_distributed_data_parallel(fy_get_rank() == 1 ? fy_nn_linear(4, 2, .no_bias = true) : fy_nn_linear(4, 2));
  }
  must(strstr(error.message, "DDP expects same model across all ranks, but Rank"));
  fy_trap(error) {
    fy_distributed_data_parallel(fy_nn_relu());
  }
  must(strstr(error.message, "is not needed when a module doesn't have any parameter that requires a gradient."));
  fy_destroy_process_group();
}

// ---- saving on one rank, going on in all --------------------------------------------------------------------------------------

static void saves(void) {
  begin();
  const int rank = fy_get_rank();
  const char *path = getenv("TEST_FILE");
  fy_manual_seed((uint64_t)rank);
  FyModule *ddp = fy_distributed_data_parallel(fy_module_to(mlp(), device_of_rank()));
  if (rank == 0)
    fy_safetensors_save(path, fy_state_dict(fy_ddp_module(ddp)), NULL);
  fy_barrier(); // nobody reads before it is written
  FyModule *fresh = fy_module_to(mlp(), device_of_rank());
  fy_load_state_dict(fresh, fy_safetensors_load(path, NULL));
  must(difference(fy_parameters(ddp), fy_parameters(fresh)) == 0);
  fy_destroy_process_group();
}

// Since the first call.
static double clock_seconds(void) {
  static struct timespec first;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (first.tv_sec == 0)
    first = now;
  return (double)(now.tv_sec - first.tv_sec) + (double)(now.tv_nsec - first.tv_nsec) * 1e-9;
}

// Some seconds of small steps: for a link that drops meanwhile (test_two_hosts.sh).
static void steady(void) {
  begin();
  FyModule *ddp = fy_distributed_data_parallel(mlp());
  FyTensor *sum = fy_zeros(fy_shape(1));
  int steps = 0;
  for (double spent = 0; spent < 8 * fy_get_world_size(); steps++) {
    fy_scope {
      fy_module_zero_grad(ddp);
      fy_backward(fy_mean(fy_forward(ddp, fy_ones(fy_shape(4, 20)))));
      usleep(2000);
      FyTensor *now = fy_full(clock_seconds(), fy_shape(1));
      fy_all_reduce(now);
      spent = fy_item(now);
    }
  }
  fy_fill_(sum, steps);
  fy_all_reduce(sum);
  must(fy_item(sum) == (double)steps * fy_get_world_size() && same_bits_in_all_ranks(fy_parameters(ddp)));
  fy_destroy_process_group();
}

// ---- the tests ----------------------------------------------------------------------------------------------------------------

static const RankCase cases[] = {
    {"equals_one_process", equals_one_process},
    {"begins_alike", begins_alike},
    {"gradients", gradients},
    {"unused", unused},
    {"buckets", buckets},
    {"a_part_of_the_ranks", a_part_of_the_ranks},
    {"other_models", other_models},
    {"saves", saves},
    {"steady", steady}, // not by this test
};
enum { ALL = sizeof cases / sizeof *cases, CASES = ALL - 1 };

static void on_the_cpu(void **state) {
  (void)state;
  needs_ranks();
  for (int i = 0; i < CASES; i++)
    for (int n = 2; n <= 4; n += i == 0 ? 1 : 2)
      expect_ranks(n, cases[i].name, "TEST_FILE=/tmp/ferry-test-ddp.safetensors");
  unlink("/tmp/ferry-test-ddp.safetensors");
}

static void on_cuda_devices(void **state) {
  (void)state;
  needs_ranks();
  if (fy_cuda_device_count() == 0)
    skip();
  for (int i = 0; i < CASES; i++)
    expect_ranks(2, cases[i].name, "TEST_ON_CUDA=1 FERRY_CUDA=sim TEST_FILE=/tmp/ferry-test-ddp.safetensors");
  expect_ranks(2, "equals_one_process", "TEST_ON_CUDA=1 FERRY_CUDA=sim FERRY_SIM_MODE=lazy");
  expect_ranks(2, "equals_one_process", "TEST_ON_CUDA=1 FERRY_CUDA=sim FERRY_DISTRIBUTED_DEBUG=OFF");
  unlink("/tmp/ferry-test-ddp.safetensors");
}

// ---- DistributedSampler: shares of one permutation ----------------------------------------------------------------------------

static void check_shares(int64_t count, int ranks, bool drop_last, bool shuffle) {
  fy_scope {
    int64_t *all = calloc((size_t)count, sizeof *all);
    for (int64_t i = 0; i < count; i++)
      all[i] = i;
    if (shuffle) {
      FySampler *random = fy_random_sampler(count);
      random->order(random, 3 + 5, all);
    }
    const int64_t each = drop_last ? count / ranks : (count + ranks - 1) / ranks;
    for (int r = 0; r < ranks; r++) {
      FySampler *s = fy_distributed_sampler(count, .num_replicas = ranks, .rank = r, .seed = 3, .shuffle = shuffle,
                                            .drop_last = drop_last);
      fy_distributed_sampler_set_epoch(s, 5);
      assert_int_equal(s->count, each);
      int64_t *own = calloc((size_t)each + 1, sizeof *own);
      s->order(s, 99, own);
      for (int64_t i = 0; i < each; i++)
        assert_int_equal(own[i], all[(r + i * ranks) % count]);
      free(own);
    }
    free(all);
  }
}

static void samplers(void **state) {
  (void)state;
  for (int64_t count = 1; count < 40; count += 3)
    for (int ranks = 1; ranks < 50; ranks += 4)
      for (int k = 0; k < 4; k++)
        check_shares(count, ranks, k & 1, k & 2);
  FyError error;
  fy_trap(error) {
    fy_distributed_sampler(10, .num_replicas = 2, .rank = 2);
  }
  assert_string_equal(error.message, "Invalid rank 2, rank should be in the interval [0, 1]");
}

int main(int argc, char **argv) {
  run_rank(argc, argv, cases, ALL);
  const struct CMUnitTest tests[] = {cmocka_unit_test(samplers), cmocka_unit_test(on_the_cpu),
                                     cmocka_unit_test(on_cuda_devices)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
