// SPDX-License-Identifier: MIT
// Random networks traced: modules that draw their ops, operands and changes in place from a seed, compared with their traces for
// other values and other batch sizes. In float64, where only batch norms are computed otherwise, within 1e-12 of the largest value;
// in float32, where sums have another order and errors grow on their way, within 1e-4.
//
// run: FERRY_CUDA=off
// run: FERRY_CUDA=off OMP_NUM_THREADS=5
// run check: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
#include "autograd/autograd.h"
#include "op/op.h"
#include "op/ops.h"
#include "op/host/host.h"
#include "trace/plan.h"
#include "trace/trace.h"
#include "trace/traced.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static FyDevice device;

// ---- a random network ------------------------------------------------------------------------------------------------------------

enum { MOST_VALUES = 32, MOST_WEIGHTS = 64 };

typedef struct Network {
  FyModule base;
  uint64_t seed;
  int steps;
  FyDType dtype;
  FyTensor *weights[MOST_WEIGHTS]; // counted; made by the first forward
  int weight_count;
} Network;

typedef struct Run {
  Network *net;
  uint64_t state;
  FyTensor *values[MOST_VALUES];
  int count, weight;
} Run;

static unsigned draw(Run *r, unsigned n) {
  r->state = r->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(r->state >> 33) % n;
}

// The next weight of the network: the same one in each run.
static FyTensor *weight(Run *r, FySize size) {
  Network *net = r->net;
  const int i = r->weight++;
  assert_true(i < MOST_WEIGHTS);
  if (i == net->weight_count) {
    FyTensor *t =
        fy_to_dtype(fy_mul_scalar(fy_randn_with((FyFactory){.size = size, .device = device}), 0.4), net->dtype);
    net->weights[net->weight_count++] = fy_retain(fy_detach(t));
  }
  return net->weights[i];
}

static FyTensor *any(Run *r) {
  return r->values[draw(r, (unsigned)r->count)];
}

static bool same_shape(const FyTensor *a, const FyTensor *b) {
  FySize x = fy_size(a), y = fy_size(b);
  return x.ndim == y.ndim && memcmp(x.dim, y.dim, (size_t)x.ndim * sizeof *x.dim) == 0;
}

static FyTensor *partner(Run *r, const FyTensor *x) {
  for (int tries = 0; tries < 4; tries++) {
    FyTensor *y = any(r);
    if (same_shape(x, y))
      return y;
  }
  const int64_t last = fy_size_at(x, -1);
  return draw(r, 2) ? weight(r, fy_shape(last)) : weight(r, fy_shape(1));
}

static FyTensor *unary(Run *r, FyTensor *x) {
  switch (draw(r, 9)) {
  case 0:
    return fy_relu(x);
  case 1:
    return fy_tanh(x);
  case 2:
    return fy_sigmoid(x);
  case 3:
    return fy_gelu(x);
  case 4:
    return fy_abs(x);
  case 5:
    return fy_clamp(x, -0.5, 0.75);
  case 6:
    return fy_mul_scalar(x, 0.5);
  case 7:
    return fy_add_scalar(x, 0.25);
  default:
    return fy_neg(x);
  }
}

static FyTensor *binary(Run *r, FyTensor *x) {
  FyTensor *y = partner(r, x);
  switch (draw(r, 4)) {
  case 0:
    return fy_add(x, y);
  case 1:
    return fy_sub(x, y);
  case 2:
    return fy_tanh(fy_mul(x, y));
  default:
    return fy_where(fy_gt(x, y), fy_sub(x, y), fy_mul_scalar(x, 0)); // without a jump where the two are equal
  }
}

static FyTensor *in_place(Run *r, FyTensor *x) {
  x = draw(r, 2) ? fy_clone(x) : x == r->values[0] ? fy_add_scalar(x, 0) : x;
  switch (draw(r, 4)) {
  case 0:
    return fy_relu_(x);
  case 1:
    return fy_mul_scalar_(x, 0.5);
  case 2:
    return fy_add_(x, weight(r, fy_shape(fy_size_at(x, -1))));
  default:
    fy_tanh_(fy_view(fy_is_contiguous(x) ? x : (x = fy_contiguous(x)), fy_shape(-1)));
    return x;
  }
}

static FyTensor *dense(Run *r, FyTensor *x) {
  const int64_t in = fy_size_at(x, -1), out = 1 + draw(r, 40);
  FyTensor *y = fy_linear(x, weight(r, fy_shape(out, in)), draw(r, 3) ? weight(r, fy_shape(out)) : NULL);
  return draw(r, 2) ? fy_relu(y) : y;
}

static FyTensor *norm(Run *r, FyTensor *x) {
  const FySize c = fy_shape(fy_size_at(x, 1));
  return fy_batch_norm(x, weight(r, c), fy_abs(weight(r, c)), draw(r, 2) ? weight(r, c) : NULL,
                       draw(r, 2) ? weight(r, c) : NULL, false, 0.1, 1e-2);
}

static FyTensor *layer_norm(Run *r, FyTensor *x) {
  const FySize n = fy_shape(fy_size_at(x, -1));
  return fy_layer_norm(x, n, draw(r, 2) ? weight(r, n) : NULL, draw(r, 2) ? weight(r, n) : NULL, 1e-2);
}

static FyTensor *attention(Run *r, FyTensor *x) {
  const int64_t n = fy_size_at(x, -1);
  FyTensor *query = fy_linear(x, weight(r, fy_shape(n, n)), NULL);
  return fy_scaled_dot_product_attention(query, x, x, .is_causal = draw(r, 2) != 0);
}

static FyTensor *conv(Run *r, FyTensor *x) {
  const int kernel = 1 + (int)draw(r, 3);
  const int64_t c = fy_size_at(x, 1), o = 1 + draw(r, 35);
  if (fy_size_at(x, 2) < 3 || fy_size_at(x, 3) < 3)
    return x;
  FyTensor *w = weight(r, fy_shape(o, c, kernel, kernel)), *b = draw(r, 3) ? weight(r, fy_shape(o)) : NULL;
  FyTensor *y = fy_conv2d(x, w, b, .padding = (int)draw(r, 2), .stride = 1 + (int)(draw(r, 4) == 0));
  if (draw(r, 3) == 0)
    y = norm(r, y);
  if (draw(r, 3))
    y = fy_relu(y);
  if (draw(r, 2) && fy_size_at(y, 2) >= 2 && fy_size_at(y, 3) >= 2)
    y = draw(r, 3) ? fy_max_pool2d(y, 2) : fy_avg_pool2d(y, 2);
  return y;
}

static FyTensor *shaped(Run *r, FyTensor *x) {
  switch (draw(r, 7)) {
  case 5:
    return fy_dim(x) > 2 ? attention(r, x) : fy_neg(x);
  case 0:
    return fy_dim(x) > 2 ? fy_flatten(x, 1, -1) : fy_unsqueeze(x, 1);
  case 1:
    return fy_contiguous(fy_transpose(x, 1, -1));
  case 2:
    return fy_size_at(x, 1) > 1 ? fy_slice(x, 1, 0, fy_size_at(x, 1) / 2, 1) : x;
  case 3:
    return fy_softmax(x, -1);
  case 4:
    return fy_cat(fy_list(x, fy_neg(x)), -1);
  default:
    return fy_mean_dim(x, -1, true);
  }
}

static FyTensor *next_value(Run *r) {
  FyTensor *x = draw(r, 3) ? r->values[r->count - 1] : any(r);
  switch (draw(r, 8)) {
  case 0:
  case 1:
    return unary(r, x);
  case 2:
    return binary(r, x);
  case 3:
    return in_place(r, x);
  case 4:
  case 5:
    return fy_dim(x) == 4 ? conv(r, x) : dense(r, x);
  case 6:
    return shaped(r, x);
  default:
    return fy_dim(x) == 2 && draw(r, 2) ? norm(r, dense(r, x)) : draw(r, 2) ? layer_norm(r, x) : dense(r, x);
  }
}

static FyTensor *network_forward(FyModule *self, FyTensor *x) {
  Run r = {.net = (Network *)self, .values = {x}, .count = 1};
  r.state = r.net->seed;
  for (int i = 0; i < r.net->steps; i++) {
    FyTensor *y = next_value(&r);
    if (fy_numel(y) / fy_size_at(x, 0) > 4096)
      y = fy_mean_dim(y, -1, true);
    r.values[r.count < MOST_VALUES ? r.count++ : MOST_VALUES - 1] = y;
  }
  return r.values[r.count - 1];
}

// ---- comparing -------------------------------------------------------------------------------------------------------------------

static bool close_enough(FyTensor *a, FyTensor *b, FyDType dtype, double *apart) {
  bool same = same_shape(a, b) && fy_dtype_of(a) == fy_dtype_of(b);
  *apart = INFINITY;
  if (!same)
    return false;
  const double *x = fy_data_ptr(fy_contiguous(fy_to_dtype(fy_cpu(a), FY_FLOAT64)));
  const double *y = fy_data_ptr(fy_contiguous(fy_to_dtype(fy_cpu(b), FY_FLOAT64)));
  double scale = 1;
  *apart = 0;
  for (int64_t i = 0; i < fy_numel(a); i++)
    scale = fmax(scale, fabs(y[i]));
  for (int64_t i = 0; i < fy_numel(a); i++) {
    const double difference = x[i] == y[i] || (isnan(x[i]) && isnan(y[i])) ? 0 : fabs(x[i] - y[i]) / scale;
    *apart = difference > *apart || isnan(difference) ? difference : *apart;
  }
  return *apart <= (dtype == FY_FLOAT64 ? 1e-12 : 1e-4);
}

static int failures, groups, chains, compared, skipped;

static void count_steps(const FyPlan *plan) {
  for (int i = 0; i < plan->step_count; i++) {
    groups += plan->steps[i].kind == FY_STEP_GROUP;
    chains += plan->steps[i].kind == FY_STEP_CHAIN || plan->steps[i].op == &fy_op_pointwise_chain;
  }
}

static FyTensor *random_input(const Network *net, FySize size, int64_t batch) {
  size.dim[0] = batch;
  return fy_to_dtype(fy_randn_with((FyFactory){.size = size, .device = device}), net->dtype);
}

// The trace of the network; NULL where it draws what traces refuse.
static FyModule *trace_of(Network *net, FySize size, int64_t example) {
  FyError error;
  FyModule *volatile traced = NULL;
  fy_trap(error) {
    FyTensor *x = random_input(net, size, example);
    fy_no_grad {
      fy_forward(net, fy_clone(x)); // makes the weights
    }
    traced = fy_trace(net, x, .no_check = true);
  }
  if (error.kind && !strstr(error.message, "changes a part of a tensor in place")) {
    failures++;
    print_error("  seed %llu: %s\n", (unsigned long long)net->seed, error.message);
  }
  return traced;
}

static FyTensor *run_traced(FyModule *traced, FyTensor *x, uint64_t seed) {
  FyTensor *volatile z = NULL;
  FyError error;
  fy_trap(error) {
    z = fy_forward(traced, x);
  }
  if (error.kind)
    print_error("  seed %llu, batch %d: %s\n", (unsigned long long)seed, (int)fy_size_at(x, 0), error.message);
  return z;
}

static void compare(Network *net, FyModule *traced, FyTensor *x, uint64_t seed) {
  double apart = 0;
  FyTensor *y = fy_forward(net, fy_clone(x));
  FyTensor *z = run_traced(traced, x, seed);
  compared++;
  if (!z || !close_enough(z, y, net->dtype, &apart)) {
    failures++;
    print_error("  seed %llu, batch %d, %s: the results differ by %g of the largest value\n", (unsigned long long)seed,
                (int)fy_size_at(x, 0), fy_dtype_name(net->dtype), apart);
  }
  if (!fy_plan_is_sound(fy_traced_plan(traced)))
    failures++;
}

static void try_network(uint64_t seed) {
  Network *net = fy_module_new(Network, network_forward);
  Run r = {.state = seed * 2862933555777941757u + 3037000493u};
  static const int64_t batches[] = {1, 2, 5, 33};
  net->seed = r.state;
  net->steps = 2 + (int)draw(&r, 14);
  net->dtype = draw(&r, 3) ? FY_FLOAT32 : FY_FLOAT64;
  const bool images = draw(&r, 2);
  const FySize image = fy_shape(1, 1 + draw(&r, 4), 4 + draw(&r, 9), 4 + draw(&r, 9));
  const FySize size = images ? image : fy_shape(1, 1 + draw(&r, 60));
  FyModule *traced = trace_of(net, size, 1 + draw(&r, 3));
  skipped += !traced;
  if (traced && getenv("FERRY_TRACE_SEED")) // one network alone: what was it?
    fy_traced_print_graph(traced);
  for (size_t i = 0; traced && i < 2 * sizeof batches / sizeof *batches; i++)
    fy_no_grad {
      fy_scope {
        compare(net, traced, random_input(net, size, batches[i / 2]), seed);
      }
    }
  if (traced)
    count_steps(fy_traced_plan(traced));
  for (int i = 0; i < net->weight_count; i++)
    fy_release(net->weights[i]);
}

static void test_random_networks(void **state) {
  (void)state;
  const char *wanted = getenv("FERRY_TRACE_SEED"), *number = getenv("FERRY_TRACE_NETWORKS");
  const uint64_t count = number ? strtoull(number, NULL, 10) : device.type == FY_CUDA ? 60 : 400;
  for (uint64_t seed = 1; seed <= count && failures < 10; seed++)
    if (!wanted || strtoull(wanted, NULL, 10) == seed)
      fy_scope {
        try_network(seed);
      }
  print_message("[          ] %d results compared, %d networks skipped, %d groups, %d chains\n", compared, skipped,
                groups, chains);
  assert_int_equal(failures, 0);
  const bool cuda = device.type == FY_CUDA;
  assert_true(wanted || (skipped < (int)count / 10 && (cuda || groups > 100) && chains > (cuda ? 5 : 50)));
}

int main(int argc, char **argv) {
  device = argc > 1 && strcmp(argv[1], "cuda") == 0 ? fy_resolve_device(fy_cuda_device(0)) : FY_CPU_DEVICE;
  fy_manual_seed(7);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_networks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
