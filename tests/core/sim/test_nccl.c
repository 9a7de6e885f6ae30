// NCCL's collectives on simulated devices: one thread for all ranks, a thread for each, and a process for each, against sums
// computed here; and what is said of calls that do not go together.
// run: FERRY_SIM_DEVICES=4 FERRY_SIM_MODE=lazy
// run: FERRY_SIM_DEVICES=4 FERRY_SIM_MODE=threads
// run: FERRY_SIM_DEVICES=4 FERRY_SIM_MODE=sync
#include "../../support/child.h"
#include "check.h"
#include <nccl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/include/cudasim_half.h"

enum { MOST = 4, STEPS = 25, LARGE = 70000 };

#define check_nccl(call)                                                                                               \
  do {                                                                                                                 \
    ncclResult_t check_result = (call);                                                                                \
    if (check_result != ncclSuccess) {                                                                                 \
      fprintf(stderr, "%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #call, ncclGetErrorString(check_result),             \
              ncclGetLastError(NULL));                                                                                 \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

#define must(condition)                                                                                                \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                          \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

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

typedef struct Task {
  ncclUniqueId id;
  int rank, ranks;
} Task;

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

// Forks before the simulator is used: these run first.
static int start(int n, pid_t *pids, void *(*body)(void *)) {
  Task task = {.ranks = n};
  check_nccl(ncclGetUniqueId(&task.id));
  for (task.rank = 0; task.rank < n; task.rank++) {
    pids[task.rank] = fork();
    if (pids[task.rank] == 0) {
      body(&task);
      _exit(0);
    }
  }
  return n;
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

// ---- mistakes ----

// A rank dies: the other learns of it long before the time is up.
static void *die_or_wait(void *argument) {
  Task *task = argument;
  ncclComm_t comm;
  float *data;
  check_nccl(ncclCommInitRank(&comm, 2, task->id, task->rank));
  check_cuda(cudaMalloc((void **)&data, 400));
  check_nccl(ncclAllReduce(data, data, 100, ncclFloat, ncclSum, comm, NULL));
  check_cuda(cudaStreamSynchronize(NULL));
  if (task->rank == 1)
    kill(getpid(), SIGKILL);
  check_nccl(ncclAllReduce(data, data, 100, ncclFloat, ncclSum, comm, NULL));
  must(cudaStreamSynchronize(NULL) == cudaErrorLaunchFailure);
  ncclResult_t error;
  check_nccl(ncclCommGetAsyncError(comm, &error));
  must(error == ncclRemoteError);
  must(strstr(ncclGetLastError(comm), "ncclAllReduce, collective 2 of its communicator: rank 1 has died"));
  must(ncclAllReduce(data, data, 100, ncclFloat, ncclSum, comm, NULL) == ncclRemoteError);
  return NULL;
}

static void a_dead_rank_is_named(void **state) {
  (void)state;
  pid_t pids[2];
  int status[2];
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  start(2, pids, die_or_wait);
  for (int r = 1; r >= 0; r--) // the dead one must not stay a zombie, but would be noticed as one
    waitpid(pids[r], &status[r], 0);
  clock_gettime(CLOCK_MONOTONIC, &after);
  assert_int_equal(status[0], 0);
  assert_true(WIFSIGNALED(status[1]));
  assert_true(after.tv_sec - before.tv_sec < 10);
}

static void *other_counts(void *argument) {
  Task *task = argument;
  ncclComm_t comm;
  float *data;
  check_nccl(ncclCommInitRank(&comm, 2, task->id, task->rank));
  check_cuda(cudaMalloc((void **)&data, 400));
  check_nccl(ncclAllReduce(data, data, task->rank ? 99 : 100, ncclFloat, ncclSum, comm, NULL));
  must(cudaStreamSynchronize(NULL) == cudaErrorLaunchFailure);
  must(strstr(ncclGetLastError(comm),
              "rank 0 ncclAllReduce of 100 ncclFloat32, ncclSum, rank 1 ncclAllReduce of 99 ncclFloat32, ncclSum") ||
       strstr(ncclGetLastError(comm), "another rank of the communicator has failed"));
  return NULL;
}

static void other_counts_between_processes(void **state) {
  (void)state;
  pid_t pids[2];
  start(2, pids, other_counts);
  for (int r = 0; r < 2; r++) {
    int status;
    waitpid(pids[r], &status, 0);
    assert_int_equal(status, 0);
  }
}

typedef struct Mistake {
  const char *text;
  int what;
} Mistake;

// In a child, since a mistake fails the device: what is said, and that it ends.
static int make_mistake(void *context) {
  const Mistake *mistake = context;
  setenv("FERRY_SIM_NCCL_SECONDS", "1", 1);
  ncclComm_t comm[2];
  float *data[2];
  check_nccl(ncclCommInitAll(comm, 2, NULL));
  for (int r = 0; r < 2; r++) {
    check_cuda(cudaSetDevice(r));
    check_cuda(cudaMalloc((void **)&data[r], 400));
  }
  ncclResult_t error = ncclSuccess;
  bool grouped = mistake->what != 3;
  if (grouped)
    check_nccl(ncclGroupStart());
  for (int r = 0; r < 2 && error == ncclSuccess; r++) {
    bool odd = r == 1;
    switch (mistake->what) {
    case 0:
      error = ncclAllReduce(data[r], data[r], 100, odd ? ncclInt32 : ncclFloat, ncclSum, comm[r], NULL);
      break;
    case 1:
      error = odd ? ncclBroadcast(data[r], data[r], 100, ncclFloat, 0, comm[r], NULL)
                  : ncclAllReduce(data[r], data[r], 100, ncclFloat, ncclSum, comm[r], NULL);
      break;
    case 2: // rank 1 never calls
      error = odd ? ncclSuccess : ncclAllReduce(data[r], data[r], 100, ncclFloat, ncclSum, comm[r], NULL);
      break;
    case 3: // no group
      error = ncclAllReduce(data[r], data[r], 100, ncclFloat, ncclSum, comm[r], NULL);
      break;
    case 4:
      error = odd ? ncclRecv(data[r], 50, ncclFloat, 0, comm[r], NULL)
                  : ncclSend(data[r], 100, ncclFloat, 1, comm[r], NULL);
      break;
    case 5:
      error = ncclAllReduce(data[0], data[r], 100, ncclFloat, ncclSum, comm[r], NULL); // another device's memory
      break;
    default:
      error = ncclAllReduce(data[r], data[r], 101, ncclFloat, ncclSum, comm[r], NULL); // beyond the allocation
    }
  }
  if (grouped) {
    ncclResult_t at_end = ncclGroupEnd();
    error = error ? error : at_end;
  }
  check_cuda(cudaSetDevice(0));
  return error != ncclSuccess || cudaDeviceSynchronize() != cudaSuccess ? 7 : 0;
}

static void mistakes_are_named(void **state) {
  (void)state;
  static const Mistake mistakes[] = {
      {"its collective 1: rank 0 ncclAllReduce of 100 ncclFloat32, ncclSum, rank 1 ncclAllReduce of 100 ncclInt32", 0},
      {"rank 0 ncclAllReduce of 100 ncclFloat32, ncclSum, rank 1 ncclBroadcast of 100 ncclFloat32, root 0", 1},
      {"ncclAllReduce, collective 1 of its communicator: rank 1 did not call it within 1 s", 2},
      {"rank 0 calls ncclSend of 100 ncclFloat32 to rank 1, which calls ncclRecv of 50 ncclFloat32", 4},
      {"ncclAllReduce: the send buffer", 5},
      {"the elements go on beyond their allocation", 6},
  };
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    assert_int_equal(run_child(make_mistake, (void *)(uintptr_t)&mistakes[i]), 7);
    expect_child_wrote(mistakes[i].text);
  }
  Mistake no_group = {"ncclGroupStart", 3};
  assert_int_equal(run_child(make_mistake, &no_group), 7);
  if (strcmp(getenv("FERRY_SIM_MODE"), "sync") == 0)
    expect_child_wrote("rank 1 did not call it within 1 s"); // the first call waits, as NCCL's may
  else
    expect_child_wrote("put the calls between ncclGroupStart and ncclGroupEnd");
}

static void arguments_are_checked(void **state) {
  (void)state;
  ncclComm_t comm;
  ncclUniqueId id = {"nonsense"};
  assert_int_equal(ncclCommInitRank(&comm, 2, id, 0), ncclInvalidArgument);
  check_nccl(ncclGetUniqueId(&id));
  assert_int_equal(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument);
  assert_int_equal(ncclCommInitAll(&comm, 17, NULL), ncclInvalidArgument);
  assert_int_equal(ncclAllReduce(NULL, NULL, 1, ncclFloat, ncclSum, NULL, NULL), ncclInvalidArgument);
  assert_int_equal(ncclGroupEnd(), ncclInvalidUsage);
  check_nccl(ncclCommInitRank(&comm, 1, id, 0));
  assert_int_equal(ncclAllReduce(NULL, NULL, 1, ncclFloat, ncclSum, comm, NULL), ncclInvalidArgument);
  assert_int_equal(ncclAllReduce(NULL, NULL, 0, ncclFloat, ncclSum, comm, NULL), ncclSuccess);
  check_cuda(cudaDeviceSynchronize());
  check_nccl(ncclCommDestroy(comm));
  assert_string_equal(ncclGetErrorString(ncclSuccess), "no error");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(processes), // these fork
      cmocka_unit_test(threads_in_processes),
      cmocka_unit_test(a_dead_rank_is_named),
      cmocka_unit_test(other_counts_between_processes),
      cmocka_unit_test(mistakes_are_named),
      cmocka_unit_test(one_thread),
      cmocka_unit_test(threads),
      cmocka_unit_test(arguments_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
