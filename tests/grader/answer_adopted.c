// SPDX-License-Identifier: MIT
// An answer as a part of the library, for ./ferry adopt: compiled as make compiles the library's kernels, without what counts and
// checks while an exercise is judged.
#include "answer_tools.h"
#include "tool/compile/config.h"
#include "sim/compile/kernel_flags.h"
#include "symbols.h"
#include <stdio.h>
#include <stdlib.h>

#define ADOPTED_FLAGS                                                                                                  \
  "-std=c++17 -D_GNU_SOURCE -O2 -g1 -march=native -fno-math-errno -fno-trapping-math -ffp-contract=fast -Wall "        \
  "-Wextra -Wno-unused-parameter -Wno-unknown-pragmas -Werror=return-type -DFERRY_SIM=1 -ftls-model=local-exec "

static bool compile(Answer *a) {
  Command rewrite = {0}, c = {0};
  command_words(&rewrite, CONFIG_ROOT "/build/cu2cpp --split");
  command_word(&rewrite, "%s.cu", a->exercise->id);
  command_words(&rewrite, "answer.cpp");
  if (!answer_run_tool(a, &rewrite, (const char *[2]){NULL, NULL}, COMPILE_SECONDS, NULL))
    return false;
  command_program(&c, CONFIG_CXX);
  command_words(&c, ADOPTED_FLAGS VECTORIZING_FLAGS);
  command_words(&c, "-I" CONFIG_ROOT "/core/sim/include -include counted.cuh -c answer.cpp -o answer.o");
  return answer_run_compiler(a, &c, (const char *[2]){NULL, NULL});
}

static bool name_slot(Answer *a, const char *function, const char *slot) {
  Command look = {0}, name = {0};
  char *listing = NULL, symbols[256];
  command_program(&look, "readelf");
  command_words(&look, "-SsW answer.o");
  if (!answer_run_tool(a, &look, (const char *[2]){NULL, NULL}, COMPILE_SECONDS, &listing))
    return false;
  a->diagnostics = symbols_refused(a->exercise, listing, false);
  free(listing);
  if (a->diagnostics) {
    a->status = STATUS_COMPILE_ERROR;
    return false;
  }
  command_program(&name, "objcopy");
  snprintf(symbols, sizeof symbols, "--redefine-sym %s=%s --keep-global-symbol=%s --keep-global-symbol=%s", function,
           slot, function, slot);
  command_words(&name, symbols);
  command_words(&name, "--remove-section=.init_array* --remove-section=.rela.init_array* answer.o");
  return answer_run_tool(a, &name, (const char *[2]){NULL, NULL}, COMPILE_SECONDS, NULL);
}

bool answer_build_adopted(Answer *a, const Exercise *exercise, const char *source, const char *function,
                          const char *slot) {
  *a = (Answer){.exercise = exercise};
  if (!answer_make_folder(a, source) || !compile(a) || !name_slot(a, function, slot))
    return false;
  return sandbox_take(a->folder, "answer.o") ||
         answer_refuse(a, STATUS_GRADER_ERROR, "the compiled answer could not be taken from the sandbox\n");
}
