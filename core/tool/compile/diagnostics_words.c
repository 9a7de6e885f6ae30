// SPDX-License-Identifier: MIT
// g++'s messages in the words of CUDA: without the names of what cu2cpp and the simulator's headers make of threadIdx, of launches and of
// calls that nvcc refuses.
#include "tool/compile/diagnostics.h"
#include "tool/print/usage.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Replacement {
  const char *from, *to;
} Replacement;

static const Replacement replacements[] = {
    {"static assertion failed: cudasim: ", ""}, // core/sim/compile/execution_spaces.c
    {"const cudasim_thread_index", "const uint3"},
    {"const struct cudasim_thread_index", "const uint3"},
    {"cudasim_thread_index", "uint3"},
    {"const struct uint3", "const uint3"},
    {"struct cudasim_dim3", "dim3"},
    {"cudasim_dim3", "dim3"},
    {" [-fpermissive]", ""},
    {" [-Werror=deprecated-declarations]", ""},
};

#define READ_ONLY "assignment to a constant: threadIdx, blockIdx, blockDim and gridDim are read-only"
#define CONST_MEMORY "assignment to const memory: the pointer points to const"

// A message that says something else; `from` to its end is replaced where the line has `with`, too.
static const struct {
  const char *from, *with, *to;
} whole[] = {
    {"no match for ", "cudasim_thread_index::", READ_ONLY},
    {"assignment of member ", "in read-only object", READ_ONLY},
    {"increment of member ", "in read-only object", READ_ONLY},
    {"a function-definition is not allowed here", "{",
     "a function begins here, within another one: is a } missing above?"},
    {"assignment of read-only location ", "cudasim_", CONST_MEMORY},
    {"assignment of read-only location ", "threadIdx.", CONST_MEMORY},
};

// The message's words, behind "error: "; NULL: the line has none.
static char *words_of(char *line) {
  char *at = strstr(line, ": error: ");
  return at && line[0] != ' ' ? at + strlen(": error: ") : NULL;
}

static bool is_built_in(const char *words) {
  return strstr(words, "uint3::") || strstr(words, "dim3::");
}

static void put_line(FILE *to, char *line) {
  static const char configured[] = "a __global__ function call must be configured";
  char *words = words_of(line), *call = words ? strstr(words, configured) : NULL;
  if (call) {
    fprintf(to, "%.*s", (int)(words - line), line);
    line = call;
  }
  for (size_t k = 0; words && !call && k < sizeof whole / sizeof *whole; k++)
    if (strncmp(words, whole[k].from, strlen(whole[k].from)) == 0 && strstr(words, whole[k].with) &&
        (!strstr(whole[k].with, "read-only object") || is_built_in(words))) {
      fprintf(to, "%.*s%s\n", (int)(words - line), line, whole[k].to);
      return;
    }
  if (words && !call && strstr(words, "no matching function for call to") && strstr(words, "cudaMalloc(")) {
    fprintf(to, "%.*s: it takes the address of a pointer, as in cudaMalloc(&x, bytes)\n", (int)strcspn(line, "\n"),
            line);
    return;
  }
  for (size_t k; *line;) {
    for (k = 0; k < sizeof replacements / sizeof *replacements; k++)
      if (strncmp(line, replacements[k].from, strlen(replacements[k].from)) == 0)
        break;
    if (k < sizeof replacements / sizeof *replacements) {
      fputs(replacements[k].to, to);
      line += strlen(replacements[k].from);
    } else {
      fputc(*line++, to);
    }
  }
}

char *diagnostics_in_cuda(const char *said) {
  char *text = NULL;
  size_t bytes = 0, length;
  FILE *to = open_memstream(&text, &bytes);
  for (const char *line = said; to && *line; line += length) {
    length = diagnostics_line(line);
    char *copy = strndup(line, length);
    if (!copy)
      fatal_error("no memory for the compiler's messages");
    if (strncmp(line, "cc1plus: some warnings", 22) != 0 && strncmp(line, "compilation terminated.", 23) != 0)
      put_line(to, copy);
    free(copy);
  }
  if (!to)
    fatal_error("no memory for the compiler's messages");
  fclose(to);
  return text;
}
