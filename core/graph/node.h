// SPDX-License-Identifier: MIT
// A node of the graph that backward walks: for core/ only.
//
// A forward call that needs gradients leaves a node behind. Its outputs point at it (tensor->grad_fn), and it points at
// the nodes of its inputs (next). Backward follows these edges from a loss down to the leaves, where nodes without a
// function of their own (AccumulateGrad) add what arrives to .grad.
//
// Threads: nodes may be shared by threads, as tensors are. Those that build the graph of one tensor at the same time have
// to take turns; any number may run backward over one graph.
#ifndef FERRY_GRAPH_NODE_H
#define FERRY_GRAPH_NODE_H

#include "tensor/impl.h"

typedef struct FyNode FyNode;

// Gradients of the inputs from those of the outputs; op.h says more, where records name it.
typedef void FyNodeBackward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in);

// Where the gradient of an input goes: input `index` of `node`. A NULL node: nowhere.
typedef struct FyEdge {
  FyNode *node;
  int index;
} FyEdge;

// What is kept in a saved tensor's stead, made by hooks (below): an object, counted.
typedef struct FyPacked {
  FyObject object;
  // The tensor, owned by the innermost scope. May raise.
  FyTensor *(*unpack)(struct FyPacked *packed);
} FyPacked;

// A tensor kept for backward, with the version it had.
typedef struct FySaved {
  FyTensor *tensor;
  FyPacked *packed; // or this instead; then nobody watches the version
  uint32_t version;
  int8_t output, input; // which one of the call's it is; -1: not one of those
  bool is_view;
} FySaved;

// What the engine needs to know of a tensor to check, reduce and cast the gradient that flows to it.
typedef struct FyMeta {
  int16_t ndim;
  uint8_t dtype;
  FyDevice device;
  int64_t shape[FY_MAX_DIM];
} FyMeta;

// A function to call with the gradient of an output, or (leaf_function) with a leaf whose .grad was added to.
typedef struct FyHook {
  struct FyHook *next;
  FyTensor *(*function)(FyTensor *grad, void *context);
  void (*leaf_function)(FyTensor *leaf, void *context); // one of the two
  void *context;
  void (*free_context)(void *);
  int output_index;
} FyHook;

// A tensor with retain_grad(): the gradient of its output is added to its .grad. Not counted: when the tensor goes, it
// takes its entry away (forget_tensor).
typedef struct FyRetained {
  struct FyRetained *next;
  FyTensor *tensor;
} FyRetained;

enum { FY_MAX_SAVED = 6 };

struct FyNode {
  FyObject object;          // op nodes belong to the scope in which they are made, until their outputs hold them
  FyNodeBackward *backward; // NULL: AccumulateGrad of `leaf`, or an op without a derivative
  const char *name;         // "AddBackward0"
  const char *(*name_of)(const FyNode *node); // when the name depends on the call; else NULL
  uint64_t sequence;                          // creation order: backward runs the latest ready node first
  int n_in, n_out;
  size_t bytes;    // of all of it
  FyEdge *next;    // [n_in]
  FyMeta *inputs;  // [n_in] of the forward's inputs
  FyMeta *outputs; // [n_out]
  int n_saved;
  atomic_bool released; // saved tensors are gone: a second backward is an error
  FyTensor *leaf;       // AccumulateGrad: counted
  FyStream *stream;     // the forward's stream, counted; NULL on the CPU
  FyHook *hooks;
  FyRetained *retained;
  FyNode *inner;    // CopySlices: the in-place op on the view, counted
  void *owned;      // an object that the params speak of, counted; NULL: none
  const char *file; // the forward call, for anomaly mode
  int line;
  FySaved saved[FY_MAX_SAVED];         // the first n_saved
  _Alignas(16) unsigned char params[]; // of the op's own struct; the arrays above lie behind them
};

#define fy_node_params(node, type) ((const type *)(const void *)(node)->params)

// True when input i of the forward needs a gradient. Never raises.
static inline bool fy_node_needs(const FyNode *node, int i) {
  return node->next[i].node != NULL;
}

// ---- making and freeing ----------------------------------------------------------------------------------------------

// What an op's record says of its node.
typedef struct FyNodeKind {
  const char *name;
  const char *(*name_of)(const FyNode *node);
  FyNodeBackward *backward;
} FyNodeKind;

// A node without edges, owned by the innermost scope, so that an error on the way frees it. `params` may be NULL.
// Raises FY_OUT_OF_MEMORY_ERROR.
FyNode *fy_node_new(FyNodeKind kind, const void *params, size_t params_bytes, int n_in, int n_out);

// The same for a leaf, owned by the caller.
FyNode *fy_node_new_accumulator(FyTensor *leaf);

// Makes the node the youngest again. Each has to be younger than all that its edges lead to, and taking an edge may have
// made one: the history of a view, written anew. Never raises.
void fy_node_make_youngest(FyNode *node);

// The node runs on the stream that is current on `device` now. May raise.
void fy_node_set_stream(FyNode *node, FyDevice device);

// Notes shape, dtype and device of an input or output (zeros for one not given). Never raises.
void fy_meta_describe(FyMeta *meta, const FyTensor *t);

// Neither raises; `fy_node_release` accepts NULL.
FyNode *fy_node_retain(FyNode *node);
void fy_node_release(FyNode *node);
void fy_free_hooks(FyHook *hook);

// The name that grad_fn=<...> shows. Never raises.
const char *fy_node_name(const FyNode *node);

// ---- saved tensors (saved.c) -------------------------------------------------------------------------------------------

// Keeps `tensor` (or NULL), which is output `output` or input `input` of the call (-1: not one of those), for backward, as
// it is at its present version. `is_view`: it stands for a view. Raises what the thread's hooks raise, none otherwise.
void fy_node_save(FyNode *node, FyTensor *tensor, int output, int input, bool is_view);

// The k-th saved tensor, NULL if saved as NULL; it stays at least until the innermost scope closes. Raises PyTorch's errors
// when it was released or changed in place, and what unpacking raises.
FyTensor *fy_saved(FyNode *node, int k);

// Raises "Trying to backward through the graph a second time ..." when the node has given up what it saved.
void fy_node_check_not_released(const FyNode *node);

// torch.autograd.graph.saved_tensors_hooks: `pack` is called with each tensor that a node of this thread saves, and returns
// what the node keeps instead (the caller's reference is the node's), or NULL: the tensor itself. It may raise: the call that
// was to be recorded then has not been made. NULL: no hooks. A trap restores them; other threads do not inherit them.
typedef struct FySavedHooks {
  FyPacked *(*pack)(struct FySavedHooks *hooks, FyTensor *tensor);
} FySavedHooks;
extern _Thread_local FySavedHooks *fy_saved_hooks;

// Which backward call the thread is in, of all there have been, from 1 on; 0 outside. fy_backward_enter begins another and
// returns the one it is in, to be put back afterwards. Neither raises.
extern _Thread_local uint64_t fy_backward_number;
uint64_t fy_backward_enter(void);

// Gives up what the node saved; a second backward through it is then an error. Never raises.
void fy_node_release_saved(FyNode *node);

#endif
