// SPDX-License-Identifier: MIT
// Objects and the scopes that own them.
//
// Tensors, modules, optimizers, streams, events and lists are objects: counted references inside, and one reference that
// belongs to the innermost open scope of the thread that made them. Closing the scope gives that reference up. A program
// that opens no scope has one all the same: each thread's outermost, closed when the thread (or the program) ends.
//
//   fy_scope {                       // one training step
//     FyTensor *loss = fy_cross_entropy(fy_forward(model, x), y);
//     fy_backward(loss);
//   }                                // every temporary of the step is gone here
#ifndef FERRY_BASE_SCOPE_H
#define FERRY_BASE_SCOPE_H

#include "base/error.h"
#include <stdint.h>
#ifndef __cplusplus
#include <stdatomic.h>
#endif

// First member of every object.
typedef struct FyObject {
  FY_ATOMIC(int) references;
  FY_ATOMIC(uint64_t) place;     // among which thread's scopes, and where there: a hint, see scope.c
  void (*destroy)(void *object); // called once, when the last reference goes
} FyObject;

// Opens a scope for the following block and closes it after, however the block is left. What is returned out of it must be
// kept: `return fy_keep(y);` moves y to the enclosing scope, plain `return y;` returns a tensor that was freed.
#define fy_scope                                                                                                       \
  for (FY_AT_END(fy_scope_leave) int fy_opened_scope = fy_scope_open(); fy_opened_scope >= 0;                          \
       fy_opened_scope = fy_scope_close(fy_opened_scope))

// The same by hand: open returns a mark, close releases all that was made since the mark, in reverse order (inner scopes
// left open included), and returns -1.
FY_API int fy_scope_open(void);
FY_API int fy_scope_close(int mark);
static inline void fy_scope_leave(const int *mark) {
  if (*mark >= 0)
    fy_scope_close(*mark);
}

// Hands `object` from the innermost scope to the one around it and returns it: how a function returns a tensor out of a
// scope of its own. At the outermost scope it does nothing.
FY_API void *fy_keep(void *object);

// Drops the scope's reference now, as Python's `del` does. NULL is allowed. The memory is freed when nothing else (a graph
// node, a module, a list) holds the object.
FY_API void fy_drop(void *object);

// Is one of the object's references a scope's of this thread, and still there? (Not after fy_drop.) Of an object that another
// thread has adopted since, only the innermost scope is known.
FY_API bool fy_is_in_scope(const void *object);

// A further reference, outside of any scope; each retain needs its release. Both accept NULL.
FY_API void *fy_retain(void *object);
FY_API void fy_release(void *object);

// An object that others know without counting it (a weak reference). After fy_object_know_weakly they may ask for a
// reference of their own: fy_retain_if_alive returns NULL once the last counted one is gone. That the memory is still
// there while they ask is up to them: a lock that `destroy` takes too.
FY_API void fy_object_know_weakly(void *object);
FY_API void *fy_retain_if_alive(void *object);

// Lets the current thread's innermost scope own one more reference that the caller holds (the opposite of fy_retain). Scopes
// of several threads may own one object at a time, a reference each.
FY_API void *fy_adopt(void *object);

// The same for an object that several threads may hold at the same time. (An object can be in one scope only: fy_adopt is for those
// that no other thread adopts.)
FY_API void *fy_hold(void *object);

// ---- for makers of objects ------------------------------------------------------------------------------------------

// Allocates a zeroed object of `bytes` with one reference, owned by the innermost scope. Raises FY_OUT_OF_MEMORY_ERROR.
FY_API void *fy_object_new(size_t bytes, void (*destroy)(void *));

// Initializes memory the maker has allocated itself; `destroy` then also frees it.
FY_API void fy_object_init(void *object, void (*destroy)(void *));

#endif
