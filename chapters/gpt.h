// The GPT of lessons 33 to 35, and the text from which it learns.
#ifndef CHAPTERS_GPT_H
#define CHAPTERS_GPT_H

#include "common.h"

// ---- the text -------------------------------------------------------------------------------------------------------

// [corpus]
// A text as numbers: each different character is a token.
typedef struct Corpus {
  int64_t count, train;   // tokens, and how many of them are for training; the others are for validation
  const char *text;       // `count` characters
  int vocabulary;         // different characters
  char character_of[256]; // of a token
  int64_t token_of[256];  // of a character; -1 if the text does not contain it
} Corpus;
// [end]

// Four plays by Shakespeare (chapters/plays.txt), which are linked into the program. The last tenth is for validation.
Corpus load_plays(void);

// [batch]
typedef struct Batch {
  FyTensor *tokens;  // (B, T) int64
  FyTensor *targets; // (B * T) int64: for each token, the next one
} Batch;
// [end]

// Returns B windows of T tokens that begin at random positions, of the part for training or for validation.
Batch random_batch(const Corpus *corpus, bool train, int64_t B, int64_t T, FyDevice device);

// ---- the model ------------------------------------------------------------------------------------------------------

// [config]
typedef struct GptConfig {
  int vocabulary;
  int context; // T: the most tokens that the model sees at once
  int layers, heads;
  int width;       // C: numbers for each token; a multiple of `heads`
  bool fused;      // layer norm by the library's batch norm (lesson 34)
  bool checkpoint; // keep only the inputs of the blocks for backward (lesson 35)
} GptConfig;
// [end]

// The sizes of the lessons: about 800,000 parameters, or 28,000 for --quick.
GptConfig gpt_config(int vocabulary, bool small);

// Creates the model on the CPU: tokens (B, T) -> logits (B, T, vocabulary). The seed determines the weights.
FyModule *new_gpt(const GptConfig *config, uint64_t seed);

// Returns block `i` of the model: (B, T, C) -> (B, T, C).
FyModule *gpt_block(FyModule *gpt, int i);

// Returns the mean cross entropy of the batch, 0-dim.
FyTensor *gpt_loss(FyModule *gpt, const Batch *batch);

// Prints `prompt` and `count` further characters, each drawn at random from the model's prediction. A temperature below
// 1 prefers likely characters.
void print_sample(FyModule *gpt, const Corpus *corpus, const char *prompt, int count, double temperature,
                  FyDevice device);

#endif
