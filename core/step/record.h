// SPDX-License-Identifier: MIT
// A record of ./ferry step in memory: one block of one launch, statement by statement and warp by warp. docs/dev/step_record.md has
// the format. The state behind each step is found by bisection, so that a step backwards costs as much as one forwards.
#ifndef STEP_RECORD_H
#define STEP_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STEP_LANES = 32 };

// ---- what was recorded ---------------------------------------------------------------------------------------------------

// STEP_NONE: nothing has been written there. STEP_NATURAL: above INT64_MAX, as a uint64_t in `integer`.
typedef enum { STEP_NONE, STEP_INTEGER, STEP_NATURAL, STEP_REAL, STEP_TEXT, STEP_LIST } StepValueKind;

typedef struct StepValue {
  StepValueKind kind;
  int count; // STEP_LIST
  union {
    int64_t integer;
    double real;
    const char *text;
    const struct StepValue *list;
  };
} StepValue;

// A value for each lane of a mask; step_value reads it.
typedef struct StepVector {
  uint32_t mask;
  enum { STEP_EACH, STEP_ALIKE, STEP_LINEAR } form;
  const StepValue *values;
} StepVector;

typedef struct StepMember {
  const char *name, *type;
  int count;
} StepMember;

typedef struct StepVariable {
  int function;
  const char *name, *type; // "i32", "u8", "f64", "b8", "c8", "p64", or "x" for a struct
  int count;               // above 1: an array
  int member_count, dim_count;
  const StepMember *members;
  int dims[4];
} StepVariable;

typedef struct StepArray {
  bool shared;
  const char *name;
  int64_t bytes;
  int element; // bytes
  char letter;
  int dims[3]; // 0: no further dimension
  int bank;    // of its first word; shared memory
  int at;      // the first byte's place in its 128-byte line; global memory
} StepArray;

typedef struct StepStatement {
  int function;
  const char *kind;
  int line, end, column, length;
} StepStatement;

typedef struct StepFunction {
  const char *name;
  int file, line, end;
  bool kernel;
} StepFunction;

typedef struct StepSkipped {
  const char *name, *why;
  int file, line;
} StepSkipped;

typedef struct StepFile {
  const char *name;
  int line_count;
  const char *const *lines; // without line breaks; nothing in them but tabs commands a terminal
} StepFile;

typedef struct StepFinding {
  const char *kind, *title, *text;     // title: the kind as a person reads it
  int step, thread, other_step, other; // -1: none
  uint32_t lanes, other_lanes;
  int array; // -1: none
  int64_t index;
} StepFinding;

typedef struct StepChange {
  int variable, depth;
  StepVector values;
} StepChange;

typedef struct StepAccess {
  char kind; // 'r', 'w' or 'a'
  bool has_before;
  int array, bytes;
  StepVector offsets, values, before; // before: of an atomic
} StepAccess;

typedef struct StepMeeting {
  StepVector brings, from;
  bool has_from;
} StepMeeting;

typedef struct Step {
  char kind;     // 's', 'r', 'b', 'e' or 'd'
  int warp;      // -1: the block
  int statement; // an index; -1: a function begins, or there is none
  int function;  // an index; -1: none
  uint32_t mask;
  int call_count; // so it is in a frame of this depth
  const int *calls;
  const char *text;
  int change_count, access_count, finding_count;
  const StepChange *changes;
  const StepAccess *accesses;
  const int *findings;        // those whose step it is
  const StepMeeting *meeting; // NULL: none
  int previous, next;         // of the same warp; -1: none
} Step;

typedef struct Record {
  const char *kernel, *end;
  int grid[3], block[3], at[3], launch, limit;
  int threads, warps;
  int file_count, function_count, skipped_count, statement_count, variable_count, array_count, finding_count,
      step_count;
  const StepFile *files;
  const StepFunction *functions;
  const StepSkipped *skippeds;
  const StepStatement *statements;
  const StepVariable *variables;
  const StepArray *arrays;
  const StepFinding *findings;
  Step *steps;
  struct StepIndex *index;
  struct StepArena *arena;
} Record;

// Reads a record. NULL if it cannot be read: then `why` says so in one line, with the file's name. The caller frees it.
Record *step_record_load(const char *path, char *why, size_t why_bytes);
// The same of a text; `name` is for messages.
Record *step_record_read(const char *name, const char *text, size_t bytes, char *why, size_t why_bytes);
void step_record_free(Record *r);

// ---- the state behind a step ---------------------------------------------------------------------------------------------

// The type of an array's elements, as a variable's: "f32".
const char *step_array_type(const StepArray *a, char to[16]);
// The value of a lane of the vector's mask.
StepValue step_value(const StepVector *v, int lane);
// As a double; NaN if it is none.
double step_number(StepValue v);
bool step_same(StepValue a, StepValue b);

typedef struct StepLanes {
  uint32_t known, changed; // lanes that have a value, and those whose value this step changed
  int since[STEP_LANES];   // the step that changed it
  StepValue values[STEP_LANES];
} StepLanes;

// A variable in all lanes of a warp, in the frame of this depth. A value of an earlier call of the function is not known.
void step_variable(const Record *r, int step, int warp, int depth, int variable, StepLanes *lanes);

typedef struct StepWord {
  bool known; // false: nothing of the block has accessed it so far
  StepValue value;
  int writer; // the last step that wrote it; -1: none so far
  int thread; // of that step
} StepWord;

// An element of an array.
StepWord step_word(const Record *r, int step, int array, int64_t word);

// Of each lane of a warp: '#' does this step, '.' is elsewhere, '|' waits at a barrier, '-' has returned, ' ' has not begun, or is
// no thread. 32 characters and a NUL.
void step_signs(const Record *r, int step, int warp, char signs[STEP_LANES + 1]);

// Barriers of the block up to the step.
int step_barriers(const Record *r, int step);
// The last step of a warp up to the step; -1: it has not begun.
int step_of_warp(const Record *r, int step, int warp);
// The line of a step, 0: it has none; and of a frame (0: the kernel's) of the step.
int step_line(const Record *r, int step);
int step_frame_line(const Record *r, int step, int depth);
int step_frame_function(const Record *r, int step, int depth);

// ---- other steps ---------------------------------------------------------------------------------------------------------

typedef enum {
  STEP_ANY,
  STEP_SAME_WARP,
  STEP_SAME_LINE,     // of any warp
  STEP_BARRIER,       // a barrier of the block opens
  STEP_DIVERGENCE,    // fewer lanes than in the warp's step before, all of them among those
  STEP_RECONVERGENCE, // more lanes, those before among them
  STEP_FINDING,
  STEP_OVER, // of the same warp, not in a call that this step makes
  STEP_OUT,  // of the same warp, in the caller
} StepGoal;

// The next (direction 1) or previous (-1) step of that kind; -1: there is none.
int step_next(const Record *r, int step, StepGoal goal, int direction);
// Whether the step itself is a barrier, a divergence, a reconvergence or has a finding.
bool step_is(const Record *r, int step, StepGoal goal);
int step_next_at_line(const Record *r, int step, int line, int direction);
// The next or previous step that writes the element.
int step_next_write(const Record *r, int step, int array, int64_t word, int direction);
// "77", "end", "line:29"; "finding" or a kind of them ("race", "race-warp", "bounds"), the second of them ("race:2"), or the first that
// has to do with line 12 ("race@12"). -1: there is none.
int step_find(const Record *r, const char *at);
// The same; without a race in line 12, "race@12" is the first step of that line. `said`: "", or what was not found, and what to do.
int step_find_near(const Record *r, const char *at, char *said, size_t bytes);

// ---- expressions ---------------------------------------------------------------------------------------------------------

enum { STEP_PATH = 4 };

// "x", "x@5", "a[2].y@5 > 3", "part[62]", "thread == 37"
typedef struct StepQuery {
  char name[64];
  int lane; // -1: any lane of the step
  int path_count;
  struct {
    char member[32]; // "": an index
    int64_t index;
  } path[STEP_PATH];
  char compare[3]; // "": nothing is compared
  double with;
} StepQuery;

// False: it is no expression, and `why` says what is wrong.
bool step_query_read(const char *text, StepQuery *q, char *why, size_t why_bytes);

// What the name is, in a step of a warp: a variable of the frame, or else an array's element.
typedef struct StepPlace {
  int variable, depth; // variable -1: none
  int array;           // -1: none
  int64_t word;
} StepPlace;
bool step_query_place(const Record *r, int step, int depth, const StepQuery *q, StepPlace *place, char *why,
                      size_t why_bytes);
// The values in the lanes of the step's warp, the path followed.
void step_query_lanes(const Record *r, int step, const StepQuery *q, const StepPlace *place, StepLanes *lanes);
// Of what it is: "f32". Valid until the next call.
const char *step_query_type(const Record *r, const StepQuery *q, const StepPlace *place);
// Whether it holds behind the step, in the query's lane or in any lane of the step. Without a comparison: whether the step changed it.
bool step_query_holds(const Record *r, int step, const StepQuery *q);
// The next or previous step that changes it so that it holds; -1: none.
int step_next_query(const Record *r, int step, const StepQuery *q, int direction);

#endif
