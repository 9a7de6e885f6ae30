// SPDX-License-Identifier: MIT
// Training steps of two networks of the lessons, for ./ferry adopt: their losses, which adopted kernels must not change, and how
// much of the last step ran on adopted kernels. On a simulated device that models a GPU, also of its modeled time, which comes from
// the bytes and operations of each op, whichever kernel computes it.
//
//   loss NETWORK STEP VALUE
//   share NETWORK LAUNCHES OF-ALL SECONDS OF-ALL
//   op NETWORK NAME OWN-CALLS CALLS SECONDS
#include "adopt/adopt.h"
#include "ferry.h"
#include "networks.h"
#include "op/op.h"
#include <stdio.h>
#include <string.h>

enum { STEPS = 3, BATCH = 16, CLASSES = 10 };

// ---- the cost of each op ---------------------------------------------------------------------------------------------------------

typedef struct OpCost {
  int64_t calls, own;
  double seconds;
} OpCost;

static OpCost costs[FY_OP_COUNT];
static FyDevice device;
static double begun;
static int64_t own_before;
static bool modeled;

static int64_t own_calls(void) {
  int64_t calls = 0;
  for (int op = 0; op < FY_ADOPTED_OPS; op++)
    calls += fy_adopted_use((FyAdoptedOp)op).own;
  return calls;
}

static int64_t own_launches(void) {
  int64_t launches = 0;
  for (int op = 0; op < FY_ADOPTED_OPS; op++)
    launches += fy_adopted_use((FyAdoptedOp)op).launches;
  return launches;
}

static double now(void) {
  fy_synchronize(device);
  return fy_device_seconds(device);
}

static void before(FyOpHooks *self, const FyOpCall *call) {
  (void)self;
  (void)call;
  own_before = own_calls();
  begun = now();
}

static void after(FyOpHooks *self, const FyOpCall *call) {
  (void)self;
  OpCost *cost = &costs[call->op->id];
  if (call->device.type != FY_CUDA || call->op->flags & FY_OP_VIEW)
    return;
  cost->calls++;
  cost->own += own_calls() > own_before;
  cost->seconds += now() - begun;
}

static FyOpHooks measure = {.begin = before, .end = after};

// ---- a step ------------------------------------------------------------------------------------------------------------------------

static FyTensor *training_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target) {
  fy_train(model);
  fy_zero_grad(optimizer);
  FyTensor *loss = fy_cross_entropy(fy_forward(model, x), target);
  fy_backward(loss);
  fy_step(optimizer);
  return loss;
}

// As lesson 9 counts them.
static void count_right(FyModule *model, FyTensor *x, FyTensor *target) {
  fy_eval(model);
  fy_no_grad {
    fy_sum(fy_eq(fy_argmax_dim(fy_forward(model, x), 1, false), target));
  }
}

static void print_share(const char *name, int64_t own, int64_t all) {
  double own_seconds = 0, seconds = 0;
  for (int id = 0; id < FY_OP_COUNT; id++) {
    const OpCost *c = &costs[id];
    seconds += c->seconds;
    own_seconds += c->own > 0 ? c->seconds * (double)c->own / (double)c->calls : 0;
    if (c->calls > 0)
      printf("op %s %s %lld %lld %.9g\n", name, fy_ops[id]->name, (long long)c->own, (long long)c->calls,
             modeled ? c->seconds : 0);
  }
  printf("share %s %lld %lld %.9g %.9g\n", name, (long long)own, (long long)all, modeled ? own_seconds : 0,
         modeled ? seconds : 0);
}

static void train_network(const char *name, FyModule *model, FySize input) {
  fy_scope {
    fy_manual_seed(9);
    FyTensor *x = fy_to(fy_randn(input), device), *target = fy_to(fy_randint(0, CLASSES, fy_shape(BATCH)), device);
    fy_module_to(model, device);
    FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = 0.1);
    memset(costs, 0, sizeof costs);
    for (int step = 0; step < STEPS; step++)
      printf("loss %s %d %.9g\n", name, step, fy_item(training_step(model, optimizer, x, target)));
    const FyCounters counters = fy_counters();
    const int64_t own = own_launches();
    fy_op_hooks_add(&measure);
    training_step(model, optimizer, x, target);
    count_right(model, x, target);
    fy_op_hooks_remove(&measure);
    print_share(name, own_launches() - own, fy_counters_since(counters).launches);
  }
}

int main(void) {
  device = fy_cuda_device(0);
  modeled = fy_cuda_model() != NULL;
  train_network("cnn", new_fashion_cnn(0), fy_shape(BATCH, 1, 28, 28));
  train_network("mlp",
                fy_nn_sequential(fy_nn_linear(784, 256), fy_nn_relu(), fy_nn_linear(256, 128), fy_nn_relu(),
                                 fy_nn_linear(128, CLASSES)),
                fy_shape(BATCH, 784));
  return 0;
}
