// The text of lessons 33 to 35 as numbers, in batches.
//
// chapters/plays.txt contains Coriolanus, Richard III, Richard II, and Romeo and Juliet by William Shakespeare, which are in the
// public domain. It is the first half of the file data/tinyshakespeare/input.txt of github.com/karpathy/char-rnn.
#include "gpt.h"

#include <string.h>

// The assembler copies the file into the program, so that the program finds it in any working directory.
__asm__(".pushsection .rodata\n"
        "plays: .incbin \"chapters/plays.txt\"\n"
        "plays_end: .byte 0\n"
        ".popsection\n");
extern const char plays[], plays_end[];

// [load]
Corpus load_plays(void) {
  Corpus corpus = {.text = plays, .count = plays_end - plays};
  corpus.train = corpus.count / 10 * 9;
  for (int c = 0; c < 256; c++) {
    corpus.token_of[c] = -1;
    if (memchr(plays, c, (size_t)corpus.count)) {
      corpus.token_of[c] = corpus.vocabulary;
      corpus.character_of[corpus.vocabulary++] = (char)c;
    }
  }
  return corpus;
}
// [end]

// [random_batch]
Batch random_batch(const Corpus *corpus, bool train, int64_t B, int64_t T, FyDevice device) {
  int64_t first = train ? 0 : corpus->train, end = train ? corpus->train : corpus->count;
  FyTensor *starts = fy_randint(first, end - T, fy_shape(B)); // on the CPU: the same on every device
  FyTensor *tokens = fy_empty(fy_shape(B, T), .dtype = FY_INT64);
  FyTensor *targets = fy_empty(fy_shape(B * T), .dtype = FY_INT64);
  const int64_t *start = fy_data_ptr(starts);
  int64_t *token = fy_data_ptr(tokens), *target = fy_data_ptr(targets);
  for (int64_t i = 0; i < B * T; i++) {
    const char *at = corpus->text + start[i / T] + i % T;
    token[i] = corpus->token_of[(unsigned char)at[0]];
    target[i] = corpus->token_of[(unsigned char)at[1]];
  }
  return (Batch){fy_to(tokens, device), fy_to(targets, device)};
}
// [end]
