// SPDX-License-Identifier: MIT
// An inspection: what instrumented kernels did, read from the records of their runs, and shown line by line.
#ifndef INSPECT_INSPECTION_H
#define INSPECT_INSPECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/count_names.h"

// ---- what was counted --------------------------------------------------------------------------------------------------

typedef struct Spot {
  const char *file; // NULL: unknown
  int line;
} Spot;

typedef enum { LOAD, STORE, ATOMIC, ACCESSES } AccessKind;
enum { GLOBAL, SHARED, SPACES };

typedef struct Tally {
  uint64_t executions, lanes, live, units, ideal, same, same_max;
} Tally;

typedef struct InspectLine {
  Spot spot;
  Tally blocks, access[SPACES][ACCESSES]; // blocks: the basic blocks that begin in the line
} InspectLine;

typedef struct InspectBarrier {
  Spot spot;
  uint64_t passes, needed;
} InspectBarrier;

// Instructions of all threads together; fma: those of fp32 that multiply and add.
typedef struct InspectMix {
  double fma, fp32, fp64, integer, special, control;
} InspectMix;

// For a modeled GPU, under the names of hardware's counters: of warps, in all blocks of all launches.
typedef struct InspectCounters {
  double load_wavefronts, store_wavefronts;        // of global memory in the L1 cache
  double l2_read_sectors, dram_read, dram_written; // sectors that miss the L1 cache; bytes of device memory
  double instructions;
} InspectCounters;

enum { INSPECT_LIMITS = 6 }; // in the order of model_limit_name
// Modeled, not measured: of all launches together; resident (blocks per SM) and share (of the GPU's capacity) on
// average.
typedef struct InspectTime {
  double launches, seconds, least, resident, share; // launches 0: no GPU was modeled
  double filled;                                    // share of the stored sectors' bytes that are written
  // in a scored test, maximum over launches: events in all blocks over those extrapolated from the instrumented ones
  double uneven;
  double term[INSPECT_LIMITS];
} InspectTime;

// One instruction of the machine code that nvcc makes.
typedef struct InspectSass {
  unsigned address;
  int line;   // of the inspected file; 0: none
  char *text; // "LDG.E R2, desc[UR6][R2.64]"
} InspectSass;

typedef struct InspectKernel {
  char *name;   // with its parameters where several kernels have this name in launches
  char *launch; // as launches name it
  char *symbol; // its mangled name; NULL: unknown
  unsigned grid[3], block[3];
  uint64_t shared_bytes, dynamic_bytes, launches, instrumented, blocks;
  bool shapes_differ, cut;
  int registers;     // 0: unknown
  int local;         // with known registers: bytes of a thread's local memory, for spilled registers and local arrays
  int spilled;       // of these, bytes that ptxas stores from and loads to registers
  InspectSass *sass; // its instructions, in the order of their addresses
  int sass_count;
  char *code; // their texts
  bool mixed; // the mix is known
  InspectMix mix;
  InspectTime time;
  InspectCounters counters;    // if time.launches
  struct model_counts modeled; // likewise: all that the model used, of all launches together
  InspectLine *lines;
  int line_count;
  InspectBarrier *barriers;
  int barrier_count;
} InspectKernel;

typedef struct InspectKind {
  const char *id, *title, *remedy;
  bool note; // a note, not an error
} InspectKind;
const InspectKind *inspect_kind(const char *id); // "race-block"; NULL: there is none

typedef struct InspectFinding {
  const InspectKind *kind;
  int kernel; // -1: none
  Spot first, second, third;
  uint64_t times[2]; // in runs with threads in ascending order, and in descending order
  char *detail;
  // The launch and the block in which it occurred first: the launch's number among all, and among those of kernels of this name.
  bool in_block;
  unsigned launch, launch_of_name, block[3];
  const char *test; // of an exercise, in which it occurred; NULL: none
} InspectFinding;

// How ./ferry step records the same program. No `file`: it cannot.
typedef struct InspectStep {
  const char *shown; // the file as the user gave it, also where ./ferry step cannot record it
  const char *file, *flags,
      *arguments;   // as the user gave them, as a shell reads them; flags and arguments: "" or " ..."
  const char *test; // of an exercise: the one that is being added; NULL: ./ferry step does not run it
  bool one_kernel;  // only this one was instrumented
  bool in_tests;    // it is an answer, which an exercise's tests run
} InspectStep;

typedef struct Inspection {
  const char *source, *title; // the file's path, and its name as shown
  char *text;                 // its text
  InspectKernel *kernels;
  int kernel_count;
  InspectFinding *findings;
  int finding_count;
  int runs;
  bool sampled;    // the program runs for long: of each kernel's blocks, the first ones were instrumented
  char *launched;  // of a kernel without a program: "n = 1, 255, 256"; NULL: a program
  const char *gpu; // the modeled one; NULL: none
  InspectStep step;
  char ptxas[16]; // whose registers ptxas counted: "sm_90"
  bool resident;  // the modeled times took the registers into account
} Inspection;

// Adds the record of one run of the program. A run in descending order adds only findings: its counts are the same.
// `folder` is for temporary files. False: the record is not complete.
bool inspection_add(Inspection *i, const char *program, const char *folder, const char *record, bool descending);
// The same in steps, for records of an untrusted program: collect all locations, resolve them together, then read the
// record.
bool inspection_want(FILE *record); // false: incomplete, or with an impossible launch
void inspection_take(Inspection *i, FILE *record, bool descending);
void inspection_free(Inspection *i);
// Locations are program counters in records: each is requested, all are resolved to source lines together.
void locations_forget(void);
void location_want(uint32_t at);
int locations_list(FILE *to);                           // as input of addr2line; returns their number
void locations_read(const Inspection *i, FILE *frames); // the output of addr2line -i -a
bool locations_resolve(const Inspection *i, const char *program, const char *folder);
Spot location_spot(uint32_t at);
const char *location_file(const char *name); // one copy of each file's name, symbolic links resolved; NULL: too many
void location_files_forget(void);            // invalidates all spots

// Makes room for one more item after `count` of them.
void *inspect_grown(void *items, int count, size_t bytes);

// Call it when all runs have been added.
void inspection_finish(Inspection *i);

// ---- what nvcc makes of the kernels (report/compiled.c) ----

// Reads the kernels' registers and local memory from the output of ptxas. Where a kernel's mangled name is unknown: the maximum of all
// that have its name.
void inspection_registers(Inspection *i, const char *said);
// Reads the kernels' instructions from the output of nvdisasm -gi -c.
void inspection_sass(Inspection *i, const char *listing);
// The first instruction of a source line from number *next on, which it moves past that one; -1: there is none.
int inspect_sass_of_line(const InspectKernel *k, int line, int *next);
void inspect_print_sass(const Inspection *i, const InspectKernel *k);

int inspection_errors(const Inspection *i);
// The first error whose kind is `kind` ("race-block") or begins with it ("race"); NULL: of any kind. Returns NULL if
// there is none.
const InspectFinding *inspection_finding(const Inspection *i, const char *kind);
// How often it occurred, in the thread order where it occurred more often.
uint64_t inspect_times(const InspectFinding *f);

// ---- showing it --------------------------------------------------------------------------------------------------------

void inspect_print(const Inspection *i);
void inspect_print_findings(const Inspection *i);
void inspect_print_table(const Inspection *i, const char *only); // `only`: this kernel and its instances; NULL: all
bool inspect_write_json(const Inspection *i, const char *path);
bool inspect_write_html(const Inspection *i, const char *path);
bool inspect_write_sarif(const Inspection *i, const char *path);
void inspect_print_gcc(const Inspection *i); // findings alone, as gcc prints warnings
// For tools: the path of a spot's file, the inspected one as the user gave it; and the column, from 1, where its line's text begins.
const char *inspect_path(const Inspection *i, Spot spot);
int inspect_column(const Inspection *i, Spot spot);

// Wraps between words at 80 columns; each line is indented by `indent` blanks.
void inspect_wrapped(int indent, const char *format, ...) __attribute__((format(printf, 2, 3)));
void inspect_print_time(const Inspection *i, const InspectKernel *k); // report/time.c
// What limits it: "device memory", ..., or "launch" if launching takes most of the time.
const char *inspect_limit(const InspectTime *t);
int inspect_longest(const InspectTime *t); // the index of its longest term

// The source line, without its line break, cut to `bytes`; "" for other files.
void inspect_source_line(const Inspection *i, Spot spot, char *text, size_t bytes);
// "transpose.cu:20"
const char *inspect_spot(const Inspection *i, Spot spot, char *text, size_t bytes);
// Of a finding within one block: the options of ./ferry step for its access, from the program's beginning on (report/step_link.c).
// False: there is no way there.
bool inspect_step_options(const Inspection *i, const InspectFinding *f, char *text, size_t bytes);
// The whole command.
bool inspect_step_command(const Inspection *i, const InspectFinding *f, char *text, size_t bytes);
// Share of active lanes in the line, 0 to 1.
double inspect_active(const InspectLine *line);
bool inspect_worth_showing(const InspectLine *line);

// What an SM has for resident blocks: of the modeled GPU, or of compute capability 9.0, as simulated devices report.
typedef struct InspectSm {
  int threads, blocks, shared, registers;
  int reserved; // bytes of shared memory that each block takes beyond its own
} InspectSm;
InspectSm inspect_sm(const Inspection *i);
int inspect_blocks_by_threads(const InspectSm *sm, const InspectKernel *k);
int inspect_blocks_by_shared(const InspectSm *sm, const InspectKernel *k);
int inspect_blocks_by_registers(const InspectSm *sm, const InspectKernel *k, int registers);
// 0: ignore registers; the result is 0 to 1
double inspect_occupancy(const InspectSm *sm, const InspectKernel *k, int registers);

#endif
