// `ferry inspect`: a .cu file is compiled so that core/inspect sees what its kernels do, run, and reported on line by line.
#ifndef GRADER_INSPECT_H
#define GRADER_INSPECT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct Exercise Exercise;

enum { INSPECT_FILES = 8 };

typedef struct InspectOptions {
  const char *file, *program, *kernel, *blocks, *json,
      *html;                       // program: one that is built already, in place of the file
  const char *with[INSPECT_FILES]; // files that are compiled and linked beside it
  int with_count;
  const char *gpu; // that the device plays (FERRY_SIM_GPU); NULL: as the environment says
  bool quiet;      // without the program's output
  bool table;      // a line for each kernel
  bool once;       // in ascending order alone
  bool no_registers;
  bool nvcc;        // the file is anybody's, as ./ferry nvcc takes it: launches find their kernels by C++'s rules
  char **arguments; // of the program, ends with NULL
  const Exercise *exercise; // whose tests run the file, which has no main; NULL: it is a program
  const char *sandbox;      // the level at which an answer is shut in; NULL: the strongest
} InspectOptions;

// The copies, which the C library would do unseen.
#define INSPECT_COPIES                                                                                                 \
  "--redefine-sym memcpy=inspect_memcpy --redefine-sym memmove=inspect_memmove --redefine-sym memset=inspect_memset"
#define INSPECT_LIBRARY CONFIG_OBJECTS "/libinspect.a"

// ---- building and running ----------------------------------------------------------------------------------------------

struct Answer;
struct Inspection;

typedef struct InspectBuild {
  struct Answer *answer;                         // of an exercise; NULL: it is a program of the user's own
  char folder[256], program[4096], source[4096]; // source: FILE, its links followed
  char mix[300];                                 // the file of inspect_write_mix; "": none
  bool beside;                                   // the program has a plain copy of its kernels, too
  bool nvcc;                                     // it was compiled as ./ferry nvcc takes it
} InspectBuild;

// False after a message. The folder has to be removed in any case.
bool inspect_compile(InspectBuild *b, const InspectOptions *o);
// Runs it with a block's threads begun in this order, and leaves the record in the folder. With `quiet` its output is dropped.
// The program's exit status as a shell gives it, -1 after a message.
int inspect_run(const InspectBuild *b, const InspectOptions *o, const char *order, bool quiet, char *record,
                size_t bytes);
void inspect_clean(InspectBuild *b);
// The same for an answer, which may be somebody else's code: everything in the sandbox. What a run recorded is added. False after a
// message.
bool inspect_answer_build(InspectBuild *b, const InspectOptions *o);
bool inspect_answer_run(struct Inspection *i, InspectBuild *b, const InspectOptions *o, bool descending,
                        const char *test);
void inspect_answer_clean(InspectBuild *b);
bool inspect_answer_registers(const InspectBuild *b, const char *said); // inspect_ask_ptxas
// The program's kernels run as loops over their block's threads, which are told of as they run: where no instructions are counted.
bool inspect_has_loops(const InspectOptions *o);
// What the basic blocks compute, for the program that runs: its path in `path`. False: unknown on this machine.
bool inspect_write_mix(const InspectBuild *b, char *path, size_t bytes);
bool inspect_mix_of(FILE *listing,
                    FILE *out); // the same of what `objdump -d --no-show-raw-insn` printed; false on other machines
// The section that a line of assembly begins: its name, in the line; NULL: it begins none.
const char *inspect_section_of(const char *line);
// Copies an inspected file's assembly, with room behind each shared array; false: it cannot be read or written.
// `judged`: an answer, which has no variable of the inspector to write to: what tells of a basic block stays a call.
bool inspect_guard_arrays(const char *assembly, const char *guarded, bool judged);
// Two copies of one file's assembly, of which `plain` has the variables of both; false: one cannot be read or written.
bool inspect_share_variables(const char *told, const char *plain);
// Compiles FILE with nvcc, where that is, and leaves what ptxas says of its kernels in the file `said`; false otherwise.
bool inspect_ask_ptxas(const InspectBuild *b, const InspectOptions *o, char *said, size_t bytes);

// ---- what was counted --------------------------------------------------------------------------------------------------

typedef struct Spot {
  const char *file; // NULL: unknown
  int line;
} Spot;

typedef enum { LOAD, STORE, ATOMIC, ACCESSES } AccessKind;
enum { GLOBAL, SHARED, SPACES };

typedef struct Tally {
  uint64_t runs, lanes, live, units, ideal, same, same_max;
} Tally;

typedef struct InspectLine {
  Spot spot;
  Tally way, access[SPACES][ACCESSES]; // way: of the basic blocks that begin there
} InspectLine;

typedef struct InspectBarrier {
  Spot spot;
  uint64_t passes, needed;
} InspectBarrier;

// Instructions of all threads together; fma: of fp32, those that multiply and add.
typedef struct InspectMix {
  double fma, fp32, fp64, integer, special;
} InspectMix;

enum { INSPECT_LIMITS = 6 }; // as model_limit_name names them
// Modelled, not measured: of all launches together; on average of a launch: blocks on a multiprocessor, share of them all.
typedef struct InspectTime {
  double launches, seconds, least, resident, share; // launches 0: no GPU was played
  double filled;                                    // of the sectors that it writes
  double uneven; // in a scored test, at most of a launch: what its blocks did over what was looked at stands for
  double term[INSPECT_LIMITS];
} InspectTime;

typedef struct InspectKernel {
  char *name;   // with its parameters where launches name several kernels alike
  char *launch; // as launches name it
  unsigned grid[3], block[3];
  uint64_t shared_bytes, dynamic_bytes, launches, looked, blocks;
  bool shapes_differ, cut;
  int registers; // 0: unknown
  bool mixed;    // the mix is known
  InspectMix mix;
  InspectTime time;
  InspectLine *lines;
  int line_count;
  InspectBarrier *barriers;
  int barrier_count;
} InspectKernel;

typedef struct InspectKind {
  const char *id, *title, *remedy;
  bool note; // worth knowing, and no fault
} InspectKind;

typedef struct InspectFinding {
  const InspectKind *kind;
  int kernel; // -1: none
  Spot first, second, third;
  uint64_t times[2]; // in runs whose threads began in ascending order, and in descending
  char *detail;
} InspectFinding;

typedef struct Inspection {
  const char *source, *title; // FILE as a path, and as it is shown
  char *text;                 // its text
  InspectKernel *kernels;
  int kernel_count;
  InspectFinding *findings;
  int finding_count;
  int runs;
  const char *with[INSPECT_FILES]; // files that are compiled and linked beside it
  int with_count;
  const char *gpu; // that was played; NULL: none
} Inspection;

// Adds what one run of the program recorded. A run in descending order adds findings alone: it has counted the same.
bool inspection_add(Inspection *i, const InspectBuild *b, const char *record, bool descending);
// The same in steps, for records of a program that is not trusted. Places are asked for in each record, then all have their lines.
bool inspection_want(FILE *record); // false: it is not whole, or has a launch that cannot be
void inspection_take(Inspection *i, FILE *record, bool descending);
void inspection_free(Inspection *i);
// Places of records: each is asked for, all are resolved together, then each has its line.
void places_forget(void);
void place_want(uint32_t at);
int places_list(FILE *to);                           // as addr2line reads them; how many
void places_read(const Inspection *i, FILE *frames); // what it said, with -i and -a
bool places_resolve(const Inspection *i, const InspectBuild *b);
Spot place_spot(uint32_t at);
const char *place_file(const char *name); // one copy of each file's name, its links followed; NULL: too many
void place_files_forget(void);            // with all spots

// Room for one more item behind `count` of them.
void *inspect_grown(void *items, int count, size_t bytes);

// To be called when all runs have been added.
void inspection_finish(Inspection *i);
// Takes the registers of the kernels from what ptxas said; of a template's instances the most.
void inspection_registers(Inspection *i, const char *said);
int inspection_errors(const Inspection *i);
// Of the errors the first whose kind is `kind` ("race-block") or begins with it ("race"); NULL: any kind. NULL: there is none.
const InspectFinding *inspection_finding(const Inspection *i, const char *kind);
// How often, in the order of the threads in which it came more often.
uint64_t inspect_times(const InspectFinding *f);

// ---- showing it --------------------------------------------------------------------------------------------------------

void inspect_print(const Inspection *i);
void inspect_print_findings(const Inspection *i);
void inspect_print_table(const Inspection *i, const char *only); // `only`: this kernel and its instances; NULL: all
bool inspect_write_json(const Inspection *i, const char *path);
bool inspect_write_html(const Inspection *i, const char *path);

// Breaks between words, at 80 columns; lines after the first begin with `indent` blanks, too.
void inspect_wrapped(int indent, const char *format, ...) __attribute__((format(printf, 2, 3)));
void inspect_print_time(const Inspection *i, const InspectKernel *k); // report/time.c
// What limits it: "device memory", ..., "launch" where the shortest kernel takes most of it.
const char *inspect_limit(const InspectTime *t);
int inspect_longest(const InspectTime *t); // the index of its longest term

// The line of FILE, without its line break, cut to `bytes`; "" for other files.
void inspect_source_line(const Inspection *i, Spot spot, char *text, size_t bytes);
// "transpose.cu:20", as one shows it.
const char *inspect_spot(const Inspection *i, Spot spot, char *text, size_t bytes);
// Share of lanes that took part in what the line did, 0 to 1.
double inspect_active(const InspectLine *line);
bool inspect_worth_showing(const InspectLine *line);

// How many blocks fit on a multiprocessor (of a GPU of compute capability 9.0, as the simulated devices say).
enum { SM_THREADS = 2048, SM_BLOCKS = 32, SM_SHARED = 233472, SM_BLOCK_SHARED = 1024, SM_REGISTERS = 65536 };
int inspect_blocks_by_threads(const InspectKernel *k);
int inspect_blocks_by_shared(const InspectKernel *k);
int inspect_blocks_by_registers(const InspectKernel *k, int registers);
double inspect_occupancy(const InspectKernel *k, int registers); // 0: whatever the registers; 0 to 1

#endif
