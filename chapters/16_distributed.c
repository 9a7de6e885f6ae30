// Chapter 16: one model on many processes.
//
// DataParallel splits a batch among the GPUs of one process. DistributedDataParallel (DDP) runs one process for each GPU, on
// one machine or on several. All processes run the same program, and communicate by MPI and NCCL.
//
// The program starts its own processes, with mpirun, part by part. The lesson is docs/16_distributed.md.
#include "common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 2, SAMPLES = 640, FEATURES = 20, CLASSES = 5 };

static Chapter chapter;

// ---- setup and cleanup ----------------------------------------------------------------------------------------------

// [setup]
// PyTorch: dist.init_process_group("nccl", rank=rank, world_size=world_size), with MASTER_ADDR and MASTER_PORT in the
// environment. Here the launcher tells each process who it is.
static void setup(void) {
  fy_init_process_group(NULL, .timeout = 20); // "nccl" for tensors on GPUs and "mpi" for those on the CPU
}

static void cleanup(void) {
  fy_destroy_process_group();
}

// One device for each rank of a machine.
static FyDevice device_of_rank(void) {
  if (chapter.device.type == FY_CPU) {
    return FY_CPU_DEVICE;
  }
  return fy_cuda_device(fy_get_node_local_rank() % fy_cuda_device_count());
}
// [end]

// [collectives]
static void collectives(void) {
  setup();
  int rank = fy_get_rank(), world_size = fy_get_world_size();
  FyDevice device = device_of_rank();
  FyTensor *t = fy_full(rank + 1, fy_shape(2), .device = device);
  printf("I am rank %d of %d, on %s, and have %g\n", rank, world_size, fy_device_name_of(device),
         fy_item(fy_select(t, 0, 0)));

  FyTensor *sum = fy_clone(t);
  fy_all_reduce(sum); // PyTorch: dist.all_reduce(sum)
  printf("the sum over all ranks: %g\n", fy_item(fy_select(sum, 0, 0)));

  FyTensor *first = fy_clone(t);
  fy_broadcast(first, 0); // PyTorch: dist.broadcast(first, src=0)
  printf("what rank 0 had: %g\n", fy_item(fy_select(first, 0, 0)));

  FyTensor *all = fy_empty(fy_shape(2 * world_size), .device = device);
  fy_all_gather_into_tensor(all, t);
  printf("what all had: ");
  fy_print(all);
  cleanup();
}
// [end]

// ---- training -------------------------------------------------------------------------------------------------------

// [data]
// Made-up samples, the same in every rank: the class is the part of the numbers with the largest sum.
static FyDataset *made_up_data(void) {
  fy_manual_seed(3);
  FyTensor *x = fy_randn(fy_shape(SAMPLES, FEATURES));
  FyTensor *sums = fy_sum_dims(fy_view(x, fy_shape(SAMPLES, CLASSES, FEATURES / CLASSES)), fy_shape(2), false);
  return fy_tensor_dataset(x, fy_argmax_dim(sums, 1, false));
}

static FyModule *new_model(void) {
  return fy_nn_sequential(fy_nn_linear(FEATURES, 64), fy_nn_relu(), fy_nn_linear(64, CLASSES));
}
// [end]

// [train]
// The mean of `value` over all ranks.
static double mean_of_ranks(double value) {
  FyTensor *t = fy_full(value, fy_shape(1), .device = device_of_rank());
  fy_all_reduce(t, .op = FY_REDUCE_OP_AVG);
  return fy_item(t);
}

static void train_ddp(void) {
  setup();
  FyDevice device = device_of_rank();
  fy_manual_seed(7 + (uint64_t)fy_get_rank()); // different weights in each rank: DDP broadcasts those of rank 0
  FyModule *model = fy_module_to(new_model(), device);
  FyModule *ddp = fy_distributed_data_parallel(model); // PyTorch: DistributedDataParallel(model, device_ids=[rank])
  FyOptimizer *optimizer = fy_sgd(fy_parameters(ddp), .lr = 0.5);

  FyDataset *data = made_up_data();
  FySampler *sampler = fy_distributed_sampler(data->count); // PyTorch: DistributedSampler(data)
  FyDataLoader *loader = fy_data_loader(data, .batch_size = 32, .sampler = sampler);
  for (int epoch = 0; epoch < 3; epoch++) {
    fy_distributed_sampler_set_epoch(sampler, epoch); // a new permutation, the same in every rank
    double loss_sum = 0;
    fy_for_batches(batch, loader) {
      FyTensor *loss = fy_cross_entropy(fy_forward(ddp, fy_to(batch.data, device)), fy_to(batch.target, device));
      fy_zero_grad(optimizer);
      fy_backward(loss); // then each gradient is the mean over all ranks
      fy_step(optimizer);
      loss_sum += fy_item(loss);
    }
    double loss = mean_of_ranks(loss_sum / (double)fy_loader_batches(loader)); // all ranks must call it
    if (fy_get_rank() == 0) {
      printf("epoch %d: mean loss of all ranks %.4f\n", epoch + 1, loss);
    }
  }
  FyTensor *weight = fy_parameters(model)->items[0];
  printf("%d samples were mine; weight[0][0] is %.6f\n", (int)sampler->count,
         fy_item(fy_select(fy_select(weight, 0, 0), 0, 0)));
  cleanup();
}
// [end]

// ---- against one process --------------------------------------------------------------------------------------------

// [equal]
static double train_steps(FyModule *model, FyModule *inner, int rank, int ranks, int steps) {
  FyDevice device = device_of_rank();
  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = 0.1);
  FyDataset *data = made_up_data();
  for (int step = 0; step < steps; step++) {
    fy_scope {
      FyTensor *x[32], *y[32];
      int count = 32 / ranks;
      for (int i = 0; i < count; i++) {
        FyBatch sample = fy_dataset_get(data, step * 32 + rank + i * ranks);
        x[i] = sample.data;
        y[i] = sample.target;
      }
      FyTensor *input = fy_to(fy_stack((FyTensors){count, x}, 0), device);
      FyTensor *target = fy_to(fy_stack((FyTensors){count, y}, 0), device);
      fy_zero_grad(optimizer);
      fy_backward(fy_cross_entropy(fy_forward(model, input), target));
      fy_step(optimizer);
    }
  }
  return fy_item(fy_sum(fy_detach(fy_parameters(inner)->items[0])));
}

static void one_process_or_many(void) {
  setup();
  fy_manual_seed(5);
  FyModule *alone = fy_module_to(new_model(), device_of_rank()), *shared = fy_module_to(new_model(), device_of_rank());
  fy_load_state_dict(shared, fy_state_dict(alone));
  double one = train_steps(alone, alone, 0, 1, 20);
  double many = train_steps(fy_distributed_data_parallel(shared), shared, fy_get_rank(), fy_get_world_size(), 20);
  if (fy_get_rank() == 0) {
    printf("after 20 steps of 32 samples the weights' sum is %.6f\n", one);
    printf("with %d samples in each of %d ranks it is        %.6f\n", 32 / fy_get_world_size(), fy_get_world_size(),
           many);
    printf("equal to 1e-4: %s\n", truth(fabs(one - many) < 1e-4));
  }
  cleanup();
}
// [end]

// ---- what is sent ---------------------------------------------------------------------------------------------------

// [buckets]
static void buckets(void) {
  setup();
  FyDevice device = device_of_rank();
  FyModule *model = fy_module_to(fy_nn_sequential(fy_nn_linear(512, 512), fy_nn_relu(), fy_nn_linear(512, 512),
                                                  fy_nn_relu(), fy_nn_linear(512, 10)),
                                 device);
  FyModule *ddp = fy_distributed_data_parallel(model);
  FyTensor *x = fy_ones(fy_shape(8, 512), .device = device);
  FyTraffic before = {0};
  for (int step = 0; step < 3; step++) {
    fy_module_zero_grad(ddp);
    before = fy_distributed_traffic();
    fy_backward(fy_mean(fy_forward(ddp, x)));
  }
  FyTraffic after = fy_distributed_traffic();
  if (fy_get_rank() == 0) {
    FyTensorList *parameters = fy_parameters(model);
    for (int b = 0; b < fy_ddp_bucket_count(ddp); b++) {
      printf("bucket %d, %s:", b, bytes_text((double)fy_ddp_bucket_bytes(ddp, b)));
      for (int i = parameters->count - 1; i >= 0; i--) {
        if (fy_ddp_bucket_of(ddp, i) == b) {
          printf(" %s", parameters->names[i]);
        }
      }
      printf("\n");
    }
    printf("a step's collectives: %lld, of %s together\n", (long long)(after.collectives - before.collectives),
           bytes_text((double)(after.collective_bytes - before.collective_bytes)));
  }
  // Four parts of a batch, averaged once: PyTorch: with ddp.no_sync(): ...
  before = fy_distributed_traffic();
  fy_module_zero_grad(ddp);
  for (int part = 0; part < 4; part++) {
    FyTensor *loss = NULL;
    if (part < 3) {
      fy_ddp_no_sync(ddp) {
        loss = fy_div_scalar(fy_mean(fy_forward(ddp, x)), 4);
        fy_backward(loss);
      }
    } else {
      fy_backward(fy_div_scalar(fy_mean(fy_forward(ddp, x)), 4));
    }
  }
  after = fy_distributed_traffic();
  if (fy_get_rank() == 0) {
    printf("four backward calls, three of them in no_sync: %lld collectives\n",
           (long long)(after.collectives - before.collectives));
  }
  cleanup();
}
// [end]

// [timeline]
// Profiles a step of a deeper model, to show when each bucket is sent.
static void timeline(void) {
  setup();
  FyDevice device = device_of_rank();
  FyModule *model = fy_nn_sequential(fy_nn_linear(512, 512), fy_nn_relu(), fy_nn_linear(512, 512), fy_nn_relu(),
                                     fy_nn_linear(512, 512), fy_nn_relu(), fy_nn_linear(512, 512), fy_nn_relu(),
                                     fy_nn_linear(512, 10));
  FyModule *ddp = fy_distributed_data_parallel(fy_module_to(model, device), .bucket_cap_mb = 1);
  FyOptimizer *optimizer = fy_sgd(fy_parameters(ddp), .lr = 0.1);
  FyTensor *x = fy_randn(fy_shape(512, 512), .device = device);
  for (int step = 0; step < 3; step++) {
    FyProfile *profile = NULL;
    fy_zero_grad(optimizer);
    fy_barrier();
    fy_profile(profile, FY_PROFILE_CPU | FY_PROFILE_CUDA) {
      FyTensor *loss = fy_mean(fy_forward(ddp, x));
      fy_record_function("backward") {
        fy_backward(loss);
      }
      fy_step(optimizer);
    }
    const char *trace = getenv("FERRY_CHAPTER_TRACE"); // after two warm-up steps
    if (step == 2 && trace && fy_get_rank() == 0) {
      fy_export_chrome_trace(profile, trace);
    }
  }
  if (fy_get_rank() == 0) {
    printf("%d buckets in each backward\n", fy_ddp_bucket_count(ddp));
  }
  cleanup();
}
// [end]

// [data_parallel]
// Counts the copies between two GPUs in one step of DataParallel.
static void data_parallel_counts(void) {
  if (fy_cuda_device_count() < 2 || chapter.device.type == FY_CPU) {
    printf("DataParallel needs two CUDA devices in one process; there are %d.\n", fy_cuda_device_count());
    return;
  }
  FyModule *model = fy_module_to(fy_nn_sequential(fy_nn_linear(512, 512), fy_nn_relu(), fy_nn_linear(512, 512),
                                                  fy_nn_relu(), fy_nn_linear(512, 10)),
                                 fy_cuda_device(0));
  FyModule *parallel = fy_nn_data_parallel(model, ((int[]){0, 1}), 2);
  FyTensor *x = fy_ones(fy_shape(16, 512), .device = fy_cuda_device(0));
  FyCounters before = {0};
  for (int step = 0; step < 2; step++) {
    fy_module_zero_grad(model);
    before = fy_counters();
    fy_backward(fy_mean(fy_forward(parallel, x)));
    fy_synchronize(fy_cuda_device(0));
  }
  FyCounters step = fy_counters_since(before);
  printf("a step's copies between the two GPUs: %lld, of %s together\n", (long long)step.device_to_device,
         bytes_text((double)step.device_to_device_bytes));
}
// [end]

// ---- what goes wrong ------------------------------------------------------------------------------------------------

// [same_data]
static void same_data(void) {
  setup();
  FyDataset *data = made_up_data();
  for (int right = 0; right < 2; right++) {
    FySampler *sampler = right ? fy_distributed_sampler(data->count) : fy_random_sampler(data->count);
    int64_t order[SAMPLES];
    sampler->order(sampler, 1, order);
    FyTensor *seen = fy_zeros(fy_shape(SAMPLES));
    for (int64_t i = 0; i < sampler->count; i++) {
      ((float *)fy_data_ptr(seen))[order[i]] = 1;
    }
    fy_all_reduce(seen);
    if (fy_get_rank() == 0) {
      printf("%s: an epoch has %lld samples, %g of them in every rank\n",
             right ? "fy_distributed_sampler" : "fy_random_sampler", (long long)sampler->count * fy_get_world_size(),
             fy_item(fy_sum(fy_to_dtype(fy_eq(seen, fy_full(fy_get_world_size(), FY_SCALAR)), FY_FLOAT32))));
    }
  }
  cleanup();
}
// [end]

// [waiting]
// Only rank 0 logs the mean loss, and only rank 0 calls the collective. The others never do.
static void a_rank_that_waits(void) {
  fy_init_process_group(NULL, .timeout = 1);
  if (fy_get_rank() == 0) {
    fy_all_reduce(fy_full(0.5, fy_shape(1)), .op = FY_REDUCE_OP_AVG); // raises after a second, which ends the program
  }
  sleep(10); // the others are busy; mpirun ends them when rank 0 has failed
}
// [end]

// [saving]
// All ranks have the same weights. Rank 0 writes them, and the others wait for it.
static void save_and_load(void) {
  setup();
  FyModule *ddp = fy_distributed_data_parallel(fy_module_to(new_model(), device_of_rank()));
  const char *path = getenv("FERRY_CHAPTER_FILE");
  if (fy_get_rank() == 0) {
    fy_safetensors_save(path, fy_state_dict(fy_ddp_module(ddp)), NULL); // the inner module: no "module." in the names
  }
  fy_barrier(); // no rank reads before the file is complete
  FyTensorList *state = fy_safetensors_load(path, NULL);
  fy_load_state_dict(fy_ddp_module(ddp), state);
  printf("%d tensors read, the first is %s\n", state->count, state->names[0]);
  fy_barrier();
  if (fy_get_rank() == 0) {
    remove(path);
  }
  cleanup();
}
// [end]

// ---- how much faster ------------------------------------------------------------------------------------------------

static FyModule *new_mlp(void) {
  return fy_nn_sequential(fy_nn_linear(784, 256), fy_nn_relu(), fy_nn_linear(256, 128), fy_nn_relu(),
                          fy_nn_linear(128, 10));
}

// [efficiency]
static double seconds_of_steps(FyModule *model, int batch, int steps) {
  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = 0.01);
  FyTensor *x = fy_randn(fy_shape(batch, 784)), *y = fy_zeros(fy_shape(batch), .dtype = FY_INT64);
  double start = seconds_now(FY_CPU_DEVICE);
  for (int step = 0; step < steps; step++) {
    fy_scope {
      fy_zero_grad(optimizer);
      fy_backward(fy_cross_entropy(fy_forward(model, x), y));
      fy_step(optimizer);
    }
  }
  return seconds_now(FY_CPU_DEVICE) - start;
}

// Runs on the CPU, because the time of a simulated GPU says nothing. Measures one rank and all ranks in turn, since the speed of
// a machine varies. Keeps the best rate of each. The first round is the warm-up.
static void efficiency(void) {
  chapter.device = FY_CPU_DEVICE;
  setup();
  int ranks = fy_get_world_size(), batch = 128, steps = chapter.quick ? 10 : 100;
  FyModule *alone = new_mlp(), *shared = fy_distributed_data_parallel(new_mlp());
  enum { TURNS = 8 };
  double one = 0, all = 0;
  FyTraffic before = {0}, after = {0};
  for (int turn = 0; turn < TURNS; turn++) {
    fy_scope {
      double rate = fy_get_rank() == 0 ? batch * steps / seconds_of_steps(alone, batch, steps) : 0;
      one = turn > 0 && rate > one ? rate : one;
      fy_barrier(); // all ranks start at the same time
      before = fy_distributed_traffic();
      FyTensor *slowest = fy_full(seconds_of_steps(shared, batch, steps), fy_shape(1));
      after = fy_distributed_traffic();
      fy_all_reduce(slowest, .op = FY_REDUCE_OP_MAX); // the slowest rank counts
      rate = ranks * batch * steps / fy_item(slowest);
      all = turn > 0 && rate > all ? rate : all;
      fy_barrier();
    }
  }
  if (fy_get_rank() == 0) {
    printf("measured by the wall clock: turns of %d steps of %d samples a rank, the best of %d, OMP_NUM_THREADS=%s\n",
           steps, batch, TURNS - 1, getenv("OMP_NUM_THREADS"));
    printf("one rank: %.0f samples per second on one core\n", one);
    printf("%d ranks: %.0f samples per second on a core each, the slower one's time\n", ranks, all);
    printf("efficiency: %.2f\n", all / (ranks * one));
    printf("counted in a step: %lld all-reduce of %s, of which %s in memory that the ranks share\n",
           (long long)(after.collectives - before.collectives) / steps,
           bytes_text((double)(after.collective_bytes - before.collective_bytes) / steps),
           bytes_text((double)(after.shared_bytes - before.shared_bytes) / steps));
  }
  cleanup();
}
// [end]

// ---- starting ranks -------------------------------------------------------------------------------------------------

typedef struct Part {
  const char *name;
  void (*run)(void);
} Part;

static const Part parts[] = {
    {"collectives", collectives},   {"train", train_ddp},      {"equal", one_process_or_many},
    {"buckets", buckets},           {"timeline", timeline},    {"same_data", same_data},
    {"waiting", a_rank_that_waits}, {"saving", save_and_load}, {"efficiency", efficiency},
};
enum { PARTS = sizeof parts / sizeof *parts };

static void run_part(const char *name) {
  for (int i = 0; i < PARTS; i++) {
    if (strcmp(parts[i].name, name) == 0) {
      parts[i].run();
      return;
    }
  }
  refuse("--part %s: there is no such part", name);
}

// [spawn]
static void show(const char *path, const char *mark) {
  char line[1000];
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) {
    printf("%s%s", mark, line);
  }
  if (file) {
    fclose(file);
  }
}

// PyTorch: mp.spawn(train_ddp, nprocs=RANKS). The program uses mpirun to start itself RANKS times. Each rank prints to its own
// file. The files are shown one after the other, so that the lines of the ranks do not mix.
static void spawn(const char *part, const char *program) {
  char command[5000], path[64], mark[16], folder[] = "/tmp/ferry-chapter-16-XXXXXX";
  if (!mkdtemp(folder)) {
    refuse("%s cannot be made", folder);
  }
  snprintf(path, sizeof path, "%s/weights", folder);
  setenv("FERRY_CHAPTER_FILE", path, 1);
  setenv("OMP_NUM_THREADS", "1", 0); // ranks share the cores
  snprintf(command, sizeof command,
           "mpirun --allow-run-as-root --oversubscribe --bind-to none -n %d sh -c "
           "'exec \"$@\" >%s/$OMPI_COMM_WORLD_RANK 2>&1' - '%s' --part %s %s %s >%s/mpirun 2>&1 </dev/null",
           RANKS, folder, program, part, chapter.device.type == FY_CPU ? "cpu" : "cuda",
           chapter.quick ? "quick" : "usual", folder);
  fflush(stdout);
  int status = system(command);
  for (int rank = 0; rank < RANKS; rank++) {
    snprintf(path, sizeof path, "%s/%d", folder, rank);
    snprintf(mark, sizeof mark, "[%d] ", rank);
    show(path, mark);
    remove(path);
  }
  if (status != 0) {
    printf("The ranks ended with status %d.\n", WEXITSTATUS(status));
  }
  snprintf(path, sizeof path, "%s/mpirun", folder);
  bool meant = (status != 0) == (strcmp(part, "waiting") == 0); // only this part is meant to fail
  if (!meant) {
    show(path, "");
  }
  remove(path);
  remove(folder);
  if (!meant) {
    exit(1);
  }
}
// [end]

static bool can_spawn(void) {
  return system("command -v mpirun >/dev/null 2>&1") == 0 && fy_distributed_is_available();
}

// Without Open MPI one rank does what it can.
static void ranks_run(const char *part, const char *program) {
  if (can_spawn()) {
    spawn(part, program);
  } else if (strcmp(part, "waiting") != 0 && strcmp(part, "saving") != 0) {
    run_part(part);
  }
}

int main(int argc, char **argv) {
  if (argc == 5 && strcmp(argv[1], "--part") == 0) { // a rank, started by spawn
    chapter.device = fy_device(argv[3]);
    chapter.quick = strcmp(argv[4], "quick") == 0;
    setvbuf(stdout, NULL, _IOLBF, 0); // a rank that mpirun ends has printed all its lines
    run_part(argv[2]);
    return 0;
  }
  const char *trace = NULL;
  ChapterOption option = {.name = "--trace", .help = "a trace of one step goes there", .value = "FILE", .text = &trace};
  chapter = chapter_begin_with(argc, argv, "Chapter 16: one model on many processes",
                               "Processes that train one model together.", 1, &option);
  if (trace) {
    setenv("FERRY_CHAPTER_TRACE", trace, 1);
  }
  char program[4096];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = '\0';
  if (!can_spawn()) {
    printf("There is no Open MPI here, so there is one rank only. On Debian: apt-get install libopenmpi-dev "
           "openmpi-bin; make\n");
  }
  static const struct {
    const char *title, *part;
  } sections[] = {{"Ranks", "collectives"},
                  {"A training in every rank", "train"},
                  {"One process or many", "equal"},
                  {"What is sent", "buckets"},
                  {"When it is sent", "timeline"},
                  {"What DataParallel copies", NULL},
                  {"What goes wrong: the same samples everywhere", "same_data"},
                  {"What goes wrong: a rank that waits for ever", "waiting"},
                  {"One rank writes, all read", "saving"},
                  {"How much faster", "efficiency"}};
  for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
    heading(sections[i].title);
    if (sections[i].part) {
      ranks_run(sections[i].part, program);
    } else {
      data_parallel_counts();
    }
  }
  return 0;
}
