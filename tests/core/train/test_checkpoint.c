// SPDX-License-Identifier: MIT
// Checkpoints: a training that stops and goes on has the same numbers; a kill at any moment leaves a whole file.
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy
// run: FERRY_CUDA=off
#include "../nn/check.h"
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/ferry-checkpoint-XXXXXX";
static char path[64];

static int set_up(void **state) {
  (void)state;
  if (!mkdtemp(folder))
    return -1;
  snprintf(path, sizeof path, "%s/run", folder);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

// ---- to the same numbers -----------------------------------------------------------------------------------------------

enum { EPOCHS = 4, STEPS = 5 };

typedef enum Kind { SGD, ADAM, ADAMW, KINDS } Kind;

typedef struct Training {
  FyModule *model;
  FyOptimizer *optimizer;
  FyScheduler *scheduler;
  FyDataLoader *loader;
  FyDevice device;
} Training;

// Twenty samples of six features; what they are is of no importance.
static FyDataset *dataset(void) {
  float x[STEPS * 4][6];
  int64_t y[STEPS * 4];
  for (int i = 0; i < STEPS * 4; i++) {
    y[i] = i % 3;
    for (int k = 0; k < 6; k++)
      x[i][k] = sinf((float)(i * 6 + k));
  }
  return fy_tensor_dataset(fy_tensor(&x[0][0], fy_shape(STEPS * 4, 6)), fy_tensor(y, fy_shape(STEPS * 4)));
}

static Training new_training(Kind kind, FyDevice device, uint64_t seed) {
  fy_manual_seed(seed);
  Training t = {.device = device};
  t.model = fy_nn_sequential(fy_nn_linear(6, 16), fy_nn_batch_norm1d(16), fy_nn_relu(), fy_nn_dropout(0.3),
                             fy_nn_linear(16, 3));
  fy_module_to(t.model, device);
  FyTensorList *parameters = fy_parameters(t.model);
  t.optimizer = kind == SGD    ? fy_sgd(parameters, .lr = 0.1, .momentum = 0.9, .dampening = 0.5)
                : kind == ADAM ? fy_adam(parameters, .lr = 0.01)
                               : fy_adamw(parameters, .lr = 0.01);
  t.scheduler = fy_cosine_annealing_lr(t.optimizer, EPOCHS, 1e-4);
  t.loader = fy_data_loader(dataset(), .batch_size = 4, .shuffle = true);
  return t;
}

// One epoch; the loss of each step goes to `losses`. The loader's order comes from the process's generator.
static void train_epoch(Training *t, double *losses) {
  fy_train(t->model);
  fy_for_batches(batch, t->loader) {
    fy_zero_grad(t->optimizer);
    FyTensor *output = fy_forward(t->model, fy_to(batch.data, t->device));
    FyTensor *loss = fy_cross_entropy(output, fy_to(batch.target, t->device));
    fy_backward(loss);
    fy_step(t->optimizer);
    losses[batch.index] = fy_item(loss);
  }
  fy_scheduler_step(t->scheduler);
}

static FyCheckpoint checkpoint_of(const Training *t) {
  return (FyCheckpoint){.model = t->model, .optimizer = t->optimizer, .scheduler = t->scheduler};
}

static void resume(Kind kind, FyDevice device) {
  double whole[EPOCHS][STEPS], resumed[EPOCHS][STEPS];
  Training first = new_training(kind, device, 1);
  for (int epoch = 0; epoch < EPOCHS; epoch++) {
    train_epoch(&first, whole[epoch]);
    if (epoch == 1) {
      FyCheckpoint c = checkpoint_of(&first);
      c.epoch = epoch + 1;
      c.step = (epoch + 1) * STEPS;
      c.seed = UINT64_MAX;
      c.best = 0.1;
      c.extra = fy_metadata_new();
      fy_metadata_set(c.extra, "note", "half way");
      fy_checkpoint_save(path, &c);
    }
  }
  Training second = new_training(kind, device, 99); // other weights, another place of the generator
  FyCheckpoint c = checkpoint_of(&second);
  fy_checkpoint_load(path, &c);
  assert_int_equal(c.epoch, 2);
  assert_int_equal(c.step, 2 * STEPS);
  assert_true(c.seed == UINT64_MAX && c.best == 0.1);
  assert_string_equal(fy_metadata_get(c.extra, "note"), "half way");
  for (int64_t epoch = c.epoch; epoch < EPOCHS; epoch++)
    train_epoch(&second, resumed[epoch]);
  assert_memory_equal(resumed[2], whole[2], sizeof whole[2]);
  assert_memory_equal(resumed[3], whole[3], sizeof whole[3]);
  assert_memory_not_equal(whole[1], whole[2], sizeof whole[1]);
  assert_true(fy_learning_rate(first.optimizer) == fy_learning_rate(second.optimizer));
  FyTensorList *a = fy_state_dict(first.model), *b = fy_state_dict(second.model);
  for (int i = 0; i < a->count; i++)
    assert_true(fy_equal(a->items[i], b->items[i]));
}

static void on_the_cpu(void **state) {
  (void)state;
  for (Kind kind = SGD; kind < KINDS; kind++)
    resume(kind, FY_CPU_DEVICE);
}

static void on_a_device(void **state) {
  (void)state;
  if (!fy_cuda_is_available()) {
    print_message("needs CUDA, real or simulated, and there is none\n");
    skip();
  }
  for (Kind kind = SGD; kind < KINDS; kind++)
    resume(kind, fy_cuda_device(0));
}

// Weights alone, without what the optimizer had.
static void the_model_alone(void **state) {
  (void)state;
  Training first = new_training(ADAM, FY_CPU_DEVICE, 1), second = new_training(ADAM, FY_CPU_DEVICE, 2);
  FyCheckpoint all = checkpoint_of(&first), model = {.model = second.model};
  fy_checkpoint_save(path, &all);
  assert_true(fy_checkpoint_exists(path));
  fy_checkpoint_load(path, &model);
  assert_true(fy_equal(fy_list_get(fy_state_dict(first.model), "0.weight"),
                       fy_list_get(fy_state_dict(second.model), "0.weight")));
  FyCheckpoint wanting = checkpoint_of(&second);
  fy_checkpoint_save(path, &model);
  assert_raises_about(FY_VALUE_ERROR, "has no state for the optimizer", fy_checkpoint_load(path, &wanting));
}

// ---- what does not fit -------------------------------------------------------------------------------------------------

static FyTensorList *state_with(const char *name, FyTensor *value) {
  FyTensorList *list = fy_tensor_list_new();
  fy_list_add(list, name, value);
  return list;
}

static void optimizer_states_are_checked(void **state) {
  (void)state;
  double losses[STEPS];
  Training t = new_training(ADAM, FY_CPU_DEVICE, 1);
  train_epoch(&t, losses);
  FyTensorList *before = fy_optimizer_state_dict(t.optimizer);
  assert_int_equal(before->count, 1 + 3 * 6);
  assert_int_equal(fy_item_int64(fy_list_get(before, "state.0.step")), STEPS);
  FyTensor *one = fy_ones(FY_SCALAR);
  static const char *const unknown[] = {"state.6.step",  "state.-1.step", "state.00.step", "state.0.momentum_buffer",
                                        "state.+0.step", "state.0.",      "state.0.step ", "lr"};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
    assert_raises_about(FY_VALUE_ERROR, "which Adam with 6 parameters does not have",
                        fy_optimizer_load_state_dict(t.optimizer, state_with(unknown[i], one)));
  assert_raises_about(FY_VALUE_ERROR, "but the parameter has torch.Size([16, 6])",
                      fy_optimizer_load_state_dict(t.optimizer, state_with("state.0.exp_avg", one)));
  assert_raises_about(FY_VALUE_ERROR, "but no \"state.5.step\"",
                      fy_optimizer_load_state_dict(t.optimizer, state_with("state.5.exp_avg", fy_ones(fy_shape(3)))));
  assert_raises_about(FY_VALUE_ERROR, "has -1 as \"param_groups.0.lr\"",
                      fy_optimizer_load_state_dict(t.optimizer, state_with("param_groups.0.lr", fy_neg(one))));
  assert_raises_about(FY_VALUE_ERROR, "but it is one number",
                      fy_optimizer_load_state_dict(t.optimizer, state_with("state.0.step", fy_ones(fy_shape(2)))));
  FyTensorList *after = fy_optimizer_state_dict(t.optimizer);
  for (int i = 0; i < before->count; i++)
    assert_true(fy_equal(before->items[i], after->items[i]));
}

static void a_file_that_is_no_checkpoint(void **state) {
  (void)state;
  Training t = new_training(SGD, FY_CPU_DEVICE, 1);
  FyCheckpoint c = checkpoint_of(&t);
  FyTensor *before = fy_clone(fy_parameters(t.model)->items[0]);
  fy_safetensors_save(path, fy_state_dict(t.model), NULL);
  assert_raises_about(FY_VALUE_ERROR, "is no checkpoint: its __metadata__ has no \"ferry.checkpoint\"",
                      fy_checkpoint_load(path, &c));
  FyModule *other = fy_nn_linear(2, 2);
  fy_checkpoint_save(
      path, &(FyCheckpoint){.model = other, .optimizer = fy_sgd(fy_parameters(other)), .scheduler = t.scheduler});
  assert_raises_about(FY_RUNTIME_ERROR, "Missing key(s) in state_dict", fy_checkpoint_load(path, &c));
  FyMetadata *metadata = NULL;
  FyTensorList *list = fy_safetensors_load(path, &metadata);
  fy_metadata_set(metadata, "ferry.step", "12x");
  fy_safetensors_save(path, list, metadata);
  assert_raises_about(FY_VALUE_ERROR, "expected a number as \"ferry.step\", but got \"12x\"",
                      fy_checkpoint_load(path, &c));
  assert_true(fy_equal(before, fy_parameters(t.model)->items[0]));
  assert_raises_about(FY_OS_ERROR, "No such file", fy_checkpoint_load("/nonexistent/run", &c));
  assert_false(fy_checkpoint_exists("/nonexistent/run"));
}

// ---- kill -9 -----------------------------------------------------------------------------------------------------------

enum { TENSORS = 20, NUMBERS = 40000, KILLS = 20 };

// Saves version after version, each with all its numbers equal to its epoch, until it is killed.
static _Noreturn void save_for_ever(const char *where) {
  FyModule *model = fy_module_new(FyModule, NULL);
  for (int i = 0; i < TENSORS; i++) {
    char name[16];
    snprintf(name, sizeof name, "t%d", i);
    fy_module_add_tensor(model, name, FY_BUFFER, fy_zeros(fy_shape(NUMBERS)), -1);
  }
  for (int64_t version = 1;; version++) {
    fy_scope {
      FyTensorList *buffers = fy_buffers(model);
      for (int i = 0; i < buffers->count; i++)
        fy_fill_(buffers->items[i], (double)version);
      fy_checkpoint_save(where, &(FyCheckpoint){.model = model, .epoch = version});
    }
  }
}

static void assert_whole(int64_t *version) {
  fy_scope {
    FyMetadata *metadata = NULL;
    FyTensorList *list = fy_safetensors_load(path, &metadata);
    int64_t epoch = strtoll(fy_metadata_get(metadata, "ferry.epoch"), NULL, 10);
    assert_int_equal(list->count, TENSORS);
    for (int i = 0; i < list->count; i++)
      assert_true(fy_equal(list->items[i], fy_full((double)epoch, fy_shape(NUMBERS))));
    assert_true(epoch >= 1);
    *version = epoch;
  }
}

static void sleep_microseconds(long microseconds) {
  nanosleep(&(struct timespec){microseconds / 1000000, microseconds % 1000000 * 1000}, NULL);
}

static void killed_at_twenty_moments(void **state) {
  (void)state;
  uint32_t dice = (uint32_t)time(NULL);
  int64_t version = 0, highest = 0;
  print_message("seed of the moments: %u\n", dice);
  unlink(path);
  for (int kill_number = 0; kill_number < KILLS; kill_number++) {
    struct stat before = {0}, now = {0};
    stat(path, &before);
    pid_t child = fork();
    if (child == 0) {
      execl("/proc/self/exe", "test_checkpoint", "--save", path, (char *)NULL);
      _exit(127);
    }
    assert_true(child > 0);
    // From one of the first files of this child on: anywhere within a few versions, however slow the machine is.
    for (int files = 0; files <= kill_number % 3; files++, before = now)
      for (int wait = 0; wait < 20000 && (stat(path, &now) != 0 || now.st_ino == before.st_ino); wait++)
        sleep_microseconds(1000);
    dice = dice * 1664525u + 1013904223u;
    sleep_microseconds((dice >> 8) % 20000);
    kill(child, SIGKILL);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_whole(&version);
    highest = version > highest ? version : highest;
  }
  assert_true(highest > 1); // it was not always the first one
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--save") == 0)
    save_for_ever(argv[2]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_the_cpu),
      cmocka_unit_test(on_a_device),
      cmocka_unit_test(the_model_alone),
      cmocka_unit_test(optimizer_states_are_checked),
      cmocka_unit_test(a_file_that_is_no_checkpoint),
      cmocka_unit_test(killed_at_twenty_moments),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
