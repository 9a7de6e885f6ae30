// One stack of objects per thread; a scope is a mark on it.
#include "base/scope.h"
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
} Stack;

static _Thread_local Stack *stack;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static Stack *main_stack;

static void release_from(Stack *s, int begin) {
  while (s->count > begin) {
    FyObject *object = s->items[--s->count];
    if (!object)
      continue;
    if (object->scope_thread == s && object->scope_slot == s->count)
      object->scope_slot = -1;
    fy_release(object);
  }
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
  object->scope_thread = s;
  object->scope_slot = s->count;
  s->items[s->count++] = object;
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

static bool owned_here(const FyObject *object) {
  return stack && object->scope_thread == stack && object->scope_slot >= 0;
}

void *fy_keep(void *pointer) {
  FyObject *object = pointer;
  if (!object || !owned_here(object) || stack->depth == 0)
    return pointer;
  int *mark = &stack->marks[stack->depth - 1];
  if (object->scope_slot < *mark)
    return pointer; // an outer scope has it already
  // Change places with the scope's first entry, and let the scope begin one later.
  FyObject *first = stack->items[*mark];
  stack->items[object->scope_slot] = first;
  if (first)
    first->scope_slot = object->scope_slot;
  stack->items[*mark] = object;
  object->scope_slot = (*mark)++;
  return pointer;
}

void fy_drop(void *pointer) {
  FyObject *object = pointer;
  if (!object || !owned_here(object))
    return;
  stack->items[object->scope_slot] = NULL;
  int begin = stack->depth ? stack->marks[stack->depth - 1] : 0;
  while (stack->count > begin && !stack->items[stack->count - 1])
    stack->count--;
  object->scope_slot = -1;
  fy_release(object);
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
  if (owned_here(object))
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
  object->scope_slot = -1;
  object->destroy = destroy;
  push(this_stack(), object);
}

void *fy_object_new(size_t bytes, void (*destroy)(void *)) {
  void *object = fy_small_alloc_zeroed(bytes);
  fy_check(object, FY_OUT_OF_MEMORY_ERROR, "out of host memory for an object of %zu bytes", bytes);
  fy_object_init(object, destroy);
  return object;
}
