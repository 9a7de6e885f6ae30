// The training loop of lessons 9 and 10.
#include "training.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- one step, one epoch --------------------------------------------------------------------------------------------

// [step]
// Adds the gradients of one batch, and updates the weights after every `accumulate` batches. Returns the loss, 0-dim.
static FyTensor *training_step(Training *training, const FyBatch *batch) {
  FyTensor *output = fy_forward(training->model, batch->data); // (N, 10)
  FyTensor *loss = fy_cross_entropy(output, batch->target);    // the mean over N
  fy_backward(fy_div_scalar(loss, training->accumulate));      // adds to the gradients of earlier batches
  int64_t seen = batch->index + 1;
  if (seen % training->accumulate == 0 || seen == fy_loader_batches(training->train)) {
    if (training->clip > 0) {
      fy_clip_grad_norm_(training->parameters, training->clip); // PyTorch: nn.utils.clip_grad_norm_(...)
    }
    fy_step(training->optimizer);
    fy_zero_grad(training->optimizer);
  }
  return fy_detach(loss);
}
// [end]

// [epoch]
double train_epoch(Training *training, const char *label) {
  volatile double mean = 0;
  fy_scope {
    FyTensor *sum = fy_zeros(FY_SCALAR, .device = training->device); // the losses are summed on the device
    int64_t batches = 0;
    FyProgress bar = fy_progress_begin(label, fy_loader_samples(training->train), "samples");
    fy_train(training->model);                                            // PyTorch: model.train(): dropout is active
    fy_for_prefetched_batches(batch, training->train, training->device) { // for data, target in train_loader:
      fy_add_(sum, training_step(training, &batch));
      batches++;
      fy_progress_add(&bar, batch.size);
      if (label && fy_progress_due(&bar)) { // reading the number makes the CPU wait: do it rarely
        fy_progress_show(&bar, "loss %.4f", fy_item(sum) / (double)batches);
      }
    }
    mean = fy_item(sum) / (double)batches;
    if (label) {
      fy_progress_end(&bar, "loss %.4f", mean);
    }
  }
  return mean;
}
// [end]

// [evaluate]
Evaluation evaluate(FyModule *model, FyDataLoader *loader, FyDevice device) {
  Evaluation result = {0};
  fy_eval(model); // PyTorch: model.eval(): dropout is inactive
  fy_scope {
    FyTensor *loss = fy_zeros(FY_SCALAR, .device = device);
    FyTensor *correct = fy_zeros(FY_SCALAR, .dtype = FY_INT64, .device = device);
    double count = (double)fy_loader_samples(loader);
    fy_no_grad { // PyTorch: with torch.no_grad():
      fy_for_prefetched_batches(batch, loader, device) {
        FyTensor *output = fy_forward(model, batch.data);  // (N, 10)
        FyTensor *guess = fy_argmax_dim(output, 1, false); // (N)
        fy_add_(loss, fy_cross_entropy(output, batch.target, .reduction = FY_REDUCE_SUM));
        fy_add_(correct, fy_sum(fy_eq(guess, batch.target)));
      }
    }
    result = (Evaluation){fy_item(loss) / count, (double)fy_item_int64(correct) / count};
  }
  return result;
}
// [end]

// ---- all epochs -----------------------------------------------------------------------------------------------------

// [resume]
static FyCheckpoint checkpoint_of(const Training *training) {
  return (FyCheckpoint){.model = training->model,
                        .optimizer = training->optimizer,
                        .scheduler = training->scheduler,
                        .seed = training->seed};
}

// Returns the state to start from: epoch 0, or the checkpoint if there is one.
static FyCheckpoint resume(Training *training) {
  FyCheckpoint checkpoint = checkpoint_of(training);
  if (!training->resume || !fy_checkpoint_exists(training->resume)) {
    return checkpoint;
  }
  fy_checkpoint_load(training->resume, &checkpoint); // weights, Adam's moments, schedule, random generator
  if (checkpoint.seed != training->seed) {
    refuse("--resume %s: it was written with --seed %llu, and another seed has another order of pictures",
           training->resume, (unsigned long long)checkpoint.seed);
  }
  printf("%s: epoch %lld is done, best accuracy %.2f %%\n", training->resume, (long long)checkpoint.epoch,
         100 * checkpoint.best);
  return checkpoint;
}
// [end]

// A simulated device's samples per second are labeled as such.
static const char *label_of(const Training *training, int64_t epoch) {
  bool simulated = training->device.type == FY_CUDA && fy_cuda_is_simulated();
  return text("epoch %lld/%d%s", (long long)epoch + 1, training->epochs, simulated ? " (simulated)" : "");
}

static void save_weights(const Training *training) {
  if (training->weights) { // PyTorch: safetensors.torch.save_file(model.state_dict(), path)
    fy_safetensors_save(training->weights, fy_state_dict(training->model), NULL);
  }
}

// [train]
double train(Training *training) {
  FyCheckpoint state = resume(training);
  while (state.epoch < training->epochs) {
    double lr = fy_learning_rate(training->optimizer), start = seconds_now(training->device);
    fy_loader_set_epoch(training->train, state.epoch); // epoch e has the same order in every run, resumed or not
    train_epoch(training, label_of(training, state.epoch));
    double trained = seconds_now(training->device);
    Evaluation test = evaluate(training->model, training->test, training->device);
    printf("  lr %.2g, test loss %.4f, test accuracy %.2f %%; %s, and %s to evaluate\n", lr, test.loss,
           100 * test.accuracy, time_text(training->device, trained - start),
           time_text(training->device, seconds_now(training->device) - trained));
    if (test.accuracy > state.best) {
      state.best = test.accuracy;
      save_weights(training);
    }
    if (training->scheduler) {
      fy_scheduler_step(training->scheduler);
    }
    state.epoch++;
    if (training->resume) {
      fy_checkpoint_save(training->resume, &state);
    }
  }
  if (training->weights && access(training->weights, F_OK) != 0) { // a resumed run that did not improve
    save_weights(training);
  }
  return state.best;
}
// [end]

// ---- putting it together --------------------------------------------------------------------------------------------

static FyScheduler *schedule_of(FyOptimizer *optimizer, const char *name, int epochs) {
  if (strcmp(name, "step") == 0) {
    return fy_step_lr(optimizer, 1, 0.5); // PyTorch: StepLR(optimizer, step_size=1, gamma=0.5)
  }
  if (strcmp(name, "cosine") == 0) {
    return fy_cosine_annealing_lr(optimizer, epochs, 0); // PyTorch: CosineAnnealingLR(optimizer, T_max=epochs)
  }
  return NULL;
}

// [training_of]
Training training_of(FyModule *model, FyDataset *train_set, FyDataset *test_set, FyDevice device,
                     const TrainingOptions *options) {
  fy_module_to(model, device); // before the optimizer is made
  bool pin = device.type == FY_CUDA;
  FyTensorList *parameters = fy_parameters(model);
  FyOptimizer *optimizer = fy_adam(parameters, .lr = options->lr);
  return (Training){
      .model = model,
      .parameters = parameters,
      .optimizer = optimizer,
      .scheduler = schedule_of(optimizer, options->schedule, options->epochs),
      .train = fy_data_loader(train_set, .batch_size = options->batch_size, .shuffle = true,
                              .num_workers = options->workers, .pin_memory = pin,
                              .seed = options->seed + 1), // the loader's 0 would mean: another order in each run
      .test = fy_data_loader(test_set, .batch_size = options->batch_size, .num_workers = options->workers,
                             .pin_memory = pin),
      .device = device,
      .epochs = options->epochs,
      .accumulate = options->accumulate,
      .clip = options->clip,
      .seed = options->seed,
      .weights = options->save,
      .resume = options->resume,
  };
}
// [end]

int64_t parameter_count(FyModule *model) {
  int64_t count = 0;
  fy_scope {
    FyTensorList *parameters = fy_parameters(model);
    for (int i = 0; i < parameters->count; i++) {
      count += fy_numel(parameters->items[i]);
    }
  }
  return count;
}

// ---- options --------------------------------------------------------------------------------------------------------

static int whole(const char *from, int otherwise) {
  return from ? atoi(from) : otherwise;
}

Chapter training_begin(int argc, char **argv, const char *title, const char *about, TrainingOptions *options) {
  return training_begin_with(argc, argv, title, about, options, NULL);
}

Chapter training_begin_with(int argc, char **argv, const char *title, const char *about, TrainingOptions *options,
                            const ChapterOption *own) {
  const char *epochs = NULL, *batch = NULL, *lr = NULL, *workers = NULL, *seed = NULL, *full = NULL;
  const char *accumulate = NULL, *clip = NULL;
  options->schedule = "none";
  const ChapterOption none = {0};
  const ChapterOption list[] = {
      {"--full", "the whole data; without it a part, done in seconds", NULL, &full, 0, 0},
      {"--epochs", "how often to go through the data (2; with --full 3)", "N", &epochs, 1, 1e6},
      {"--batch-size", text("pictures per batch (%d)", options->batch_size), "N", &batch, 1, 65536},
      {"--lr", text("Adam's learning rate (%g)", options->lr), "X", &lr, 1e-12, 1e6},
      {"--schedule", "of the learning rate; step halves it after each epoch (none)", "none|step|cosine",
       &options->schedule, 0, 0},
      {"--accumulate", text("batches per step of Adam (%d)", options->accumulate), "N", &accumulate, 1, 65536},
      {"--clip", text("the gradients' largest norm, 0 for any (%g)", options->clip), "X", &clip, 0, 1e6},
      {"--workers", text("threads that load, 0 for none (%d)", options->workers), "N", &workers, 0, 256},
      {"--seed", "of weights, order, dropout and random transforms (0)", "N", &seed, 0, 1e9},
      {"--data", "where the data set's files are", "DIR", &options->data, 0, 0},
      {"--save", "keep the best weights there, as safetensors", "FILE", &options->save, 0, 0},
      {"--resume", "a checkpoint after each epoch; go on from it if it is there", "FILE", &options->resume, 0, 0},
      own ? *own : none,
  };
  int count = (int)(sizeof list / sizeof *list) - !own;
  Chapter chapter = chapter_begin_with(argc, argv, title, about, count, list);
  options->full = full != NULL;
  options->epochs = whole(epochs, options->full ? 3 : 2);
  options->batch_size = whole(batch, options->batch_size);
  options->lr = lr ? atof(lr) : options->lr;
  options->accumulate = whole(accumulate, options->accumulate);
  options->clip = clip ? atof(clip) : options->clip;
  options->workers = whole(workers, options->workers);
  options->seed = (uint64_t)whole(seed, 0);
  fy_manual_seed(options->seed);
  return chapter;
}

// ---- files of a demonstration ---------------------------------------------------------------------------------------

static char directory[512];

static void remove_directory(void) {
  DIR *list = opendir(directory);
  for (struct dirent *entry; list && (entry = readdir(list));) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
    unlink(path); // "." and ".." refuse
  }
  if (list) {
    closedir(list);
  }
  rmdir(directory);
}

const char *temporary_file(const char *name) {
  if (!*directory) {
    const char *parent = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/ferry-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(directory)) {
      fy_raise(FY_OS_ERROR, "cannot make a directory %s: %s; set TMPDIR to where there is room", directory,
               strerror(errno));
    }
    atexit(remove_directory);
  }
  static char paths[4][640];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", directory, name);
  return path;
}
