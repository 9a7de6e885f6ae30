// SPDX-License-Identifier: MIT
// prove-races: tries to prove that a kernel has no data race in any launch, by an SMT solver (Z3).
//
// clang compiles the kernel to LLVM's intermediate representation (llvm.c). Two threads are modelled. A *region* is what a thread may
// execute between two barriers (region.c), cut into *segments*, which contain no barrier (flow.c). Each access in a region has an
// address, a base and a polynomial over *symbols* (value.c, poly.c), and a condition under which it is reached. For each two accesses of
// a region, and for each two accesses of different blocks, the solver is asked whether both can touch the same byte (check.c, solver.c).
// The method follows GPUVerify's two-thread reduction (Betts et al., OOPSLA 2012).
//
// Invariant: what is not understood either becomes an unconstrained symbol, which permits more executions than there are, or ends the
// attempt (not_tried). Assumed, and said with each proof: arrays do not overlap, no index is out of bounds, no arithmetic overflows
// upwards (value.c: normalize), and a grid has fewer than 2^31 threads along each axis.
#ifndef PROVE_H
#define PROVE_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdbool.h>
#include <stdint.h>

// After "proved".
#define EQUAL_WRITES ", apart from writes of the same constant"
enum { EXIT_PROVED, EXIT_RACE, EXIT_NOT_PROVED, EXIT_NOT_TRIED, EXIT_NO_TOOLS };
__extension__ typedef __int128 wide;

// ---- main.c ----
typedef struct Options {
  const char *file, *kernel, *flags[64];
  int flag_count;
  int grid[3], block[3];              // 0: any
  int grid_axes, block_axes;          // along which there may be more than one block or thread
  int milliseconds, all_milliseconds; // for each question; for all
  bool verbose;
} Options;
extern Options options;

_Noreturn void not_tried(const char *why, ...) __attribute__((format(printf, 1, 2)));
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *allocate(size_t bytes);

// ---- llvm.c ----
LLVMValueRef load_kernel(void);
extern LLVMTargetDataRef layout;
int line_of(LLVMValueRef instruction);
const char *callee_of(LLVMValueRef call); // "": an unknown function
bool is_pure(LLVMValueRef call);          // computes something from its arguments, or does nothing
bool is_barrier(LLVMValueRef instruction);
// threadIdx.y: "tid", 1.
const char *special_register(LLVMValueRef instruction, int *axis);
bool is_atomic(LLVMValueRef instruction);

// ---- poly.c: symbols, and polynomials over them ----
// A symbol has one value per launch, per block or per thread. In text, '%' follows the name of a symbol of a block, and '@' that of one
// of a thread: solver.c replaces them by the thread's number.
typedef enum Scope { PER_LAUNCH, PER_BLOCK, PER_THREAD } Scope;
typedef struct Symbol {
  char name[24];
  Scope scope;
  bool is_condition, counts; // counts: the iterations of a loop
  wide low, high;
  const char *rule;  // what holds of it; NULL: only its range
  const char *shown; // in a counterexample; NULL: not
} Symbol;
enum { MAX_SYMBOLS = 20000, DEGREE = 5, MAX_TERMS = 40 };
extern Symbol symbols[MAX_SYMBOLS];
extern int symbol_count;

typedef struct Term {
  long long factor;
  int symbols[DEGREE]; // ascending, then 0
} Term;
typedef struct Poly {
  int count;
  Term terms[MAX_TERMS];
} Poly;

int new_symbol(Scope scope, wide low, wide high, const char *rule);
int new_condition(Scope scope);
Poly poly_constant(long long value);
Poly poly_symbol(int symbol);
Poly poly_add(const Poly *a, const Poly *b, long long factor); // a + factor b
Poly poly_multiply(const Poly *a, const Poly *b);
bool poly_is_constant(const Poly *p, long long *value);
bool poly_equal(const Poly *a, const Poly *b);
bool poly_is_multiple(const Poly *p, long long of);
Poly poly_divide(const Poly *p, long long by); // exactly
void poly_range(const Poly *p, wide *low, wide *high);
Scope poly_scope(const Poly *p);
const char *poly_text(const Poly *p);
const char *number_text(wide value);
Scope text_scope(const char *text);

// ---- machine.c: threadIdx and its like ----
void make_launch_symbols(void);
Poly launch_value(const char *what, int axis);
int launch_symbol(const char *what, int axis); // 0: fixed
// bid * bdim + tid is the thread's number along the axis, one symbol.
void poly_fold(Poly *p);

// ---- flow.c ----
enum { MAX_SEGMENTS = 700, MAX_LOOPS = 100 };
typedef struct Segment {
  LLVMBasicBlockRef block;
  LLVMValueRef first, last; // instructions; last is a barrier or the terminator
  bool barrier;             // at its end
  int next[64], next_count, before[128], before_count;
} Segment;
typedef struct Loop {
  int header;
  bool in[MAX_SEGMENTS], barrier;
} Loop;
extern Segment segments[MAX_SEGMENTS];
extern int segment_count, loop_count;
extern Loop loops[MAX_LOOPS];
extern bool dominates[MAX_SEGMENTS][MAX_SEGMENTS];
void analyze_flow(LLVMValueRef kernel);
int segment_of(LLVMValueRef instruction);
Loop *loop_at(int header);             // NULL: no header
bool control_is_uniform(int segment);  // all threads of the block execute it, or none
bool value_is_uniform(LLVMValueRef v); // the same in all threads of a block
// By any access that this argument's pointer may lead to, or by one that it leads to at once.
bool is_written(LLVMValueRef argument);
bool is_written_directly(LLVMValueRef argument);
LLVMValueRef origin_of(LLVMValueRef pointer);

// ---- value.c ----
typedef struct Value {
  enum { NUMBER, CONDITION, POINTER, OTHER } kind;
  Poly number;      // or the offset of a pointer, in bytes
  const char *text; // of a condition; of a pointer, what is assumed of its indices
  const char *base; // of a pointer
} Value;
typedef struct Region Region;
Value evaluate(Region *r, int context, LLVMValueRef v);
Poly normalize(const Poly *p, int width, bool is_signed);
Value opaque(LLVMTypeRef type, Scope scope);
Value choose(const char *condition, const Value *a, const Value *b, LLVMTypeRef type);
Value combine(const Value *values, const char **conditions, int count, LLVMTypeRef type, Scope scope);
int width_of(LLVMTypeRef type);
Value number_value(Poly p);
Value condition_value(const char *text);
// arithmetic.c
Value arithmetic(LLVMOpcode opcode, const Value *a, const Value *b, int width);
const char *comparison(LLVMIntPredicate predicate, const Value *a, const Value *b, int width);

// ---- region.c ----
enum { BEFORE = -1, MAX_NODES = 3000, MAX_CONTEXTS = 100 };
typedef struct Node {
  int segment, context, condition;
  int before[128], before_count; // nodes
} Node;
struct Region {
  int start; // segment
  Node *nodes;
  int node_count;
  struct {
    int parent, from, to;
  } contexts[MAX_CONTEXTS];
  int context_count;
  struct Memo *memo[1024];
};
Region *make_region(int start);
int region_node(const Region *r, int segment, int context);
int region_version(const Region *r, int segment, int context);
const char *edge_text(Region *r, int node_before, int segment);
const char *edge_condition(Region *r, int context, int from, int to);
bool in_cycle(const Region *r, int segment, int version);
Value evaluate_phi(Region *r, int version, LLVMValueRef phi);

// ---- solver.c ----
typedef enum Answer { UNSATISFIABLE, SATISFIABLE, UNKNOWN } Answer;
void start_solver(void);
bool is_late(void);
// `first` holds of thread 1, `second` of thread 2, `both` is written with both.
Answer ask(const char *first, const char *second, const char *both, bool same_block, bool small);
const char *instance_of(const char *text, int thread, bool same_block);
const char *model_value(int symbol, int thread, bool same_block);

// ---- check.c ----
int check_kernel(LLVMValueRef kernel);

#endif
