// A node of the graph that backward walks: for core/ only.
#ifndef FERRY_AUTOGRAD_NODE_H
#define FERRY_AUTOGRAD_NODE_H

#include "autograd/autograd.h"
#include "op/launch.h"
#include "tensor/impl.h"

typedef struct FyNode FyNode;
struct FyOp;

// Where the gradient of an input goes: input `index` of `node`. A NULL node: nowhere.
typedef struct FyEdge {
  FyNode *node;
  int index;
} FyEdge;

// A tensor kept for backward, with the version, dtype and device it had.
typedef struct FySaved {
  FyTensor *tensor;
  uint32_t version;
  int8_t output_index; // of this node's own output, or -1 for an input
  uint8_t dtype;
  FyDevice device;
} FySaved;

// What the engine needs to know of a tensor to check, reduce and cast the gradient that flows to it.
typedef struct FyMeta {
  int16_t ndim;
  uint8_t dtype;
  FyDevice device;
  int64_t shape[FY_MAX_DIM];
} FyMeta;

typedef struct FyHook {
  struct FyHook *next;
  FyGradHook hook;
  FyLeafHook leaf_hook; // one of the two
  void *context;
  void (*free_context)(void *);
  int output_index;
} FyHook;

enum { FY_MAX_SAVED = 6 };

struct FyNode {
  atomic_int references;
  const struct FyOp *op; // NULL: AccumulateGrad of `leaf`
  uint64_t sequence;     // creation order: backward runs the latest ready node first
  int n_in, n_out;
  size_t bytes;    // of all of it
  FyEdge *next;    // [n_in]
  FyMeta *inputs;  // [n_in] of the forward's inputs
  FyMeta *outputs; // [n_out]
  FySaved saved[FY_MAX_SAVED];
  int n_saved;
  bool released;    // saved tensors are gone: a second backward is an error
  FyTensor *leaf;   // AccumulateGrad: counted
  FyStream *stream; // the forward's stream, counted; NULL on the CPU
  FyHook *hooks;
  FyNode *inner;    // CopySlices: the in-place op on the view, counted
  const char *file; // the forward call, for anomaly mode
  int line;
  _Alignas(16) unsigned char params[]; // of the op's own struct; the arrays above lie behind them
};

// True when input i of the forward needs a gradient.
static inline bool fy_node_needs(const FyNode *node, int i) {
  return node->next[i].node != NULL;
}

// Keep input i / output i of the forward for backward.
struct FyCall;
void fy_save_input(FyNode *node, struct FyCall *call, int i);
void fy_save_output(FyNode *node, struct FyCall *call, int i);

// The k-th saved tensor, borrowed; raises PyTorch's errors when it was released or changed in place. NULL if saved as NULL.
// A parameter whose module was converted or moved since (fy_module_to) comes as a copy of the forward's dtype and device.
FyTensor *fy_saved(FyNode *node, int k);

#define fy_node_params(node, type) ((const type *)(const void *)(node)->params)

// The edge that leads to t's history: its grad_fn, or a leaf's accumulator; a NULL node when t needs no gradient. Counted.
FyEdge fy_gradient_edge(FyTensor *t);

// The leaf has got another dtype or device: graphs made from now on have an accumulator of their own. Those made before
// keep theirs, and give gradients of the dtype and on the device that the leaf had. Never raises.
void fy_forget_accumulator(FyTensor *leaf);

// A tensor with retain_grad() goes away: its grad_fn must not write into it any more.
void fy_forget_retained(FyTensor *t);

void fy_free_hooks(FyHook *hook);

FyNode *fy_node_retain(FyNode *node);
void fy_node_release(FyNode *node);

// Gives up what the node saved; a second backward through it is then an error.
void fy_node_release_saved(FyNode *node);

// Records the call: a node behind out[...] whose edges lead to the inputs. Used by the dispatcher.
void fy_record(struct FyCall *call, FyTensor *const *inputs);

// The same for a call in place: the target's history now begins with this op. fy_check_in_place raises when a recorded
// change of the target is not allowed (a leaf that requires grad).
void fy_record_in_place(struct FyCall *call, FyTensor *const *inputs);
void fy_check_in_place(const FyTensor *target);

// The name that grad_fn=<...> shows.
const char *fy_node_name(const FyNode *node);

#endif
