// An op is one record: how its output looks, its kernels, its backward. The dispatcher (dispatch.c) reads it.
//
// To add an op: its record and CPU kernel in a .c of this folder, its CUDA kernel in the .cu beside it, a prototype in
// ops.h, and a row in ops.def.
#ifndef FERRY_OP_OP_H
#define FERRY_OP_OP_H

#include "graph/history.h"
#include "op/launch.h"
#include "tensor/impl.h"

typedef struct FyCall FyCall;
typedef struct FyOp FyOp;

enum {
  FY_OP_VIEW = 1,              // no kernel: infer makes the output as an alias of in[0]
  FY_OP_CPU_HALF_AS_FLOAT = 2, // on the CPU, float16 and bfloat16 run as float32: inputs cast up, outputs cast down
  FY_OP_ANY_DEVICE = 4,        // inputs may be on several devices (copies)
  FY_OP_NO_GRAD = 8,           // never recorded
  FY_OP_ONE_OF_SEVERAL = 32,   // a view made by a function that returns several
  FY_OP_OVERLAP = 64,          // in place also on a tensor whose elements share memory: the result is the same for all
  FY_OP_WEIGHTED = 16, // in[0] is input, in[1] weight: a mismatch of devices is told by their types, as conv2d does
};

typedef enum FyAutocastRule {
  FY_AUTOCAST_NONE,
  FY_AUTOCAST_LOWER,
  FY_AUTOCAST_FLOAT32,
  FY_AUTOCAST_WIDEST
} FyAutocastRule;

// A call of an op on its way through the dispatcher.
struct FyCall {
  const FyOp *op;
  const void *params;
  FyTensor *in[FY_MAX_INPUTS]; // infer may replace them (promoted, made contiguous, expanded)
  FyTensor *out[FY_MAX_OUTPUTS];
  int n_in, n_out;
  FyDevice device;  // where it runs
  bool in_place;    // out[0] is given by the caller and aliases in[0]
  FyTensor *target; // in place: the tensor that the caller wants changed
};

struct FyOp {
  const char *name;      // "add", as in messages
  const char *grad_name; // "AddBackward0": what grad_fn=<...> shows
  unsigned flags;
  FyAutocastRule autocast;

  // Checks shapes and dtypes (raises PyTorch's errors) and makes every output by fy_call_output. For an in-place call
  // out[0] stands already: fy_call_output then checks it and keeps it.
  void (*infer)(FyCall *call);

  // The CPU kernel. The CUDA kernel is fy_cuda_<name>, found through the backend by `id`. NULL for views.
  FyKernel *cpu;

  // What backward will need: fy_save_input, fy_save_output on `node`; params are copied into node->params by the
  // dispatcher. May be NULL.
  void (*save)(FyCall *call, FyNode *node);

  // Gradients of the inputs from those of the outputs: grad_in[i] for each i with fy_node_needs(node, i), NULL where the
  // gradient is zero. It computes with ordinary ops, with grad mode off. Shape and dtype need not be reduced to the
  // input's: the engine sums broadcast dimensions away and casts. grad_out[i] is NULL for an output nobody used.
  void (*backward)(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in);

  size_t params_size;
  int id; // FY_OP_ID_<name>

  // When the name depends on the call (its shapes, its params); NULL: grad_name.
  const char *(*grad_name_of)(const FyNode *node);
};

// ---- for the public functions of an op -------------------------------------------------------------------------------

// Runs the op on `inputs` and returns output 0, owned by the innermost scope. `params` (of op->params_size bytes) is copied.
FyTensor *fy_run(const FyOp *op, const void *params, int n_in, FyTensor *const *inputs);

// The same with several outputs stored in `outputs`.
void fy_run_multi(const FyOp *op, const void *params, int n_in, FyTensor *const *inputs, int n_out, FyTensor **outputs);

// Runs it in place: the result is written into inputs[0], which is returned. Checks leaves, broadcasting and result type,
// bumps the version counter, rewrites the history.
FyTensor *fy_run_in_place(const FyOp *op, const void *params, int n_in, FyTensor *const *inputs);

#define FY_INPUTS(...)                                                                                                 \
  (int)(sizeof((FyTensor *[]){__VA_ARGS__}) / sizeof(FyTensor *)), (FyTensor *const[]) {                               \
    __VA_ARGS__                                                                                                        \
  }

// ---- for infer -------------------------------------------------------------------------------------------------------

// Makes output `index` (row-major, uninitialised, on call->device), or checks the one given in place.
void fy_call_output(FyCall *call, int index, FyDType dtype, int ndim, const int64_t *shape);

// torch.result_type of the tensors given: dimensioned tensors before 0-dim ones before wrapped numbers, by category.
FyDType fy_result_type(int n, FyTensor *const *tensors);

// Replaces call->in[i] by its copy of another dtype when it has not got it (no autograd: the engine casts back).
void fy_call_cast(FyCall *call, int i, FyDType dtype);

// Replaces call->in[i] by a row-major copy when it is not contiguous.
void fy_call_contiguous(FyCall *call, int i);

// Pointwise ops with n inputs: promotes (to_float: integers become float32), broadcasts, and makes out[0] of the common
// dtype, or of `out_dtype` when that is not FY_DEFAULT_DTYPE. Inputs keep their own shapes; the kernel broadcasts.
void fy_infer_pointwise(FyCall *call, bool to_float, FyDType out_dtype);

// '"softmax" not implemented for 'Long''.
_Noreturn void fy_raise_not_implemented(const char *op, FyDType dtype);

// ---- recording (record.c) ------------------------------------------------------------------------------------------------

// For `save`: keep input i / output i of the call for backward. The old value of a tensor that is changed in place is kept
// as a copy. May raise FY_OUT_OF_MEMORY_ERROR.
void fy_save_input(FyNode *node, FyCall *call, int i);
void fy_save_output(FyNode *node, FyCall *call, int i);

// Leaves a node behind out[...] whose edges lead to `inputs`, the call's as they were given. May raise.
void fy_record(FyCall *call, FyTensor *const *inputs);

// The same for a call in place, in two parts: what is needed of the old value is saved before the kernel runs, and the
// target's history begins anew with the op after it has run and the version was counted on.
FyNode *fy_record_change(FyCall *call, FyTensor *const *inputs);
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

// Called with every call just before its kernel runs, when set: for tests and profilers.
extern void (*fy_call_observer)(const FyCall *call);

#endif
