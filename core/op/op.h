// SPDX-License-Identifier: MIT
// An op is one record: how its output looks, its kernels, its backward. The dispatcher (dispatch.c) reads it.
//
// A call goes down once, from the op's public function through the dispatcher to a kernel:
//
//   1. the public function fills in `params` and calls fy_run, fy_run_multi or fy_run_in_place with its record;
//   2. the dispatcher casts the inputs, in a region of autocast, as the record says, and finds the device that they share;
//   3. the record's infer checks shapes and dtypes, and describes: the outputs (fy_call_output and its like), and the inputs
//      that the kernel wants in another dtype or row-major (fy_call_cast, fy_call_contiguous). It allocates and computes
//      nothing;
//   4. the dispatcher makes the outputs. It copies the inputs that are not as the kernel wants them, by the copy kernel
//      alone, and so it does with an output that the kernel cannot write as it is: no public function, no graph and no
//      version counter takes part in that;
//   5. the kernel runs;
//   6. when a gradient is wanted, a node is left behind for backward: the record's save says what it keeps.
//
// To add an op: its record and CPU kernel in a .c of its family's folder, its CUDA kernel in the .cu beside it, a prototype in
// ops.h, and a row in ops.def.
#ifndef FERRY_OP_OP_H
#define FERRY_OP_OP_H

#include "graph/history.h"
#include "op/launch.h"
#include "tensor/impl.h"
#include <stdatomic.h>

typedef struct FyOpCall FyOpCall;
typedef struct FyOp FyOp;

enum {
  FY_OP_VIEW = 1, // no kernel: output 0 is an alias of in[0] (fy_call_view)
  FY_OP_CPU_HALF_AS_FLOAT =
      2,                  // on the CPU, float16 and bfloat16 run as float32: inputs cast up, outputs cast down; but
                          // see cpu_bfloat16
  FY_OP_DEVICE_FIRST = 4, // a mismatch of devices is told before one of shapes or dtypes, as mm does
  FY_OP_NO_GRAD = 8,      // never recorded
  FY_OP_WEIGHTED = 16,    // in[0] is input, in[1] weight: a mismatch of devices is told by their types, as conv2d does
  FY_OP_ONE_OF_SEVERAL = 32, // a view made by a function that returns several
  FY_OP_OVERLAP = 64,        // in place also on a tensor whose elements share memory: the result is the same for all
};

// What autocast does with the floating inputs of an op, float64 ones excepted, before infer sees them (autocast.c).
typedef enum FyAutocastRule {
  FY_AUTOCAST_NONE,           // nothing: they are as they are
  FY_AUTOCAST_LOWER,          // casts them to the region's dtype
  FY_AUTOCAST_FLOAT32,        // casts them to float32
  FY_AUTOCAST_FLOAT32_INSIDE, // the op is computed in float32 and its result stays so: no cast is recorded, in[0] only
  FY_AUTOCAST_WIDEST,         // casts them to float32 if one is, and leaves them in the region's dtype if all are
} FyAutocastRule;

#define FY_AUTOCAST_EVERYWHERE(rule)                                                                                   \
  { [FY_CPU] = (rule), [FY_CUDA] = (rule) }

// What infer says of an output.
typedef struct FyOutput {
  uint8_t dtype;    // of the result; FY_DEFAULT_DTYPE: there is no such output
  uint8_t computed; // what the kernel writes: the same, unless it is converted afterwards
  bool strided;     // `stride` holds; row-major otherwise
  bool pinned;      // in memory that CUDA copies to by itself
  int ndim;
  int64_t shape[FY_MAX_DIM], stride[FY_MAX_DIM];
  int64_t offset; // a view's, in elements from in[0]'s first
} FyOutput;

// A call of an op on its way through the dispatcher.
struct FyOpCall {
  const FyOp *op;
  const void *params;
  FyTensor *const *in;           // as they were given; the kernel may see copies
  FyTensor *out[FY_MAX_OUTPUTS]; // made after infer, but for out[0] of a call in place
  int n_in, n_out;
  FyDevice device; // where it runs
  bool in_place;   // out[0] is given by the caller and aliases in[0]
  FyTensor *const
      *places; // [n_out] tensors in whose memory outputs are to lie that are like them; NULL, and so may each be

  // What infer asked for.
  FyOutput *output;              // [n_out]
  uint8_t copied;                // bit i: the kernel gets a row-major copy of in[i], of dtype wanted[i]
  uint8_t aside;                 // bit i: the kernel writes elsewhere, and that is copied into out[i]
  uint8_t wanted[FY_MAX_INPUTS]; // dtypes
  bool crosses;                  // the last input lies on another device: op->cross runs instead of a kernel
};

struct FyOp {
  const char *name;      // "add", as in messages
  const char *grad_name; // "AddBackward0": what grad_fn=<...> shows
  unsigned flags;
  uint8_t autocast[FY_CUDA + 1]; // by the type of an input's device: FyAutocastRule

  // Checks shapes and dtypes (raises PyTorch's errors) and describes every output and what the kernel wants of the inputs,
  // by the functions below.
  void (*infer)(FyOpCall *call);

  // On the CPU: raises for an element that the kernel must not meet, an index out of range. Called after infer, which looks at no
  // elements, and before every run of a recorded call. NULL: it meets all.
  void (*check)(const void *params, const FyArray *const *in);

  // The CPU kernel. The CUDA kernel is fy_cuda_<name>, found through the backend by `id`. NULL for views.
  FyKernel *cpu;

  // For ops with several kernels, in benchmark mode (benchmark.h): runs `kernel` on the launch with the fastest of its
  // algorithms, for which it may run it several times (fy_launch_alone). Returns what a kernel returns, and raises nothing.
  // NULL: there is nothing to choose.
  int (*choose)(FyLaunch *launch, FyKernel *kernel, FyDevice device);

  // With FY_OP_CPU_HALF_AS_FLOAT: whether the CPU kernel takes the bfloat16 arrays of this call, described already, as they
  // are. It reads and writes them; between the two it computes in float32, and rounds once. NULL: it never does.
  bool (*cpu_bfloat16)(const FyOpCall *call);

  // For copies alone, whose inputs may lie on different devices: brings the bytes of the last input into out[0], both
  // row-major and of one dtype and number of elements. It gets the call as a kernel would, with in and out prepared.
  void (*cross)(const FyOpCall *call);

  // What backward will need: fy_save_input, fy_save_output on `node`; params are copied into node->params by the
  // dispatcher. May be NULL.
  void (*save)(FyOpCall *call, FyNode *node);

  // Gradients of the inputs from those of the outputs: grad_in[i] for each i with fy_node_needs(node, i), NULL where the
  // gradient is zero. It computes with ordinary ops, with grad mode off. Shape and dtype need not be reduced to the
  // input's: the engine sums broadcast dimensions away and casts. grad_out[i] is NULL for an output nobody used.
  void (*backward)(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in);

  // What a launch does, where it is not what fy_cost_of takes an op for: bytes, operations, a product. `cost` holds that
  // already. Never raises.
  void (*cost)(const FyLaunch *launch, FyOpCost *cost);

  size_t params_size;
  int id; // FY_OP_ID_<name>

  // When the name depends on the call (its shapes, its params); NULL: grad_name.
  const char *(*grad_name_of)(const FyNode *node);
};

// Runs a kernel once on what another launch describes, with workspaces of its own that are freed after it. For `choose`.
int fy_launch_alone(const FyLaunch *launch, FyKernel *kernel);

// Whether ops with several algorithms look for the fastest: benchmark mode is on, and deterministic mode is off.
bool fy_is_benchmarking(void);

// ---- for the public functions of an op -------------------------------------------------------------------------------

// Runs the op on `inputs` and returns output 0, owned by the innermost scope. `params` (of op->params_size bytes) is copied.
FyTensor *fy_run(const FyOp *op, const void *params, int n_in, FyTensor *const *inputs);

// The same with several outputs stored in `outputs`.
void fy_run_multi(const FyOp *op, const void *params, int n_in, FyTensor *const *inputs, int n_out, FyTensor **outputs);

// Runs it in place: the result is written into inputs[0], which is returned. Checks leaves, broadcasting and result type,
// bumps the version counter, rewrites the history.
FyTensor *fy_run_in_place(const FyOp *op, const void *params, int n_in, FyTensor *const *inputs);

// Both with the outputs in memory that is there already, wherever `place` (places[k], for output k) is given and has the
// output's dtype, shape and device, row-major: the output is a tensor of its own, without a history, on that memory. What lay
// there before is overwritten, and no version counted. Elsewhere the output gets memory of its own.
FyTensor *fy_run_into(const FyOp *op, const void *params, int n_in, FyTensor *const *inputs, FyTensor *place);
void fy_run_multi_into(const FyOp *op, const void *params, int n_in, FyTensor *const *inputs, int n_out,
                       FyTensor **outputs, FyTensor *const *places);

#define FY_INPUTS(...)                                                                                                 \
  (int)(sizeof((FyTensor *[]){__VA_ARGS__}) / sizeof(FyTensor *)), (FyTensor *const[]) {                               \
    __VA_ARGS__                                                                                                        \
  }

// ---- for infer -------------------------------------------------------------------------------------------------------

// Output `index` is a new row-major tensor on call->device; or, in place, the target, which is checked: its shape, and that
// the dtype can be cast to its own.
void fy_call_output(FyOpCall *call, int index, FyDType dtype, int ndim, const int64_t *shape);

// The same in memory of another order, without gaps. Not in place.
void fy_call_output_strided(FyOpCall *call, int index, FyDType dtype, int ndim, const int64_t *shape,
                            const int64_t *stride);

// Output 0 is an alias of in[0], `offset` elements from its first: for views.
void fy_call_view(FyOpCall *call, int ndim, const int64_t *shape, const int64_t *stride, int64_t offset);

// The kernel writes output 0, described already, row-major only: a target laid out otherwise is written aside. What it
// finds there are the target's old values only if in[0] is asked for row-major too.
void fy_call_output_contiguous(FyOpCall *call);

// torch.result_type of the tensors given: dimensioned tensors before 0-dim ones before wrapped numbers, by category.
FyDType fy_result_type(int n, FyTensor *const *tensors);

// The kernel gets in[i] in this dtype. NULL inputs stay NULL.
void fy_call_cast(FyOpCall *call, int i, FyDType dtype);

// The kernel gets in[i] row-major.
void fy_call_contiguous(FyOpCall *call, int i);

// Pointwise ops with n inputs: promotes (to_float: integers become float32), broadcasts, and describes out[0] of the common
// dtype, or of `out_dtype` when that is not FY_DEFAULT_DTYPE. Inputs keep their own shapes; the kernel broadcasts.
void fy_infer_pointwise(FyOpCall *call, bool to_float, FyDType out_dtype);

// in[i], where it is given, has to lie on call->device itself: for kernels that read their own device only, where a 0-dim CPU
// tensor, which the dispatcher lets stand beside CUDA ones, is no good.
void fy_call_own_device(const FyOpCall *call, int i);

// For cpu_bfloat16: whether all inputs are bfloat16 as they were given, so that none has to be rounded first.
bool fy_all_bfloat16(const FyOpCall *call);

// '"softmax" not implemented for 'Long''.
_Noreturn void fy_raise_not_implemented(const char *op, FyDType dtype);

// ---- cost (cost.c) -------------------------------------------------------------------------------------------------------

// What a launch does, from the sizes of its arrays: by its record's `cost`, or else that it reads each input and writes each
// output once, with one operation for each element of output 0. Never raises.
FyOpCost fy_cost_of(const FyOp *op, const FyLaunch *launch);

// For records' `cost`: ops that read nothing; whose flops PyTorch counts.
void fy_cost_fill(const FyLaunch *launch, FyOpCost *cost);
void fy_cost_counted(const FyLaunch *launch, FyOpCost *cost);

// That it is a product, or several, and its flops.
void fy_cost_product(const FyLaunch *launch, FyOpCost *cost, double m, double n, double k, double batch);

// ---- preparing (dispatch.c) ----------------------------------------------------------------------------------------------

// A row-major copy on the same device, owned by the innermost scope, by the copy's kernel alone: no call that an observer
// sees, and no history.
FyTensor *fy_copy_of(FyTensor *t, FyDType dtype);

// For trace/, whose plans run kernels without a call. After infer: asks for what the kernel wants besides, of half types on the
// CPU. Runs a kernel on a CUDA device, on its current stream, and returns what it returns. Raises for what a kernel returned;
// `first` is its first input, or NULL.
void fy_call_widen(FyOpCall *call);
int fy_launch_on_cuda(const FyOp *op, int device, FyLaunch *launch);
void fy_launch_check(const FyOp *op, const FyArray *first, int result);

// ---- autocast (autocast.c) -----------------------------------------------------------------------------------------------

// Is autocast on in this thread, for either device type?
extern _Thread_local bool fy_autocast_on;

// The inputs of an op as autocast wants them: `in` itself, or `cast` filled in, whose tensors belong to the innermost scope or
// to the cache. *recorded says whether the op's node leads to them, or to `in`. May raise.
FyTensor *const *fy_autocast_inputs(const FyOp *op, int n_in, FyTensor *const *in, FyTensor **cast, bool *recorded);

// The dtype that an op's kernel would get `t` in, for functions that choose among ops. Never raises.
FyDType fy_autocast_dtype_of(const FyOp *op, const FyTensor *t);

// FY_AUTOCAST_WIDEST of tensors on one type of device: the dtype, or FY_DEFAULT_DTYPE where autocast is off for it. Raises
// FY_RUNTIME_ERROR where one is of the half type that the region does not use, as PyTorch does.
FyDType fy_autocast_widest(int device_type, int n, FyTensor *const *tensors);

// ---- recording (record.c) ------------------------------------------------------------------------------------------------

// For `save`: keep input i / output i of the call for backward. The old value of a tensor that is changed in place is kept
// as a copy. May raise FY_OUT_OF_MEMORY_ERROR.
void fy_save_input(FyNode *node, FyOpCall *call, int i);
void fy_save_output(FyNode *node, FyOpCall *call, int i);

// Keeps nothing in the next place, so that what an op saves has the same place however many inputs need a gradient.
static inline void fy_save_nothing(FyNode *node) {
  fy_node_save(node, NULL, -1, -1, false);
}
static inline void fy_save_input_if(bool needed, FyNode *node, FyOpCall *call, int i) {
  if (needed)
    fy_save_input(node, call, i);
  else
    fy_save_nothing(node);
}

// For a backward that needs nothing where PyTorch's op saves something: the record saves nothing, in place 0, and a second
// backward is an error all the same.
static inline void fy_check_not_released(FyNode *node) {
  fy_saved(node, 0);
}

// Leaves a node behind out[...] whose edges lead to `inputs`, the call's as they were given. May raise.
void fy_record(FyOpCall *call, FyTensor *const *inputs);

// The same for a call in place, in two parts: what is needed of the old value is saved before the kernel runs, and the
// target's history begins anew with the op after it has run and the version was counted on.
FyNode *fy_record_change(FyOpCall *call, FyTensor *const *inputs);
void fy_record_changed(FyTensor *target, FyNode *node);

// ---- the table ---------------------------------------------------------------------------------------------------------

enum {
#define FY_OP(name) FY_OP_ID_##name,
#define FY_VIEW(name) FY_OP_ID_##name,
#include "op/ops.def"
#undef FY_OP
#undef FY_VIEW
  FY_OP_COUNT
};

#define FY_OP(name) extern const FyOp fy_op_##name;
#define FY_VIEW(name) extern const FyOp fy_op_##name;
#include "op/ops.def"
#undef FY_OP
#undef FY_VIEW

extern const FyOp *const fy_ops[FY_OP_COUNT];

// Hooks around each call of an op, as torch::RecordFunction has: profiler/ and trace/ register theirs, and tests. Each function may be
// NULL. `self` is the registered struct, which stays valid until the program ends or, if no other thread runs ops, until it is removed.
typedef struct FyOpHooks FyOpHooks;
struct FyOpHooks {
  // Before anything is checked; op, in, n_in and in_place hold. Must not raise.
  void (*begin)(FyOpHooks *self, const FyOpCall *call);
  // Before the kernel runs, or when a view is made; all of `call` holds. Not for the copies that prepare a call. May raise.
  void (*kernel)(FyOpHooks *self, const FyOpCall *call);
  // Before a call in place changes in[0]. May raise.
  void (*before_change)(FyOpHooks *self, const FyOpCall *call);
  // The result is there. `given` is call->in before autocast. May raise.
  void (*after)(FyOpHooks *self, const FyOpCall *call, FyTensor *const *given);
  // The call is done, unless it raised. Must not raise.
  void (*end)(FyOpHooks *self, const FyOpCall *call);
  FyOpHooks *_Atomic next; // the list's
};

// For the calls of all threads. A hook that was added last runs first. Adding or removing is safe while other threads run ops: a call
// that has begun may still run hooks that were removed meanwhile, so `hooks` must stay valid as long as such calls run. Neither raises.
void fy_op_hooks_add(FyOpHooks *hooks);
void fy_op_hooks_remove(FyOpHooks *hooks);

// For the calls of this thread: a tracer's. NULL: none.
extern _Thread_local FyOpHooks *fy_thread_op_hooks;

#endif
