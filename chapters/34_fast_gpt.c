// Lesson 34, docs/34_fast_gpt.md: checking the GPT of lesson 33, and making it fast.
#include "gpt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 20 };

// ---- the same losses as PyTorch -------------------------------------------------------------------------------------

// [steps]
typedef struct Run {
  GptConfig config;
  FyTensor *tokens, *targets; // (STEPS, B, T) and (STEPS, B * T), on the CPU
} Run;

static void train_steps(const Run *run, FyDevice device, float *losses) {
  fy_scope {
    FyModule *gpt = fy_module_to(new_gpt(&run->config, 0), device);
    FyOptimizer *optimizer = fy_adamw(fy_parameters(gpt), .lr = 5e-3);
    for (int step = 0; step < STEPS; step++) {
      fy_scope {
        Batch batch = {fy_to(fy_select(run->tokens, 0, step), device), fy_to(fy_select(run->targets, 0, step), device)};
        FyTensor *loss = gpt_loss(gpt, &batch);
        fy_backward(loss);
        fy_step(optimizer);
        fy_zero_grad(optimizer);
        losses[step] = (float)fy_item(loss);
      }
    }
  }
}
// [end]

static Run small_run(const Corpus *corpus) {
  enum { B = 4, T = 16 };
  Run run = {.config = gpt_config(corpus->vocabulary, true)};
  fy_manual_seed(1);
  FyTensor *tokens[STEPS], *targets[STEPS];
  for (int i = 0; i < STEPS; i++) {
    Batch batch = random_batch(corpus, true, B, T, FY_CPU_DEVICE);
    tokens[i] = batch.tokens;
    targets[i] = batch.targets;
  }
  run.tokens = fy_stack((FyTensors){STEPS, tokens}, 0);
  run.targets = fy_stack((FyTensors){STEPS, targets}, 0);
  return run;
}

// [export]
// Writes what PyTorch needs for the same steps: the initial weights, and the batches.
static void export_run(const Run *run, const char *path) {
  FyTensorList *state = fy_state_dict(new_gpt(&run->config, 0));
  fy_list_add(state, "tokens", run->tokens);
  fy_list_add(state, "targets", run->targets);
  fy_safetensors_save(path, state, NULL);
}
// [end]

static void print_losses(const Run *run, FyDevice device) {
  heading("The losses of 20 steps");
  float losses[STEPS];
  train_steps(run, device, losses);
  for (int step = 0; step < STEPS; step++) {
    printf("%.6f%s", losses[step], step % 5 == 4 ? "\n" : "  ");
  }
}

// ---- gradients ------------------------------------------------------------------------------------------------------

// [gradcheck]
static FyTensor *run_block(FyTensor *const *inputs, void *block) {
  return fy_forward((FyModule *)block, inputs[0]); // the other inputs are the block's parameters
}

static void check_gradients(FyDevice device) {
  heading("Gradients against differences");
  FyModule *gpt = new_gpt(&(GptConfig){.vocabulary = 5, .context = 3, .layers = 1, .heads = 2, .width = 4}, 0);
  FyModule *block = gpt_block(gpt, 0);
  fy_module_to_dtype(fy_module_to(block, device), FY_FLOAT64);
  FyTensor *inputs[20] = {fy_randn(fy_shape(1, 3, 4), .dtype = FY_FLOAT64, .device = device, .requires_grad = true)};
  FyTensorList *parameters = fy_parameters(block);
  for (int i = 0; i < parameters->count; i++) {
    inputs[i + 1] = parameters->items[i];
    fy_no_grad {
      fy_normal_(inputs[i + 1], 0, 1); // with weights near 0, a wrong gradient would be near 0 too
    }
  }
  char message[200] = "";
  bool right = fy_gradcheck(run_block, block, (FyTensors){parameters->count + 1, inputs}, message, sizeof message);
  printf("gradients of the input and of %d parameters of a block: %s\n%s", parameters->count, truth(right), message);
}
// [end]

// ---- two devices ----------------------------------------------------------------------------------------------------

// [devices]
static void compare_devices(const Run *run, FyDevice device) {
  heading("The CPU and the device");
  float cpu[STEPS], other[STEPS], largest = 0;
  train_steps(run, FY_CPU_DEVICE, cpu);
  train_steps(run, device, other);
  for (int step = 0; step < STEPS; step++) {
    largest = fmaxf(largest, fabsf(cpu[step] - other[step]));
  }
  printf("largest difference of the losses on cpu and %s: %.1e\n", fy_device_name_of(device), largest);
  printf("below 1e-4: %s\n", truth(largest < 1e-4f));
}
// [end]

// ---- where the time goes --------------------------------------------------------------------------------------------

// [profile]
static void train_step(FyModule *gpt, FyOptimizer *optimizer, const Batch *batch) {
  fy_scope {
    fy_backward(gpt_loss(gpt, batch));
    fy_step(optimizer);
    fy_zero_grad(optimizer);
  }
}

static void profile_step(const GptConfig *config, const Corpus *corpus, int64_t B, FyDevice device) {
  heading("A profile of a step");
  FyModule *gpt = fy_module_to(new_gpt(config, 0), device);
  FyOptimizer *optimizer = fy_adamw(fy_parameters(gpt), .lr = 1e-3);
  Batch batch = random_batch(corpus, true, B, config->context, device);
  train_step(gpt, optimizer, &batch); // warm-up
  FyProfile *profile;
  fy_profile(profile, FY_PROFILE_CPU) {
    train_step(gpt, optimizer, &batch);
  }
  printf("%s", fy_key_averages_table(fy_key_averages(profile), .sort_by = "self_cpu_time_total", .row_limit = 12));
}
// [end]

// ---- fusion ---------------------------------------------------------------------------------------------------------

// [fused]
static double seconds_of_step(const GptConfig *config, const Corpus *corpus, int64_t B, int steps) {
  FyModule *gpt = new_gpt(config, 0);
  FyOptimizer *optimizer = fy_adamw(fy_parameters(gpt), .lr = 1e-3);
  Batch batch = random_batch(corpus, true, B, config->context, FY_CPU_DEVICE);
  double best = INFINITY;
  for (int step = 0; step <= steps; step++) { // the first one is the warm-up
    double seconds = 0;
    timed(seconds, FY_CPU_DEVICE) {
      train_step(gpt, optimizer, &batch);
    }
    best = step > 0 ? fmin(best, seconds) : best;
  }
  return best;
}

static void compare_fused(const Run *run, GptConfig config, const Corpus *corpus, int64_t B, int steps) {
  heading("Layer norm in three ops");
  Run fused = *run;
  float plain_losses[STEPS], fused_losses[STEPS], largest = 0;
  fused.config.fused = true;
  train_steps(run, FY_CPU_DEVICE, plain_losses);
  train_steps(&fused, FY_CPU_DEVICE, fused_losses);
  for (int step = 0; step < STEPS; step++) {
    largest = fmaxf(largest, fabsf(plain_losses[step] - fused_losses[step]));
  }
  printf("the losses of 20 steps are equal to 1e-4: %s\n\n", truth(largest < 1e-4f));
  Table table = table_begin({"layer norm", 12}, {"step", 10});
  for (int on = 0; on < 2; on++) {
    config.fused = on;
    fy_scope {
      table_row(&table, on ? "three ops" : "nine ops",
                time_text(FY_CPU_DEVICE, seconds_of_step(&config, corpus, B, steps)));
    }
  }
}
// [end]

// ---- speed ----------------------------------------------------------------------------------------------------------

// Prints the time of each of `steps` steps, for tests/chapters/against_llmc.sh.
static void time_steps(const GptConfig *config, const Corpus *corpus, int64_t B, int steps) {
  FyModule *gpt = new_gpt(config, 0);
  FyOptimizer *optimizer = fy_adamw(fy_parameters(gpt), .lr = 1e-3);
  Batch batch = random_batch(corpus, true, B, config->context, FY_CPU_DEVICE);
  train_step(gpt, optimizer, &batch); // warm-up
  for (int step = 0; step < steps; step++) {
    double seconds = 0;
    timed(seconds, FY_CPU_DEVICE) {
      train_step(gpt, optimizer, &batch);
    }
    printf("step %.3f ms\n", 1e3 * seconds);
  }
}

int main(int argc, char **argv) {
  const char *export = NULL, *steps = NULL;
  const ChapterOption options[] = {
      {"--export", "write the initial weights and the batches of section 1 to a file, and stop", "FILE", &export, 0, 0},
      {"--time", "time N training steps on the CPU, and stop", "N", &steps, 1, 1e6},
  };
  Chapter chapter =
      chapter_begin_with(argc, argv, "Lesson 34: checking the GPT and making it fast",
                         "The GPT's losses and gradients are checked, and its steps profiled.", 2, options);
  Corpus corpus = load_plays();
  GptConfig config = gpt_config(corpus.vocabulary, false);
  if (steps) {
    config.fused = true;
    time_steps(&config, &corpus, 32, atoi(steps));
    return 0;
  }
  fy_scope {
    Run run = small_run(&corpus);
    if (export) {
      export_run(&run, export);
      return 0;
    }
    print_losses(&run, chapter.device);
    check_gradients(chapter.device);
    compare_devices(&run, chapter.device);
    profile_step(chapter.quick ? &run.config : &config, &corpus, chapter.quick ? 4 : 32, FY_CPU_DEVICE);
    compare_fused(&run, chapter.quick ? run.config : config, &corpus, chapter.quick ? 4 : 32, chapter.quick ? 2 : 20);
  }
  return 0;
}
