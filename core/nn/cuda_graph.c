// SPDX-License-Identifier: MIT
// Graphed modules: two graphs each, and a node of autograd that replays them.
#include "nn/cuda_graph.h"
#include "graph/history.h"
#include "nn/impl.h"
#include "op/autocast.h"
#include "tensor/impl.h"
#include <stdlib.h>
#include <string.h>

// Begins as what a node saves (graph/node.h), so that a node can keep it.
typedef struct Graphed {
  FyPacked packed;
  FyGraphedForward forward;
  FyCudaGraph *graphs[2];         // counted: forward, backward
  int count;                      // of inputs: the module's argument, then its parameters
  FyTensor **inputs;              // counted
  FyTensor **grads;               // counted, of the backward graph's pool; NULL for an input without
  FyTensor *output, *grad_output; // counted; the second NULL where the output needs no gradient
} Graphed;

static void destroy(void *object) {
  Graphed *g = object;
  for (int i = 0; i < g->count; i++) {
    fy_release(g->inputs[i]);
    fy_release(g->grads[i]);
  }
  fy_release(g->output);
  fy_release(g->grad_output);
  fy_release(g->graphs[1]);
  fy_release(g->graphs[0]);
  free(g->inputs);
  free(g->grads);
  free(g);
}

static FyTensor *no_tensor(FyPacked *packed) {
  (void)packed;
  return NULL;
}

// ---- calling -----------------------------------------------------------------------------------------------------------

static void set_static(FyTensor *to, FyTensor *from) {
  if (to->array.data != from->array.data)
    fy_no_grad
      fy_copy_(to, from);
}

// The graph is captured once; the node of a call knows which graphs are its own.
static void backward(FyNode *node, FyTensor *const *grad_out, FyTensor **grad_in) {
  fy_node_check_not_released(node);
  const Graphed *g = *fy_node_params(node, Graphed *);
  set_static(g->grad_output, grad_out[0]);
  fy_cuda_graph_replay(g->graphs[1]);
  for (int i = 0; i < g->count; i++)
    if (g->grads[i])
      grad_in[i] = fy_detach(g->grads[i]);
}

static void record(Graphed *g, FyTensor *x, FyTensor *output) {
  const FyNodeKind kind = {.name = "GraphedBackward", .backward = backward};
  FyNode *node = fy_node_new(kind, &g, sizeof g, g->count, 1);
  for (int i = 0; i < g->count; i++) {
    FyTensor *input = i == 0 ? x : g->inputs[i];
    fy_meta_describe(&node->inputs[i], input);
    if (g->grads[i])
      node->next[i] = fy_gradient_edge(input);
  }
  fy_node_make_youngest(node);
  fy_meta_describe(&node->outputs[0], output);
  fy_node_set_stream(node, output->device);
  node->saved[0] = (FySaved){.packed = fy_retain(g), .output = -1, .input = -1};
  node->n_saved = 1;
  fy_set_history(output, node, 0);
}

static void check_input(const Graphed *g, const FyModule *module, const FyTensor *x) {
  const FyTensor *sample = g->inputs[0];
  fy_check(fy_same_shape(&x->array, &sample->array) && x->array.dtype == sample->array.dtype &&
               fy_device_equal(x->device, sample->device),
           FY_RUNTIME_ERROR, "%s was graphed with an input of shape %s, %s, on %s, but got one of shape %s, %s, on %s",
           module->type->name, fy_sizes_of(sample), fy_dtype_name(sample->array.dtype),
           fy_device_name_of(sample->device), fy_sizes_of(x), fy_dtype_name(x->array.dtype),
           fy_device_name_of(x->device));
}

static bool leads_on(const Graphed *g, FyTensor *x) {
  bool any = fy_has_gradient(x);
  for (int i = 1; i < g->count; i++)
    any |= g->grads[i] != NULL;
  return any && g->grad_output && fy_is_grad_enabled();
}

static FyTensor *forward(const FyGraphedForward *self, FyModule *module, FyTensor *x) {
  Graphed *g = (Graphed *)(void *)((char *)(uintptr_t)self - offsetof(Graphed, forward));
  check_input(g, module, x);
  set_static(g->inputs[0], x);
  fy_cuda_graph_replay(g->graphs[0]);
  FyTensor *output = fy_detach(g->output);
  if (leads_on(g, x))
    record(g, x, output);
  return output;
}

// ---- making ------------------------------------------------------------------------------------------------------------

// With what the module computes from: its argument and its parameters.
static Graphed *graphed_new(FyModule *module, FyTensor *sample) {
  const FyTensorList *parameters = fy_parameters_of(module);
  Graphed *g = fy_object_new(sizeof *g, destroy);
  const size_t count = (size_t)parameters->count + 1;
  g->packed.unpack = no_tensor;
  g->forward = (FyGraphedForward){.training = module->training, .forward = forward, .object = &g->packed.object};
  g->inputs = calloc(count, sizeof(FyTensor *));
  g->grads = calloc(count, sizeof(FyTensor *));
  fy_check(g->inputs && g->grads, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a graphed module");
  g->count = (int)count;
  for (int i = 0; i < g->count; i++)
    g->inputs[i] = fy_retain(i == 0 ? sample : parameters->items[i - 1]);
  for (int i = 0; i < 2; i++)
    g->graphs[i] = fy_retain(fy_cuda_graph_new());
  return g;
}

// The gradients of the inputs that need one. Those in `grads`, one for each input, belong to the innermost scope.
static void differentiate(const Graphed *g, FyTensor *output, FyTensor *gradient, bool allow_unused, FyTensor **grads) {
  FyTensor *wanted[g->count], *found[g->count];
  int count = 0;
  for (int i = 0; i < g->count; i++)
    if (fy_has_gradient(g->inputs[i]))
      wanted[count++] = g->inputs[i];
  fy_autograd_grad(output, (FyTensors){.count = count, .items = wanted}, gradient, false, found);
  for (int i = 0, k = 0; i < g->count; i++) {
    grads[i] = fy_has_gradient(g->inputs[i]) ? found[k++] : NULL;
    fy_check(grads[i] || allow_unused || !fy_has_gradient(g->inputs[i]), FY_RUNTIME_ERROR,
             "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
             "this is the desired behavior.");
  }
}

static void warm_up(const Graphed *g, FyModule *module, const FyGraphedCallables *o) {
  FyTensor *grads[g->count];
  for (int i = 0; i < o->num_warmup_iters; i++)
    fy_scope {
      FyTensor *output = fy_forward_of(module, g->inputs[0]);
      if (fy_has_gradient(output))
        differentiate(g, output, fy_zeros_like(output), o->allow_unused_input, grads);
    }
}

static void capture_forward(Graphed *g, FyModule *module, FyPoolId pool, FyStream *stream) {
  FyTensor *output = NULL;
  fy_scope {
    fy_cuda_graph_capture(g->graphs[0], .pool = pool, .stream = stream) {
      output = fy_forward_of(module, g->inputs[0]);
    }
    g->output = fy_retain(output);
  }
}

static void capture_backward(Graphed *g, const FyGraphedCallables *o, FyStream *stream) {
  FyTensor *grads[g->count];
  if (!fy_has_gradient(g->output))
    return;
  fy_scope {
    g->grad_output = fy_retain(fy_zeros_like(g->output));
    fy_cuda_graph_capture(g->graphs[1], .pool = o->pool, .stream = stream) {
      differentiate(g, g->output, g->grad_output, o->allow_unused_input, grads);
    }
    for (int i = 0; i < g->count; i++)
      g->grads[i] = fy_retain(grads[i]);
    FyTensor *output = g->output; // without its history
    g->output = fy_retain(fy_detach(output));
    fy_release(output);
  }
}

static void check(FyModule *const *modules, int count, const FyGraphedCallables *o) {
  fy_check(!fy_is_autocast_enabled(FY_CUDA) || !fy_is_autocast_cache_enabled(), FY_RUNTIME_ERROR,
           "make_graphed_callables does not support the autocast caching. Please set `cache_enabled=False`.");
  fy_check(count > 0 && count == o->sample_args.count, FY_VALUE_ERROR,
           "make_graphed_callables: %d modules, but %d sample_args", count, o->sample_args.count);
  for (int i = 0; i < count; i++) {
    const FyTensorList *buffers = fy_buffers_of(modules[i]);
    const FyTensor *sample = o->sample_args.items[i];
    fy_check(sample, FY_TYPE_ERROR, "make_graphed_callables: sample_args[%d] is NULL", i);
    fy_check(sample->device.type == FY_CUDA, FY_RUNTIME_ERROR,
             "make_graphed_callables: sample_args[%d] is on the CPU, which has no CUDA graphs", i);
    for (int k = 0; k < buffers->count; k++)
      fy_check(!fy_has_gradient(buffers->items[k]), FY_RUNTIME_ERROR,
               "In any nn.Module passed to make_graphed_callables, only parameters may be trainable. All buffers must "
               "have requires_grad=False.");
  }
}

static void capture_all(FyModule *const *modules, Graphed **graphed, int count, const FyGraphedCallables *o) {
  const FyDevice device = graphed[0]->inputs[0]->device;
  FyStream *stream = fy_stream_new(device, 0);
  fy_synchronize(device);
  fy_stream_guard(stream) {
    for (int i = 0; i < count; i++)
      warm_up(graphed[i], modules[i], o);
  }
  fy_synchronize(device);
  for (int i = 0; i < count; i++)
    capture_forward(graphed[i], modules[i], o->pool, stream);
  for (int i = count - 1; i >= 0; i--)
    capture_backward(graphed[i], o, stream);
}

void fy_make_graphed_callables_with(FyModule *const *modules, FyGraphedCallables options) {
  int count = 0;
  fy_check(modules, FY_TYPE_ERROR, "make_graphed_callables: the list of modules is NULL");
  while (modules[count])
    count++;
  options.num_warmup_iters = options.num_warmup_iters ? options.num_warmup_iters : 3;
  fy_scope {
    check(modules, count, &options);
    if (!options.pool.id[0] && !options.pool.id[1])
      options.pool = fy_cuda_graph_pool_handle();
    Graphed *graphed[count];
    for (int i = 0; i < count; i++)
      graphed[i] = graphed_new(modules[i], options.sample_args.items[i]);
    fy_enable_grad
      capture_all(modules, graphed, count, &options);
    for (int i = 0; i < count; i++)
      fy_module_set_graphed(modules[i], &graphed[i]->forward);
  }
}
