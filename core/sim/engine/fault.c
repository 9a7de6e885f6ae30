// SPDX-License-Identifier: MIT
// The handler of SIGSEGV and SIGBUS: a kernel's fault becomes an error of its device; host code that used device memory ends with a
// message; any other fault goes to the previous handler.
#include "sim/engine/fault.h"
#include "sim/base/plugin.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "sim/engine/block.h"
#include "sim/engine/crash.h"
#include "sim/base/address.h"
#include "sim/base/sim.h"

enum { HANDLER_STACK = 65536, NULL_PAGE = 65536 };

static pthread_key_t stack_key;
static struct sigaction previous_segv, previous_bus;

static void free_stack(void *memory) {
  stack_t off = {.ss_flags = SS_DISABLE};
  sigaltstack(&off, NULL);
  free(memory);
}

static void make_key(void) {
  pthread_key_create(&stack_key, free_stack);
}

void sim_fault_prepare_thread(void) {
  static __thread bool prepared;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (prepared)
    return;
  prepared = true;
  pthread_once(&once, make_key);
  stack_t present;
  if (sigaltstack(NULL, &present) == 0 && !(present.ss_flags & SS_DISABLE))
    return; // a sanitizer's
  stack_t mine = {.ss_sp = malloc(HANDLER_STACK), .ss_size = HANDLER_STACK};
  if (mine.ss_sp && sigaltstack(&mine, NULL) == 0)
    pthread_setspecific(stack_key, mine.ss_sp);
  else
    free(mine.ss_sp);
}

static void unblock(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGSEGV);
  sigaddset(&signals, SIGBUS);
  pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
}

// If the fault is not due to a page, the processor names no address: on x86-64, a misaligned vector access.
static _Noreturn void kernel_fault(const void *address, const void *pc, const char *does, bool named) {
  const char *what = "neither device nor pinned memory";
  if (!named)
    what = "an address that is not a multiple of the vector's size, or that no memory can have";
  else if (sim_device_of(address) >= 0)
    what = "device memory that is not allocated";
  else if ((uintptr_t)address < NULL_PAGE)
    what = "null pointer";
  unblock(); // the handler is left by a long jump
  sim_block_fault((struct sim_fault){address, does, what, cudaErrorIllegalAddress, pc});
}

// On a GPU the result is undefined and the kernel continues; this processor cannot.
_Noreturn void sim_divided(const void *context) {
  const char *what = "integer division by zero, whose result is undefined on a GPU,";
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGFPE);
  pthread_sigmask(SIG_UNBLOCK, &signals, NULL); // the handler is left by a long jump
  sim_block_fault((struct sim_fault){NULL, "", what, cudaErrorLaunchFailure, sim_crash_pc(context)});
}

void sim_misaligned(const void *address, unsigned int alignment, bool writes) {
  static const char *const whats[] = {"", "an address that is not a multiple of 2 bytes, its type's size",
                                      "an address that is not a multiple of 4 bytes, its type's size",
                                      "an address that is not a multiple of 8 bytes, its type's size",
                                      "an address that is not a multiple of 16 bytes, its type's size"};
  unsigned int power = (unsigned int)__builtin_ctz(alignment);
  enum { LARGEST = sizeof whats / sizeof whats[0] - 1 };
  if (sim_block_running())
    sim_block_fault((struct sim_fault){address, writes ? "writes" : "reads", whats[power < LARGEST ? power : LARGEST],
                                       cudaErrorMisalignedAddress, __builtin_return_address(0)});
}

static _Noreturn void host_fault(const void *address, const void *pc) {
  char place[128];
  sim_describe(address, place, sizeof place);
  fprintf(stderr, "cudasim: host code used a device pointer: %p (%s)\n", (void *)(uintptr_t)address, place);
  sim_crash_tell_stack(pc);
  fprintf(stderr, "  Host code cannot access device memory. Copy it with cudaMemcpy first.\n");
  SIM_NOTIFY(dies, ());
  _exit(139);
}

static void pass_on(int signal, siginfo_t *info, void *context) {
  SIM_NOTIFY(dies, ());
  const struct sigaction *previous = signal == SIGBUS ? &previous_bus : &previous_segv;
  if (previous->sa_flags & SA_SIGINFO)
    previous->sa_sigaction(signal, info, context);
  else if (previous->sa_handler != SIG_DFL && previous->sa_handler != SIG_IGN)
    previous->sa_handler(signal);
  else
    sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL},
              NULL); // the access is repeated, and ends the program
}

// Whether the access was to read or to write, where the processor says so.
static const char *access_of(const void *context) {
#if defined(__x86_64__) && defined(REG_ERR)
  enum { WRITE = 2 };
  return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & WRITE ? "writes" : "reads";
#else
  (void)context;
  return "uses";
#endif
}

static void on_fault(int signal, siginfo_t *info, void *context) {
  if (sim_block_running() && sim_block_grows_stack(info->si_addr))
    return;
  if (sim_block_running())
    kernel_fault(info->si_addr, sim_crash_pc(context), access_of(context), info->si_code != SI_KERNEL);
  if (sim_device_of(info->si_addr) >= 0)
    host_fault(info->si_addr, sim_crash_pc(context));
  pass_on(signal, info, context);
}

void sim_fault_init(void) {
  sim_crash_init();
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
}
