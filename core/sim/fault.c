// The handler of SIGSEGV and SIGBUS: whose fault it was, a kernel's, the host code's or nobody's here.
#include "fault.h"
#include "inspector.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "block.h"
#include "memory.h"
#include "sim.h"

enum { HANDLER_STACK = 65536, NULL_PAGE = 65536 };

static pthread_key_t stack_key;
static struct sigaction previous_segv, previous_bus;

static void free_stack(void *memory) {
  stack_t off = {.ss_flags = SS_DISABLE};
  sigaltstack(&off, NULL);
  free(memory);
}

void sim_fault_prepare_thread(void) {
  static __thread bool prepared;
  if (prepared)
    return;
  prepared = true;
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

// A processor that faults for another reason than the page names no address: x86-64 where a vector's is not aligned.
static _Noreturn void kernel_fault(const void *address, const char *does, bool named) {
  const char *what = "neither device nor pinned memory";
  if (!named)
    what = "an address that is not a multiple of the vector's size, or that no memory can have";
  else if (sim_device_of(address) >= 0)
    what = "device memory that is not allocated";
  else if ((uintptr_t)address < NULL_PAGE)
    what = "null pointer";
  unblock(); // the handler is left by a long jump
  sim_block_fault((struct sim_fault){address, does, what, cudaErrorIllegalAddress});
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
                                       cudaErrorMisalignedAddress});
}

static _Noreturn void host_fault(const void *address) {
  char place[128];
  void *frames[16];
  sim_describe(address, place, sizeof place);
  fprintf(stderr, "cudasim: host code used a device pointer: %p (%s)\n", (void *)(uintptr_t)address, place);
  fprintf(stderr, "  copy the memory with cudaMemcpy first; the call stack:\n");
  int count = backtrace(frames, 16);
  if (count > 2)
    backtrace_symbols_fd(frames + 2, count - 2, STDERR_FILENO);
  _exit(139);
}

static void pass_on(int signal, siginfo_t *info, void *context) {
  SIM_TELL(dies());
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
  if (sim_block_running())
    kernel_fault(info->si_addr, access_of(context), info->si_code != SI_KERNEL);
  if (sim_device_of(info->si_addr) >= 0)
    host_fault(info->si_addr);
  pass_on(signal, info, context);
}

void sim_fault_init(void) {
  pthread_key_create(&stack_key, free_stack);
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);
}
