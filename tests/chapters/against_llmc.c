// SPDX-License-Identifier: MIT
// Training steps of llm.c's GPT-2 on the CPU in the size of lesson 34, for against_llmc.sh: prints the milliseconds of each.
// TRAIN_GPT2 is the checkout's train_gpt2.c.
#define TESTING // without its main
#include TRAIN_GPT2

enum { B = 32, T = 64, V = 63, PADDED = 64, LAYERS = 4, HEADS = 4, C = 128 };

// A checkpoint of random weights, as the program reads it.
static void write_checkpoint(const char *path) {
  int header[256] = {20240326, 3, T, V, LAYERS, HEADS, C, PADDED};
  GPT2Config config = {T, V, PADDED, LAYERS, HEADS, C};
  size_t sizes[NUM_PARAMETER_TENSORS];
  fill_in_parameter_sizes(sizes, config);
  FILE *file = fopen(path, "wb");
  fwrite(header, sizeof *header, 256, file);
  for (int i = 0; i < NUM_PARAMETER_TENSORS; i++)
    for (size_t k = 0; k < sizes[i]; k++) {
      float value = 0.04f * ((float)rand() / (float)RAND_MAX - 0.5f);
      fwrite(&value, sizeof value, 1, file);
    }
  fclose(file);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  static int tokens[B * T], targets[B * T];
  GPT2 model;
  int steps = argc > 2 ? atoi(argv[2]) : 5;
  write_checkpoint(argv[1]);
  gpt2_build_from_checkpoint(&model, argv[1]);
  for (int i = 0; i < B * T; i++) {
    tokens[i] = rand() % V;
    targets[i] = rand() % V;
  }
  for (int step = 0; step <= steps; step++) { // the first one allocates
    double start = now();
    gpt2_forward(&model, tokens, targets, B, T);
    gpt2_zero_grad(&model);
    gpt2_backward(&model);
    gpt2_update(&model, 1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f, step + 1);
    if (step)
      printf("step %.3f ms\n", 1e3 * (now() - start));
  }
  gpt2_free(&model);
  return 0;
}
