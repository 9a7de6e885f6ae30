// SPDX-License-Identifier: MIT
// An answer: a source file of a learner, compiled and linked with its exercise's driver.
#ifndef GRADER_ANSWER_H
#define GRADER_ANSWER_H

#include "exercise.h"
#include "sandbox.h"

typedef enum Status {
  STATUS_NOT_RUN,
  STATUS_PASS,
  STATUS_FAIL,
  STATUS_CRASH,
  STATUS_TIMEOUT,
  STATUS_OUT_OF_MEMORY,
  STATUS_OUTPUT_LIMIT,
  STATUS_COMPILE_ERROR,
  STATUS_MISSING,      // there is no such file
  STATUS_SKIPPED,      // a test that needs more devices
  STATUS_GRADER_ERROR, // never the learner's fault
} Status;

const char *status_name(Status status); // "out of memory"

struct Inspection;

typedef struct Answer {
  const Exercise *exercise;
  char folder[256];            // of its own, removed by answer_free
  char program[320];           // what a test executes
  Status status;               // STATUS_NOT_RUN when it was built
  char source[512], title[80]; // of what was compiled: its path, its links followed, and its name
  char *text;                  // and its text (malloc)
  char *diagnostics;           // the compiler's, or why it was refused (malloc)
  char *warning;               // the compiler's first about it, when it was built (malloc), or NULL
  unsigned protections;
  bool real_gpu, for_inspector;
  bool for_stepper; // built for ./ferry step, and for_inspector
  bool with_lines;  // its program knows the lines of its source
  bool partly;      // the inspector looks at a part of its blocks or kernels, whatever the run asks for
  bool starved;     // a tool ended by its time limit, and had no processor for a part of that
  char mix[330];    // of the inspected one: the file that says what its basic blocks compute; "": not known
  struct Answer
      *inspected; // the same answer compiled for the inspector, for tests that have it looked at; NULL: none has
  const char *inspect_later; // the source, while that one is not begun yet; NULL: it is, or there is none
  pid_t builder;             // the process that compiles it beside this one; 0: it is done
  int builder_says;          // what it found, through a pipe
} Answer;

// Before the first answer, in the process that those of all answers come from: chooses how answers are shut in (`level` by its
// name, NULL: the strongest level that can be had) and makes what they are built with readable for them. False: `why`. What
// could not be had is looked for again by answer_build, which makes it the grader's error.
bool answers_begin(const char *level, char *why, size_t bytes);

// Compiles and links `source` for the inspector alone, in the sandbox.
void answer_build_inspected(Answer *a, const Exercise *exercise, const char *source, bool partly);

// The same for ./ferry step. The table of statements is the file `table` in the answer's folder.
void answer_build_stepped(Answer *a, const Exercise *exercise, const char *source);

// Compiles and links `source` in the sandbox. For the inspector at once and beside it, or `late`: not before answer_inspected asks
// for it, from `source`, which has to stay; where most answers never come so far, that saves half of the work.
void answer_build(Answer *a, const Exercise *exercise, const char *source, bool late);
// Compiles `source` in the sandbox as fast code for simulated devices, for ./ferry adopt: to answer.o in the answer's folder, in which
// `function` is named `slot`, and everything else is the answer's own. False: the answer says why not.
bool answer_build_adopted(Answer *a, const Exercise *exercise, const char *source, const char *function,
                          const char *slot);
void answer_free(Answer *a);
// The inspected one, waited for; its status is STATUS_NOT_RUN when it was built.
Answer *answer_inspected(Answer *a);
// The lines of the places that inspected replies spoke of (inspect.h). False: addr2line did not do it, `a` says why.
bool answer_find_places(Answer *a, const struct Inspection *inspection);

// The same answer once more, its code at the same addresses, with the lines of its source. False: `with_lines` says why.
bool answer_build_with_lines(Answer *with_lines, const Answer *a);
// What a test printed, with the answer's functions, lines and their text in place of a crash's addresses (malloc, as `output` was).
char *answer_name_lines(const Answer *a, char *output);

// For scored tests: reads from the inspected answer's machine code what its basic blocks compute. False: objdump did not do it.
bool answer_find_mix(Answer *a);

// Whether what answers are linked with (`driver` among it) is there and no newer than ./ferry; if not, `why` says what to do.
bool build_is_whole(const char *driver, char *why, size_t bytes);
// The same for the answer's exercise. Where it is not, the status and diagnostics become the grader's error.
bool answer_build_is_whole(Answer *a);

size_t answer_memory(const Answer *a); // bytes that a run may take

// One run of the built answer with a packed request. `settings` are of the simulator's, "FERRY_SIM_ORDER=descending"; NULL
// ends them.
SandboxResult answer_run(const Answer *a, const uint8_t *request, size_t bytes, int devices, bool no_cuda,
                         const char *const *settings);

#endif
