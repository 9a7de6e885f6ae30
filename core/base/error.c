// SPDX-License-Identifier: MIT
// Traps are a chain of jump buffers per thread; raising jumps to the innermost.
#include "base/error.h"
#include "base/state.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Thread_local const char *fy_where_file;
_Thread_local int fy_where_line;

static _Thread_local FyTrap *innermost;

const char *fy_error_name(FyErrorKind kind) {
  switch (kind) {
  case FY_NO_ERROR:
    return "NoError";
  case FY_RUNTIME_ERROR:
    return "RuntimeError";
  case FY_VALUE_ERROR:
    return "ValueError";
  case FY_TYPE_ERROR:
    return "TypeError";
  case FY_INDEX_ERROR:
    return "IndexError";
  case FY_KEY_ERROR:
    return "KeyError";
  case FY_NOT_IMPLEMENTED_ERROR:
    return "NotImplementedError";
  case FY_OUT_OF_MEMORY_ERROR:
    return "OutOfMemoryError";
  case FY_OS_ERROR:
    return "OSError";
  }
  return "Error";
}

FyTrap *fy_trap_open(FyTrap *trap) {
  trap->outer = innermost;
  trap->error->kind = FY_NO_ERROR;
  trap->error->message[0] = '\0';
  fy_thread_state_save(&trap->state);
  innermost = trap;
  return trap;
}

// Reached after the body ran to its end, and once more after an error (which has closed the trap already).
FyTrap *fy_trap_close(FyTrap *trap) {
  if (!trap->fired)
    innermost = trap->outer;
  return NULL;
}

static _Noreturn void die(const FyError *error) {
  fflush(stdout);
  fprintf(stderr, "%s: %s\n", fy_error_name(error->kind), error->message);
  if (error->file)
    fprintf(stderr, "  at %s:%d\n", error->file, error->line);
  exit(1);
}

_Noreturn void fy_raise_again(const FyError *error) {
  FyTrap *trap = innermost;
  if (!trap)
    die(error);
  innermost = trap->outer;
  trap->fired = true;
  *trap->error = *error;
  fy_thread_state_restore(&trap->state);
  longjmp(trap->jump, 1);
}

_Noreturn void fy_raise(FyErrorKind kind, const char *format, ...) {
  FyError error = {.kind = kind, .file = fy_where_file, .line = fy_where_line};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error.message, sizeof error.message, format, arguments);
  va_end(arguments);
  fy_raise_again(&error);
}

_Noreturn void fy_panic_at(const char *file, int line, const char *format, ...) {
  va_list arguments;
  fflush(stdout);
  fprintf(stderr, "ferry: internal error at %s:%d: ", file, line);
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fprintf(stderr, "\nThis is a bug of Ferry, not of your program.\n");
  abort();
}

void fy_warn_once(bool *once, const char *format, ...) {
  if (__atomic_exchange_n(once, true, __ATOMIC_RELAXED))
    return;
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "Warning: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
}
