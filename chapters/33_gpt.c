// Lesson 33, docs/33_gpt.md: a GPT that learns to write plays, one character at a time.
//
// The model is in chapters/gpt.c, and the text in chapters/gpt_text.c.
#include "gpt.h"
#include "training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- the text -------------------------------------------------------------------------------------------------------

static void show_characters(const Corpus *corpus, const int64_t *tokens, int count) {
  for (int i = 0; i < count; i++) {
    char c = corpus->character_of[tokens[i]];
    printf("%4s", c == '\n' ? "\\n" : c == ' ' ? "' '" : text("%c", c));
  }
  printf("\n");
  for (int i = 0; i < count; i++) {
    printf("%4lld", (long long)tokens[i]);
  }
  printf("\n");
}

// [text]
static void look_at_text(const Corpus *corpus) {
  heading("The text as numbers");
  printf("%lld characters, %d of them different; the first %lld are for training\n\n", (long long)corpus->count,
         corpus->vocabulary, (long long)corpus->train);
  Batch batch = random_batch(corpus, true, 1, 12, FY_CPU_DEVICE);
  printf("tokens:\n");
  show_characters(corpus, fy_data_ptr(batch.tokens), 12);
  printf("targets:\n");
  show_characters(corpus, fy_data_ptr(batch.targets), 12);
}
// [end]

// ---- the model ------------------------------------------------------------------------------------------------------

// [untrained]
static void look_at_model(const GptConfig *config, const Corpus *corpus) {
  heading("The model before training");
  FyModule *gpt = new_gpt(config, 0);
  fy_module_print(gpt);
  printf("%lld parameters\n", (long long)parameter_count(gpt));
  Batch batch = random_batch(corpus, false, 16, config->context, FY_CPU_DEVICE);
  fy_no_grad {
    printf("loss %.3f; a guess among %d characters has ln(%d) = %.3f\n", fy_item(gpt_loss(gpt, &batch)),
           config->vocabulary, config->vocabulary, log(config->vocabulary));
  }
}
// [end]

// ---- training -------------------------------------------------------------------------------------------------------

typedef struct Run {
  const Corpus *corpus;
  GptConfig config;
  FyDevice device;
  int steps, batch_size;
} Run;

// [validation]
// Returns the mean loss over 10 batches of text that the model does not learn from.
static double validation_loss(FyModule *gpt, const Run *run) {
  double sum = 0;
  FyRngState state = fy_get_rng_state(); // so that evaluating does not change which batches training draws
  fy_manual_seed(1);                     // the same batches each time
  fy_no_grad {
    for (int i = 0; i < 10; i++) {
      fy_scope {
        Batch batch = random_batch(run->corpus, false, run->batch_size, run->config.context, run->device);
        sum += fy_item(gpt_loss(gpt, &batch));
      }
    }
  }
  fy_set_rng_state(state);
  return sum / 10;
}
// [end]

// [train]
static void train_gpt(FyModule *gpt, const Run *run) {
  FyTensorList *parameters = fy_parameters(gpt);
  FyOptimizer *optimizer = fy_adamw(parameters, .lr = 2e-3, .beta2 = 0.99, .weight_decay = 0.1);
  FyScheduler *schedule = fy_cosine_annealing_lr(optimizer, run->steps, 1e-4);
  Table table = table_begin({"step", 6}, {"training", 10}, {"validation", 10});
  for (int step = 1; step <= run->steps; step++) {
    fy_scope {
      Batch batch = random_batch(run->corpus, true, run->batch_size, run->config.context, run->device);
      FyTensor *loss = gpt_loss(gpt, &batch);
      fy_backward(loss);
      fy_clip_grad_norm_(parameters, 1);
      fy_step(optimizer);
      fy_zero_grad(optimizer);
      fy_scheduler_step(schedule);
      if (step == 1 || step % (run->steps / 5) == 0) {
        table_row(&table, text("%d", step), text("%.3f", fy_item(loss)), text("%.3f", validation_loss(gpt, run)));
        fflush(stdout);
      }
    }
  }
}
// [end]

// [training_run]
static void training(FyModule *gpt, const Run *run) {
  heading("Training");
  fy_module_to(gpt, run->device); // before the optimizer is created
  printf("on %s: %d steps of %d windows of %d characters\n\n", fy_device_name_of(run->device), run->steps,
         run->batch_size, run->config.context);
  double seconds = 0;
  timed(seconds, run->device) {
    train_gpt(gpt, run);
  }
  double tokens = (double)run->steps * run->batch_size * run->config.context;
  printf("\n%s, %.0f characters per second\n", time_text(run->device, seconds), tokens / seconds);
}
// [end]

// [samples]
static void samples(FyModule *gpt, const Run *run, const char *prompt, int count) {
  heading("Sampling");
  fy_manual_seed(2); // the same text in each run
  print_sample(gpt, run->corpus, prompt, count, 0.8, run->device);
}
// [end]

int main(int argc, char **argv) {
  const char *full = NULL, *steps = NULL, *prompt = "ROMEO:\n", *save = NULL;
  const ChapterOption options[] = {
      {"--full", "train for minutes instead of seconds", NULL, &full, 0, 0},
      {"--steps", "training steps (250; with --full 2500)", "N", &steps, 5, 1e6},
      {"--prompt", "the beginning of the sample (ROMEO:)", "TEXT", &prompt, 0, 0},
      {"--save", "write the trained weights to a file, as safetensors", "FILE", &save, 0, 0},
  };
  Chapter chapter = chapter_begin_with(argc, argv, "Lesson 33: a GPT in C", "A GPT learns to write plays.", 4, options);
  Corpus corpus = load_plays();
  Run run = {.corpus = &corpus, .batch_size = chapter.quick ? 4 : 32};
  run.steps = steps ? atoi(steps) : chapter.quick ? 10 : full ? 2500 : 250;
  run.config = gpt_config(corpus.vocabulary, chapter.quick);
  run.device = chapter.simulated && !chapter.quick ? FY_CPU_DEVICE : chapter.device; // a simulator is too slow to train
  fy_scope {
    look_at_text(&corpus);
    look_at_model(&run.config, &corpus);
  }
  fy_scope {
    FyModule *gpt = new_gpt(&run.config, 0);
    training(gpt, &run);
    samples(gpt, &run, prompt, chapter.quick ? 40 : 400);
    if (save) {
      fy_safetensors_save(save, fy_state_dict(gpt), NULL);
    }
  }
  return 0;
}
