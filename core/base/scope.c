// SPDX-License-Identifier: MIT
// One stack of objects per thread; a scope is a mark on it.
#include "base/scope.h"
#include "base/checked.h"
#include "base/scope_impl.h"
#include "base/small.h"
#include "base/state.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Stack {
  FyObject **items; // NULL where an object was dropped
  int *marks;       // where each open scope begins
  int count, capacity;
  int depth, mark_capacity;
  uint32_t thread; // its number, from 1
} Stack;

static _Thread_local Stack *stack;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static Stack *main_stack;

// An object notes the thread's number and the item where it was put last, in one word: several threads' scopes may own it, and
// each new owner writes its own note over the one before. So a note is only believed when the item it names is the object.
static uint64_t note(const Stack *s, int slot) {
  return (uint64_t)s->thread << 32 | (uint32_t)slot;
}

static void store_at(Stack *s, FyObject *object, int slot) {
  s->items[slot] = object;
  atomic_store_explicit(&object->place, note(s, slot), memory_order_relaxed);
}

// Where the thread's scopes hold the object, -1 where they do not. One that another thread has taken since is looked for in the
// innermost scope.
static int slot_of(const Stack *s, const FyObject *object) {
  const uint64_t place = atomic_load_explicit(&object->place, memory_order_relaxed);
  const uint32_t slot = (uint32_t)place, thread = (uint32_t)(place >> 32);
  if (s && slot < (uint32_t)s->count && s->items[slot] == object)
    return (int)slot;
  if (!s || thread == s->thread || thread == 0)
    return -1;
  const int begin = s->depth ? s->marks[s->depth - 1] : 0;
  for (int i = s->count - 1; i >= begin; i--)
    if (s->items[i] == object)
      return i;
  return -1;
}

static void release_from(Stack *s, int begin) {
  const char *reason = fy_checked_reason;
  fy_checked_reason = "its scope";
  while (s->count > begin) {
    FyObject *object = s->items[--s->count];
    if (object)
      fy_release(object);
  }
  fy_checked_reason = reason;
}

static void free_stack(void *pointer) {
  Stack *s = pointer;
  Stack *previous = stack;
  stack = s; // destructors may use scopes of their own
  s->depth = 0;
  release_from(s, 0);
  free(s->items);
  free(s->marks);
  free(s);
  stack = previous == s ? NULL : previous;
}

// At exit the main thread's outermost scope closes, then the caches of memory go.
static void shut_down(void) {
  if (main_stack && stack == main_stack) {
    pthread_setspecific(key, NULL);
    free_stack(main_stack);
    main_stack = NULL;
  }
  fy_thread_parts_shut_down();
}

static void set_up(void) {
  if (pthread_key_create(&key, free_stack) != 0)
    fy_panic("no thread key left for scopes");
  atexit(shut_down);
}

static Stack *this_stack(void) {
  if (stack)
    return stack;
  pthread_once(&once, set_up);
  Stack *s = calloc(1, sizeof *s);
  if (!s)
    fy_panic("no memory for a thread's scopes");
  static atomic_uint threads;
  s->thread = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
  pthread_setspecific(key, s);
  if (gettid() == getpid())
    main_stack = s;
  return stack = s;
}

static void push(Stack *s, FyObject *object) {
  if (s->count == s->capacity) {
    int capacity = s->capacity ? 2 * s->capacity : 256;
    FyObject **items = realloc(s->items, (size_t)capacity * sizeof *items);
    if (!items)
      fy_raise(FY_OUT_OF_MEMORY_ERROR, "out of host memory for a scope of %d objects", capacity);
    s->items = items;
    s->capacity = capacity;
  }
  store_at(s, object, s->count++);
}

int fy_scope_depth(void) {
  return stack ? stack->depth : 0;
}

int fy_scope_open(void) {
  Stack *s = this_stack();
  if (s->depth == s->mark_capacity) {
    int capacity = s->mark_capacity ? 2 * s->mark_capacity : 64;
    int *marks = realloc(s->marks, (size_t)capacity * sizeof *marks);
    if (!marks)
      fy_raise(FY_OUT_OF_MEMORY_ERROR, "out of host memory for %d nested scopes", capacity);
    s->marks = marks;
    s->mark_capacity = capacity;
  }
  s->marks[s->depth] = s->count;
  return s->depth++;
}

void fy_scope_close_to_depth(int depth) {
  Stack *s = stack;
  if (!s || s->depth <= depth)
    return;
  int begin = s->marks[depth];
  s->depth = depth;
  release_from(s, begin);
}

int fy_scope_close(int mark) {
  fy_scope_close_to_depth(mark);
  return -1;
}

void fy_scope_merge(int mark) {
  fy_scope_close_to_depth(mark + 1);
  if (stack && stack->depth > mark)
    stack->depth = mark;
}

void *fy_keep(void *pointer) {
  FyObject *object = pointer;
  const int slot = object ? slot_of(stack, object) : -1;
  if (slot < 0 || stack->depth == 0)
    return pointer;
  int *mark = &stack->marks[stack->depth - 1];
  if (slot < *mark)
    return pointer; // an outer scope has it already
  // Change places with the scope's first item, and let the scope begin one later.
  FyObject *first = stack->items[*mark];
  if (first != object) {
    stack->items[slot] = first;
    uint64_t noted = note(stack, *mark);
    if (first) // another thread's note stays
      atomic_compare_exchange_strong_explicit(&first->place, &noted, note(stack, slot), memory_order_relaxed,
                                              memory_order_relaxed);
    store_at(stack, object, *mark);
  }
  (*mark)++;
  return pointer;
}

void fy_drop(void *pointer) {
  FyObject *object = pointer;
  const int slot = object ? slot_of(stack, object) : -1;
  if (slot < 0)
    return;
  stack->items[slot] = NULL;
  int begin = stack->depth ? stack->marks[stack->depth - 1] : 0;
  while (stack->count > begin && !stack->items[stack->count - 1])
    stack->count--;
  fy_release(object);
}

bool fy_is_in_scope(const void *object) {
  return object && slot_of(stack, object) >= 0;
}

void *fy_retain(void *pointer) {
  FyObject *object = pointer;
  if (object)
    atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
  return pointer;
}

// A bit beside the count, so that the last reference to a weakly known object never takes the short way below.
enum { WEAKLY_KNOWN = 1 << 30 };

void fy_release(void *pointer) {
  FyObject *object = pointer;
  if (!object)
    return;
  // With one reference, ours, and nobody who knows of the object otherwise, there is nobody to be atomic against.
  if (atomic_load_explicit(&object->references, memory_order_acquire) == 1 ||
      (atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) & ~WEAKLY_KNOWN) == 1)
    object->destroy(object);
}

void fy_object_know_weakly(void *pointer) {
  FyObject *object = pointer;
  atomic_fetch_or_explicit(&object->references, WEAKLY_KNOWN, memory_order_relaxed);
}

void *fy_retain_if_alive(void *pointer) {
  FyObject *object = pointer;
  int references = object ? atomic_load_explicit(&object->references, memory_order_relaxed) : 0;
  while (references & ~WEAKLY_KNOWN)
    if (atomic_compare_exchange_weak_explicit(&object->references, &references, references + 1, memory_order_acquire,
                                              memory_order_relaxed))
      return pointer;
  return NULL;
}

void *fy_adopt(void *pointer) {
  FyObject *object = pointer;
  if (!object)
    return NULL;
  if (slot_of(stack, object) >= 0)
    fy_release(object); // the scope's own reference is enough
  else
    push(this_stack(), object);
  return pointer;
}

typedef struct Hold {
  FyObject object;
  void *held;
} Hold;

static void hold_destroy(void *pointer) {
  Hold *hold = pointer;
  fy_release(hold->held);
  fy_small_free(hold, sizeof *hold);
}

void *fy_hold(void *pointer) {
  if (!pointer)
    return NULL;
  Hold *hold = fy_small_alloc(sizeof *hold);
  if (!hold)
    fy_release(pointer);
  fy_check(hold, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a scope");
  hold->held = pointer;
  fy_object_init(hold, hold_destroy);
  return pointer;
}

void fy_object_init(void *pointer, void (*destroy)(void *)) {
  FyObject *object = pointer;
  atomic_init(&object->references, 1);
  atomic_init(&object->place, 0);
  object->destroy = destroy;
  push(this_stack(), object);
}

void *fy_object_new(size_t bytes, void (*destroy)(void *)) {
  void *object = fy_small_alloc_zeroed(bytes);
  fy_check(object, FY_OUT_OF_MEMORY_ERROR, "out of host memory for an object of %zu bytes", bytes);
  fy_object_init(object, destroy);
  return object;
}
