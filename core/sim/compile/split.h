// What the parts of cu2cpp --split share: a kernel with barriers becomes loops over the block's threads, one for what stands between
// two barriers. compile/tokens.c reads the text, compile/library.c and compile/known.c say what the functions and names are that a kernel uses,
// compile/parse.c makes statements of the kernel's tokens, compile/uniform.c finds out what is the same for all threads, and
// compile/split.c with compile/loops.c writes the loops.
#ifndef CU2CPP_SPLIT_H
#define CU2CPP_SPLIT_H

#include <stdbool.h>

#include "sim/compile/cu2cpp.h"

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

// All that is known: the text itself, [0, main_count), then what it includes and what its macros say.
struct tokens {
  struct token *all;
  int count, capacity, main_count;
  struct macro *macros;
  int macro_count, macro_capacity;
  bool system;       // of what is read now
  bool unknown;      // something is included that cannot be found, so any name may be a macro
  int *words;        // by a hash of the word, its last occurrence
  int *declarations; // the same, of words that the program declares
  int text_count;    // tokens before those of macros
};

// Of tokens, up to before `end`.
struct range {
  int begin, end;
};

// With `includes`, files in quotes are read, too.
void tokens_read(struct tokens *t, const struct text *in, bool includes);
// Adds those of a text that was made of the others; the first one's number.
int tokens_add(struct tokens *t, const struct text *in);
void tokens_free(struct tokens *t);
bool token_is(const struct tokens *t, int i, const char *spelling);
bool token_in(const struct tokens *t, int i, const char *const *spellings); // which end with NULL
bool token_same(const struct tokens *t, int a, int b);
bool token_begins(const struct tokens *t, int i, const char *prefix);
// The tokens beside i that are no directives.
int token_next(const struct tokens *t, int i);
int token_before(const struct tokens *t, int i);
// The word's last occurrence anywhere, or -1; the others follow by `same`.
int token_last(const struct tokens *t, int word);
// The program itself declares the word at i as a function, a variable of the whole text, a type or a macro: then it need not mean what
// the device's library means by it.
bool token_declared(const struct tokens *t, int i);
// The last of those declarations, a macro's name among them, or that of another word: the others follow by `declared`; or -1.
int token_declaration(const struct tokens *t, int word);
// Past the template arguments that begin at i, or i.
int token_past_angles(const struct tokens *t, int i);
// The comma behind the argument that begins there, or `close`, the end of them all.
int token_argument_end(const struct tokens *t, int begin, int close);
// The expression without brackets round all of it.
struct range token_within_brackets(const struct tokens *t, struct range e);

// ---- compile/library.c ----

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

// ---- compile/known.c ----

struct call_facts {
  bool numbered; // it may look at its thread's number
  bool atomic;   // there is an atomic function in it
  bool placed;   // it may look at its thread's number, or at its block's
  bool tied;     // what it does may depend on which block it is in
};
// The function called at i has no barrier and no warp function in it, and waits for no other thread, as far as the text tells.
bool known_clean_call(const struct tokens *t, int i, struct call_facts *facts);
// The same for what the program calls without a name, wherever it does: operators, constructors, destructors. False: one may wait.
bool known_unnamed_calls(const struct tokens *t, struct call_facts *facts);
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
bool known_tied(const struct tokens *t, int i);
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
  S_VOTE, // auto cudasim_r1 = cudasim_vote_count(x); a barrier, too
  S_WARP, // auto cudasim_r1 = cudasim_warp_shfl_down(x, cudasim_a1); or cudasim_warp_sync();
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
  int call;                        // of S_WARP and S_VOTE: the function's name
  bool uniform;                    // an assignment that is the same for all threads, done once
};

enum variable_class {
  V_LOCAL,   // lives within one loop over the threads
  V_UNIFORM, // one for all threads
  V_AGAIN,   // declared again in each loop, since its value is quickly computed
  V_STORED,  // one for each thread, in an array
  V_LANE,    // one for each lane of the warp that runs, in an array
  V_RESULT   // what a warp function gives, from what its lanes have brought
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
  int *variable_of; // by token - body.begin: index, or -1
  bool *modified;   // by token - body.begin
  bool votes_count; // what a warp has voted on counts as the same for all
  bool numbered;    // something it calls may look at the thread's number
  bool placed;      // ... or at the block's: an operator, say
  const char *why_not;
  int why_token; // 0: none
};

// The function `cudasim_warp_...` or `cudasim_vote_...` that a statement at i consists of, or -1.
int kernel_meeting(const struct kernel *k, int i);
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
// Barriers bring all threads of a block together, warp functions the lanes of a warp.
enum level { LEVEL_BLOCK, LEVEL_WARP };
// A statement that all threads have to come to by the same way, those of the block or those of a warp.
bool statement_structural(const struct statement *s, bool tail, enum level level);
// Of a statement in a list: no barrier comes after it, and where it has one itself, nothing at all.
bool list_tail(const struct statement *s, bool tail, enum level level);

// What changes variables, so far as the text tells; k->modified.
void kernel_find_modifications(struct kernel *k);
bool kernel_modifies(const struct kernel *k, const struct variable *v);
bool kernel_unary(const struct tokens *t, int i); // a sign that has no operand on its left
// No macro names a variable of the kernel's; false: k->why_not.
bool kernel_macros_are_clear(struct kernel *k);

// ---- compile/flatten.c ----

// No warp function in an expression, no call of a function that waits.
bool kernel_is_flat(const struct kernel *k);
// The kernel with all of that as statements of its own; false: k->why_not. `in` is the text that the kernel is from.
bool kernel_flatten(struct tokens *t, struct kernel *k, const struct text *in, bool program, struct text *out);

// Which variables are what; false: k->why_not.
bool kernel_classify(struct kernel *k);
// The same value in all threads, and nothing but a value; `thread`: threadIdx may be in it.
bool kernel_pure(const struct kernel *k, struct range where, bool thread);

// ---- compile/configured.c ----

// The text, in which a call of a kernel without <<<>>> is an error to the compiler. False: it has none, and is as it was; otherwise
// -Wdeprecated-declarations must be ignored from its beginning.
bool mark_calls_of_kernels(const struct text *in, struct text *out, bool program);

// ---- compile/split.c ----

// The text with each kernel that can be split in two versions. `told`: of a file that is
// to be inspected, whose loops tell of each thread's turn.
void split_kernels(const struct text *in, struct text *out, bool program, bool told);

#endif
