// SPDX-License-Identifier: MIT
// printf in kernels. A block's text goes into a buffer and from there to stdout when the block ends, when the buffer
// is full, and before a message about the block. So no thread of a kernel holds stdout's lock, and one that is ended
// in the middle of a printf, by a pointer that %s cannot read or by the watchdog, keeps nothing from other threads.
// CUDA's printf has a buffer as well: its text comes when the host synchronizes.
//
// In .cu files these functions are printf and its like (cudasim_launch.h). Outside of a kernel they are the C library's.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/engine/block_internal.h"
#include "sim/base/sim.h"

int cudasim_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cudasim_printf_chk(int flag, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cudasim_puts(const char *text);
int cudasim_putchar(int character);

enum { ROOM = 64 << 10 }; // bytes; more for a single longer text

void sim_print_flush(struct sim_executor *e) {
  const size_t bytes = e->printed.bytes;
  if (bytes == 0)
    return;
  sim_critical_begin(e, NULL);
  e->printed.bytes = 0;
  fwrite(e->printed.text, 1, bytes, stdout);
  sim_critical_end(e);
}

void sim_print_show(struct sim_executor *e) {
  if (e->printed.bytes == 0)
    return;
  sim_critical_begin(e, NULL);
  sim_print_flush(e);
  fflush(stdout);
  sim_critical_end(e);
}

void sim_print_discard(struct sim_executor *e) {
  e->printed.bytes = 0;
}

static void make_room(struct sim_printed *printed, size_t bytes) {
  printed->room = bytes > ROOM ? bytes : ROOM;
  free(printed->text);
  printed->text = sim_allocate(printed->room);
}

static int print(struct sim_executor *e, const char *format, va_list arguments) {
  struct sim_printed *printed = &e->printed;
  for (;;) {
    const size_t left = printed->room - printed->bytes;
    va_list again;
    va_copy(again, arguments);
    const int length = vsnprintf(left ? printed->text + printed->bytes : NULL, left, format, again);
    va_end(again);
    if (length < 0)
      return length;
    if ((size_t)length < left) {
      printed->bytes += (size_t)length;
      return length;
    }
    sim_print_flush(e);
    if ((size_t)length >= printed->room)
      make_room(printed, (size_t)length + 1);
  }
}

// `caller` is where in the kernel.
static int print_in_kernel(const void *caller, const char *format, va_list arguments) {
  struct sim_executor *e = sim_executor;
  sim_critical_begin(e, caller);
  const int length = print(e, format, arguments);
  sim_critical_end(e);
  return length;
}

static int print_anywhere(const void *caller, const char *format, va_list arguments) {
  return sim_block_running() ? print_in_kernel(caller, format, arguments) : vprintf(format, arguments);
}

__attribute__((format(printf, 2, 3))) static int print_text(const void *caller, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = print_in_kernel(caller, format, arguments);
  va_end(arguments);
  return length;
}

int cudasim_printf(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = print_anywhere(__builtin_return_address(0), format, arguments);
  va_end(arguments);
  return length;
}

// What printf is with -D_FORTIFY_SOURCE.
int cudasim_printf_chk(int flag, const char *format, ...) {
  va_list arguments;
  (void)flag;
  va_start(arguments, format);
  const int length = print_anywhere(__builtin_return_address(0), format, arguments);
  va_end(arguments);
  return length;
}

int cudasim_puts(const char *text) {
  return sim_block_running() ? print_text(__builtin_return_address(0), "%s\n", text) : puts(text);
}

int cudasim_putchar(int character) {
  return sim_block_running() ? print_text(__builtin_return_address(0), "%c", character) : putchar(character);
}
