// SPDX-License-Identifier: MIT
// The subcommands of ./ferry and what they share.
#ifndef TOOL_COMMANDS_H
#define TOOL_COMMANDS_H

#include "tool/compile/files.h"
#include "tool/print/style.h"
#include "tool/print/usage.h"
#include "grader/judge.h"
#include "grader/registry.h"
#include "inspect/instrument/instrument.h"
#include <stdio.h>

// Who reads --help in a command line.
typedef enum Help {
  HELP_ANYWHERE, // ./ferry does
  HELP_ALONE,    // ./ferry does where it is all there is: else it is one of the arguments of a program that is started
  HELP_OWN,      // the command, or the program that it starts
} Help;

typedef struct Command {
  const char *name, *arguments, *summary, *help; // help: options and what they do, several lines
  int (*run)(int argc, char **argv);             // argv[0] is the command's name; returns the exit status
  bool hidden;                                   // for those who make exercises
  Help help_by;
} Command;

extern const Command commands[]; // ends with a NULL name

int cmd_diff(int argc, char **argv);
int cmd_play(int argc, char **argv);
int cmd_new(int argc, char **argv);
int cmd_where(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_chapter(int argc, char **argv);
int cmd_start(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_edit(int argc, char **argv);
int cmd_hint(int argc, char **argv);
int cmd_reset(int argc, char **argv);
int cmd_solution(int argc, char **argv);
int cmd_next(int argc, char **argv);
int cmd_best(int argc, char **argv);
int cmd_adopt(int argc, char **argv);
int cmd_predict(int argc, char **argv);
int cmd_milestones(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int install_nvcc(void); // of ./ferry doctor --nvcc; an exit status
int cmd_book(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_timeline(int argc, char **argv);
int cmd_pack(int argc, char **argv);
int cmd_scale(int argc, char **argv);
int cmd_launch(int argc, char **argv);
int cmd_launch_rank(int argc, char **argv);
int cmd_inspect(int argc, char **argv);
int cmd_step(int argc, char **argv);
int cmd_cuda(int argc, char **argv);
int cmd_nvcc(int argc, char **argv);
int cmd_grade(int argc, char **argv);
int cmd_confined(int argc, char **argv);
int cmd_cut(int argc, char **argv);
int cmd_reference(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_version(int argc, char **argv);

// "there is no option GIVEN", and the one of the command's help that a person may have meant. EXIT_USAGE.
int no_option(const char *command, const char *given);

// For the value of --sandbox (NULL: not given): chooses how answers are shut in. -1, or an exit status after a message; a grader
// that goes on all the same cannot judge anything.
int begin_sandbox(const char *command, const char *level);
#define SANDBOX_HELP                                                                                                   \
  "--sandbox LEVEL   how answers are confined: namespaces, user, bubblewrap, landlock or none. Without it, the "       \
  "strongest of these that the machine permits, but never none (./ferry doctor shows which)\n"

// The exercise that a file of this text is an answer to, by its name, and the sandbox for it; NULL: it is the user's own program. An exit
// status: EXIT_PASS to go on, another after a message (an answer with a main, no sandbox).
int inspect_choose_answer(const char *command, const char *file, const char *text, const char *sandbox,
                          const Exercise **exercise);
// Takes the option -I or -D at argv[*i], and its value. An exit status.
int inspect_add_flag(int argc, char **argv, int *i, InspectOptions *o);
// A folder that a later ./ferry removes if this one is killed. A program's is readable by the user only. False, after a message to `said`.
bool inspect_make_folder(const char *command, InspectBuild *b, bool own_program, FILE *said);

// The kernel exercise that the file is an answer to, by its name or its folder's; NULL: none.
const Exercise *inspect_exercise_of(const char *file);

// The exercise that a person named, or NULL after an error message that lists what is near.
const Exercise *exercise_named(const char *command, const char *name);

// ---- on the terminal -------------------------------------------------------------------------------------------------

void progress_bar(void); // a line
void lesson_title(int lesson, char *title, size_t bytes);
bool lesson_page(int lesson, char *path, size_t bytes); // its file in docs/; false: there is no such lesson

// ---- for programs: the same as JSON --------------------------------------------------------------------------------------

int list_json(void);                                   // lessons, exercises and progress, on stdout. An exit status
bool verdict_json(const Verdict *v, const char *path); // false: file_problem says why

// ---- the learner's workspace: work/, or $FERRY_WORK ------------------------------------------------------------------

typedef struct Progress {
  bool passed, on_gpu; // on_gpu: passed on NVIDIA's hardware
  int hints;           // how many have been shown
  int stars;           // the most that a pass had
  uint64_t answer;     // answer_hash of the answer that passed last; 0: not known
} Progress;

void work_path(char *path, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
void work_file(const Exercise *e, char *path, size_t bytes); // the learner's answer
void work_shown(const Exercise *e, char *path,
                size_t bytes); // the same as it is best typed: from here, where it is below
bool work_exists(void);
int work_add_editor_files(void); // .vscode/ in it (editor_files.c); how many are new, -1 after an error message
int work_start(void);            // copies the stubs that are not there yet; how many, -1 after an error message

// Several commands may run in one workspace. What reads one of its files to change it holds the lock from before until after.
int work_lock(void);
void work_unlock(int lock);
// A file of lines in it (malloc), NULL when it is not there or cannot be read; `damaged`: it is there, and is no whole text.
char *work_read(const char *name, bool *damaged);
void work_set_aside(const char *name); // as NAME.damaged, with a message: the next one is not written over it

Progress progress_of(const Exercise *e);
// Changes the line of one exercise; all others stay as they are in the file by now.
void progress_set(const Exercise *e, Progress p);

// ---- course.c: the way through the exercises -----------------------------------------------------------------------------

const Exercise *progress_current(void);          // what the learner is at; NULL when all of the track have passed
const Exercise *course_after(const Exercise *e); // the next of the track that has not passed
bool course_start(const char *track);            // from its beginning; false: there is no such track
void course_go_to(const Exercise *e);            // the learner is at `e`; `next` goes on from there
const char *course_track(const char **title);    // its name
const char *course_tracks(void);                 // the names of all, for a message
bool course_has(const Exercise *e);

bool work_is_untouched(const Exercise *e); // the learner's file is still the stub, but for comments and white space

// ---- verdicts ----------------------------------------------------------------------------------------------------------

// Simulated devices (FERRY_SIM_DEVICES, 2), and whether a real GPU takes part (FERRY_CUDA, as for the library).
int wanted_devices(void);

// `file`: named where it is not the learner's own. The decisive line, then the report of the first test that failed (all: a row for each test, and each report).
void verdict_print(const Verdict *v, const char *file, bool all);
void verdict_print_stars(const Verdict *v); // of a pass: a line for each star, and why it is missing
// reference.c: a table of what was counted in the tests, yours and the solution's; nothing where nothing is known of the solution.
void reference_print_beside(const Verdict *yours);

#endif
