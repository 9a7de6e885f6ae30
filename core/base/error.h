// SPDX-License-Identifier: MIT
// Errors: a user's mistake is raised, travels to the innermost trap, and becomes a value there.
//
//   FyError error;
//   fy_trap(error) {
//     c = fy_add(a, b);
//   }
//   if (error.kind) printf("caught: %s\n", error.message);
//
// With no trap open, the error is printed with the caller's file and line and the program exits with status 1.
#ifndef FERRY_BASE_ERROR_H
#define FERRY_BASE_ERROR_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Public functions have C's linkage. The headers also compile as C++: its programs can call every function, but the macros that
// take options or open blocks (fy_randn, fy_trap, fy_scope) are C.
#ifdef __cplusplus
#define FY_API extern "C"
#define FY_ATOMIC(type) type // as large, and only the library's C reads and writes it
#else
#define FY_API extern
#define FY_ATOMIC(type) _Atomic(type)
#endif
#define FY_NORETURN __attribute__((noreturn))

typedef enum FyErrorKind {
  FY_NO_ERROR = 0,
  FY_RUNTIME_ERROR,         // Python's RuntimeError: devices, shapes, autograd, CUDA
  FY_VALUE_ERROR,           // an argument outside its range
  FY_TYPE_ERROR,            // a dtype that does not fit
  FY_INDEX_ERROR,           // an index or dimension out of range
  FY_KEY_ERROR,             // a name that does not exist
  FY_NOT_IMPLEMENTED_ERROR, // understood, but not available in this build
  FY_OUT_OF_MEMORY_ERROR,   // host or device memory exhausted; everything stays usable
  FY_OS_ERROR,              // a file or a system call failed
} FyErrorKind;

typedef struct FyError {
  FyErrorKind kind;   // FY_NO_ERROR when the trap's body ran to its end
  char message[1536]; // PyTorch's wording where PyTorch has the error
  const char *file;   // the caller's source line, not Ferry's
  int line;
} FyError;

// "RuntimeError", "ValueError", ... as Python prints it. The string is static.
FY_API const char *fy_error_name(FyErrorKind kind);

// Blocks that open something close it however they are left: at their end, with return, break or goto (a cleanup of the loop
// variable, which gcc and clang have), or by an error (which restores what was at the trap).
#define FY_AT_END(function) __attribute__((cleanup(function)))

// Runs the following block; an error raised in it ends the block and is stored in `error` (an FyError variable).
// Scopes, device, stream, grad mode and autocast are restored to what they were at the trap. Local variables that the
// block assigns and that are read after an error must be volatile (as with any setjmp). Leaving the block with return, break
// or goto ends the trap.
#define fy_trap(variable)                                                                                              \
  for (FY_AT_END(fy_trap_leave) FyTrap *volatile fy_opened_trap = fy_trap_open(&(FyTrap){.error = &(variable)});       \
       fy_opened_trap; fy_opened_trap = fy_trap_close(fy_opened_trap))                                                 \
    if (setjmp(fy_opened_trap->jump) == 0)

// Raises an error of `kind`; does not return. Never call it with a lock held, from a thread that has no trap and is not
// the main one, or through C++ frames. The caller's file and line are those of the last public Ferry call.
FY_API FY_NORETURN void fy_raise(FyErrorKind kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Raises a copy of an error that was trapped earlier (a worker's, say), file and line included.
FY_API FY_NORETURN void fy_raise_again(const FyError *error);

// A bug of Ferry itself: prints where, and aborts. Never trapped.
FY_API FY_NORETURN void fy_panic_at(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define fy_panic(...) fy_panic_at(__FILE__, __LINE__, __VA_ARGS__)

// Raises unless `condition` holds: fy_check(n > 0, FY_VALUE_ERROR, "n must be positive, but got %d", n)
#define fy_check(condition, ...) ((condition) ? (void)0 : fy_raise(__VA_ARGS__))

// A warning on standard error, once per `once` flag: static bool once; fy_warn_once(&once, "...").
FY_API void fy_warn_once(bool *once, const char *format, ...) __attribute__((format(printf, 2, 3)));

// ---- what the macros above expand to -------------------------------------------------------------------------------

enum { FY_THREAD_STATE_WORDS = 32 };

typedef struct FyThreadState {
  int scope_depth; // entries of the scope stack, see scope.h
  bool grad_enabled;
  uint64_t parts[FY_THREAD_STATE_WORDS]; // what the higher modules keep for each thread, see state.h
} FyThreadState;

typedef struct FyTrap {
  jmp_buf jump;
  FyError *error;
  struct FyTrap *outer;
  FyThreadState state;
  bool fired;
} FyTrap;

FY_API FyTrap *fy_trap_open(FyTrap *trap);  /* no location */
FY_API FyTrap *fy_trap_close(FyTrap *trap); /* no location */
static inline void fy_trap_leave(FyTrap *volatile *trap) {
  if (*trap)
    fy_trap_close(*trap);
}

// The caller of the public function that is running: set by the wrappers of ferry_where.h.
extern __thread const char *fy_where_file;
extern __thread int fy_where_line;
static inline void fy_note_place(const char *file,
                                 int line) { // a function, so that several in one expression are in sequence
  fy_where_file = file;
  fy_where_line = line;
}
#define FY_HERE fy_note_place(__FILE__, __LINE__)

#endif
