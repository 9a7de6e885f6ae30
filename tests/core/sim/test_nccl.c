// SPDX-License-Identifier: MIT
// NCCL's collectives on simulated devices: one thread for all ranks, a thread for each, and a process for each, against sums
// computed here.
// run check: FERRY_SIM_DEVICES=4 FERRY_SIM_MODE=lazy
// run: FERRY_SIM_DEVICES=4 FERRY_SIM_MODE=threads
// run: FERRY_SIM_DEVICES=4 FERRY_SIM_MODE=sync
#include "nccl_check.h"
#include <pthread.h>

#include "sim/include/cudasim_half.h"

enum { MOST = 4, STEPS = 25, LARGE = 70000 };

static uint32_t mix(uint32_t a, uint32_t b) {
  uint32_t x = a * 2654435761u ^ (b + 0x9e3779b9u) * 2246822519u;
  x ^= x >> 15;
  x *= 2654435761u;
  return x ^ x >> 13;
}

// ---- elements of all types by way of double ----

static const size_t sizes[ncclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

static void set(void *data, int type, size_t i, double v) {
  switch (type) {
  case ncclInt8:
    ((signed char *)data)[i] = (signed char)v;
    break;
  case ncclUint8:
    ((unsigned char *)data)[i] = (unsigned char)v;
    break;
  case ncclInt32:
    ((int32_t *)data)[i] = (int32_t)v;
    break;
  case ncclUint32:
    ((uint32_t *)data)[i] = (uint32_t)v;
    break;
  case ncclInt64:
    ((int64_t *)data)[i] = (int64_t)v;
    break;
  case ncclUint64:
    ((uint64_t *)data)[i] = (uint64_t)v;
    break;
  case ncclFloat16:
    ((uint16_t *)data)[i] = cudasim_float_to_half((float)v);
    break;
  case ncclFloat32:
    ((float *)data)[i] = (float)v;
    break;
  case ncclFloat64:
    ((double *)data)[i] = v;
    break;
  default:
    ((uint16_t *)data)[i] = cudasim_float_to_bfloat16((float)v);
  }
}

// ---- a step, which every rank draws alike ----

typedef struct Step {
  int kind; // 0 all-reduce, 1 reduce, 2 broadcast, 3 all-gather, 4 reduce-scatter, 5 each sends to the next
  int type, op, root;
  size_t count;
  bool in_place;
  uint32_t seed;
} Step;

static Step draw(uint32_t seed, int number, int ranks) {
  uint32_t s = mix(seed, (uint32_t)number);
  Step step = {.kind = (int)(mix(s, 1) % 6), .type = (int)(mix(s, 2) % ncclNumTypes), .op = (int)(mix(s, 3) % 5)};
  step.root = (int)(mix(s, 4) % (uint32_t)ranks);
  static const size_t counts[] = {0, 1, 2, 3, 7, 64, 257, 1000, 4099, LARGE};
  step.count = counts[mix(s, 5) % 10];
  step.in_place = mix(s, 6) % 2;
  step.seed = s;
  return step;
}

// Small, so that every type holds the products; for averages multiples of the number of ranks, so that they are exact.
static double value(const Step *step, int ranks, int rank, size_t i) {
  return (step->op == ncclAvg ? ranks : 1) * (double)(mix(step->seed + (uint32_t)rank, (uint32_t)i) % 3);
}

static double reduced(const Step *step, int ranks, size_t i) {
  double sum = value(step, ranks, 0, i);
  for (int r = 1; r < ranks; r++) {
    double v = value(step, ranks, r, i);
    sum = step->op == ncclProd  ? sum * v
          : step->op == ncclMax ? (v > sum ? v : sum)
          : step->op == ncclMin ? (v < sum ? v : sum)
                                : sum + v;
  }
  return step->op == ncclAvg ? sum / ranks : sum;
}

static size_t sent(const Step *step, int ranks) {
  return step->kind == 4 ? step->count * (size_t)ranks : step->count;
}

static size_t received(const Step *step, int ranks) {
  return step->kind == 3 ? step->count * (size_t)ranks : step->count;
}

static double expected(const Step *step, int ranks, int rank, size_t i) {
  switch (step->kind) {
  case 2:
    return value(step, ranks, step->root, i);
  case 3:
    return value(step, ranks, (int)(i / step->count), i % step->count);
  case 4:
    return reduced(step, ranks, (size_t)rank * step->count + i);
  case 5:
    return value(step, ranks, (rank + ranks - 1) % ranks, i);
  default:
    return reduced(step, ranks, i);
  }
}

typedef struct Rank {
  int rank, ranks;
  ncclComm_t comm;
  cudaStream_t stream;
  char *memory;
  void *send, *recv;
} Rank;

static void prepare(Rank *r, const Step *step) {
  const size_t size = sizes[step->type], n = sent(step, r->ranks), m = received(step, r->ranks);
  char *host = calloc(n + 1, 8);
  for (size_t i = 0; i < n; i++)
    set(host, step->type, i, value(step, r->ranks, r->rank, i));
  check_cuda(cudaSetDevice(r->rank));
  check_cuda(cudaMalloc((void **)&r->memory, (n + m) * size + 256));
  r->send = r->memory;
  r->recv = r->memory + (n * size + 255) / 256 * 256;
  if (step->in_place && step->kind != 5) {
    r->recv = r->memory;
    r->send = step->kind == 3 ? r->memory + (size_t)r->rank * step->count * size : r->memory;
    if (step->kind == 4)
      r->recv = r->memory + (size_t)r->rank * step->count * size;
  }
  check_cuda(cudaMemcpyAsync(r->send, host, n * size, cudaMemcpyHostToDevice, r->stream));
  check_cuda(cudaStreamSynchronize(r->stream));
  free(host);
}

static void queue(Rank *r, const Step *s) {
  ncclDataType_t type = (ncclDataType_t)s->type;
  ncclRedOp_t op = (ncclRedOp_t)s->op;
  int next = (r->rank + 1) % r->ranks, before = (r->rank + r->ranks - 1) % r->ranks;
  switch (s->kind) {
  case 0:
    check_nccl(ncclAllReduce(r->send, r->recv, s->count, type, op, r->comm, r->stream));
    break;
  case 1:
    check_nccl(
        ncclReduce(r->send, r->rank == s->root ? r->recv : NULL, s->count, type, op, s->root, r->comm, r->stream));
    break;
  case 2:
    check_nccl(
        ncclBroadcast(r->rank == s->root ? r->send : NULL, r->recv, s->count, type, s->root, r->comm, r->stream));
    break;
  case 3:
    check_nccl(ncclAllGather(r->send, r->recv, s->count, type, r->comm, r->stream));
    break;
  case 4:
    check_nccl(ncclReduceScatter(r->send, r->recv, s->count, type, op, r->comm, r->stream));
    break;
  default:
    check_nccl(ncclGroupStart());
    check_nccl(ncclSend(r->send, s->count, type, next, r->comm, r->stream));
    check_nccl(ncclRecv(r->recv, s->count, type, before, r->comm, r->stream));
    check_nccl(ncclGroupEnd());
  }
}

static void compare(Rank *r, const Step *step) {
  const size_t size = sizes[step->type], m = received(step, r->ranks);
  char *got = calloc(m + 1, 8), *wanted = calloc(m + 1, 8);
  check_cuda(cudaSetDevice(r->rank));
  check_cuda(cudaMemcpyAsync(got, r->recv, m * size, cudaMemcpyDeviceToHost, r->stream));
  check_cuda(cudaStreamSynchronize(r->stream));
  for (size_t i = 0; i < m; i++)
    set(wanted, step->type, i, expected(step, r->ranks, r->rank, i));
  if ((step->kind != 1 || r->rank == step->root) && memcmp(got, wanted, m * size) != 0) {
    fprintf(stderr, "rank %d of %d: kind %d type %d op %d count %zu in place %d is wrong\n", r->rank, r->ranks,
            step->kind, step->type, step->op, step->count, step->in_place);
    abort();
  }
  check_cuda(cudaFree(r->memory));
  free(got);
  free(wanted);
}

// ---- one thread ----

static void one_thread(void **state) {
  (void)state;
  for (int n = 1; n <= MOST; n++) {
    ncclComm_t comms[MOST];
    Rank ranks[MOST];
    check_nccl(ncclCommInitAll(comms, n, NULL));
    for (int r = 0; r < n; r++) {
      ranks[r] = (Rank){.rank = r, .ranks = n, .comm = comms[r]};
      check_cuda(cudaSetDevice(r));
      check_cuda(cudaStreamCreate(&ranks[r].stream));
    }
    for (int k = 0; k < STEPS; k++) {
      Step step = draw(100u + (unsigned)n, k, n);
      for (int r = 0; r < n; r++)
        prepare(&ranks[r], &step);
      check_nccl(ncclGroupStart());
      for (int r = 0; r < n; r++)
        queue(&ranks[r], &step);
      check_nccl(ncclGroupEnd());
      for (int r = 0; r < n; r++)
        compare(&ranks[r], &step);
    }
    for (int r = 0; r < n; r++) {
      int count, rank, device;
      check_nccl(ncclCommCount(comms[r], &count));
      check_nccl(ncclCommUserRank(comms[r], &rank));
      check_nccl(ncclCommCuDevice(comms[r], &device));
      assert_true(count == n && rank == r && device == r);
      check_cuda(cudaStreamDestroy(ranks[r].stream));
      check_nccl(ncclCommDestroy(comms[r]));
    }
  }
}

// ---- a thread, or a process, for each rank ----

static void *run_rank(void *argument) {
  Task *task = argument;
  Rank r = {.rank = task->rank, .ranks = task->ranks};
  check_cuda(cudaSetDevice(r.rank));
  check_nccl(ncclCommInitRank(&r.comm, r.ranks, task->id, r.rank));
  check_cuda(cudaStreamCreate(&r.stream));
  for (int k = 0; k < STEPS; k++) {
    Step step = draw(200u + (unsigned)r.ranks, k, r.ranks);
    prepare(&r, &step);
    queue(&r, &step);
    compare(&r, &step);
  }
  check_nccl(ncclCommFinalize(r.comm));
  check_nccl(ncclCommDestroy(r.comm));
  return NULL;
}

static void threads(void **state) {
  (void)state;
  for (int n = 2; n <= MOST; n++) {
    pthread_t thread[MOST];
    Task task[MOST];
    check_nccl(ncclGetUniqueId(&task[0].id));
    for (int r = 0; r < n; r++) {
      task[r] = (Task){task[0].id, r, n};
      assert_int_equal(pthread_create(&thread[r], NULL, run_rank, &task[r]), 0);
    }
    for (int r = 0; r < n; r++)
      pthread_join(thread[r], NULL);
  }
}

static void processes(void **state) {
  (void)state;
  for (int n = 2; n <= MOST; n++) {
    pid_t pids[MOST];
    start(n, pids, run_rank);
    for (int r = 0; r < n; r++) {
      int status;
      waitpid(pids[r], &status, 0);
      assert_int_equal(status, 0);
    }
  }
}

// Two ranks in each of two processes: all four ways of meeting.
static void *run_two(void *argument) {
  Task *task = argument, own[2];
  pthread_t thread;
  for (int i = 0; i < 2; i++)
    own[i] = (Task){task->id, 2 * task->rank + i, 2 * task->ranks};
  must(pthread_create(&thread, NULL, run_rank, &own[1]) == 0);
  run_rank(&own[0]);
  pthread_join(thread, NULL);
  return NULL;
}

static void threads_in_processes(void **state) {
  (void)state;
  pid_t pids[2];
  start(2, pids, run_two);
  for (int r = 0; r < 2; r++) {
    int status;
    waitpid(pids[r], &status, 0);
    assert_int_equal(status, 0);
  }
}

int main(void) {
  four_devices();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(processes), // these fork
      cmocka_unit_test(threads_in_processes),
      cmocka_unit_test(one_thread),
      cmocka_unit_test(threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
