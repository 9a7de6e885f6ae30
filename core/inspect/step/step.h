// SPDX-License-Identifier: MIT
// `./ferry step`: records one block of one launch statement by statement. A mode of the inspector (FERRY_STEP_TABLE): accesses and
// findings are the inspector's, and cu2cpp's hooks (cudasim_step.h) tell where each lane is and what its variables hold. The format of
// the record: docs/dev/step_record.md.
//
//   hooks.c      what the hooks call: functions, variables in scope
//   lockstep.c   who runs next: lanes that are behind, so that a warp runs in lockstep
//   accesses.c   arrays, and the accesses of each step
//   findings.c   the inspector's findings, with the steps that they belong to
//   block.c      what the simulator reports of the block, and its steps
//   table.c      what the numbers in hooks mean
//   write.c      the record
#ifndef INSPECT_STEP_H
#define INSPECT_STEP_H

#include <stdio.h>

#include "inspect/inspect.h"

#include "cudasim_launch.h"
#include "cudasim_step.h"

enum { STEP_VARIABLE_BYTES = 256, STEP_ACCESS_BYTES = 16, STEP_UNSET = 0xfe };

// ---- the table of statements (table.c) -----------------------------------------------------------------------------------

struct step_function {
  int line, end;
  bool is_kernel, used;
  char *name;
  char **parameters;
  int parameter_count;
};

struct step_statement {
  int function;
  char *kind; // NULL: there is none of this number
  int line, end, column, length;
  int *loops; // the conditions of the loops around it, outermost first
  int loop_count;
  char **names; // of the variables that its hook passes on
  int name_count;
};

extern struct step_function *step_functions;
extern struct step_statement *step_statements;
extern int step_function_count, step_statement_count;
void step_table_read(const char *path);
void step_table_write(FILE *out);

// ---- steps ---------------------------------------------------------------------------------------------------------------

// The lanes' values of a variable that a step has changed.
struct step_change {
  int variable, depth;
  uint32_t lanes, bytes;
  unsigned char *values; // 32 times `bytes`
};

struct step_access {
  char kind; // r, w, a
  uint32_t event;
  int array;
  uint32_t bytes, lanes;
  int64_t offset[WARP];
  unsigned char value[WARP][STEP_ACCESS_BYTES], before[WARP][STEP_ACCESS_BYTES];
};

struct step {
  char kind;                                   // s, r, b, e, d
  int warp, statement, function, depth, users; // users: lanes that are in it
  uint32_t lanes;
  uint32_t *position, length; // lanes with this position take part
  int *calls;
  struct step_change *changes;
  struct step_access *accesses;
  int change_count, access_count;
  uint32_t met_mask, met_lanes; // of a warp function: its mask, and the lanes that have come
  struct cudasim_step_type met_type;
  uint64_t brings[WARP];
  int from[WARP]; // the lane that each one's result comes from; -1: from all
  char *note;     // of b and d
  char *text;     // the step as the record has it, from when no lane is in it
};

extern struct step *step_steps;
extern int step_count;

// ---- lanes ---------------------------------------------------------------------------------------------------------------

struct step_seen { // a variable in scope
  unsigned char *address;
  int variable;
  uint32_t bytes;
};

struct step_last { // what a variable held when it was last looked at
  int variable;
  uint32_t bytes;
  unsigned char value[STEP_VARIABLE_BYTES];
};

struct step_turn { // how often the condition of a loop was evaluated
  int loop;
  uint32_t count;
};

struct step_frame {
  int function, statement;
  uint32_t calls; // made by the statement
  struct step_turn *turns;
  struct step_seen *seen;
  struct step_last *last;
  int turn_count, seen_count, last_count, turn_room, seen_room, last_room;
};

struct step_lane {
  struct step_frame *frames;
  int depth, room; // frames in use, and allocated ones
  uint32_t *position, length;
  int position_room;
  bool started, done;
  char next; // the kind of step that it is about to do
  int step;  // -1: it has not done anything there yet
  uint64_t looked;
  int array; // of its last access, and where; -1: none
  int64_t offset;
  struct step_pending *pending; // writes whose values are there when it goes on
  int pending_count, pending_room;
};

struct step_pending {
  int access;
  uint64_t address;
  uint32_t bytes;
};

// The block that is recorded.
struct step_block {
  struct cudasim_dim3 grid, block;
  unsigned at[3], threads, warps, launch;
  const char *kernel;
  size_t dynamic_bytes;
  const char *end; // why the record ends; NULL: it goes on
  int warp;        // that runs
  int limit;       // the most steps
  struct step_lane *lanes;
};
extern struct step_block step_block;

// The items with room for one more after `count` of them.
static inline void *step_grown(void *items, int count, int *room, size_t bytes) {
  if (count < *room)
    return items;
  *room = 2 * *room + 8;
  return inspect_resize(items, (size_t)*room * bytes);
}

// A step of this kind for the block or a warp, with a note (malloc).
int step_add_event(char kind, int warp, uint32_t lanes, char *note);
// The step that the running thread does now.
struct step *step_of_thread(void);
struct step_lane *step_lane(void);
// The values of the lane's last writes have arrived.
void step_settle(struct step_lane *lane);
void step_leave_step(struct step_lane *lane);

// ---- lockstep.c ----

void step_place(struct step_lane *lane); // its position, from its frames
int step_compare_positions(const uint32_t *a, uint32_t a_length, const uint32_t *b, uint32_t b_length);
// Lets others run that are behind; returns when it is this thread's turn.
void step_take_turn(int thread);
void step_turns_begin(void);
void step_turns_count(int warp);  // the warp does one more step
void step_turns_change(int warp); // its step changes a variable or memory
void step_turns_barrier(void);

// ---- hooks.c ----

struct step_variable {
  int function;
  char *name;
  struct cudasim_step_type type;
};
extern struct step_variable *step_variables;
extern int step_variable_count;
// A name for the address of a thread's own variable: "&x[3]" (malloc), or NULL.
char *step_own_pointer(uint64_t address);

// ---- accesses.c ----

struct step_array {
  bool shared;
  char *name;
  uint64_t address, bytes;
  uint32_t element;
  char kind;
  unsigned dimensions[CUDASIM_STEP_DIMENSIONS];
  const struct cudasim_step_member *members;
};
extern struct step_array *step_arrays;
extern int step_array_count;
// A variable of this name and type holds a pointer: what it leads to is an array, even before an access.
void step_note_pointer(const char *name, const struct cudasim_step_type *type, uint64_t pointer);
// The array at this address; -1: none.
int step_array_at(uint64_t address);
bool step_is_unset(const unsigned char *bytes, size_t count); // nothing has been written there
void step_access(struct block_state *bs, uint64_t address, unsigned bytes, uint32_t event);

// ---- findings.c ----

extern const struct finding_observer step_findings; // what the inspector tells of findings
void step_found_unset(const char *name);            // the running thread reads a variable that has no value
// The block is given up, because of this finding: "deadlock", "livelock", "fault". `thread` waits for `other` (-1: for none).
void step_ends(const char *why, const struct finding *finding, int thread, int other);
void step_findings_write(FILE *out);

// ---- write.c ----

char *step_text(const struct step *step); // as the record has it (malloc)
void step_write_record(void);
void step_write_quoted(FILE *out, const char *text);

// ---- for the inspector (block.c) ----

extern bool step_mode; // the program was built to be stepped through
void step_begin(void);
bool step_wants_launch(const struct cudasim_launch_request *request);
unsigned step_wanted_block(void);
void step_block_begin(struct block_state *bs);
void step_block_end(void);
void step_thread_done(int thread);
void step_barrier_opens(int line);

static inline bool step_is_on(void) {
  return __builtin_expect(cudasim_step_records, 0);
}

#endif
