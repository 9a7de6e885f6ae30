// SPDX-License-Identifier: MIT
// Checkpointing as PyTorch's non-reentrant one does it: by what becomes of saved tensors.
//
// While the function runs in the forward, each tensor that a node would save is replaced by a holder, a number: the k-th of
// this frame. When backward asks a holder for its tensor, the frame runs the function again; the k-th tensor that a node
// saves then is the k-th holder's. So nothing else has to know of checkpointing: the graph of the forward is the one that
// backward walks, hooks, captures and streams with it, and that of the second run is only made for what it saves.
//
//     forward      mul saves x, w        relu saves y        outside: ...
//                        |  |                     |
//     graph        holder 0, holder 1       holder 2
//                        |  |                     |          the first holder asked runs the function again
//     second run   mul saves x, w        relu saves y        and stops here: there is no holder 3
//
// Nested: the inner frame's inputs are saved in the outer's function, so the outer's holders stand for them. An inner holder
// asks its frame, which asks an outer holder for the inputs, whose frame runs first.
#include "autograd/checkpoint.h"
#include "autograd/autograd.h"
#include "base/state.h"
#include "graph/history.h"
#include "op/autocast.h"
#include "op/ops.h"
#include "op/random/random_state.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Frame Frame;

// In a saved tensor's stead.
typedef struct Holder {
  FyPacked packed;
  Frame *frame; // counted
  int index;
} Holder;

// What one backward call got from running the function again.
typedef struct Rerun {
  struct Rerun *next;
  uint64_t backward;   // its number
  int count;           // tensors that were saved so far
  bool stopped;        // by us, when all were
  int wanted;          // how many there were in the forward
  FyTensor *tensors[]; // [wanted], counted; NULL: not yet, given away, or nobody's any more
} Rerun;

typedef struct Autocast {
  bool enabled;
  FyDType dtype;
} Autocast;

typedef struct Input {
  FyNode *keeper; // saves it; counted; NULL for an input that is NULL
  bool requires_grad;
} Input;

struct Frame {
  FyObject object;
  FyCheckpointOptions options;
  int input_count;
  Input *inputs;
  FyThreadRng random;
  Autocast autocast[FY_CUDA + 1];
  bool autocast_cache;

  pthread_mutex_t lock; // of what follows: several threads may run backward, and holders die in any
  Holder **holders;     // not counted; NULL: gone
  FyMeta *metas;        // what the holders' tensors looked like
  int count, capacity;
  bool complete; // the forward is over: there will be no more
  Rerun *reruns;
};

// ---- a frame's memory ----------------------------------------------------------------------------------------------------

static void free_rerun(Rerun *rerun) {
  for (int i = 0; i < rerun->wanted; i++)
    fy_release(rerun->tensors[i]);
  free(rerun);
}

static void frame_destroy(void *pointer) {
  Frame *frame = pointer;
  while (frame->reruns) {
    Rerun *first = frame->reruns;
    frame->reruns = first->next;
    free_rerun(first);
  }
  for (int i = 0; i < frame->input_count; i++)
    fy_node_release(frame->inputs[i].keeper);
  if (frame->options.free_context)
    frame->options.free_context(frame->options.context);
  pthread_mutex_destroy(&frame->lock);
  free(frame->inputs);
  free(frame->holders);
  free(frame->metas);
  free(frame);
}

static Frame *frame_new(const FyCheckpointOptions *options) {
  Frame *frame = fy_object_new(sizeof *frame, frame_destroy);
  pthread_mutex_init(&frame->lock, NULL);
  frame->options = *options;
  return frame;
}

// The input is saved as a node saves it: by the hooks of a checkpoint around this one, or with its version.
static void keep_input(Input *input, FyTensor *t) {
  if (!t)
    return;
  FyNode *keeper = fy_node_new((FyNodeKind){.name = "Checkpoint"}, NULL, 0, 1, 0);
  fy_meta_describe(&keeper->inputs[0], t);
  keeper->next[0] = fy_gradient_edge(t);
  input->requires_grad = fy_has_gradient(t);
  fy_node_save(keeper, fy_detach(t), -1, 0, t->base != NULL);
  input->keeper = fy_node_retain(keeper);
}

// What the second run needs of the world as the first one finds it.
static void remember(Frame *frame, FyTensors inputs) {
  frame->inputs = calloc((size_t)inputs.count + 1, sizeof *frame->inputs);
  fy_check(frame->inputs, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a checkpoint of %d inputs", inputs.count);
  frame->input_count = inputs.count;
  for (int i = 0; i < inputs.count; i++)
    keep_input(&frame->inputs[i], inputs.items[i]);
  frame->random = fy_thread_rng;
  if (!frame->random.own)
    frame->random = (FyThreadRng){.own = true, .state = fy_get_rng_state()};
  for (int type = FY_CPU; type <= FY_CUDA; type++)
    frame->autocast[type] = (Autocast){fy_is_autocast_enabled(type), fy_get_autocast_dtype(type)};
  frame->autocast_cache = fy_is_autocast_cache_enabled();
}

// ---- the forward: holders --------------------------------------------------------------------------------------------------

typedef struct FrameHooks {
  FySavedHooks hooks;
  Frame *frame;
  Rerun *rerun; // of the second run
} FrameHooks;

// The tensor that a rerun has for a holder, with the reference to it; NULL when none has one any more.
static FyTensor *take_any(Frame *frame, int index) {
  FyTensor *t = NULL;
  pthread_mutex_lock(&frame->lock);
  frame->holders[index] = NULL;
  for (Rerun *rerun = frame->reruns; rerun && !t; rerun = rerun->next) {
    if (index >= rerun->wanted)
      continue;
    t = rerun->tensors[index];
    rerun->tensors[index] = NULL;
  }
  pthread_mutex_unlock(&frame->lock);
  return t;
}

// What nobody will ask for goes at once, but not under the lock.
static void release_saved(Frame *frame, int index) {
  for (FyTensor *t; (t = take_any(frame, index)) != NULL;)
    fy_release(t);
}

static void holder_destroy(void *pointer) {
  Holder *holder = pointer;
  release_saved(holder->frame, holder->index);
  fy_release(holder->frame);
  free(holder);
}

static FyTensor *unpack(FyPacked *packed);

static void grow(Frame *frame) {
  const int capacity = frame->capacity ? 2 * frame->capacity : 16;
  Holder **holders = realloc(frame->holders, (size_t)capacity * sizeof *holders);
  frame->holders = holders ? holders : frame->holders;
  FyMeta *metas = realloc(frame->metas, (size_t)capacity * sizeof *metas);
  frame->metas = metas ? metas : frame->metas;
  if (holders && metas)
    frame->capacity = capacity;
}

static FyPacked *pack(FySavedHooks *hooks, FyTensor *t) {
  Frame *frame = ((FrameHooks *)hooks)->frame;
  Holder *holder = calloc(1, sizeof *holder);
  if (frame->count == frame->capacity)
    grow(frame);
  if (!holder || frame->count == frame->capacity) {
    free(holder);
    fy_raise(FY_OUT_OF_MEMORY_ERROR, "out of host memory for a checkpoint");
  }
  holder->packed.object.references = 1;
  holder->packed.object.destroy = holder_destroy;
  holder->packed.unpack = unpack;
  holder->frame = fy_retain(frame);
  holder->index = frame->count;
  frame->holders[frame->count] = holder;
  fy_meta_describe(&frame->metas[frame->count++], t);
  return &holder->packed;
}

// ---- the second run --------------------------------------------------------------------------------------------------------

static Rerun *find_rerun(const Frame *frame, uint64_t backward) {
  Rerun *rerun = frame->reruns;
  while (rerun && rerun->backward != backward)
    rerun = rerun->next;
  return rerun;
}

static FyPacked *collect(FySavedHooks *hooks, FyTensor *t) {
  const FrameHooks *h = (const FrameHooks *)hooks;
  Frame *frame = h->frame;
  Rerun *rerun = h->rerun;
  const int index = rerun->count++;
  if (index >= rerun->wanted) {
    fy_check(!frame->complete, FY_RUNTIME_ERROR,
             "fy_checkpoint: trying to save more tensors during recomputation than during the original forward pass.");
    return NULL; // backward was called inside the function, which goes on behind that
  }
  pthread_mutex_lock(&frame->lock);
  if (frame->holders[index])
    rerun->tensors[index] = fy_retain(t);
  pthread_mutex_unlock(&frame->lock);
  rerun->stopped = frame->options.early_stop && rerun->count == rerun->wanted;
  if (rerun->stopped)
    fy_raise(FY_RUNTIME_ERROR, "fy_checkpoint: the second run has saved what backward needs");
  return NULL;
}

// Puts back what the second run sets, also when an error leaves it.
typedef struct Settings {
  FyObject object;
  FyThreadRng random;
  FySavedHooks *hooks;
} Settings;

static void settings_destroy(void *pointer) {
  const Settings *s = pointer;
  fy_thread_rng = s->random;
  fy_saved_hooks = s->hooks;
  free(pointer);
}

static void change_settings(const Frame *frame, FySavedHooks *hooks) {
  Settings *s = fy_object_new(sizeof *s, settings_destroy);
  s->random = fy_thread_rng;
  s->hooks = fy_saved_hooks;
  fy_saved_hooks = hooks;
  if (frame->options.preserve_rng_state)
    fy_thread_rng = frame->random;
}

// An input as the function got it: what it is a part of is the first run's affair, but whether it has a gradient decides what
// is saved.
static FyTensor *input_again(const Input *input) {
  if (!input->keeper)
    return NULL;
  FyTensor *t = fy_saved(input->keeper, 0);
  return input->requires_grad ? fy_set_requires_grad(fy_detach(t), true) : t;
}

typedef struct Arguments {
  FyObject object;
  FyTensor *items[];
} Arguments;

static void call_again(const Frame *frame, FySavedHooks *hooks) {
  Arguments *inputs = fy_object_new(sizeof *inputs + (size_t)frame->input_count * sizeof *inputs->items, free);
  for (int i = 0; i < frame->input_count; i++)
    inputs->items[i] = input_again(&frame->inputs[i]);
  change_settings(frame, hooks);
  const Autocast *cpu = &frame->autocast[FY_CPU], *cuda = &frame->autocast[FY_CUDA];
  fy_enable_grad {
    fy_autocast(FY_CPU, .dtype = cpu->dtype, .enabled = cpu->enabled, .cache_enabled = frame->autocast_cache) {
      fy_autocast(FY_CUDA, .dtype = cuda->dtype, .enabled = cuda->enabled, .cache_enabled = frame->autocast_cache) {
        frame->options.function(frame->options.context, inputs->items);
      }
    }
  }
}

static void describe(char *text, size_t size, const FyMeta *m) {
  snprintf(text, size, "{'shape': %s, 'dtype': %s, 'device': %s}", fy_sizes_string(m->ndim, m->shape),
           fy_dtype_name((FyDType)m->dtype), fy_device_name_of(m->device));
}

static bool is_as_saved(const FyMeta *m, const FyTensor *t) {
  return fy_has_shape(&t->array, m->ndim, m->shape) && t->array.dtype == m->dtype &&
         fy_device_equal(t->device, m->device);
}

static void check_same(const Frame *frame, const Rerun *rerun) {
  fy_check(rerun->count == rerun->wanted || (rerun->count > rerun->wanted && !frame->complete), FY_RUNTIME_ERROR,
           "fy_checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
           "Number of tensors saved during forward: %d\nNumber of tensors saved during recomputation: %d.",
           rerun->wanted, rerun->count);
  for (int i = 0; i < rerun->wanted && !frame->options.no_determinism_check; i++) {
    const FyTensor *t = rerun->tensors[i];
    char before[160], now[160];
    FyMeta meta;
    if (!t || is_as_saved(&frame->metas[i], t))
      continue;
    fy_meta_describe(&meta, t);
    describe(before, sizeof before, &frame->metas[i]);
    describe(now, sizeof now, &meta);
    fy_raise(
        FY_RUNTIME_ERROR,
        "fy_checkpoint: Recomputed values for the following tensors have different metadata than during the forward "
        "pass.\ntensor at position %d:\nsaved metadata: %s\nrecomputed metadata: %s",
        i, before, now);
  }
}

static Rerun *add_rerun(Frame *frame) {
  Rerun *rerun = calloc(1, sizeof *rerun + (size_t)frame->count * sizeof *rerun->tensors);
  fy_check(rerun, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a checkpoint of %d tensors", frame->count);
  rerun->backward = fy_backward_number;
  rerun->wanted = frame->count;
  pthread_mutex_lock(&frame->lock);
  rerun->next = frame->reruns;
  frame->reruns = rerun;
  pthread_mutex_unlock(&frame->lock);
  return rerun;
}

// A run that failed is none: the next backward begins anew.
static void remove_rerun(Frame *frame, Rerun *rerun) {
  pthread_mutex_lock(&frame->lock);
  Rerun **at = &frame->reruns;
  while (*at != rerun)
    at = &(*at)->next;
  *at = rerun->next;
  pthread_mutex_unlock(&frame->lock);
  free_rerun(rerun);
}

static Rerun *run_again(Frame *frame) {
  Rerun *rerun = add_rerun(frame);
  FrameHooks hooks = {.hooks.pack = collect, .frame = frame, .rerun = rerun};
  FyError error;
  fy_trap(error) {
    fy_scope {
      call_again(frame, &hooks.hooks);
    }
  }
  if (!error.kind || rerun->stopped)
    fy_trap(error) {
      check_same(frame, rerun);
    }
  if (error.kind) {
    remove_rerun(frame, rerun);
    fy_raise_again(&error);
  }
  return rerun;
}

static FyTensor *unpack(FyPacked *packed) {
  const Holder *holder = (const Holder *)packed;
  Frame *frame = holder->frame;
  pthread_mutex_lock(&frame->lock);
  Rerun *rerun = find_rerun(frame, fy_backward_number);
  pthread_mutex_unlock(&frame->lock);
  if (!rerun)
    rerun = run_again(frame);
  pthread_mutex_lock(&frame->lock);
  FyTensor *t = rerun->tensors[holder->index];
  rerun->tensors[holder->index] = NULL;
  pthread_mutex_unlock(&frame->lock);
  if (!t)
    fy_panic("a checkpoint was asked twice for what a node saved");
  return fy_hold(t);
}

// ---- the public function -----------------------------------------------------------------------------------------------------

FyTensor *fy_checkpoint_with(FyCheckpointOptions options, FyTensors inputs) {
  fy_check(options.function, FY_TYPE_ERROR, "fy_checkpoint: the function is NULL");
  options.preserve_rng_state = fy_option_or_true(options.named, "preserve_rng_state", options.preserve_rng_state);
  options.early_stop = fy_option_or_true(options.named, "early_stop", options.early_stop);
  int scope = fy_scope_open();
  Frame *frame = frame_new(&options);
  FrameHooks hooks = {.hooks.pack = pack, .frame = frame};
  FySavedHooks *outer = fy_saved_hooks;
  if (fy_grad_enabled) {
    remember(frame, inputs);
    fy_saved_hooks = &hooks.hooks;
  }
  FyTensor *y = options.function(options.context, inputs.items);
  fy_saved_hooks = outer;
  frame->complete = true;
  fy_keep(y);
  fy_scope_close(scope);
  return y;
}
