// SPDX-License-Identifier: MIT
// Random sequences of collectives and messages, of all dtypes and sizes, in random groups, at once and behind a computation,
// on CPU tensors over MPI and on CUDA tensors over NCCL, against what each rank computes by itself.
// timeout: 400
#include "../../support/child.h"
#include "../nn/check.h"
#include "device/runtime.h"
#include "profiler/profiler.h"
#include "ranks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUPS = 4, STEPS = 60, AT_ONCE = 5 };

typedef struct Step {
  int kind; // 0 all_reduce, 1 broadcast, 2 all_gather, 3 reduce_scatter, 4 a message around the ring, 5 barrier
  int group, root;
  FyDType dtype;
  FyReduceOp op;
  int64_t count;
  bool async, lists;
  uint32_t seed;
} Step;

typedef struct Group {
  FyGroup *group; // NULL in ranks that are not in it
  int size, rank, ranks[16];
} Group;

static Group groups[GROUPS];

// The group of all, and random ones, listed in random order.
static void make_groups(uint32_t seed) {
  const int n = fy_get_world_size();
  for (int g = 0; g < GROUPS; g++) {
    Group *group = &groups[g];
    *group = (Group){.rank = -1};
    int all[16];
    for (int i = 0; i < n; i++)
      all[i] = i;
    for (int i = n - 1; i > 0 && g > 0; i--) {
      int j = (int)(mix(seed + (uint32_t)g, (uint32_t)i) % (uint32_t)(i + 1)), keep = all[i];
      all[i] = all[j];
      all[j] = keep;
    }
    group->size = g == 0 ? n : 1 + (int)(mix(seed, (uint32_t)g + 50) % (uint32_t)n);
    for (int i = 0; i < group->size; i++) {
      group->ranks[i] = all[i];
      if (all[i] == fy_get_rank())
        group->rank = i;
    }
    group->group = g == 0 ? NULL : fy_new_group(group->ranks, group->size);
    must((group->group == NULL) == (g == 0 || group->rank < 0));
    must(group->rank < 0 || (fy_group_rank(group->group) == group->rank && fy_group_size(group->group) == group->size));
  }
}

static Step draw(uint32_t seed, int number) {
  static const int64_t counts[] = {0, 1, 2, 3, 7, 100, 1000, 1025, 3000, 5001, 100003};
  uint32_t s = mix(seed, (uint32_t)number);
  Step step = {.kind = (int)(mix(s, 1) % 6), .group = (int)(mix(s, 2) % GROUPS), .seed = s};
  step.root = groups[step.group].ranks[mix(s, 3) % (uint32_t)groups[step.group].size];
  step.dtype = (FyDType)(FY_BOOL + mix(s, 4) % (FY_DTYPE_COUNT - FY_BOOL));
  step.op = (FyReduceOp)(mix(s, 5) % FY_REDUCE_OP_COUNT);
  if (step.op == FY_REDUCE_OP_AVG && step.dtype == FY_BOOL)
    step.op = FY_REDUCE_OP_SUM;
  step.count = counts[mix(s, 6) % (sizeof counts / sizeof *counts)];
  step.async = mix(s, 7) % 2;
  step.lists = !step.async && mix(s, 8) % 3 == 0;
  return step;
}

// Small, so that every dtype holds the products; for averages multiples of the group's size.
static double value(const Step *s, int rank, int64_t i) {
  uint32_t v = mix(s->seed + 7u * (uint32_t)rank, (uint32_t)i);
  if (s->dtype == FY_BOOL)
    return v % 2;
  return (s->op == FY_REDUCE_OP_AVG ? groups[s->group].size : 1) * (double)(v % 3);
}

static double reduced(const Step *s, int64_t i) {
  const Group *group = &groups[s->group];
  double sum = value(s, group->ranks[0], i);
  for (int r = 1; r < group->size; r++) {
    double v = value(s, group->ranks[r], i);
    sum = s->op == FY_REDUCE_OP_PRODUCT ? sum * v
          : s->op == FY_REDUCE_OP_MAX   ? (v > sum ? v : sum)
          : s->op == FY_REDUCE_OP_MIN   ? (v < sum ? v : sum)
                                        : sum + v;
  }
  if (s->dtype == FY_BOOL)
    return sum != 0;
  return s->op == FY_REDUCE_OP_AVG ? sum / group->size : sum;
}

static double expected(const Step *s, int64_t i) {
  const Group *group = &groups[s->group];
  switch (s->kind) {
  case 1:
    return value(s, s->root, i);
  case 2:
    return value(s, group->ranks[i / s->count], i % s->count);
  case 3:
    return reduced(s, group->rank * s->count + i);
  case 4:
    return value(s, group->ranks[(group->rank + group->size - 1) % group->size], i);
  default:
    return reduced(s, i);
  }
}

static FyTensor *tensor_of(const Step *s, int64_t count, FyDevice device) {
  FyTensor *t = fy_empty(fy_shape(count), .dtype = FY_FLOAT64);
  double *data = fy_data_ptr(t);
  for (int64_t i = 0; i < count; i++)
    data[i] = value(s, fy_get_rank(), i);
  return fy_to(t, device, .dtype = s->dtype);
}

typedef struct Begun {
  Step step;
  FyTensor *in, *out;
  FyWork *works[2];
} Begun;

static void gather_lists(const Step *s, Begun *b) {
  const Group *group = &groups[s->group];
  FyTensor *list[16];
  for (int i = 0; i < group->size; i++)
    list[i] = fy_narrow(b->out, 0, i * s->count, s->count);
  fy_all_gather(((FyTensors){group->size, list}), b->in, .group = group->group);
}

static void scatter_lists(const Step *s, Begun *b) {
  const Group *group = &groups[s->group];
  FyTensor *list[16];
  for (int i = 0; i < group->size; i++)
    list[i] = fy_narrow(b->in, 0, i * s->count, s->count);
  fy_reduce_scatter(b->out, ((FyTensors){group->size, list}), .op = s->op, .group = group->group);
}

static void begin(const Step *s, Begun *b, FyDevice device) {
  const Group *group = &groups[s->group];
  const int64_t size = group->size;
  *b = (Begun){.step = *s, .in = tensor_of(s, s->kind == 3 ? s->count * size : s->count, device)};
  b->out = s->kind == 2   ? fy_empty(fy_shape(s->count * size), .dtype = s->dtype, .device = device)
           : s->kind >= 3 ? fy_empty(fy_shape(s->count), .dtype = s->dtype, .device = device)
                          : b->in;
  const int next = group->ranks[(group->rank + 1) % group->size];
  const int before = group->ranks[(group->rank + group->size - 1) % group->size];
  switch (s->kind) {
  case 0:
    b->works[0] = fy_all_reduce(b->in, .op = s->op, .group = group->group, .async_op = s->async);
    break;
  case 1:
    b->works[0] = fy_broadcast(b->in, s->root, .group = group->group, .async_op = s->async);
    break;
  case 2:
    if (s->lists)
      gather_lists(s, b);
    else
      b->works[0] = fy_all_gather_into_tensor(b->out, b->in, .group = group->group, .async_op = s->async);
    break;
  case 3:
    if (s->lists)
      scatter_lists(s, b);
    else
      b->works[0] = fy_reduce_scatter_tensor(b->out, b->in, .op = s->op, .group = group->group, .async_op = s->async);
    break;
  case 4:
    if (group->size == 1) {
      b->out = b->in;
    } else {
      b->works[0] = fy_send(b->in, next, .group = group->group, .async_op = true);
      b->works[1] = fy_recv(b->out, before, .group = group->group, .async_op = true);
    }
    break;
  default:
    fy_barrier(.group = group->group);
    b->out = NULL;
  }
}

static void finish(Begun *b, int number) {
  for (int i = 0; i < 2; i++)
    if (b->works[i])
      fy_work_wait(b->works[i]);
  if (!b->out)
    return;
  FyTensor *got = fy_to(b->out, FY_CPU_DEVICE, .dtype = FY_FLOAT64);
  const double *data = fy_data_ptr(got);
  for (int64_t i = 0; i < fy_numel(got); i++)
    if (data[i] != expected(&b->step, i)) {
      fprintf(stderr, "rank %d step %d: kind %d %s op %d count %lld group %d async %d: [%lld] is %g, not %g\n",
              fy_get_rank(), number, b->step.kind, fy_dtype_name(b->step.dtype), b->step.op, (long long)b->step.count,
              b->step.group, b->step.async, (long long)i, data[i], expected(&b->step, i));
      _exit(9);
    }
}

// Up to AT_ONCE works are under way before the oldest is waited for.
static void run_sequence(uint32_t seed, FyDevice device, bool messages) {
  make_groups(seed);
  for (int k = 0; k < STEPS; k += AT_ONCE) {
    fy_scope {
      Begun begun[AT_ONCE];
      bool mine[AT_ONCE] = {false};
      for (int i = 0; i < AT_ONCE; i++) {
        Step step = draw(seed, k + i);
        if (step.kind == 4 && !messages)
          step.kind = 0;
        mine[i] = groups[step.group].rank >= 0;
        if (mine[i])
          begin(&step, &begun[i], device);
      }
      for (int i = 0; i < AT_ONCE; i++)
        if (mine[i])
          finish(&begun[i], k + i);
    }
  }
}

static void on_cpu(void) {
  fy_init_process_group(NULL, .timeout = 20);
  for (uint32_t seed = 1; seed <= 4; seed++)
    run_sequence(seed, FY_CPU_DEVICE, true);
  fy_destroy_process_group();
  fy_init_process_group("mpi"); // a second time
  fy_barrier();
  fy_destroy_process_group();
}

static void on_cuda(void) {
  fy_init_process_group("nccl", .timeout = 20);
  for (uint32_t seed = 11; seed <= 12; seed++)
    run_sequence(seed, fy_cuda_device(fy_get_node_local_rank()), false);
  fy_destroy_process_group();
}

// The least and the greatest where some ranks, or all, have a NaN: short enough to go with the announcements, and longer.
static void check_nan(FyDevice device, FyDType dtype, FyReduceOp op, int64_t count) {
  const int rank = fy_get_rank(), n = fy_get_world_size();
  FyTensor *t = fy_empty(fy_shape(count), .dtype = FY_FLOAT64);
  double *data = fy_data_ptr(t);
  for (int64_t i = 0; i < count; i++) // all have a NaN in every fifth place, one of them in each other
    data[i] = i % 5 == 0 || i % n == rank ? NAN : rank + 1;
  t = fy_to(t, device, .dtype = dtype);
  fy_all_reduce(t, .op = op);
  t = fy_to(t, FY_CPU_DEVICE, .dtype = FY_FLOAT64);
  data = fy_data_ptr(t);
  for (int64_t i = 0; i < count; i++) {
    const bool least = op == FY_REDUCE_OP_MIN, first = i % n == 0, last = i % n == n - 1;
    const double wanted = i % 5 == 0 ? NAN : least ? 1 + first : n - last;
    must(i % 5 == 0 ? isnan(data[i]) : data[i] == wanted);
  }
}

static void nan_on(FyDevice device) {
  static const FyDType dtypes[] = {FY_FLOAT16, FY_BFLOAT16, FY_FLOAT32, FY_FLOAT64};
  for (int d = 0; d < 4; d++)
    for (int op = FY_REDUCE_OP_MIN; op <= FY_REDUCE_OP_MAX; op++)
      fy_scope {
        check_nan(device, dtypes[d], (FyReduceOp)op, 100);
        check_nan(device, dtypes[d], (FyReduceOp)op, 30000);
      }
}

static void nan_on_cpu(void) {
  fy_init_process_group("mpi", .timeout = 20);
  nan_on(FY_CPU_DEVICE);
  fy_destroy_process_group();
}

static void nan_on_cuda(void) {
  fy_init_process_group("nccl", .timeout = 20);
  nan_on(fy_cuda_device(fy_get_node_local_rank()));
  fy_destroy_process_group();
}

// Messages on CUDA devices before any collective, between each two ranks and both ways; and after one.
static void cuda_messages_first(void) {
  fy_init_process_group(NULL, .timeout = 20);
  const int rank = fy_get_rank(), n = fy_get_world_size();
  FyDevice device = fy_cuda_device(fy_get_node_local_rank());
  for (int turn = 0; turn < 3; turn++) {
    FyTensor *t = fy_full(rank, fy_shape(5000), .device = device), *u = fy_empty_like(t);
    for (int a = 0; a < n; a++)
      for (int b = 0; b < a; b++) {
        if (rank == a) {
          fy_send(t, b);
          fy_recv(u, b);
        } else if (rank == b) {
          fy_recv(u, a);
          fy_send(t, a);
        }
        must((rank != a && rank != b) || fy_item(fy_mean(u)) == a + b - rank);
      }
    if (turn == 1)
      fy_all_reduce(t);
    must(fy_item(fy_mean(t)) == (turn == 1 ? n * (n - 1) / 2 : rank));
  }
  fy_destroy_process_group();
}

// Once a collective has begun the group.
static void cuda_messages(void) {
  fy_init_process_group(NULL, .timeout = 20);
  const int rank = fy_get_rank(), n = fy_get_world_size();
  FyDevice device = fy_cuda_device(fy_get_node_local_rank());
  FyTensor *t = fy_full(rank, fy_shape(50000), .device = device), *u = fy_empty_like(t);
  fy_broadcast(u, 0);
  for (int k = 0; k < 3; k++) {
    if (rank % 2 == 0 && rank + 1 < n) {
      fy_send(t, rank + 1);
      fy_recv(u, rank + 1);
    } else if (rank % 2 == 1) {
      fy_recv(u, rank - 1);
      fy_send(t, rank - 1);
    }
  }
  if (rank % 2 == 1 || rank + 1 < n)
    must(fy_item(fy_mean(u)) == (rank ^ 1));
  fy_destroy_process_group();
}

// A profile has the collectives, on the thread that drove them, and does not have what only waits.
static void profiled(void) {
  fy_init_process_group("mpi", .timeout = 20);
  FyProfile *profile = NULL;
  fy_profile(profile, FY_PROFILE_CPU) {
    FyTensor *t = fy_ones(fy_shape(100000));
    fy_all_reduce(t);
    fy_work_wait(fy_all_reduce(t, .async_op = true));
    fy_broadcast(t, 0);
    fy_barrier();
  }
  const FyKeyAverages *averages = fy_key_averages(profile);
  int64_t reductions = 0, broadcasts = 0, others = 0;
  for (int i = 0; i < averages->count; i++) {
    const FyAverage *row = &averages->rows[i];
    reductions += strcmp(row->key, "mpi:all_reduce") == 0 ? row->count : 0;
    broadcasts += strcmp(row->key, "mpi:broadcast") == 0 ? row->count : 0;
    others += strncmp(row->key, "mpi:", 4) == 0 ? row->count : 0;
  }
  must(reductions == 2 && broadcasts == 1 && others == 3);
  fy_destroy_process_group();
}

static void on_cpu_in_ranks(void **state) {
  (void)state;
  needs_ranks();
  for (int n = 1; n <= 4; n++)
    expect_ranks(n, "on_cpu", "");
  expect_ranks(3, "nan_on_cpu", "");
  expect_ranks(2, "profiled", "");
}

static void on_cuda_in_ranks(void **state) {
  (void)state;
  needs_ranks();
  if (fy_cuda_device_count() == 0)
    skip();
  for (int n = 1; n <= 4; n++)
    expect_ranks(n, "on_cuda", "FERRY_CUDA=sim FERRY_SIM_DEVICES=4");
  expect_ranks(3, "on_cuda", "FERRY_CUDA=sim FERRY_SIM_DEVICES=4 FERRY_SIM_MODE=lazy");
  expect_ranks(3, "on_cuda", "FERRY_CUDA=sim FERRY_SIM_DEVICES=4 FERRY_DISTRIBUTED_DEBUG=OFF");
  expect_ranks(3, "nan_on_cuda", "FERRY_CUDA=sim FERRY_SIM_DEVICES=4");
  expect_ranks(3, "cuda_messages", "FERRY_CUDA=sim FERRY_SIM_DEVICES=4");
  for (int n = 2; n <= 4; n++)
    expect_ranks(n, "cuda_messages_first", "FERRY_CUDA=sim FERRY_SIM_DEVICES=4");
  expect_ranks(3, "cuda_messages_first", "FERRY_CUDA=sim FERRY_SIM_DEVICES=4 FERRY_DISTRIBUTED_DEBUG=OFF");
}

// Without a launcher there is one rank, and no Open MPI is needed.
static int alone(void *context) {
  (void)context;
  setenv("FERRY_MPI_PLUGIN", "/nowhere", 1);
  on_cpu();
  return 0;
}

static void a_group_of_one_needs_nothing(void **state) {
  (void)state;
  assert_int_equal(run_child(alone, NULL), 0);
}

static int without_mpi(void *context) {
  (void)context;
  setenv("FERRY_MPI_PLUGIN", "/nowhere", 1);
  setenv("WORLD_SIZE", "2", 1);
  fy_init_process_group("mpi");
  return 0;
}

static void without_open_mpi_it_says_so(void **state) {
  (void)state;
  assert_int_equal(run_child(without_mpi, NULL), 1);
  expect_child_wrote("2 processes need Open MPI to talk to each other, and /nowhere was not built");
  expect_child_wrote("libopenmpi-dev");
}

// The variables that Slurm sets, without Slurm: in a batch script of four tasks a program is one process; in a step of two
// that srun has started without PMIx they cannot find each other.
static int in_a_batch_script(void *context) {
  (void)context;
  setenv("SLURM_NTASKS", "4", 1);
  setenv("SLURM_PROCID", "0", 1);
  setenv("SLURM_LOCALID", "0", 1);
  fy_init_process_group("mpi");
  if (fy_get_world_size() != 1 || fy_get_rank() != 0)
    return 3;
  fy_destroy_process_group();
  return 0;
}

static int in_a_step_without_pmix(void *context) {
  (void)context;
  setenv("SLURM_NTASKS", "2", 1);
  setenv("SLURM_STEP_NUM_TASKS", "2", 1);
  setenv("SLURM_PROCID", "1", 1);
  setenv("SLURM_LOCALID", "1", 1);
  if (fy_get_node_local_rank() != 1)
    return 3;
  fy_init_process_group("mpi");
  return 0;
}

static void the_variables_of_slurm(void **state) {
  (void)state;
  assert_int_equal(run_child(in_a_batch_script, NULL), 0);
  if (cannot_start_ranks())
    return;
  assert_int_equal(run_child(in_a_step_without_pmix, NULL), 1);
  expect_child_wrote("srun has started 2 processes without PMIx");
  expect_child_wrote("srun --mpi=pmix -n 2");
  expect_ranks(2, "on_cpu", "SLURM_NTASKS=4 SLURM_PROCID=0"); // mpirun in a batch script
}

static FyError error;
#define expect_error(wanted, text, ...)                                                                                \
  do {                                                                                                                 \
    fy_trap(error) {                                                                                                   \
      __VA_ARGS__;                                                                                                     \
    }                                                                                                                  \
    assert_int_equal(error.kind, wanted);                                                                              \
    if (!strstr(error.message, text))                                                                                  \
      fail_msg("%s", error.message);                                                                                   \
  } while (0)

static void arguments_are_checked(void **state) {
  (void)state;
  FyTensor *t = fy_ones(fy_shape(4, 6));
  expect_error(FY_VALUE_ERROR, "Default process group has not been initialized", fy_get_rank());
  expect_error(FY_VALUE_ERROR, "Default process group has not been initialized", fy_all_reduce(t));
  expect_error(FY_VALUE_ERROR, "Invalid backend: 'gloo'", fy_init_process_group("gloo"));
  fy_init_process_group("mpi");
  expect_error(FY_RUNTIME_ERROR, "twice", fy_init_process_group("mpi"));
  expect_error(FY_VALUE_ERROR, "Tensors must be contiguous", fy_all_reduce(fy_t(t)));
  expect_error(FY_TYPE_ERROR, "NULL", fy_all_reduce(NULL));
  expect_error(FY_VALUE_ERROR, "there is no rank 1", fy_broadcast(t, 1));
  expect_error(FY_VALUE_ERROR, "cannot send to itself", fy_send(t, 0));
  expect_error(FY_VALUE_ERROR, "world_size times", fy_all_gather_into_tensor(fy_ones(fy_shape(5)), t));
  expect_error(FY_VALUE_ERROR, "same type", fy_all_gather_into_tensor(fy_to_dtype(t, FY_INT32), t));
  expect_error(FY_RUNTIME_ERROR, "Boolean", fy_all_reduce(fy_to_dtype(t, FY_BOOL), .op = FY_REDUCE_OP_AVG));
  expect_error(FY_VALUE_ERROR, "comes twice", fy_new_group((int[]){0, 0}, 2));
  expect_error(FY_VALUE_ERROR, "there is no rank 3", fy_new_group((int[]){3}, 1));
  if (fy_cuda_device_count() > 0)
    expect_error(FY_RUNTIME_ERROR, "No backend type associated with device type cuda",
                 fy_all_reduce(fy_to(t, fy_cuda_device(0))));
  assert_string_equal(fy_get_backend(), "mpi");
  assert_true(fy_distributed_is_initialized());
  const uint32_t version = fy_version_of(t);
  fy_all_reduce(t);
  assert_true(fy_version_of(t) == version + 1); // changed in place, as autograd has to know
  FyTraffic traffic = fy_distributed_traffic();
  assert_true(traffic.collectives == 1 && traffic.collective_bytes == 96);
  fy_destroy_process_group();
  assert_false(fy_distributed_is_initialized());
}

int main(int argc, char **argv) {
  static const RankCase cases[] = {{"on_cpu", on_cpu},
                                   {"on_cuda", on_cuda},
                                   {"cuda_messages", cuda_messages},
                                   {"cuda_messages_first", cuda_messages_first},
                                   {"profiled", profiled},
                                   {"nan_on_cpu", nan_on_cpu},
                                   {"nan_on_cuda", nan_on_cuda}};
  run_rank(argc, argv, cases, sizeof cases / sizeof *cases);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_group_of_one_needs_nothing),
      cmocka_unit_test(without_open_mpi_it_says_so),
      cmocka_unit_test(the_variables_of_slurm),
      cmocka_unit_test(on_cpu_in_ranks),
      cmocka_unit_test(on_cuda_in_ranks),
      cmocka_unit_test(arguments_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
