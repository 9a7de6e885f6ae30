// Lesson 35, docs/35_train_gpt.md: mixed precision, activation checkpointing, two ranks, and resuming, for the GPT of
// lesson 33.
//
// The program uses mpirun to start itself as two ranks. chapters/gpt.c contains the model.
#include "gpt.h"
#include "training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- a training run -------------------------------------------------------------------------------------------------

// [trainer]
typedef struct Trainer {
  FyModule *gpt;   // the model, which has the weights
  FyModule *model; // what runs forward: the model, or DDP around it
  FyTensorList *parameters;
  FyOptimizer *optimizer;
  FyScheduler *schedule;
  FyGradScaler *scaler; // for float16 only; if it is disabled, it changes nothing
  FyDevice device;
  FyDType dtype; // float32: no autocast
} Trainer;

static Trainer new_trainer(const GptConfig *config, FyDType dtype, int steps, FyDevice device) {
  FyModule *gpt = fy_module_to(new_gpt(config, 0), device);
  FyTensorList *parameters = fy_parameters(gpt);
  FyOptimizer *optimizer = fy_adamw(parameters, .lr = 2e-3, .beta2 = 0.99, .weight_decay = 0.1);
  return (Trainer){.gpt = gpt,
                   .model = gpt,
                   .parameters = parameters,
                   .optimizer = optimizer,
                   .schedule = fy_cosine_annealing_lr(optimizer, steps, 1e-4),
                   .scaler = fy_grad_scaler(device.type, .enabled = dtype == FY_FLOAT16),
                   .device = device,
                   .dtype = dtype};
}
// [end]

// [step]
// Trains on one batch. Returns the loss, 0-dim, on the device.
static FyTensor *train_step(const Trainer *t, const Batch *batch) {
  FyTensor *loss = NULL;
  fy_autocast(t->device.type, .dtype = t->dtype, .enabled = t->dtype != FY_FLOAT32) {
    loss = gpt_loss(t->model, batch);
  }
  fy_backward(fy_scaler_scale(t->scaler, loss)); // DDP averages the gradients of all ranks
  fy_scaler_unscale_(t->scaler, t->optimizer);   // before clipping
  fy_clip_grad_norm_(t->parameters, 1);
  fy_scaler_step(t->scaler, t->optimizer);
  fy_scaler_update(t->scaler);
  fy_zero_grad(t->optimizer);
  fy_scheduler_step(t->schedule);
  return fy_detach(loss);
}
// [end]

typedef struct Task {
  const Chapter *chapter;
  const Corpus *corpus;
  GptConfig config;
  FyDevice device;
  int batch_size;
} Task;

// [run]
// Runs `steps` steps. Returns the mean loss of the last quarter of them.
static double run_steps(const Trainer *t, const Task *task, int steps) {
  double sum = 0;
  int counted = (steps + 3) / 4;
  for (int step = 0; step < steps; step++) {
    fy_scope {
      Batch batch = random_batch(task->corpus, true, task->batch_size, task->config.context, t->device);
      FyTensor *loss = train_step(t, &batch);
      if (step >= steps - counted) {
        sum += fy_item(loss);
      }
    }
  }
  return sum / counted;
}
// [end]

// ---- mixed precision ------------------------------------------------------------------------------------------------

static FyDType half_for(FyDevice device) {
  return device.type == FY_CUDA ? FY_FLOAT16 : FY_BFLOAT16;
}

// [mixed]
static void mixed_precision(const Task *task) {
  heading("Mixed precision");
  int steps = task->chapter->quick ? 8 : 60;
  Table table = table_begin({"dtype", 14}, {"loss", 8}, {"time", 12});
  double losses[2];
  for (int half = 0; half < 2; half++) {
    fy_scope {
      FyDType dtype = half ? half_for(task->device) : FY_FLOAT32;
      Trainer trainer = new_trainer(&task->config, dtype, steps, task->device); // the same weights and batches
      double seconds = 0;
      timed(seconds, task->device) {
        losses[half] = run_steps(&trainer, task, steps);
      }
      table_row(&table, fy_dtype_name(dtype), text("%.4f", losses[half]), time_text(task->device, seconds));
    }
  }
  printf("\nthe losses differ by less than 1 %%: %s\n", truth(fabs(losses[0] - losses[1]) < 0.01 * losses[0]));
}
// [end]

// ---- checkpointing --------------------------------------------------------------------------------------------------

// [memory]
static void checkpointing(const Task *task) {
  heading("Activation checkpointing");
  FyTensor *first[2];
  Table table = table_begin({"checkpointed", 14}, {"peak memory", 12}, {"time", 12});
  for (int on = 0; on < 2; on++) {
    GptConfig config = task->config;
    config.checkpoint = on;
    FyModule *gpt = fy_module_to(new_gpt(&config, 0), task->device);
    Batch batch = random_batch(task->corpus, true, task->batch_size, config.context, task->device);
    size_t before = fy_memory_allocated(task->device);
    fy_reset_peak_memory_stats(task->device);
    double seconds = 0;
    timed(seconds, task->device) {
      fy_scope {
        fy_backward(gpt_loss(gpt, &batch));
      }
    }
    size_t peak = fy_max_memory_allocated(task->device) - before;
    table_row(&table, truth(on), bytes_text((double)peak), time_text(task->device, seconds));
    first[on] = fy_grad(fy_parameters(gpt)->items[0]);
  }
  printf("\nthe gradients are equal: %s\n", truth(fy_allclose(first[0], first[1], 1e-5, 1e-8)));
}
// [end]

// ---- resuming -------------------------------------------------------------------------------------------------------

// [resume]
static FyCheckpoint checkpoint_of(const Trainer *t) {
  return (FyCheckpoint){.model = t->gpt, .optimizer = t->optimizer, .scheduler = t->schedule, .scaler = t->scaler};
}

static bool same_weights(const Trainer *a, const Trainer *b) {
  bool same = true;
  for (int i = 0; i < a->parameters->count; i++) {
    same = same && fy_equal(a->parameters->items[i], b->parameters->items[i]);
  }
  return same;
}

static void resuming(const Task *task) {
  heading("Resuming");
  const char *path = temporary_file("gpt.safetensors");
  FyDType dtype = half_for(task->device);
  Trainer whole = new_trainer(&task->config, dtype, 8, task->device);
  run_steps(&whole, task, 8);

  Trainer first = new_trainer(&task->config, dtype, 8, task->device);
  run_steps(&first, task, 4);
  FyCheckpoint saved = checkpoint_of(&first);
  fy_checkpoint_save(path, &saved); // with the state of the random number generator, which draws the batches

  Trainer second = new_trainer(&task->config, dtype, 8, task->device);
  FyCheckpoint loaded = checkpoint_of(&second);
  fy_checkpoint_load(path, &loaded);
  run_steps(&second, task, 4);
  printf("8 steps, and 4 steps, a file and 4 more: the weights are equal: %s\n", truth(same_weights(&whole, &second)));
  printf("without the file, after 4 steps: %s\n", truth(same_weights(&whole, &first)));
}
// [end]

// ---- two ranks ------------------------------------------------------------------------------------------------------

// [rank]
// The part of the batch that belongs to this rank: all ranks draw the same windows.
static Batch part_of_rank(const Batch *batch) {
  int64_t rows = fy_size_at(batch->tokens, 0) / fy_get_world_size(), first = fy_get_rank() * rows;
  int64_t T = fy_size_at(batch->tokens, 1);
  return (Batch){fy_narrow(batch->tokens, 0, first, rows), fy_narrow(batch->targets, 0, first * T, rows * T)};
}

// Runs in each rank: trains a model alone on whole batches, and one with the other ranks on a part of each batch.
static void train_ranks(const Task *task) {
  fy_init_process_group(NULL, .timeout = 60);
  enum { STEPS = 6 };
  FyDevice device = task->device;
  if (device.type == FY_CUDA) {
    device = fy_cuda_device(fy_get_node_local_rank() % fy_cuda_device_count());
  }
  Trainer alone = new_trainer(&task->config, FY_FLOAT32, STEPS, device);
  Trainer shared = new_trainer(&task->config, FY_FLOAT32, STEPS, device);
  shared.model = fy_distributed_data_parallel(shared.gpt);
  double largest = 0;
  for (int step = 0; step < STEPS; step++) {
    Batch batch = random_batch(task->corpus, true, task->batch_size, task->config.context, device);
    Batch part = part_of_rank(&batch);
    double one = fy_item(train_step(&alone, &batch));
    FyTensor *mean = fy_clone(train_step(&shared, &part));
    fy_all_reduce(mean, .op = FY_REDUCE_OP_AVG);
    largest = fmax(largest, fabs(one - fy_item(mean)));
    if (fy_get_rank() == 0) {
      printf("step %d: one rank %.5f, mean of %d ranks %.5f\n", step + 1, one, fy_get_world_size(), fy_item(mean));
    }
  }
  if (fy_get_rank() == 0) {
    printf("equal to 1e-4: %s\n", truth(largest < 1e-4));
  }
  fy_destroy_process_group();
}
// [end]

// [spawn]
// Uses mpirun to start this program as two ranks. Only rank 0 prints.
static void two_ranks(const Task *task, const char *program) {
  heading("Two ranks");
  if (system("command -v mpirun >/dev/null 2>&1") != 0 || !fy_distributed_is_available()) {
    printf("There is no Open MPI here: apt-get install openmpi-bin libopenmpi-dev, then make.\n");
    return;
  }
  setenv("OMP_NUM_THREADS", "1", 0); // the ranks share the cores
  const char *command =
      text("mpirun --allow-run-as-root --oversubscribe --bind-to none -n 2 '%s' --rank %s%s </dev/null", program,
           task->device.type == FY_CPU ? "cpu" : "cuda", task->chapter->quick ? " quick" : "");
  fflush(stdout);
  if (system(command) != 0) {
    exit(1);
  }
}
// [end]

// ---- all of it ------------------------------------------------------------------------------------------------------

// [sampling]
static void sampling(const Task *task, const char *weights) {
  heading("Sampling at three temperatures");
  Trainer trainer = new_trainer(&task->config, half_for(task->device), 150, task->device);
  if (weights) {
    fy_load_state_dict(trainer.gpt, fy_safetensors_load(weights, NULL));
  } else {
    printf("mean loss of the last quarter of the training: %.3f\n",
           run_steps(&trainer, task, task->chapter->quick ? 10 : 150));
  }
  const double temperatures[] = {0.3, 0.8, 1.5};
  for (int i = 0; i < 3; i++) {
    printf("\ntemperature %g\n", temperatures[i]);
    fy_manual_seed(2);
    print_sample(trainer.gpt, task->corpus, "JULIET:\n", task->chapter->quick ? 40 : 160, temperatures[i],
                 task->device);
  }
}
// [end]

// mpirun starts `35_train_gpt --rank cpu` or `35_train_gpt --rank cuda quick`.
static bool is_rank(int argc, char **argv) {
  return argc >= 3 && strcmp(argv[1], "--rank") == 0;
}

int main(int argc, char **argv) {
  const char *weights = NULL;
  const ChapterOption option = {
      "--weights", "sample from weights that lesson 33 saved with --save", "FILE", &weights, 0, 0};
  Chapter chapter = {0};
  if (is_rank(argc, argv)) {
    chapter = (Chapter){.device = fy_device(argv[2]), .quick = argc > 3};
  } else {
    chapter = chapter_begin_with(argc, argv, "Lesson 35: training the GPT",
                                 "Mixed precision, checkpointing, two ranks, and resuming.", 1, &option);
  }
  Corpus corpus = load_plays();
  Task task = {.chapter = &chapter, .corpus = &corpus, .device = chapter.device};
  task.config = gpt_config(corpus.vocabulary, chapter.quick);
  task.batch_size = chapter.quick ? 4 : 32;
  if (chapter.simulated && !chapter.quick) {
    task.device = FY_CPU_DEVICE; // a simulator is too slow to train
  }
  if (is_rank(argc, argv)) {
    train_ranks(&task);
    return 0;
  }
  void (*const sections[])(const Task *) = {mixed_precision, checkpointing, resuming};
  for (int i = 0; i < 3; i++) {
    fy_scope {
      sections[i](&task);
    }
  }
  two_ranks(&task, argv[0]);
  fy_scope {
    sampling(&task, weights);
  }
  return 0;
}
