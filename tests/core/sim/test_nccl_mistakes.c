// SPDX-License-Identifier: MIT
// What simulated NCCL says of calls that do not go together, of a rank that has died, and of arguments that make no sense.
// run: FERRY_SIM_DEVICES=4 FERRY_SIM_MODE=lazy
// run check: FERRY_SIM_DEVICES=4 FERRY_SIM_MODE=threads
// run: FERRY_SIM_DEVICES=4 FERRY_SIM_MODE=sync
#include "nccl_check.h"
#include <signal.h>
#include <time.h>

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
  const char *mode = getenv("FERRY_SIM_MODE"); // started by hand: the default
  if (mode && strcmp(mode, "sync") == 0)
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
  four_devices();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_dead_rank_is_named), // these fork
      cmocka_unit_test(other_counts_between_processes),
      cmocka_unit_test(mistakes_are_named),
      cmocka_unit_test(arguments_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
