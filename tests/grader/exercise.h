// SPDX-License-Identifier: MIT
// What an exercise is to the grader. tests/hidden/NN_M_slug/check.c describes one; it is linked into ./ferry, the trusted
// parent, and never runs beside the learner's code. README.md in this folder walks through a whole exercise.
//
// A test has two functions. `ask` draws inputs from the seed of this run and says what the answer is to be given.
// `judge` computes what is right, by plain loops over the same arrays, and compares it with what came back.
//
//   static void ask(Case *c) {
//     int64_t n = draw_int(c, 33, 99);
//     give_array(c, "x", draw_array(c, FY_FLOAT32, shape(n, 3), -1, 1), (Give){.device = "cuda:0"});
//   }
//   static void judge(Case *c) {
//     const Array *x = given(c, "x");
//     Array *want = new_array(c, FY_FLOAT32, x->shape);
//     for (int64_t i = 0; i < x->count; i++)
//       want->f32[i] = 2 * x->f32[i];
//     suspect_array(c, "result", x, &LEFT_AS_IT_WAS); // a known mistake, by the result that it gives
//     expect_array(c, "result", want, 1e-6);
//     expect_at_most(c, "copies from host to device", counts(c)->host_to_device, 0, &MOVED);
//   }
//
// Memory of arrays and texts belongs to the case and is freed with it.
#ifndef GRADER_EXERCISE_H
#define GRADER_EXERCISE_H

#include "event_trace.h"
#include "wire.h"
#include <stdbool.h>

typedef struct Case Case;

// A misconception. `name` is short, in the field's words, and is what a wrong answer's first line gives as
// `// mistake: name`; `says` is one or two sentences to the learner; `lesson` is a file and an anchor in docs/.
typedef struct Mistake {
  const char *name, *says, *lesson;
} Mistake;

// "Make it faster": what an answer to a performance challenge is scored by, the time that its kernels take on a modeled GPU. It is
// computed from what the inspector counts (docs/model.md), so the same answer has the same score at every run.
enum { MAX_STARS = 5 };
typedef struct Scored {
  const char *gpu;         // as core/model/gpus.c names it: "v100"
  const char *size;        // of the test: "2048 x 2048 floats"
  int blocks;              // so many of each launch are looked at, from the middle of the grid; 0: all
  double naive, reference; // modeled seconds of the kernel that is handed out, and of the solution
  double steps
      [MAX_STARS]; // so many times as fast as handed out is worth 1, 2, ... stars; without the first no test is passed
} Scored;

typedef struct Test {
  const char *name; // unique within the exercise; the driver may ask for it
  void (*ask)(Case *c);
  void (*judge)(Case *c);
  int devices;     // how many CUDA devices it needs; 0 and 1: one. With fewer it is left out, and the report says so
  int schedules;   // in how many of its exercise's ways it is run (schedule.c); 0: in all
  int at_most;     // with so many of the devices that there are, where they are simulated; 0: with all
  bool no_cuda;    // the answer is run as on a machine without CUDA
  bool may_refuse; // that the runtime refuses a launch is part of the task, and no mistake by itself
  bool inspect; // a kernel's: what it does to memory is looked at (below), so draw small inputs: some 10 000 elements
  bool huge;    // ./ferry inspect leaves it out, and says so: looking at so much takes ten seconds
  const Scored *scored;   // inspected on a modeled GPU, once, and judged by expect_score; inputs may be large
  const Mistake *crash;   // named when the answer dies of a signal
  const Mistake *timeout; // named when it does not end
} Test;

static inline bool test_is_inspected(const Test *test) {
  return test->inspect || test->scored;
}

enum { MAX_TESTS = 24, MAX_HINTS = 8, MAX_FUNCTIONS = 8, MAX_LOST_BY = 8 };

// A pass is worth one star. Two more are for efficiency and style. An expectation that fails with a mistake in `lost_by` costs this
// star and never the pass; the checks after it go on.
typedef struct Star {
  const char *is_for; // as the task's text says it: "coalesced: at most 1.5 x the ideal sectors"
  const Mistake *lost_by[MAX_LOST_BY];
} Star;
enum { EXTRA_STARS = 2 };

typedef enum Level { LEVEL_EASY, LEVEL_MEDIUM, LEVEL_HARD } Level;

typedef struct Exercise {
  const char *id;         // "NN_M_slug", the name of its files
  const char *title;      // one line
  const char *after_pass; // one sentence, shown after a pass: what the learner has just used
  const char *kind;       // "write", "find the bug" or "kernel"
  int chapter;            // whose lesson it belongs to
  const char *lesson;     // "docs/03_tensor_moves.md#to-device"
  Level level;
  int minutes;                  // that it takes somebody who has read the lesson
  bool essential;               // a reader who is short of time does these
  bool bug;                     // handed out with a bug: until the file is changed, a verdict has the symptoms only
  Star stars[EXTRA_STARS];      // the second and the third; none: a pass is all there is
  const char *hints[MAX_HINTS]; // each gives away a little more than the one before
  const char *functions[MAX_FUNCTIONS]; // what an answer defines; everything else in it stays its own
  bool streams;                         // what it queues in streams is run in several ways: case_schedule
  bool asked; // its driver, or the library, asks whether work is done, which is not to get it done
  bool open;  // handed out right, and slow: it is worth points only when all tests pass
  Test tests[MAX_TESTS];
} Exercise;

// One in each check.c: EXERCISE = {.id = "03_1_slug", ...};
#define EXERCISE                                                                                                       \
  static const Exercise this_exercise;                                                                                 \
  static const Exercise *const this_entry __attribute__((used, section("exercises"))) = &this_exercise;                \
  static const Exercise this_exercise

// ---- drawing from the seed: each returns other values at each run ----------------------------------------------------

int64_t draw_int(Case *c, int64_t low, int64_t high); // both ends included
int64_t draw_odd(Case *c, int64_t low, int64_t high); // an odd one
double draw_real(Case *c, double low, double high);

// An array of independent values in [low, high]; floating ones are multiples of 1/1024, so that sums and products of a few
// are exact in float32. Integer dtypes include both ends.
Array *draw_array(Case *c, FyDType dtype, Shape shape, double low, double high);

// float32 multiples of `step`, a power of two, with both ends: sums and products of many are exact, whatever their order.
// With 0.5 or 0.25 what is kept in integers on the way shows.
Array *draw_steps(Case *c, Shape shape, double low, double high, double step);

Array *new_array(Case *c, FyDType dtype, Shape shape); // zeros
Array *array_cast(Case *c, const Array *a, FyDType dtype);
Array *array_negated(Case *c, const Array *a); // of float32
bool array_has_nan(const Array *a);            // of float32; NULL: there is none

const char *case_test(const Case *c); // the test's name
int case_devices(const Case *c);      // CUDA devices that the answer will see

// ---- asking ----------------------------------------------------------------------------------------------------------

typedef struct Give {
  const char *device; // "cpu" (the default), "cuda:0", ...
  bool strided;       // as a non-contiguous view: every second column of a wider tensor
  bool transposed;    // as the transpose of a contiguous tensor of the swapped shape: right values, swapped strides
  bool requires_grad, pinned;
} Give;

void give_array(Case *c, const char *name, Array *array, Give how);
void give_number(Case *c, const char *name, double value);
void give_text(Case *c, const char *name, const char *text);

// ---- judging: what was given and what came back -----------------------------------------------------------------------

const Array *given(const Case *c, const char *name); // panics on a name that was not given
double given_number(const Case *c, const char *name);
const char *given_text(const Case *c, const char *name);

const Array *got(const Case *c, const char *name);                     // NULL when it did not come back
const Array *got_shaped(const Case *c, const char *name, Shape shape); // NULL also when it has another shape
double got_number(const Case *c, const char *name);                    // NaN when not
// Element i, of float32, is a NaN that fresh device memory is filled with, of this array or of other memory (a NaN is handed on as it
// is): nobody wrote there, or it was computed from what nobody wrote. Infinity by infinity and 0 by 0 are other NaNs.
bool array_is_filling(const Array *a, int64_t i);
// How many elements of each row (of the last dimension) somebody has written, where these are its first ones, as many in every row,
// and those behind them are as fresh memory is: float32 as above, int32 -1. 0: nobody wrote. -1: it is not so, or NULL.
int64_t columns_written(const Array *a);
int64_t got_count(const Case *c, const char *name);      // a number that counts something; -1 when it did not come back
const char *got_text(const Case *c, const char *name);   // "" when not
const char *got_device(const Case *c, const char *name); // "" when not
const char *got_error(const Case *c);                    // the error the answer raised, "RuntimeError: ...", or ""
const Counts *counts(const Case *c); // what the library counted between driver_count and driver_stop

// What was done between driver_count and driver_stop, entry by entry. Not known on a real GPU, which reports nothing: then it has no
// entries, and what is judged by it is not judged.
typedef struct EventTrace {
  bool known;
  int64_t count;
  const TraceEntry *entries;
} EventTrace;
EventTrace event_trace(const Case *c);
int64_t trace_count(const Case *c, TraceKind kind, int device); // entries of that kind; device -1: on any
int64_t trace_unfinished(const Case *c);                        // what had not run when counting ended

// Each returns whether it held, or true where only a star is lost by it (Star). The first that fails is what the learner sees; none
// prints more than one element.

// dtype, shape and values: |got - want| <= tolerance * max(1, |want|), NaN equal to NaN. Guards around a kernel's output
// and untouched (NaN) elements are checked too.
bool expect_array(Case *c, const char *name, const Array *want, double tolerance);
bool expect_number(Case *c, const char *name, double want, double tolerance);
bool expect_text(Case *c, const char *name, const char *want);
bool expect_device(Case *c, const char *name, const char *device, const Mistake *mistake);
bool expect_at_most(Case *c, const char *what, int64_t got, int64_t most, const Mistake *mistake);
bool expect_at_least(Case *c, const char *what, int64_t got, int64_t least, const Mistake *mistake);
bool expect_exactly(Case *c, const char *what, int64_t got, int64_t want, const Mistake *mistake);
bool expect_that(Case *c, bool holds, const Mistake *mistake, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// A kernel exercise: at least one launch (NO_KERNEL), and nothing fetched to the host (COMPUTED_ON_HOST): a loop there with a
// kernel launched beside it for the count is no answer.
bool expect_by_kernel(Case *c);

// ---- judging: what the inspector saw --------------------------------------------------------------------------------------
//
// For a test with `.inspect`, whose kernels are compiled so that each access is seen (core/inspect), in both orders of the
// threads. What does not hold is said with the line of the answer. On a real GPU nobody looks, and all of these hold.

typedef enum Inspected {
  LOADED_SECTORS,  // sectors of global memory per request of a warp, over the fewest that its bytes fit into: at most
  STORED_SECTORS,  // the same of what is written
  WAVEFRONTS,      // passes over the banks of shared memory per request, over the fewest: at most
  ACTIVE_LANES,    // share of a warp's lanes that take part, 0 to 1: at least
  GLOBAL_ATOMICS,  // lanes' atomic operations on global memory: at most
  SHARED_ATOMICS,  // on shared memory: at most
  KERNEL_LAUNCHES, // of kernels: at most
  SECTORS_LOADED,  // of global memory, in number: at most
  SHARED_LOADS,    // lanes' loads from shared memory: to be asked for by `inspected`
} Inspected;

typedef struct Where {
  const char *kernel; // this kernel alone (all instances of a template); NULL: any
  bool in_all;        // all kernels together, not each of them
  bool each_line;     // each line of source, the strictest
} Where;

bool expect_inspected(Case *c, Inspected what, Where where, double bound, const Mistake *mistake);
bool expect_sectors(Case *c, double factor, const Mistake *mistake);    // loads and stores of each kernel
bool expect_wavefronts(Case *c, double factor, const Mistake *mistake); // of each kernel
bool expect_lanes(Case *c, double share, const Mistake *mistake);       // of each kernel
bool expect_parallel(Case *c, double share, const Mistake *mistake);    // the same, and no kernel has a single thread
bool expect_global_atomics(Case *c, int64_t most, const Mistake *mistake); // on global memory, in all
bool expect_threads(Case *c, int64_t least, const Mistake *mistake);       // of the launch that has the most

// No race, no access out of bounds, no read of what nobody wrote, no barrier that a thread misses: whatever `ferry inspect` calls
// an error. The verdict has the finding's sentence, both lines and the remedy. Where no suspected mistake fits, one that is
// common to its kind is named (RACE and so on, below).
bool expect_no_finding(Case *c);
// Known by a finding, when the test fails: "race", "bounds", "uninitialized", "divergent", "misaligned", "freed", "illegal",
// "argument", "leak"; or one kind of these, by its whole name as `ferry inspect --json` has it: "race-warp".
void suspect_finding(Case *c, const char *kind, const Mistake *mistake);

// In a test with `.scored`: the least that any right answer does there. Who is seen to do less has hidden from the inspector.
typedef struct Least {
  double loaded, stored; // bytes of device memory
  double computed;       // float32 instructions, of which a multiply-add is one; 0: not asked
  double share;          // of the work at the stated size; 0: it is the stated size, and its score is shown
} Least;

// At least so fast that it has a star, with one launch after the other and nothing else on the device. `slow` is the mistake of one
// that is not, where none that was suspected fits.
bool expect_score(Case *c, Least least, const Mistake *slow);

// For checks that want to know more: was it looked at, is there such a finding, and the worst number (per kernel, or as said).
bool case_inspected(const Case *c);
bool has_finding(const Case *c, const char *kind);
// A race of a block's threads in shared memory: a missing barrier, where a race of an output may be a wrong index.
bool has_shared_race(const Case *c);
double inspected(const Case *c, Inspected what, Where where);
// Bytes of shared memory that a block has: `asked` for by the launch, or of arrays of a fixed size; the most of all kernels. -1: nobody
// looked.
int64_t inspected_shared(const Case *c, bool asked);

// The answer has to raise an error that contains `text`. Without this an error fails the test.
bool expect_error(Case *c, const char *text, const Mistake *mistake);

// Known mistakes: named when the test fails and no failed expectation has named one. In `ask` or `judge`; the first that
// fits is taken. suspect_array: expect_array has refused the result's values, and they are those of `wrong` (within 1e-5, whole numbers
// exactly), dtype and all. suspect_that: say in `holds` all that is evidence of this mistake. Both rest on values, so the report says
// "this looks like". suspect_sure: the evidence excludes every other cause, a right answer's too.
void suspect_array(Case *c, const char *name, const Array *wrong, const Mistake *mistake);
void suspect_error(Case *c, const char *text, const Mistake *mistake); // the error contains it
void suspect_that(Case *c, bool holds, const Mistake *mistake);
void suspect_sure(Case *c, bool holds, const Mistake *mistake);

// A kernel exercise: grid x, y, z and block x, y, z of the i-th launch while it was counted, and of the last one that was refused
// for its shape; NULL: there is none, or it was not recorded (a GPU does not tell).
const int64_t *launch_shape(const Case *c, int i);
const int64_t *refused_shape(const Case *c);
// Whether each element of `planes` (float32, a row for each channel; NULL: no) that is not the one of `items` (a row for each item) is that
// of another item which the same thread has: as many items on as the grid has threads, once or more often. Then a block went on before all
// of its threads had taken what it brought.
bool is_of_another_turn(const Case *c, const Array *planes, const Array *items);
bool refused_empty_grid(
    const Case *c); // for having no blocks: where there is work, a number of them that was rounded down

// The ways in which an answer is run, one after the other up to the first that fails (schedule.c). A kernel: in SCHEDULE_THREADS_DOWN and
// SCHEDULE_WITHIN_BLOCKS it is the threads of a block that do not wait for each other; in SCHEDULE_BLOCKS_DOWN the result depends on
// which block comes first, in SCHEDULE_BETWEEN_BLOCKS on what blocks see of each other while the kernel runs; in SCHEDULE_AGAIN on what the
// function left behind when it was called before. Work in streams (`.streams` of an exercise): what fails in SCHEDULE_OTHERS_AHEAD or
// SCHEDULE_DELAYED is done too early, or not waited for.
typedef enum CaseSchedule {
  SCHEDULE_IN_ORDER,
  SCHEDULE_THREADS_DOWN,
  SCHEDULE_WITHIN_BLOCKS,
  SCHEDULE_BLOCKS_DOWN,
  SCHEDULE_BETWEEN_BLOCKS,
  SCHEDULE_AGAIN,
  SCHEDULE_OTHERS_AHEAD,
  SCHEDULE_DELAYED
} CaseSchedule;
CaseSchedule case_schedule(const Case *c);

// What the simulator said of a kernel that went wrong names one of the mistakes below. First in `judge`, since it is evidence.
void suspect_faults(Case *c);

// Mistakes that every kernel exercise has in common; use them in place of your own where they fit.
extern const Mistake NO_KERNEL;    // "no kernel was launched": launches are 0, none was refused, and there is no error
extern const Mistake PAST_THE_END; // "out-of-bounds write": a guard element changed (found by expect_array)
extern const Mistake COMPUTED_ON_HOST; // "computed on the host": found by expect_by_kernel
extern const Mistake NUMBER_FETCHED;   // "value copied to the host": the same where next to nothing was fetched
extern const Mistake USED_AFTER_SCOPE; // "tensor used after its scope": the library says so, in its checked mode
extern const Mistake GIVEN_UP;         // "caller's tensor freed": the library says so, and that a check made it
extern const Mistake USED_AFTER_FREE;  // "use after free": found where a run ends by it
extern const Mistake INDEX_OUTSIDE;    // "out-of-bounds index" of host code: found where a run ends by it
extern const Mistake LAUNCH_REFUSED;   // "invalid launch configuration": blocks of more than 1024 threads and the like
extern const Mistake POINTER_ON_HOST;  // "device pointer dereferenced on the host": found where a run ends by it
extern const Mistake READ_PAST;        // "out-of-bounds read": found by suspect_faults
extern const Mistake NO_BLOCKS;        // "empty grid", where the check names nothing
extern const Mistake TRUNCATED;        // "floats truncated to int"
extern const Mistake READ_BEFORE;      // "negative index"
extern const Mistake SHARED_OUTSIDE;   // "out-of-bounds shared-memory access"
extern const Mistake BLOCK_TOO_LARGE;  // "more than 1024 threads per block"
extern const Mistake
    STREAMS_APART; // "missing synchronization between streams": right in one order of the streams, wrong in another
extern const Mistake
    FIRST_CALL_ALONE; // "state kept between calls": called again in the same program, it does something else
// Of a finding, by its kind.
extern const Mistake RACE, BARRIER_MISSED, OUT_OF_BOUNDS, READ_UNWRITTEN, MISALIGNED_VECTOR, FREED_BEFORE, NOT_FREED,
    BAD_ADDRESS;
// Found wherever the library is used, without a check's doing: see driver_may_change.
extern const Mistake CALLERS_CHANGED;  // "caller's tensor changed"
extern const Mistake GRAD_LEFT;        // "autograd left disabled"
extern const Mistake GRAD_SWITCHED_ON; // "autograd left enabled"
extern const Mistake STREAM_LEFT;      // "current stream not restored"
extern const Mistake DEVICE_LEFT;      // "current device not restored"
extern const Mistake AUTOCAST_LEFT;    // "autocast not restored"
extern const Mistake MODE_LEFT;        // "training mode not restored": see driver_module
extern const Mistake SCOPE_LEFT;       // "scope left open"
extern const Mistake
    NOT_WRITTEN; // "output elements not written": the output still has its NaN filling (by expect_array)

#endif
