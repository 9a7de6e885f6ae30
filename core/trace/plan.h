// SPDX-License-Identifier: MIT
// A plan: a program made ready for one shape of its input. For trace/ only.
//
//   simplify.c   program to program: batch norm goes into the layer before it; what depends on constants alone is computed now
//   plan.c       program to steps: shapes, which ops run as one (fuse.c, fuse_chain.c), kernels and the copies that they ask for
//   memory.c     where each value lies: one arena, shared by values that are never needed at the same time
//   run.c        runs the steps
#ifndef FERRY_TRACE_PLAN_H
#define FERRY_TRACE_PLAN_H

#include "nn/nn.h"
#include "trace/chain.h"
#include "trace/group.h"
#include "trace/program.h"
#include <pthread.h>

typedef enum FyPlace {
  FY_PLACE_NONE,     // computed inside of a group, or by nobody
  FY_PLACE_ARENA,    // at `offset` of the arena
  FY_PLACE_INPUT,    // the module's input
  FY_PLACE_RESULT,   // a new tensor in each run
  FY_PLACE_CONSTANT, // `constant`
} FyPlace;

// A value of the plan: the program's own come first, under the same numbers, then copies that kernels asked for. A view lies where
// its root does.
typedef struct FyPlanValue {
  FyArray array;        // without its address
  FyTensor *constant;   // counted
  int root;             // itself, unless it is a view
  int64_t from_root;    // bytes from the root's first element
  FyPlace place;        // of a root
  size_t bytes, offset; // of a root: in the arena
  int begin, end;       // of a root: the steps between which it is needed
} FyPlanValue;

typedef enum FyStepKind { FY_STEP_KERNEL, FY_STEP_GROUP, FY_STEP_CHAIN } FyStepKind;

typedef struct FyPlanStep {
  FyStepKind kind;
  const char *name; // of the ops that it is, joined by "_"
  const FyOp *op;   // kernel
  void *params;     // its own
  int n_in, n_out;
  int in[FY_MAX_CHAIN_INPUTS], out[FY_MAX_OUTPUTS];
  FyGroup *group;
  FyChain *chain;
  size_t memory; // of groups and chains: where theirs is in a thread's memory, or, without chunks, in that of all
} FyPlanStep;

// What a constant was made of: when a parameter changes, the plan is out of date.
typedef struct FyWatchedState {
  const FyTensor *tensor; // the program holds it
  const FyStorage *storage;
  uint32_t version;
} FyWatchedState;

struct FyRunner;

typedef struct FyPlan {
  FyObject object;
  FyProgram *program; // simplified, counted
  FyDevice device;
  int threads; // for which work is cut
  int value_count, value_capacity, step_count, step_capacity, watched_count;
  FyPlanValue *values;
  FyPlanStep *steps;
  FyWatchedState *watched;
  int input, output;                  // values
  size_t arena_bytes, arena_unshared; // and what it would take if each value had memory of its own
  size_t thread_bytes, shared_bytes;  // of groups and chains: for each thread, and for all threads together
  pthread_mutex_t lock;
  struct FyRunner *idle; // (run.c) runners that no thread is using
} FyPlan;

// The plan of `program` for inputs of this shape on `device`, owned by the innermost scope. Raises what the ops' checks raise for
// it, and FY_OUT_OF_MEMORY_ERROR.
FyPlan *fy_plan_new(const FyProgram *program, FyDevice device, int ndim, const int64_t *shape);

// Whether it still holds: no parameter or buffer has changed or moved, and threads are as many. Never raises.
bool fy_plan_holds(const FyPlan *plan);

// Runs it on a row-major tensor of its shape, dtype and device. The result is a new tensor, owned by the innermost scope. Any number
// of threads. Raises what kernels raise.
FyTensor *fy_plan_run(FyPlan *plan, FyTensor *input);

// The plan that a traced module used last; one for its example if it has not run. Owned by the innermost scope. Raises FY_TYPE_ERROR
// for another module, and as fy_plan_new.
FyPlan *fy_traced_plan(FyModule *traced);

// What run.c keeps with a plan, when it dies.
void fy_runners_free(struct FyRunner *runners);

// ---- between the files of a plan -----------------------------------------------------------------------------------------------

// A program that computes the same in fewer steps; constants[i] (counted) is the tensor of each of its values that is known, NULL
// for the others. Owned by the innermost scope, `constants` by the caller.
FyProgram *fy_program_simplified(const FyProgram *program, FyDevice device, FyTensor ***constants);

// Which step of the program takes each value: -1 for none or the module's output, -2 for several. The array is the caller's.
enum { FY_USED_BY_NONE = -1, FY_USED_BY_SEVERAL = -2 };
int *fy_program_uses(const FyProgram *program);

// What infer says of a call on values of the plan.
typedef struct FyDescribed {
  FyOpCall call;
  FyOutput output[FY_MAX_OUTPUTS];
  FyTensor stand_ins[FY_MAX_INPUTS];
  FyTensor *in[FY_MAX_INPUTS];
} FyDescribed;
void fy_plan_describe(const FyPlan *plan, const FyProgramStep *step, FyDescribed *described);

// Each tries to run several steps from `first` on as one: adds that step, marks the others in `taken` and returns true.
bool fy_fuse_group(FyPlan *plan, int first, const int *uses, bool *taken); // float32 on the CPU
bool fy_fuse_chain(FyPlan *plan, int first, const int *uses, bool *taken); // any dtype on the CPU, float32 on CUDA
bool fy_fuse_ops(FyPlan *plan, int first, const int *uses, bool *taken);   // any device and dtype

// Adds a value or a step, whose params are copied. Raise FY_OUT_OF_MEMORY_ERROR.
int fy_plan_add_value(FyPlan *plan, const FyArray *array);
FyPlanStep *fy_plan_add_step(FyPlan *plan, FyStepKind kind, const FyOp *op, const void *params);

// The kernel of a step of the program, or of one that stands for several, between the copies that it asks for.
void fy_plan_add_kernel(FyPlan *plan, const FyProgramStep *step);

// Row-major, of this shape; without an address.
FyArray fy_plan_array(FyDType dtype, FyDevice device, int ndim, const int64_t *shape);

// `value`, or a row-major copy of it.
int fy_plan_contiguous(FyPlan *plan, int value);

// When all steps are there: fills in place, offset and arena_bytes.
void fy_plan_place(FyPlan *plan);

// Whether no two values that are needed at the same time share memory: for tests.
bool fy_plan_is_sound(const FyPlan *plan);

#endif
