// SPDX-License-Identifier: MIT
// The writers of loops: workitem_loops.c, warp_loops.c, range_split.c; and coarsen.c. Called by regions.c.
#ifndef CU2CPP_WORKITEM_LOOPS_H
#define CU2CPP_WORKITEM_LOOPS_H

#include "sim/compile/kernel.h"

// A position in the text, and its file and line as the compiler reports them.
struct spot {
  size_t place, line, begin; // begin: of the line
  size_t file, file_length;  // its name in the text, with quotes; 0: the input's
};

struct writer {
  struct kernel *k;
  struct text *out;
  const struct text *in;
  bool program, instrumented;
  bool marked;      // lines "# 12 file" in the text say where it is from
  struct spot spot; // before the kernel
  int regions;
  enum level level;    // of what is written now: loops over a block's threads, or over a warp's lanes
  int warps;           // loops over warps so far
  bool coarsened;      // several blocks may run as one
  bool range_split;    // some loop runs over a restricted range of threads
  enum refusal failed; // a reason to refuse that was found while writing
  int context_bytes;
};

// Reads on up to `place`: which line of which file that is.
struct spot spot_of(const struct writer *w, size_t place);
// Goes on, on a line of its own, as if the compiler were at `at`, up to its column.
void move_to(const struct writer *w, const char *at, bool column);
void write_range(const struct writer *w, struct range r);
// A name, with what is put behind it.
void write_name(const struct writer *w, int token, const char *behind);
void declare_plainly(const struct writer *w, const struct variable *v);
// Declares the context array of a variable that lives across regions.
void declare_context_array(struct writer *w, struct variable *v);
// `quiet`: the body accesses only the thread's own variables.
void open_loop(struct writer *w, bool quiet);
bool is_quiet(const struct kernel *k, struct range where); // as far as the text tells
void close_loop(struct writer *w);
#define WRITE_PLACE                                                                                                    \
  "[[maybe_unused]] const ::cudasim::place threadIdx = {static_cast<unsigned int>(cudasim_x) - cudasim_base, "         \
  "cudasim_y, cudasim_z}; "
// A declaration's variables in a loop over threads; the words of a statement, where a return goes on with the next thread.
void write_declaration(const struct writer *w, const struct statement *s);
void write_statement(const struct writer *w, const struct statement *s);
// Of statements from `first` to before `end`: which variables of before they need, each declared after those it is made of.
void write_needed(const struct writer *w, const struct statement *first, const struct statement *end);
// The same for what stands up to the token `before`, of ifs their conditions alone.
void write_needed_by_conditions(const struct writer *w, const struct statement *first, int before);
// A loop over the threads for statements from `first` to before `end`; `last`: nothing comes after it.
void write_region_loop(struct writer *w, const struct statement *first, const struct statement *end, bool last);

// No warnings of what was moved, up to `#pragma GCC diagnostic pop`; the block's place and its threads as numbers.
void write_silence(const struct writer *w);
void write_shape(const struct writer *w);
// Statements one after another, up to the token list_end; `tail`: no barrier comes behind.
void write_list(struct writer *w, const struct statement *s, bool tail, int list_end);

// ---- compile/warp_loops.c ----

// A loop over the warps for statements from `first` to before `end`, some of which are warp functions.
void write_warps(struct writer *w, struct statement *first, const struct statement *end, bool last, int list_end);
// A warp function, or a barrier with a vote: what the lanes or threads bring.
void write_collective(struct writer *w, const struct statement *s);
// What a lane gets: auto cudasim_r1 = ...;
void write_result(const struct writer *w, const struct variable *v);
// A condition that the lanes of a warp share, asked of its first one.
void write_condition(const struct writer *w, const struct statement *s);
// What is looked at before a block begins: conditions that have to be the same for all lanes of each warp. Nothing where there are none.
void write_agreement(struct writer *w);

// ---- compile/range_split.c ----

// Conditions that a region begins with and that are looked at before its loop.
struct range_split {
  int before;                   // the token where what is looked at beforehand ends
  const struct statement *last; // an if whose statement is all that is left, or NULL
  bool single;                  // one comparison
  bool interval;                // the threads of a row that pass lie side by side
};

// Tokens of what a kernel multiplies blockIdx.x with, if it is not blockDim.x; empty: it is.
struct range kernel_origin(const struct kernel *k);
// blockIdx.x * blockDim.x, or blockIdx.x and that factor.
bool kernel_is_origin(const struct kernel *k, struct range e);
// Whether there are such conditions between `first` and `end`.
bool find_range_split(const struct kernel *k, const struct statement *first, const struct statement *end,
                      struct range_split *g);
// Begins the loops over runs of a row's threads that pass, cudasim_from to before cudasim_to.
void open_range_split(const struct writer *w, const struct statement *first, const struct range_split *g);
// An if whose condition has been looked at.
void write_split_if(const struct writer *w, const struct statement *s, const struct range_split *g);

// ---- compile/coarsen.c ----

// Whether blocks side by side in a row of the grid are one wide block to the kernel.
bool kernel_can_coarsen(const struct kernel *k);

#endif
