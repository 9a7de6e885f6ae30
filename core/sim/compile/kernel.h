// SPDX-License-Identifier: MIT
// The work-item-loop compiler of cu2cpp --split: tokens, and a kernel as statements and variables. Its stages, in order:
//   tokens.c                            reads the file and its includes
//   parse.c, variables.c                statements, variables, names
//   inline.c, inline_calls.c            inlining and A-normal form, where a call contains a barrier or a warp function
//   modifications.c, side_effects.c     what assignments and calls may change; device_library.c knows the library's names
//   uniformity.c                        uniformity analysis, and whether every barrier is reached by all threads
//   coarsen.c                           block coarsening
//   regions.c                           parallel-region formation; writes the result with
//   workitem_loops.c, warp_loops.c, range_split.c
// A stage that cannot go on refuses the kernel with a reason of refusals.h.
#ifndef CU2CPP_KERNEL_H
#define CU2CPP_KERNEL_H

#include <stdbool.h>

#include "sim/compile/cu2cpp.h"
#include "sim/compile/refusals.h"

enum token_kind { TOKEN_WORD, TOKEN_NUMBER, TOKEN_LITERAL, TOKEN_SIGN, TOKEN_DIRECTIVE };

struct token {
  enum token_kind kind;
  const char *p;
  int length;
  int same;     // the word's occurrence before this one, or -1
  int match;    // the other bracket of a pair, or -1
  int within;   // the bracket that is open here, or -1
  int depth;    // open braces here, namespaces' not counted
  bool system;  // of a header of the simulator or the compiler
  int declared; // of a word that the program declares here: the declaration before it in the same bucket, or -1
};

struct macro {
  int name; // a token
  bool takes_arguments;
  int begin, end; // tokens
};

// All tokens: those of the file itself, [0, main_count), then those of its includes, then those of macros.
struct tokens {
  struct token *all;
  int count, capacity, main_count;
  struct macro *macros;
  int macro_count, macro_capacity;
  bool system;       // whether the file that is read now is a system header
  bool unknown;      // an include was not found, so that any name may be a macro
  int *words;        // by a hash of the word, its last occurrence
  int *declarations; // the same, of words that the program declares
  int text_count;    // tokens before those of macros
};

// The tokens from `begin` up to, not including, `end`.
struct range {
  int begin, end;
};

// With `includes`, also reads the files that are included in quotes.
void tokens_read(struct tokens *t, const struct text *in, bool includes);
// Adds the tokens of a text that was generated from others. Returns the index of the first.
int tokens_add(struct tokens *t, const struct text *in);
void tokens_free(struct tokens *t);
bool token_is(const struct tokens *t, int i, const char *spelling);
bool token_in(const struct tokens *t, int i, const char *const *spellings); // which end with NULL
bool token_same(const struct tokens *t, int a, int b);
bool token_begins(const struct tokens *t, int i, const char *prefix);
// The next and the previous token that is not a directive.
int token_next(const struct tokens *t, int i);
int token_before(const struct tokens *t, int i);
// The word's last occurrence anywhere, or -1; the others follow by `same`.
int token_last(const struct tokens *t, int word);
// Whether the program declares the word at i as a function, a global variable, a type or a macro. Then it may not mean what the device
// library means by it.
bool token_declared(const struct tokens *t, int i);
// The last of those declarations, a macro's name among them, or that of another word: the others follow by `declared`; or -1.
int token_declaration(const struct tokens *t, int word);
// Past the template arguments that begin at i, or i.
int token_past_angles(const struct tokens *t, int i);
// The comma behind the argument that begins there, or `close`, the end of them all.
int token_argument_end(const struct tokens *t, int begin, int close);
// The expression without brackets round all of it.
struct range token_within_brackets(const struct tokens *t, struct range e);

// ---- compile/device_library.c ----

// A word before a bracket that is no call: if, sizeof and so on.
bool known_keyword(const struct tokens *t, int i);
bool known_type(const struct tokens *t, int i); // float, size_t, float4
// Arithmetic of the device's library, which the program declares no other function by the name of: no effect but its result, and
// arguments by value.
bool known_math(const struct tokens *t, int i);
// printf, __ldg and their like: no barrier and nothing that waits, but more than arithmetic.
bool known_harmless(const struct tokens *t, int i);
// The device's library has one of these by that name, or an atomic function, whatever the program declares.
bool known_library(const struct tokens *t, int i);
// A barrier or the like by its name.
bool known_wait(const struct tokens *t, int i);
bool known_atomic(const struct tokens *t, int i);

// ---- compile/side_effects.c ----

struct call_effects {
  bool reads_thread_index; // it may read threadIdx
  bool atomic;             // it calls an atomic function
  bool reads_place;        // it may read threadIdx or blockIdx
  bool block_dependent;    // its effect may depend on the block it runs in
};
// Whether the function called at i provably contains no barrier and no warp function and waits for no other thread.
bool effects_of_call(const struct tokens *t, int i, struct call_effects *effects);
// The same for all operators, constructors and destructors of the program, which are called without a name. False: one may wait.
bool effects_of_unnamed_calls(const struct tokens *t, struct call_effects *effects);
// The only function of the text by the name at i and with as many arguments, as its definition has it, or -1; the brace that its body begins with.
int known_function(const struct tokens *t, int i);
// The brace of a function's body whose name is at i and which is defined there, or -1.
int known_body(const struct tokens *t, int i);
// The function takes a variable by reference, or may.
bool known_by_reference(const struct tokens *t, int i);
// The name, which no kernel declares, is a constant of the program: a macro of constants, an enumerator, a constexpr. `value` of one
// that is a number, or -1.
bool known_constant(const struct tokens *t, int i, long *value);
// Every function of that name is a member that promises to change nothing.
bool known_const_method(const struct tokens *t, int i);
// The word at i is a macro in whose text, or in that of the macros it names, the word at `name` stands.
bool known_macro_names(const struct tokens *t, int i, int name);
// What tells a block from others, or keeps it from running as one with them: blockIdx in a macro, shared memory, printf, volatile.
bool known_block_dependent(const struct tokens *t, int i);
// A macro in whose text something stands that would change the flow through a kernel, or declare something.
bool known_bad_macro(const struct tokens *t, int i);

// ---- a kernel ----

enum statement_kind {
  S_EMPTY,
  S_BLOCK,
  S_IF,
  S_FOR,
  S_WHILE,
  S_DO,
  S_SWITCH,
  S_BARRIER,
  S_BLOCK_COLLECTIVE, // auto cudasim_r1 = cudasim_vote_count(x); also a barrier
  S_WARP_COLLECTIVE,  // auto cudasim_r1 = cudasim_warp_shfl_down(x, cudasim_a1); or cudasim_warp_sync();
  S_DECLARATION,
  S_HOISTED,
  S_EXPRESSION,
  S_RETURN,
  S_BREAK,
  S_CONTINUE
};

struct statement {
  enum statement_kind kind;
  struct range at;
  struct range condition, step;    // of if and the loops; empty: none
  struct statement *init;          // of for
  struct statement *child, *other; // a block's first, what if and loops do; else
  struct statement *next;
  bool barrier, warp;              // within it: a barrier of the block, a warp function
  bool breaks, continues, returns; // within it: a break or continue that leaves it, a return
  bool by_warp;                    // its condition is the same for the lanes of each warp ...
  bool at_entry;                   // ... if that turns out before the block begins
  int call;                        // of S_WARP_COLLECTIVE and S_BLOCK_COLLECTIVE: the function's name
  bool uniform;                    // an assignment that is the same for all threads, done once
};

enum variable_class {
  V_LOCAL,          // lives within one region
  V_UNIFORM,        // the same value in all threads: one variable
  V_REMATERIALIZED, // computed again in each region that needs it, since its value is cheap
  V_CONTEXT,        // lives across regions: an element for each thread in a context array
  V_LANE_CONTEXT,   // the same, with an element for each lane of the warp that runs
  V_RESULT          // the result of a warp collective
};

struct variable {
  int name;
  int scope_end;
  struct range specifiers, declarator, init;                          // declarator: "*name[4]"
  char init_kind;                                                     // '=', '(', '{', or 0
  bool parameter, array, reference, pointer, constant, shared, fixed; // fixed: static, constexpr
  bool block_group;                                                   // of cooperative_groups: all of the block
  bool result;                                                        // of a warp function
  bool addressed;
  bool at_level; // declared where all threads come
  bool declared; // by what runs before its own place
  struct statement *in;
  enum variable_class class;
};

enum { MAX_VARIABLES = 256 };

struct kernel {
  const struct tokens *t;
  int name;
  struct range template_parameters, parameters, body; // body without its braces
  struct statement *top;
  struct variable variables[MAX_VARIABLES];
  int variable_count;
  int *variable_of;        // by token - body.begin: index, or -1
  bool *modified;          // by token - body.begin
  bool names_only;         // parameters whose types are not understood are no reason to refuse it
  bool votes_count;        // the result of a warp vote counts as uniform
  bool reads_thread_index; // a function that it calls may read threadIdx
  bool reads_place;        // ... or blockIdx
  enum refusal why_not;
  int why_token; // 0: none
};

// Notes why the kernel cannot be compiled to loops, unless a reason is noted already. Returns false.
bool kernel_refuse(struct kernel *k, enum refusal why);
void kernel_add_variable(struct kernel *k, const struct variable *v);
// ---- compile/variables.c: parameters, and which variable a name means ----

// The bracket of the parameters of the function whose __global__ or __device__ is at i: behind those of __launch_bounds__ and the like. -1: one
// of the tokens `stops`, which end with NULL, comes before.
int function_parameters(const struct tokens *t, int i, const char *const *stops);
void kernel_add_parameters(struct kernel *k);
void kernel_resolve(struct kernel *k);
// The function `cudasim_warp_...` or `cudasim_vote_...` that a statement at i consists of, or -1.
int kernel_collective(const struct kernel *k, int i);
// Makes statements of the body; false: k->why_not says what is in the way.
bool kernel_parse(struct kernel *k);
// A whole statement at i that is a barrier of the block.
bool kernel_barrier(const struct kernel *k, int i);
void kernel_free(struct kernel *k);
// Of the types that a copy is all there is to.
bool kernel_plain_type(const struct kernel *k, const struct variable *v);
struct variable *kernel_variable(const struct kernel *k, int token); // that the word at `token` means, or NULL
bool kernel_template_parameter(const struct kernel *k, int token);
bool kernel_mentions(const struct kernel *k, struct range where, const struct variable *v);
// Barriers synchronize all threads of a block, warp functions the lanes of a warp.
enum level { LEVEL_BLOCK, LEVEL_WARP };
// Whether all threads of the block, or of a warp, must reach the statement by the same path.
bool statement_structural(const struct statement *s, bool tail, enum level level);
// Whether no barrier follows the statement in its list and, if it contains a barrier itself, nothing follows at all.
bool list_tail(const struct statement *s, bool tail, enum level level);

// ---- compile/modifications.c: fills k->modified ----
void kernel_find_modifications(struct kernel *k);
bool kernel_modifies(const struct kernel *k, const struct variable *v);
bool token_is_assignment(const struct tokens *t, int i); // =, +=, ++ and the like
bool kernel_unary(const struct tokens *t, int i);        // a sign without an operand on its left
// Refuses the kernel if a macro names one of its variables.
bool kernel_macros_are_clear(struct kernel *k);

// ---- compile/inline.c ----

// Whether no expression contains a warp function or a call that must be inlined.
bool kernel_is_normal(const struct kernel *k);
// Writes the kernel in A-normal form, with those calls inlined. `in` is the text that the kernel is from. False: refused.
bool kernel_normalize(struct tokens *t, struct kernel *k, const struct text *in, bool program, struct text *out);

// ---- compile/uniformity.c ----

// Sets each variable's class, and checks that every barrier is reached uniformly. False: refused.
bool kernel_classify(struct kernel *k);
// Whether the expression has no side effects and the same value in all threads; with `thread`, it may depend on threadIdx.
bool kernel_pure(const struct kernel *k, struct range where, bool thread);

// ---- compile/unconfigured_calls.c ----

// The text, in which a call of a kernel without <<<>>> is an error to the compiler. False: it has none, and is as it was; otherwise
// -Wdeprecated-declarations must be ignored from its beginning.
bool mark_calls_of_kernels(const struct text *in, struct text *out, bool program);

// ---- compile/regions.c ----

// Copies the text and adds work-item loops to each kernel that can be compiled to them. `instrumented`: the file is to be inspected, and the
// loops report each thread's turn.
void write_work_item_loops(const struct text *in, struct text *out, bool program, bool instrumented);

#endif
