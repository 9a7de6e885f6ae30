#include "pass.h"

#include <stdio.h>
#include <string.h>

const Pass pass_once = {
    .is = PASS_IN_ORDER, .threads = "ascending", .blocks = "ascending", .edge = "none", .weak = "none"};

const Pass kernel_passes[KERNEL_PASSES] = {
    {PASS_IN_ORDER, NULL, "ascending", "ascending", "before", "none"},
    {PASS_THREADS_DOWN, "with the threads of each block begun in descending order", "descending", "ascending", "behind",
     "none"},
    {PASS_WITHIN_BLOCKS,
     "with the threads of each block in random order, and what one writes to shared memory seen by the others after "
     "the "
     "next barrier",
     "random", "ascending", "behind", "within"},
    {PASS_BLOCKS_DOWN, "with the blocks run in descending order", "ascending", "descending", "before", "none"},
    {PASS_BETWEEN_BLOCKS,
     "with the blocks side by side: what one writes the others see after a fence or when the kernel ends", "ascending",
     "random", "behind", "between"}};

const Pass inspected_passes[2] = {{PASS_IN_ORDER, NULL, "ascending", "ascending", "none", "none"},
                                  {PASS_THREADS_DOWN, "with the threads of each block begun in descending order",
                                   "descending", "ascending", "none", "none"}};

static void add(PassSettings *s, int *count, const char *name, const char *value, uint64_t seed) {
  char *text = s->text[*count];
  if (strcmp(value, "random") == 0)
    snprintf(text, PASS_SETTING_BYTES, "%s=random:%u", name, (unsigned)(seed & 0xffff));
  else
    snprintf(text, PASS_SETTING_BYTES, "%s=%s", name, value);
  s->list[(*count)++] = text;
}

void pass_settings(PassSettings *s, const Pass *pass, uint64_t seed) {
  int count = 0;
  add(s, &count, "FERRY_SIM_ORDER", pass->threads, seed);
  add(s, &count, "FERRY_SIM_BLOCKS", pass->blocks, seed >> 16);
  add(s, &count, "FERRY_SIM_EDGE", pass->edge, 0);
  add(s, &count, "FERRY_SIM_WEAK", pass->weak, 0);
  s->list[count] = NULL;
}
