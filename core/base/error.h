// SPDX-License-Identifier: MIT
// Errors. A function that detects a user's mistake raises an error. The innermost trap catches the error and stores it
// in a variable.
//
//   FyError error;
//   fy_trap(error) {
//     c = fy_add(a, b);
//   }
//   if (error.kind) printf("caught: %s\n", error.message);
//
// If no trap is open, the error is printed with the caller's file and line, and the program exits with status 1.
#ifndef FERRY_BASE_ERROR_H
#define FERRY_BASE_ERROR_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Public functions have C linkage. The headers also compile as C++. C++ programs can call every function, but the
// macros that take options or open blocks (fy_randn, fy_trap, fy_scope) are only for C.
#ifdef __cplusplus
#define FY_API extern "C"
#define FY_ATOMIC(type) type // same size; only the library's C code reads and writes it
#else
#define FY_API extern
#define FY_ATOMIC(type) _Atomic(type)
#endif
#define FY_NORETURN __attribute__((noreturn))

typedef enum FyErrorKind {
  FY_NO_ERROR = 0,
  FY_RUNTIME_ERROR,         // Python's RuntimeError: devices, shapes, autograd, CUDA
  FY_VALUE_ERROR,           // an argument is out of range
  FY_TYPE_ERROR,            // an argument has the wrong type or dtype, or is NULL
  FY_INDEX_ERROR,           // an index or dimension is out of range
  FY_KEY_ERROR,             // a name does not exist
  FY_NOT_IMPLEMENTED_ERROR, // recognized, but not available in this build
  FY_OUT_OF_MEMORY_ERROR,   // host or device memory is exhausted; all objects remain usable
  FY_OS_ERROR,              // a file operation or a system call failed
} FyErrorKind;

typedef struct FyError {
  FyErrorKind kind;   // FY_NO_ERROR if the trap's block raised no error
  char message[1536]; // PyTorch's wording if PyTorch has the same error
  const char *file;   // the source location of the caller, not of Ferry's code
  int line;
} FyError;

// Returns the kind as Python prints it: "RuntimeError", "ValueError", ... The string is static.
FY_API const char *fy_error_name(FyErrorKind kind);

// Used by the macros that open a block. They close the block however it is left: at its end, with return, break or goto
// (by the cleanup attribute of gcc and clang), or by an error (which restores the state at the trap).
#define FY_AT_END(function) __attribute__((cleanup(function)))

// Runs the following block. If the block raises an error, the block ends and the error is stored in `variable`, an
// FyError. Open scopes, the current device and streams, grad mode and autocast are then restored to their state at the
// trap. A local variable must be volatile if the block assigns it and you read it after an error, as with any setjmp.
// Return, break and goto out of the block also end the trap.
#define fy_trap(variable)                                                                                              \
  for (FY_AT_END(fy_trap_leave) FyTrap *volatile fy_opened_trap = fy_trap_open(&(FyTrap){.error = &(variable)});       \
       fy_opened_trap; fy_opened_trap = fy_trap_close(fy_opened_trap))                                                 \
    if (setjmp(fy_opened_trap->jump) == 0)

// Raises an error of `kind`, with the file and line of the last public Ferry call. Does not return. Do not call it
// while you hold a lock, from a thread without a trap (other than the main thread), or if C++ frames are between the
// call and the trap.
FY_API FY_NORETURN void fy_raise(FyErrorKind kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Raises a copy of an error that was trapped earlier, for example in a worker thread, with the original file and line.
FY_API FY_NORETURN void fy_raise_again(const FyError *error);

// Reports a bug in Ferry itself: prints its location and aborts the program. A trap does not catch it.
FY_API FY_NORETURN void fy_panic_at(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define fy_panic(...) fy_panic_at(__FILE__, __LINE__, __VA_ARGS__)

// Raises an error unless `condition` is true: fy_check(n > 0, FY_VALUE_ERROR, "n must be positive, but got %d", n)
#define fy_check(condition, ...) ((condition) ? (void)0 : fy_raise(__VA_ARGS__))

// Prints a warning to standard error, only once for each flag `once`: static bool once; fy_warn_once(&once, "...").
FY_API void fy_warn_once(bool *once, const char *format, ...) __attribute__((format(printf, 2, 3)));

// ---- implementation of the macros above ----------------------------------------------------------------------------

enum { FY_THREAD_STATE_WORDS = 32 };

typedef struct FyThreadState {
  int scope_depth; // number of open scopes, see scope.h
  bool grad_enabled;
  uint64_t parts[FY_THREAD_STATE_WORDS]; // the state of the higher modules for this thread, see state.h
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

// The source location that called the current public function. The wrappers in ferry_where.h set it. fy_note_place is a
// function so that several calls in one expression are not interleaved.
extern __thread const char *fy_where_file;
extern __thread int fy_where_line;
static inline void fy_note_place(const char *file, int line) {
  fy_where_file = file;
  fy_where_line = line;
}
#define FY_HERE fy_note_place(__FILE__, __LINE__)

#endif
