// SPDX-License-Identifier: MIT
// Ranks that do not do what the others do: each is named, in bounded time, and nobody waits for ever.
// timeout: 400
#include "../../support/child.h"
#include "../nn/check.h"
#include "ranks.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// In rank 1 `odd`, in the others `usual`; every rank must get an error with its part of the text. One that says "PEER" gets by
// without: the peer had nobody to hear it from.
static FyError error;

static void expect(const char *text) {
  if (error.kind != FY_RUNTIME_ERROR || !strstr(error.message, text)) {
    fprintf(stderr, "rank %d: not \"%s\" but \"%s\"\n", fy_get_rank(), text, error.kind ? error.message : "no error");
    _exit(9);
  }
}

static FyTensor *ones(int64_t n) {
  return fy_ones(fy_shape(n));
}

static void begin(double timeout) {
  fy_init_process_group(NULL, .timeout = timeout);
  fy_barrier();
}

static bool is_odd(void) {
  return fy_get_rank() == 1;
}

static void other_size(void) {
  begin(20);
  int number = 0;
  for (int64_t n = 10; n < 1000000; n *= 300) { // sent whole, and by MPI
    number++;
    FyGroup *group = fy_new_group((int[]){0, 1}, 2);
    if (fy_get_rank() > 1)
      continue;
    fy_trap(error) {
      fy_all_reduce(ones(n - is_odd()), .group = group);
    }
    char text[300];
    snprintf(text, sizeof text,
             "[rank %d] all_reduce(sum, torch.float32, %lld elements), sequence 1 of group %d: rank %d called "
             "all_reduce(sum, torch.float32, %lld elements)",
             fy_get_rank(), (long long)(n - is_odd()), number, 1 - fy_get_rank(), (long long)(n - !is_odd()));
    expect(text);
    fy_trap(error) {
      fy_barrier(.group = group); // of no use any more, with the same words
    }
    expect(text);
  }
  fy_barrier(); // the group of all is none the worse
  fy_destroy_process_group();
}

static void other_dtype(void) {
  begin(20);
  fy_trap(error) {
    fy_broadcast(is_odd() ? fy_to_dtype(ones(100000), FY_INT32) : ones(100000), 0);
  }
  expect(
      is_odd()
          ? "broadcast(torch.int32, 100000 elements, from rank 0), sequence 2: rank 0 called broadcast(torch.float32"
          : "broadcast(torch.float32, 100000 elements, from rank 0), sequence 2: rank 1 called broadcast(torch.int32");
}

static void other_call(void) {
  begin(20);
  FyTensor *t = ones(8), *out = ones(8 * fy_get_world_size());
  fy_trap(error) {
    if (is_odd())
      fy_barrier();
    else
      fy_all_gather_into_tensor(out, t);
  }
  expect(is_odd() ? "[rank 1] barrier, sequence 2: rank 0 called all_gather(torch.float32, 8 elements)"
                  : "all_gather(torch.float32, 8 elements), sequence 2: rank 1 called barrier");
}

static void other_operation(void) {
  begin(20);
  fy_trap(error) {
    fy_all_reduce(ones(5), .op = is_odd() ? FY_REDUCE_OP_MAX : FY_REDUCE_OP_SUM);
  }
  expect(is_odd() ? "all_reduce(max" : "rank 1 called all_reduce(max");
}

static void other_root(void) {
  begin(20);
  fy_trap(error) {
    fy_broadcast(ones(5), is_odd() ? 1 : 0);
  }
  expect(is_odd() ? "rank 0 called broadcast(torch.float32, 5 elements, from rank 0)"
                  : "rank 1 called broadcast(torch.float32, 5 elements, from rank 1)");
}

static void other_device(void) {
  begin(20);
  FyDevice device = fy_cuda_device(fy_get_node_local_rank());
  fy_trap(error) {
    fy_all_reduce(is_odd() ? ones(5) : fy_to(ones(5), device));
  }
  expect(is_odd() ? "rank 0 called all_reduce(sum, torch.float32, 5 elements on CUDA)"
                  : "rank 1 called all_reduce(sum, torch.float32, 5 elements)");
}

static void behind_a_computation(void) {
  begin(20);
  FyWork *work = fy_all_reduce(ones(is_odd() ? 7 : 8), .async_op = true);
  while (!fy_work_is_completed(work))
    usleep(1000);
  fy_trap(error) {
    fy_work_wait(work);
  }
  expect(is_odd() ? "rank 0 called all_reduce(sum, torch.float32, 8 elements)"
                  : "rank 1 called all_reduce(sum, torch.float32, 7 elements)");
}

static void one_does_not_call(void) {
  begin(2);
  if (is_odd()) {
    sleep(4);
    _exit(0);
  }
  fy_trap(error) {
    fy_all_reduce(ones(5));
  }
  expect("all_reduce(sum, torch.float32, 5 elements), sequence 2: rank 1 did not call it within 2 s");
  printf("seen\n");
}

static void one_returns_early(void) {
  begin(20);
  if (is_odd())
    return; // main ends
  fy_trap(error) {
    fy_all_reduce(ones(5));
  }
  expect("all_reduce(sum, torch.float32, 5 elements), sequence 2: rank 1 has ended without calling it");
  printf("seen\n");
}

static void one_is_done_already(void) {
  begin(20);
  fy_trap(error) {
    if (is_odd())
      fy_destroy_process_group();
    else
      fy_all_reduce(ones(5));
  }
  expect(is_odd() ? "destroy_process_group, sequence 2: rank 0 called all_reduce"
                  : "rank 1 called destroy_process_group");
}

static void one_is_killed(void) {
  begin(20);
  if (is_odd())
    raise(SIGKILL);
  fy_trap(error) {
    fy_all_reduce(ones(5));
  }
  expect("all_reduce(sum, torch.float32, 5 elements), sequence 2: rank 1 (process ");
  expect(" has died");
  printf("seen\n");
}

// While data are on their way: the others end with words, by an error or by the watch over MPI.
static void one_is_killed_in_the_middle(void) {
  begin(20);
  FyTensor *t = ones(20000000);
  if (is_odd()) {
    if (fork() == 0) {
      usleep(300000);
      kill(getppid(), SIGKILL);
      _exit(0);
    }
  }
  for (int k = 0; k < 1000; k++)
    fy_all_reduce(t);
}

static void messages_differ(void) {
  begin(20);
  fy_trap(error) {
    if (fy_get_rank() == 0)
      fy_send(ones(100), 1);
    else if (is_odd())
      fy_recv(ones(99), 0);
  }
  if (fy_get_rank() < 2)
    expect(
        is_odd()
            ? "[rank 1] recv(torch.float32, 99 elements), sequence 1: rank 0 called send(torch.float32, 100 elements)"
            : "[rank 0] send(torch.float32, 100 elements), sequence 1: rank 1 called recv(torch.float32, 99 elements)");
}

static void both_send_first(void) {
  begin(2);
  if (fy_get_rank() > 1)
    return;
  fy_trap(error) {
    fy_send(ones(100), 1 - fy_get_rank());
    fy_recv(ones(100), 1 - fy_get_rank());
  }
  expect(is_odd() ? "[rank 1] send(torch.float32, 100 elements), sequence 1: rank 0 did not call it within 2 s"
                  : "[rank 0] send(torch.float32, 100 elements), sequence 1: rank 1 did not call it within 2 s");
}

static void an_error_of_one(void) {
  begin(20);
  if (is_odd())
    fy_matmul(ones(3), ones(4)); // exits with status 1
  fy_barrier();
}

// ---- the tests ---------------------------------------------------------------------------------------------------------------

static const RankCase cases[] = {
    {"other_size", other_size},
    {"other_dtype", other_dtype},
    {"other_call", other_call},
    {"other_operation", other_operation},
    {"other_root", other_root},
    {"behind_a_computation", behind_a_computation},
    {"messages_differ", messages_differ},
    {"both_send_first", both_send_first},
    {"one_is_done_already", one_is_done_already},
    {"one_does_not_call", one_does_not_call}, // from here on one rank does not reach the end
    {"one_returns_early", one_returns_early},
    {"one_is_killed", one_is_killed},
    {"one_is_killed_in_the_middle", one_is_killed_in_the_middle},
    {"an_error_of_one", an_error_of_one},
    {"other_device", other_device},
};
enum { CASES = sizeof cases / sizeof *cases, ALL_REACH_THE_END = 9 };

// A rank that has had an error ends with status 0 here, but not MPI with it: only what the ranks say counts.
static void named_in_every_rank(void **state) {
  (void)state;
  needs_ranks();
  for (int i = 0; i < ALL_REACH_THE_END; i++)
    for (int n = 2; n <= 3; n++) {
      start_ranks(n, cases[i].name, "", true, 30);
      if (strstr(ranks_said, "not \"") || strstr(ranks_said, "Error") || ranks_took > 15)
        fail_msg("%s with %d ranks took %.1f s and said: %s", cases[i].name, n, ranks_took, ranks_said);
    }
}

static int times_said(const char *text) {
  int count = 0;
  for (const char *at = ranks_said; (at = strstr(at, text)); at++)
    count++;
  return count;
}

static void one_is_missing(void **state) {
  (void)state;
  needs_ranks();
  const char *names[] = {"one_does_not_call", "one_returns_early", "one_is_killed"};
  for (int i = 0; i < 3; i++) {
    start_ranks(3, names[i], "", true, 30);
    if (strstr(ranks_said, "not \"") || times_said("seen") != 2 || ranks_took > 15)
      fail_msg("%s took %.1f s and said: %s", names[i], ranks_took, ranks_said);
  }
  for (int k = 0; k < 3; k++) {
    start_ranks(3, "one_is_killed_in_the_middle", "", true, 60);
    if (!strstr(ranks_said, "rank 1") || times_said("died") != 2 || ranks_took > 20)
      fail_msg("killed in the middle: took %.1f s and said: %s", ranks_took, ranks_said);
  }
}

// As a user starts them: the status says that something went wrong, and all are gone.
static void all_end_with_one(void **state) {
  (void)state;
  needs_ranks();
  const char *names[] = {"one_is_killed", "an_error_of_one"};
  for (int i = 0; i < 2; i++) {
    int status = start_ranks(3, names[i], "", false, 30);
    if (status == 0 || status == 124 || ranks_took > 15)
      fail_msg("%s: status %d after %.1f s: %s", names[i], status, ranks_took, ranks_said);
  }
  expect_said("RuntimeError");
}

static void cpu_and_cuda(void **state) {
  (void)state;
  needs_ranks();
  if (fy_cuda_device_count() == 0)
    skip();
  start_ranks(2, "other_device", "FERRY_CUDA=sim", true, 30);
  if (strstr(ranks_said, "not \"") || ranks_took > 15)
    fail_msg("took %.1f s and said: %s", ranks_took, ranks_said);
}

int main(int argc, char **argv) {
  run_rank(argc, argv, cases, CASES);
  const struct CMUnitTest tests[] = {cmocka_unit_test(named_in_every_rank), cmocka_unit_test(one_is_missing),
                                     cmocka_unit_test(all_end_with_one), cmocka_unit_test(cpu_and_cuda)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
