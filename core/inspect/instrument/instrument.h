// SPDX-License-Identifier: MIT
// `./ferry inspect`: from a CUDA source file to an instrumented program, its runs and a report. stages.c has the order of all stages.
#ifndef INSPECT_INSTRUMENT_H
#define INSPECT_INSTRUMENT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "inspect/report/inspection.h"

enum { INSPECT_FILES = 8, INSPECT_MACROS = 64, INSPECT_ARGUMENTS = 64 };

typedef struct InspectOptions {
  const char *file;
  const char *program;             // a program that is already built, instead of `file`
  const char *kernel, *blocks;     // instrument this kernel only; so many blocks of each launch
  bool all_blocks;                 // however many there are; otherwise a long run is sampled
  const char *json, *html, *sarif; // where to write the report
  const char *with[INSPECT_FILES]; // further sources of the program
  int with_count;
  const char *gpu;                   // the modeled GPU (FERRY_SIM_GPU); NULL: as the environment says
  bool step;                         // build it for ./ferry step: build.table has its statements
  bool quiet;                        // drop the program's output
  bool gcc;                          // findings only, as gcc prints warnings
  bool table;                        // one row per kernel
  bool once;                         // one run, with threads in ascending order
  bool no_registers;                 // do not ask ptxas
  bool sass;                         // show what nvcc makes of each line
  bool nvcc;                         // take the file as ./ferry nvcc does: C++ name lookup finds the kernel of a launch
  const char *flags[INSPECT_MACROS]; // "-I/absolute/folder", "-DNAME=1": for the preprocessor
  int flag_count;
  char **arguments; // of the program, NULL-terminated
  // A kernel alone, which a main of Ferry's launches: "8", "16,16", bytes, "n=1000" (bare_kernel.c).
  bool bare;
  bool prove, no_proof; // say why there is no proof (proof.c); try none
  const char *grid, *block, *shared, *kernel_arguments[INSPECT_ARGUMENTS];
  int argument_count;
} InspectOptions;

typedef struct InspectBuild {
  char folder[256];                 // private to this run; the caller makes and removes it
  char program[4096], source[4096]; // source: the file, its symbolic links resolved
  // The program for the run in descending order: compiled as the source is written, with reads whose value is not used. "": it could not
  // be built.
  char as_written[4096];
  bool is_as_written; // this is what builds it
  char bare[300];     // `source` with a main for its kernel; "": it has its own
  char mix[300];      // what inspect_write_mix wrote; "": nothing
  char table[300];    // of statements (cu2cpp --step); "": not for ./ferry step
  char ptxas[300];    // what ptxas said of the kernels' registers; "": it was not asked
  char sass[300];     // what nvdisasm printed; "": it was not asked
  bool dual;          // the program contains an uninstrumented version of its kernels, too
  bool sampled;       // likewise: a run without it has been too long
  pid_t asking;       // a process that asks nvcc; 0: none
  int status[2];      // of the runs in ascending and in descending order, as a shell's exit status
  bool nvcc;          // it was compiled as ./ferry nvcc compiles
} InspectBuild;

// A proof that is tried while the program is built and run (proof.c).
typedef struct InspectProof {
  char kernel[300], block[64];
  int axes[2];         // of the grid and of a block
  int process, answer; // a descriptor; 0: none is tried
} InspectProof;

typedef struct InspectJob InspectJob;

// How the subject of an inspection is built and run. A user's own program runs unconfined (inspect_own_program); an answer to an
// exercise may be anybody's code, so tests/grader/inspect_answer.c does all of this in the sandbox. Each prints a message before it
// returns false.
typedef struct InspectSubject {
  bool (*build)(InspectJob *job);
  bool (*run)(InspectJob *job, bool descending); // runs it with threads in this order, and adds the record
  // Has nvcc compile the kernels with these flags to a file in its folder. What ptxas reports goes to the file `used`; what nvdisasm
  // prints goes to the file `sass`, if that is not NULL. False, without a message: it cannot be done.
  bool (*ask_nvcc)(const InspectJob *job, const char *flags, const char *used, const char *sass);
} InspectSubject;
extern const InspectSubject inspect_own_program;

struct InspectJob {
  InspectOptions options;
  InspectBuild build;
  InspectProof proof;
  Inspection inspection;
  const InspectSubject *subject;
  void *data; // the subject's
};

// Runs all stages. The exit status of ./ferry inspect: EXIT_PASS, EXIT_ANSWER (something was found), EXIT_USAGE, EXIT_GRADER.
int inspect_run_stages(InspectJob *job);

// ---- stages of a user's own program (build.c, run.c) -----------------------------------------------------------------------

// Expects build.folder to be an empty private folder.
bool inspect_build_program(InspectJob *job);
// Writes build.bare. False, with a message: the options do not say how to launch a kernel of the file.
bool inspect_write_bare(InspectJob *job);
// Starts a proof for the kernel and launches of such grids and blocks ("16, 16, 1").
void inspect_begin_proof(InspectJob *job, const char *kernel, const char *grid, const char *block);
int inspect_axes(const char *shape);
int inspect_report_proof(InspectJob *job);
bool inspect_run_program(InspectJob *job, bool descending);
// Builds both programs again, with an uninstrumented version of their kernels. False, without a message: they cannot be linked.
bool inspect_build_sampled(InspectJob *job);
bool inspect_models_gpu(const InspectOptions *o);
// True: kernels run as loops over their block's threads (work-item loops). They then have no instruction mix.
bool inspect_runs_loops(const InspectOptions *o);

// ---- what answers to exercises need, too -------------------------------------------------------------------------------------

// Renames the C library's copies in a kernel's object file, so that the inspector sees their accesses.
#define INSPECT_COPIES                                                                                                 \
  "--redefine-sym memcpy=inspect_memcpy --redefine-sym memmove=inspect_memmove --redefine-sym memset=inspect_memset"
#define INSPECT_LIBRARY CONFIG_OBJECTS "/libinspect.a"

// Rewrites assembly: adds a redzone after each shared array, and inlines the event of a basic block. `judged`: an answer, which may not
// write to the inspector's variables, so the event stays a call. False: a file cannot be read or written.
bool inspect_pad_arrays(const char *assembly, const char *padded, bool judged);
// The section that a line of assembly begins: its name, within the line; NULL: none.
const char *inspect_section_of(const char *line);
// Merges two versions of one file, in place, for one program: variables are the uninstrumented version's, functions stay separate.
bool inspect_merge_versions(const char *instrumented, const char *plain);
// The instruction mix of each basic block: from the program, or from what `objdump -d --no-show-raw-insn` printed. False: not on this
// machine.
bool inspect_write_mix(const InspectBuild *b, char *path, size_t bytes);
bool inspect_mix_of(FILE *listing, FILE *out);

#endif
