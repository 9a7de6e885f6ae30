// SPDX-License-Identifier: MIT
// Objects and the scopes that own them.
//
// Tensors, modules, optimizers, streams, events and lists are objects. An object counts its references, and one of them
// belongs to the innermost scope that was open on the thread when the object was made. When the scope closes, it
// releases this reference. Each thread also has an outermost scope, which exists without fy_scope and closes when the
// thread or the program ends.
//
//   fy_scope {                       // one training step
//     FyTensor *loss = fy_cross_entropy(fy_forward(model, x), y);
//     fy_backward(loss);
//   }                                // frees every temporary object of the step
#ifndef FERRY_BASE_SCOPE_H
#define FERRY_BASE_SCOPE_H

#include "base/error.h"
#include <stdint.h>
#ifndef __cplusplus
#include <stdatomic.h>
#endif

// The first member of every object.
typedef struct FyObject {
  FY_ATOMIC(int) references;
  FY_ATOMIC(uint64_t) place;     // a hint: which thread's scopes own the object, and at which index; see scope.c
  void (*destroy)(void *object); // called once, when the last reference is released
} FyObject;

// Opens a scope for the following block, and closes it however the block is left. To return an object out of the block,
// use `return fy_keep(y);`, which moves y to the enclosing scope. Plain `return y;` returns an object that was freed.
#define fy_scope                                                                                                       \
  for (FY_AT_END(fy_scope_leave) int fy_opened_scope = fy_scope_open(); fy_opened_scope >= 0;                          \
       fy_opened_scope = fy_scope_close(fy_opened_scope))

// Open and close a scope by hand. fy_scope_open returns a mark. fy_scope_close releases all objects made since the
// mark, in reverse order, closes inner scopes that are still open, and returns -1.
FY_API int fy_scope_open(void);
FY_API int fy_scope_close(int mark);
static inline void fy_scope_leave(const int *mark) {
  if (*mark >= 0)
    fy_scope_close(*mark);
}

// Moves `object` from the innermost scope to the enclosing scope, and returns it. A function that opens a scope uses
// this to return an object. Does nothing in the outermost scope.
FY_API void *fy_keep(void *object);

// Releases the scope's reference now, like Python's `del`. The memory is freed if nothing else (a graph node, a module,
// a list) holds the object. NULL is allowed.
FY_API void fy_drop(void *object);

// Returns whether a scope of this thread owns a reference to the object; after fy_drop it does not. If a different
// thread has adopted the object since, the function searches only the innermost scope.
FY_API bool fy_is_in_scope(const void *object);

// Add and release a reference that belongs to no scope. Each fy_retain needs one fy_release. Both accept NULL;
// fy_retain returns the object.
FY_API void *fy_retain(void *object);
FY_API void fy_release(void *object);

// Support weak references: pointers to an object that do not count as references. After fy_object_know_weakly,
// fy_retain_if_alive adds a reference and returns the object, or returns NULL if the last counted reference was already
// released. The callers must make sure that the memory still exists during this call, for example with a lock that
// `destroy` takes as well.
FY_API void fy_object_know_weakly(void *object);
FY_API void *fy_retain_if_alive(void *object);

// Gives a reference that the caller holds to the innermost scope of the current thread, and returns the object: the
// opposite of fy_retain. Scopes of several threads may own the same object, with one reference each.
FY_API void *fy_adopt(void *object);

// Does the same for an object that several threads may hold at the same time. The scope gets a separate entry for this
// reference, so fy_drop and fy_keep of the object do not affect it.
FY_API void *fy_hold(void *object);

// ---- for new kinds of objects ---------------------------------------------------------------------------------------

// Allocates a zeroed object of `bytes` with one reference, owned by the innermost scope. `destroy` must free its
// memory. Raises FY_OUT_OF_MEMORY_ERROR.
FY_API void *fy_object_new(size_t bytes, void (*destroy)(void *));

// Initializes an object in memory that the caller has allocated, with one reference, owned by the innermost scope.
// `destroy` must also free this memory.
FY_API void fy_object_init(void *object, void (*destroy)(void *));

#endif
