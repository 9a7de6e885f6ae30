// SPDX-License-Identifier: MIT
// A comparison's side that is several processes: `bench --ranks`, started by mpirun. Rank 0 reads commands from standard input
// and answers each by a line; the others do what it tells them. plots/torch/ranks_worker.py answers the same commands, but `mpi`.
//
//   case NAME BATCH      makes two models of a training benchmark, one plain and one in DistributedDataParallel: "ok"
//   alone STEPS          rank 0 trains the plain one, the others wait: "ok SECONDS" of a step
//   apart STEPS          every rank trains its plain one at the same time: what the machine would allow without any exchange
//   ranks STEPS          all train the shared one
//   reduce BYTES CALLS   all_reduce of as many bytes of float32: "ok SECONDS" of a call
//   mpi BYTES CALLS      the same by MPI_Allreduce itself
//   info                 "ok TEXT"
//   anything that fails is answered by "error TEXT", and ends the ranks
//
// Seconds are those of the slowest rank; all begin after a barrier.
#include "bench.h"
#include "base/threads.h"
#include "distributed/mpi_table.h"

#include <stdio.h>
#include <string.h>

typedef enum Kind { ALONE, APART, SHARED } Kind;

typedef struct Case {
  Run plain, shared;
} Case;

static double slowest(double seconds) {
  FyTensor *t = fy_full(seconds, fy_shape(1), .dtype = FY_FLOAT64);
  fy_all_reduce(t, .op = FY_REDUCE_OP_MAX);
  return fy_item(t);
}

static void set_up(Case *c, const char *name, int64_t batch) {
  Run **runs = (Run *[]){&c->plain, &c->shared};
  for (int i = 0; i < 2; i++) {
    *runs[i] = (Run){.bench = bench_named(name), .device = FY_CPU_DEVICE, .dtype = FY_FLOAT32, .size = batch};
    fy_check(runs[i]->bench->body == body_training, FY_VALUE_ERROR, "%s is no training", name);
    runs[i]->bench->setup(runs[i]);
  }
  c->shared.model = fy_distributed_data_parallel(c->shared.model);
}

static double time_steps(Case *c, Kind kind, int steps) {
  fy_check(c->plain.bench, FY_VALUE_ERROR, "a case comes before its times");
  Run *run = kind == SHARED ? &c->shared : &c->plain;
  const bool idle = kind == ALONE && fy_get_rank() > 0;
  fy_barrier();
  double begin = bench_seconds();
  for (int i = 0; i < steps && !idle; i++) {
    fy_scope {
      run->bench->body(run);
    }
  }
  return slowest(idle ? 0 : bench_seconds() - begin) / steps;
}

static double time_reductions(int64_t bytes, int calls, bool by_mpi) {
  static const FyMpi *mpi;
  static void *comm;
  char why[900];
  FyTensor *t = fy_zeros(fy_shape(bytes / 4));
  if (by_mpi && !comm) {
    mpi = fy_mpi_open(why, sizeof why);
    fy_check(mpi && mpi->world(&comm) == 0, FY_RUNTIME_ERROR, "MPI makes no communicator");
  }
  double begin = 0;
  for (int i = -1; i < calls; i++) { // once to warm up
    if (i == 0) {
      fy_barrier();
      begin = bench_seconds();
    }
    if (by_mpi) {
      int error = mpi->all_reduce(comm, fy_data_ptr(t), (size_t)fy_numel(t), FY_FLOAT32, FY_REDUCE_OP_SUM);
      fy_check(error == 0, FY_RUNTIME_ERROR, "MPI_Allreduce: %s", mpi->error_string(error));
    } else {
      fy_all_reduce(t);
    }
  }
  return slowest(bench_seconds() - begin) / calls;
}

// Rank 0 answers, if `answer`.
static void obey(Case *c, const char *line, bool answer) {
  char name[64] = "", text[128] = "";
  long long size = 0;
  int count = 0;
  double seconds = -1;
  if (sscanf(line, "case %63s %lld", name, &size) == 2) {
    set_up(c, name, size);
  } else if (sscanf(line, "alone %d", &count) == 1 && count > 0) {
    seconds = time_steps(c, ALONE, count);
  } else if (sscanf(line, "apart %d", &count) == 1 && count > 0) {
    seconds = time_steps(c, APART, count);
  } else if (sscanf(line, "ranks %d", &count) == 1 && count > 0) {
    seconds = time_steps(c, SHARED, count);
  } else if (sscanf(line, "reduce %lld %d", &size, &count) == 2 && size > 0 && count > 0) {
    seconds = time_reductions(size, count, false);
  } else if (sscanf(line, "mpi %lld %d", &size, &count) == 2 && size > 0 && count > 0) {
    seconds = time_reductions(size, count, true);
  } else if (strcmp(line, "info") == 0) {
    snprintf(text, sizeof text, " Ferry %s, %d ranks of %d thread%s over Open MPI", fy_version(), fy_get_world_size(),
             fy_get_num_threads(), fy_get_num_threads() == 1 ? "" : "s");
  } else {
    fy_raise(FY_VALUE_ERROR, "unknown command %s", line);
  }
  if (seconds >= 0) {
    snprintf(text, sizeof text, " %.9g", seconds);
  }
  if (answer) {
    printf("ok%s\n", text);
    fflush(stdout);
  }
}

// The next command, in every rank; an empty line at the end.
static void share_line(char line[256]) {
  FyTensor *t = fy_zeros(fy_shape(256), .dtype = FY_UINT8);
  char *bytes = fy_data_ptr(t);
  if (fy_get_rank() == 0 && fgets(bytes, 256, stdin)) {
    bytes[strcspn(bytes, "\n")] = '\0';
  }
  fy_broadcast(t, 0);
  memcpy(line, bytes, 255);
}

int ranks_worker(void) {
  char line[256] = "";
  fy_init_process_group("mpi", .timeout = 600); // the other side has its turns meanwhile
  const bool first = fy_get_rank() == 0;
  Case now = {0};
  int status = 0, mark = fy_scope_open();
  while (!status) {
    fy_scope {
      share_line(line);
    }
    if (!*line) {
      break;
    }
    FyError error;
    fy_trap(error) {
      if (strncmp(line, "case ", 5) == 0) { // what the case before has made goes
        fy_scope_close(mark);
        mark = fy_scope_open();
        obey(&now, line, first);
      } else {
        fy_scope {
          obey(&now, line, first);
        }
      }
    }
    if (error.kind) {
      error.message[strcspn(error.message, "\n")] = '\0';
      printf("error %s\n", error.message);
      fflush(stdout);
      status = 1;
    }
  }
  fy_scope_close(mark);
  if (!status) {
    fy_destroy_process_group();
  }
  return status;
}
