// SPDX-License-Identifier: MIT
// Stacks with guard pages, and the switch from one to another.
#include "sim/engine/fiber.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/engine/sanitizer.h"

// A GPU's thread has up to 512 KiB of local memory for its arrays and calls. At first the upper part of a stack is
// accessible, which is enough for most kernels; sim_fiber_grow adds what a thread comes to. So 1024 stacks count
// little where a system limits a process's data (RLIMIT_DATA, strict overcommit).
#if defined(SIM_ASAN) || defined(CUDASIM_TSAN)
enum { OPEN_BYTES = 256 << 10 };
#else
enum { OPEN_BYTES = 64 << 10 };
#endif
enum { STACK_BYTES = (512 << 10) + OPEN_BYTES };

// A function whose frame does not fit touches the guard, unless the frame is larger than what is left and the guard together.
enum { GUARD_BYTES = 64 << 10 };

// One page more: stacks that are an odd number of pages apart spread over all sets of the processor's TLB.
static size_t guard_bytes(void) {
  return GUARD_BYTES + (size_t)sysconf(_SC_PAGESIZE);
}

#ifndef SIM_UCONTEXT
// Stacks begin at equal offsets in their pages; staggering their tops keeps them out of the same cache sets.
static char *stack_top(const struct sim_fiber *fiber) {
  size_t stagger = (size_t)(fiber->number % 61) * 320;
  return (char *)((uintptr_t)(fiber->low + fiber->size - stagger) & ~(uintptr_t)15);
}
#endif

#if defined(SIM_UCONTEXT)
static void prepare(struct sim_fiber *fiber) {
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->low;
  fiber->context.uc_stack.ss_size = fiber->size;
  fiber->context.uc_link = NULL;
  makecontext(&fiber->context, sim_fiber_entry, 0);
}
#elif defined(__x86_64__)
// The registers that a function has to leave as they were.
#define PUSH_SAVED "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
#define POP_SAVED "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
__asm__(".text\n"
        ".globl sim_fiber_swap\n"
        ".hidden sim_fiber_swap\n"
        ".type sim_fiber_swap,@function\n"
        "sim_fiber_swap:\n" PUSH_SAVED "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n" POP_SAVED "  ret\n"
        ".size sim_fiber_swap,.-sim_fiber_swap\n"
        ".globl sim_fiber_start\n"
        ".hidden sim_fiber_start\n"
        ".type sim_fiber_start,@function\n"
        "sim_fiber_start:\n" PUSH_SAVED "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  jmp sim_fiber_entry@PLT\n"
        ".size sim_fiber_start,.-sim_fiber_start\n"
        ".globl sim_fiber_jump\n"
        ".hidden sim_fiber_jump\n"
        ".type sim_fiber_jump,@function\n"
        "sim_fiber_jump:\n"
        "  movq %rdi, %rsp\n" POP_SAVED "  popq %rcx\n"
        "  jmp *%rcx\n"
        ".size sim_fiber_jump,.-sim_fiber_jump\n");

// What sim_fiber_swap pops, so that its `ret` enters sim_fiber_entry, where fibers are not begun by sim_fiber_start; the null
// return address above ends backtraces.
static void prepare(struct sim_fiber *fiber) {
  uintptr_t *top = (uintptr_t *)stack_top(fiber);
  *--top = 0;
  *--top = (uintptr_t)sim_fiber_entry;
#ifdef SIM_FIBERS_JUMP
  fiber->stack_pointer = top + 1;
#else
  for (int saved = 0; saved < 6; saved++)
    *--top = 0;
  fiber->stack_pointer = top;
#endif
}
#else
__asm__(".text\n"
        ".globl sim_fiber_swap\n"
        ".hidden sim_fiber_swap\n"
        ".type sim_fiber_swap,%function\n"
        "sim_fiber_swap:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp]\n"
        "  stp x21, x22, [sp, #16]\n"
        "  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n"
        "  stp x27, x28, [sp, #64]\n"
        "  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n"
        "  stp d10, d11, [sp, #112]\n"
        "  stp d12, d13, [sp, #128]\n"
        "  stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n"
        "  str x9, [x0]\n"
        "  mov sp, x1\n"
        "  ldp x19, x20, [sp]\n"
        "  ldp x21, x22, [sp, #16]\n"
        "  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n"
        "  ldp x27, x28, [sp, #64]\n"
        "  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n"
        "  ldp d10, d11, [sp, #112]\n"
        "  ldp d12, d13, [sp, #128]\n"
        "  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n"
        "  ret\n"
        ".size sim_fiber_swap,.-sim_fiber_swap\n");

// Twenty saved registers, of which x30 (the twelfth) is where sim_fiber_swap returns to.
static void prepare(struct sim_fiber *fiber) {
  uintptr_t *top = (uintptr_t *)stack_top(fiber) - 20;
  for (int saved = 0; saved < 20; saved++)
    top[saved] = 0;
  top[11] = (uintptr_t)sim_fiber_entry;
  fiber->stack_pointer = top;
}
#endif

void sim_fiber_reset(struct sim_fiber *fiber) {
  ASAN_UNPOISON_MEMORY_REGION(fiber->low, fiber->size);
  fiber->asan_stack = NULL;
  prepare(fiber);
}

struct sim_fiber sim_fiber_native(void) {
  struct sim_fiber fiber = {0};
  pthread_attr_t attributes;
  void *low;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    if (pthread_attr_getstack(&attributes, &low, &fiber.size) == 0)
      fiber.low = fiber.open = low;
    pthread_attr_destroy(&attributes);
  }
  return fiber;
}

struct sim_fiber *sim_fiber_new(int number) {
  size_t guard = guard_bytes();
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
  char *map = mmap(NULL, guard + STACK_BYTES, PROT_NONE, flags, -1, 0);
  struct sim_fiber *fiber = calloc(1, sizeof *fiber);
  if (map == MAP_FAILED || fiber == NULL ||
      mprotect(map + guard + STACK_BYTES - OPEN_BYTES, OPEN_BYTES, PROT_READ | PROT_WRITE) != 0) {
    perror("ferry: the simulated CUDA device has no memory for a thread's stack");
    exit(1);
  }
  fiber->low = map + guard;
  fiber->size = STACK_BYTES;
  fiber->open = fiber->low + STACK_BYTES - OPEN_BYTES;
  fiber->number = number;
  sim_fiber_reset(fiber);
  return fiber;
}

void sim_fiber_free(struct sim_fiber *fiber) {
  munmap(fiber->low - guard_bytes(), guard_bytes() + STACK_BYTES);
  free(fiber);
}

void sim_fiber_landed(struct sim_fiber *self) {
#ifdef SIM_ASAN
  __sanitizer_finish_switch_fiber(self->asan_stack, NULL, NULL);
#else
  (void)self;
#endif
}

void sim_fiber_before_jump(const struct sim_fiber *to) {
#ifdef SIM_ASAN
  __sanitizer_start_switch_fiber(NULL, to->low, to->size);
#else
  (void)to;
#endif
}

#if defined(SIM_ASAN) || defined(SIM_UCONTEXT)
void sim_fiber_switch(struct sim_fiber *from, void **save, struct sim_fiber *to, void *load) {
#ifdef SIM_ASAN
  __sanitizer_start_switch_fiber(&from->asan_stack, to->low, to->size);
#endif
#ifdef SIM_UCONTEXT
  (void)save;
  (void)load;
  swapcontext(&from->context, &to->context);
#else
  sim_fiber_swap(save, load);
#endif
  sim_fiber_landed(from);
}
#endif

bool sim_fiber_grow(struct sim_fiber *fiber, const void *address) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), offset = (size_t)((const char *)address - fiber->low);
  if ((const char *)address < fiber->low || (const char *)address >= fiber->open)
    return false;
  char *from = fiber->low + offset / page * page;
  if (mprotect(from, (size_t)(fiber->open - from), PROT_READ | PROT_WRITE) != 0)
    return false;
  fiber->open = from;
  return true;
}

bool sim_fiber_guards(const struct sim_fiber *fiber, const void *address) {
  const char *byte = address;
  return byte >= fiber->low - guard_bytes() && byte < fiber->open;
}
