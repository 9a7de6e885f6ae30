// SPDX-License-Identifier: MIT
// A watching thread checks once a second whether each running block has made progress: ended, passed a barrier, or
// polled. It sends a signal to the thread of a block that has not, whose handler reports where the block is.
#include "sim/engine/watchdog.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/engine/block_internal.h"
#include "sim/engine/crash.h"
#include "sim/base/sim.h"

enum { FRAMES = 6 };

struct watched {
  struct sim_executor *_Atomic e; // NULL: no block runs
  pthread_t thread;
  atomic_uint blocks;                               // begun; written by the thread alone
  unsigned int seen_blocks, seen_phase, seen_polls; // the watching thread's own
  atomic_uint idle_seconds;
  atomic_bool reported;
  void *frames[FRAMES]; // where the block was, innermost first; valid once frame_count says so
  atomic_int frame_count;
  struct watched *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct watched *all;
static __thread struct watched *mine;
static pthread_key_t key;

static const char words[] =
    "a thread of this block has run for long without a barrier or an atomic function. If it waits for "
    "another by a plain or volatile load, it waits for ever here: use atomicAdd(address, 0)";

// From `from` on: where a signal has interrupted the kernel, or where it has called the simulator.
static void keep_frames(struct watched *w, const void *from) {
  enum { OWN = 8 }; // this function's, the handler's, and those of what the kernel called
  void *all_frames[FRAMES + OWN];
  const int found = backtrace(all_frames, FRAMES + OWN);
  int first = 0;
  while (first < found && all_frames[first] != from)
    first++;
  first = first < found ? first : 0;
  const int count = found - first < FRAMES ? found - first : FRAMES;
  for (int i = 0; i < count; i++)
    w->frames[i] = all_frames[first + i];
  w->frame_count = count > 0 ? count : -1;
}

// Functions, files and lines by addr2line, or where that is not, the addresses. On the watching thread: a handler must not.
static void print_lines(struct watched *w) {
  char command[4200], program[4000];
  for (int wait = 0; wait < 20 && w->frame_count == 0; wait++)
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  const int count = w->frame_count;
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (count <= 0 || length <= 0)
    return;
  program[length] = '\0';
  if (strchr(program, '\''))
    return;
  int used = snprintf(command, sizeof command, "addr2line -Cfpsie '%s'", program);
  for (int i = 0; i < count; i++) { // a caller's address is the one after its call
    Dl_info info;
    const char *address = (const char *)w->frames[i] - (i > 0);
    if (dladdr(address, &info) != 0 && used < (int)sizeof command - 40)
      used += snprintf(command + used, sizeof command - (size_t)used, " %#zx",
                       (size_t)(address - (const char *)info.dli_fbase));
  }
  fprintf(stderr, "  where it is:\n");
  fflush(stderr);
  snprintf(command + used, sizeof command - (size_t)used,
           " 2>/dev/null | sed -E '/cudasim::closure| at cudasim[ _]launch/,$d; s/^/    /' >&2");
  if (system("command -v addr2line >/dev/null 2>&1") != 0 || system(command) != 0)
    backtrace_symbols_fd(w->frames, count, STDERR_FILENO);
}

// On the thread that runs the block, at `from` in its kernel.
static void report_block(struct sim_executor *e, const void *from) {
  const int end_after = sim.config.end_seconds;
  const bool end = end_after > 0 && (int)mine->idle_seconds >= end_after;
  if (!mine->reported) {
    mine->reported = true;
    sim_report(e, words);
    if (e->tracking)
      sim_report_threads(e);
    if (e->passed_file)
      fprintf(stderr, "  the last barrier that it has passed: %s:%d\n", e->passed_file, e->passed_line);
    keep_frames(mine, from);
  }
  if (end) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGURG);
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL); // the handler is left by a long jump
    sim_report(e, "given up (FERRY_SIM_SECONDS)");
    sim_give_up(e, cudaErrorLaunchTimeout);
  }
}

void sim_watchdog_answer(struct sim_executor *e) {
  e->asked = 0;
  if (e->inside && mine && mine->idle_seconds > 0) // it has made no progress meanwhile
    report_block(e, e->critical_from);
}

static void on_signal(int signal, siginfo_t *info, void *context) {
  struct sim_executor *e = sim_executor;
  (void)signal;
  (void)info;
  if (mine == NULL || mine->e == NULL || e == NULL || !e->inside)
    return;
  if (e->critical)
    e->asked = 1;
  else
    report_block(e, sim_crash_pc(context));
}

// An executor lives as long as its thread, and is looked at under the lock that the thread's end takes.
static bool has_moved(struct watched *w, const struct sim_executor *e) {
  const unsigned int blocks = atomic_load(&w->blocks), phase = sim_get(&e->phase), polls = sim_get(&e->polls);
  const bool moved = blocks != w->seen_blocks || phase != w->seen_phase || polls != w->seen_polls;
  w->seen_blocks = blocks;
  w->seen_phase = phase;
  w->seen_polls = polls;
  return moved;
}

static void *watch(void *unused) {
  (void)unused;
  const int report_after = sim.config.report_seconds, end_after = sim.config.end_seconds;
  for (;;) {
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    pthread_mutex_lock(&lock);
    for (struct watched *w = all; w; w = w->next) {
      const struct sim_executor *e = w->e;
      if (e == NULL || has_moved(w, e)) {
        w->idle_seconds = 0;
        w->reported = false;
        continue;
      }
      w->idle_seconds++;
      const bool report = (int)w->idle_seconds == report_after;
      if (report)
        w->frame_count = 0;
      if (report || (end_after > 0 && (int)w->idle_seconds >= end_after))
        pthread_kill(w->thread, SIGURG);
      if (report)
        print_lines(w);
    }
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

static void unlist_thread(void *data) {
  struct watched **link = &all;
  pthread_mutex_lock(&lock);
  while (*link != data)
    link = &(*link)->next;
  *link = (*link)->next;
  pthread_mutex_unlock(&lock);
  free(data);
}

static bool enabled;

static void start_watching(void) {
  pthread_t thread;
  enabled = (sim_config_is_program() || sim.config.end_seconds > 0) && sim.config.report_seconds > 0;
  if (!enabled)
    return;
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  sigaction(SIGURG, &action, NULL);
  pthread_key_create(&key, unlist_thread);
  void *frame;
  backtrace(&frame, 1); // loads what it needs now, not in the handler
  enabled = pthread_create(&thread, NULL, watch, NULL) == 0;
  if (enabled)
    pthread_detach(thread);
}

void sim_watch_begin(struct sim_executor *e) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start_watching);
  if (!enabled)
    return;
  if (mine == NULL) {
    mine = sim_allocate(sizeof *mine);
    *mine = (struct watched){.thread = pthread_self()};
    pthread_setspecific(key, mine);
    pthread_mutex_lock(&lock);
    mine->next = all;
    all = mine;
    pthread_mutex_unlock(&lock);
  }
  atomic_store_explicit(&mine->e, e, memory_order_release);
  sim_set(&mine->blocks, sim_get(&mine->blocks) + 1);
}

void sim_watch_end(void) {
  if (mine)
    atomic_store_explicit(&mine->e, NULL, memory_order_release);
}
