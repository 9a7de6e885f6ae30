// SPDX-License-Identifier: MIT
// What the files of `./ferry adopt` share: cmd_adopt.c (the command), adopt_state.c (what is adopted, in the workspace),
// adopt_build.c (compiling and linking), adopt_trial.c (tests in the sandbox), adopt_share.c (how much of a training step is the
// learner's own), adopt_run.c (programs on adopted kernels). core/adopt/adopt.h says what an adopted kernel is.
#ifndef TOOL_ADOPT_H
#define TOOL_ADOPT_H

#include "tool/commands.h"

enum { MOST_ADOPTED = 16, ADOPT_TRIES = 3 };

// A row of core/adopt/adopted.def.
typedef struct Adoptable {
  const char *id, *function, *slot, *ops;
} Adoptable;
extern const Adoptable adoptables[];
extern const int adoptable_count;
const Adoptable *adoptable_of(const Exercise *e); // NULL: none of its answers can be adopted

// ---- the workspace: work/.adopted/ holds a copy of each adopted answer, its object, a list, and the history ----------------------

typedef struct Adopted {
  const Adoptable *what;
  uint64_t answer; // answer_hash when it was adopted
} Adopted;

typedef struct AdoptedList {
  Adopted at[MOST_ADOPTED];
  int count;
} AdoptedList;

AdoptedList adopted_read(void);
bool adopted_write(const AdoptedList *list);                 // false: file_problem says why
void adopted_put(AdoptedList *list, Adopted one);            // in the place of what filled its slot
bool adopted_drop(AdoptedList *list, const Adoptable *what); // NULL: all. False: it was not adopted
bool adopted_is(const AdoptedList *list, const Adoptable *what);
void adopted_path(char *path, size_t bytes, const Adoptable *what,
                  const char *ending); // of its copy (".cu") or object (".o")
// Makes the folder, and copies the answer and what answer_build_adopted made of it there. False after a message.
bool adopted_keep(const Adoptable *what, const char *source, const char *object);

// ---- building ----------------------------------------------------------------------------------------------------------------------

typedef enum AdoptProgram { ADOPT_CHECK, ADOPT_STEP, ADOPT_OP_TESTS, ADOPT_RECORDED, ADOPT_PROGRAMS } AdoptProgram;

// Builds the objects of the programs that make has not built yet. False after a message.
bool adopt_prepare(void);
// answer_build_adopted, and again where another program had the processor.
bool adopt_compile(Answer *a, const Adoptable *what, const char *source);
// Compiles what is adopted again where Ferry has been built since. It needs the sandbox. False after a message.
bool adopt_refresh(const AdoptedList *list);
// Links a program: `objects` with the adopted answers, the adapters and the library. `object`: that of `own` in the list, elsewhere
// than in the workspace; or NULL. False after the linker's message.
bool adopt_link(const char *const objects[], const char *libraries, const AdoptedList *list, const Adoptable *own,
                const char *object, const char *to);
bool adopt_link_program(AdoptProgram program, const AdoptedList *list, const Adoptable *own, const char *object,
                        const char *to);

// ---- trials: in the sandbox ----------------------------------------------------------------------------------------------------------

// Runs every test of the ops of `own` with the kernels of the list. EXIT_PASS; EXIT_ANSWER after a message with what differs;
// EXIT_GRADER after another.
int adopt_try(const AdoptedList *list, const Adoptable *own, const char *object);

// Runs a linked program in the sandbox, on simulated devices. `settings` are further variables of its environment, NULL at the end.
SandboxResult adopt_run(const char *program, const char *const arguments[], const char *const settings[],
                        const char *readable);

// ---- how much of a training step runs on adopted kernels ----------------------------------------------------------------------------

// Measures, prints, and keeps the numbers of the day. An exit status.
int adopt_share(const AdoptedList *list, bool in_full);

// ---- programs of the learner's -----------------------------------------------------------------------------------------------------

// Makes ready to link and run a program with adopted kernels. An exit status, after a message where it is not EXIT_PASS.
int adopt_begin_program(const char *command, AdoptedList *list);
// Runs a lesson's program, built at `program`, with adopted kernels, which replaces this process; argv[0] is replaced. An exit status.
int adopt_run_chapter(const char *program, char **argv);

#endif
