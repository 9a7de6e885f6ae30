// SPDX-License-Identifier: MIT
// Where a program crashed. addr2line, in a process of its own, says what an address stands for, and this reads that
// line by line; where it is not installed, the addresses have to do.
#include "sim/engine/crash.h"

#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "sim/engine/block_internal.h"
#include "sim/base/config.h"
#include "sim/engine/fault.h"
#include "sim/base/plugin.h"
#include "sim/base/processor.h"

enum { FRAMES = 32, SHOWN = 8, DIGITS = 24, LINE = 512 };

static struct {
  uintptr_t base, begin, end; // what is added to the file's addresses; where its code lies
  char path[4096], folder[4096];
  bool addresses; // are printed, and no lines
} program;

// ---- the program ----

static int read_headers(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  (void)data;
  program.base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
      program.begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
      program.end = program.begin + info->dlpi_phdr[i].p_memsz;
    }
  return 1; // the first is the program itself
}

static bool in_program(const void *address) {
  return (uintptr_t)address >= program.begin && (uintptr_t)address < program.end;
}

// ---- words ----

static void write_bytes(const char *text, size_t length) {
  while (length > 0) {
    const ssize_t written = write(STDERR_FILENO, text, length);
    if (written <= 0)
      return;
    text += written;
    length -= (size_t)written;
  }
}

static void write_text(const char *text) {
  write_bytes(text, strlen(text));
}

static void to_hex(const void *address, char text[DIGITS]) {
  uintptr_t value = (uintptr_t)address - program.base;
  char *at = text + DIGITS - 1;
  *at = '\0';
  do
    *--at = "0123456789abcdef"[value % 16];
  while (value /= 16);
  *--at = 'x';
  *--at = '0';
  memmove(text, at, (size_t)(text + DIGITS - at));
}

// ---- a line of addr2line's: "function at path:12" ----

// What it became part of follows, with this before it. Of the innermost addr2line has the name of the function that is
// in the program.
static const char inlined[] = " (inlined by) ";

struct printed {
  int shown; // so far
  bool callers;
  char next[LINE], last[LINE]; // not shown yet; shown
};

static bool has(const char *text, const char *words) {
  return strstr(text, words) != NULL;
}

// Neither the simulator's functions nor what has no line is any use to who reads the program.
static bool is_foreign(const char *line) {
  return has(line, "cudasim") || has(line, "/core/sim/") || has(line, "??");
}

static void write_source(const char *path, int number) {
  char buffer[1024];
  int file = open(path, O_RDONLY | O_CLOEXEC), at = 1;
  bool begun = false;
  for (ssize_t got; file >= 0 && at <= number && (got = read(file, buffer, sizeof buffer)) > 0;)
    for (ssize_t i = 0; i < got && at <= number; i++) {
      const bool ends = buffer[i] == '\n';
      at += ends;
      if (at < number || (ends && at == number) || (!begun && (buffer[i] == ' ' || buffer[i] == '\t')))
        continue;
      if (!begun)
        write_text("      ");
      begun = true;
      write_bytes(ends || (unsigned char)buffer[i] >= ' ' ? buffer + i : "?", 1);
    }
  if (file >= 0)
    close(file);
}

static void print_line(struct printed *printed, char *line, bool has_name) {
  char *at = strstr(line, " at "), *colon = strrchr(line, ':');
  if (is_foreign(line) || at == NULL || colon == NULL || printed->shown >= (printed->callers ? SHOWN : 1) ||
      strcmp(line, printed->last) == 0) // a function that calls itself
    return;
  strcpy(printed->last, line);
  int number = 0;
  char *digit = colon + 1;
  for (; *digit >= '0' && *digit <= '9'; digit++)
    number = number * 10 + (*digit - '0');
  const char *path = at + 4, *shown = path;
  const size_t folder = strlen(program.folder), name = strcspn(line, "(."); // parameters, and what the compiler adds
  *digit = '\0';
  if (strncmp(path, program.folder, folder) == 0 && path[folder] == '/')
    shown += folder + 1;
  write_text(printed->shown++ ? "  called from " : has_name ? "  in " : "  at ");
  if (has_name) {
    write_bytes(line, name > 0 && line + name < at ? name : (size_t)(at - line));
    write_text(", ");
  }
  write_text(shown);
  write_text("\n");
  *colon = '\0';
  if (printed->shown == 1)
    write_source(path, number);
}

// Shows the line before, since this one says what that was.
static void add_line(struct printed *printed, const char *line) {
  const bool outer = strncmp(line, inlined, sizeof inlined - 1) == 0;
  if (printed->next[0])
    print_line(printed, printed->next, !outer || printed->shown > 0);
  strcpy(printed->next, outer ? line + sizeof inlined - 1 : line);
}

static void print_all(struct printed *printed, int from) {
  char line[LINE];
  size_t used = 0;
  bool whole = true;
  char buffer[1024];
  for (ssize_t got; (got = read(from, buffer, sizeof buffer)) > 0;)
    for (ssize_t i = 0; i < got; i++)
      if (buffer[i] != '\n' && used + 1 < sizeof line) {
        line[used++] = buffer[i];
      } else if (buffer[i] == '\n') {
        line[used] = '\0';
        if (whole)
          add_line(printed, line);
        used = 0;
        whole = true;
      } else {
        whole = false; // a name that long is no use either
      }
  add_line(printed, "");
}

// ---- the stack ----

// True: lines were shown.
static bool print_lines(char *const *arguments, bool callers) {
  int ends[2], status;
  struct printed printed = {.callers = callers};
  if (pipe(ends) != 0)
    return false;
  const pid_t pid = vfork();
  if (pid == 0) { // the parent's memory is this one's
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (dup2(ends[1], STDOUT_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0)
      execvp("addr2line", arguments);
    _exit(127);
  }
  close(ends[1]);
  if (pid > 0)
    print_all(&printed, ends[0]);
  close(ends[0]);
  if (pid > 0)
    waitpid(pid, &status, 0);
  return printed.shown > 0;
}

static void print_frames(void *const *frames, int count, bool callers) {
  char digits[FRAMES][DIGITS];
  char option[] = "-Cfpie", name[] = "addr2line";
  char *arguments[FRAMES + 4] = {name, option, program.path};
  int used = 0;
  for (int i = 0; i < count; i++)
    if (in_program(frames[i])) { // a caller's address is the one after its call
      to_hex((const char *)frames[i] - (i > 0), digits[used]);
      arguments[3 + used] = digits[used];
      used++;
    }
  if (used == 0 || (!program.addresses && print_lines(arguments, callers)))
    return;
  write_text("  at program");
  for (int i = 0; i < used; i++) {
    write_text(" +");
    write_text(digits[i]);
  }
  write_text("\n");
}

void sim_crash_tell_stack(const void *pc) {
  void *frames[FRAMES];
  const int count = backtrace(frames, FRAMES);
  int first = 0;
  while (pc && first < count && frames[first] != pc)
    first++;
  if (first == count) { // after the handler and what called it
    first = count > 2 ? 2 : 0;
    frames[first] = (void *)(uintptr_t)pc;
  }
  print_frames(frames + first, count - first, true);
}

void sim_crash_tell_line(const void *pc) {
  void *frame = (void *)(uintptr_t)pc;
  if (pc)
    print_frames(&frame, 1, false);
}

const void *sim_crash_pc(const void *context) {
#if defined(__x86_64__) && defined(REG_RIP)
  return (const void *)(uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  return (const void *)(uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
#else
  (void)context;
  return NULL;
#endif
}

void sim_crash_tell_addresses(void) {
  program.addresses = true;
}

// ---- the end of the program ----

static const struct {
  int number;
  const char *name;
} ends[] = {{SIGSEGV, "segmentation fault"},
            {SIGBUS, "bus error"},
            {SIGFPE, "arithmetic exception, such as an integer division by zero"},
            {SIGILL, "illegal instruction"},
            {SIGABRT, "abort"}};
enum { ENDS = sizeof ends / sizeof ends[0] };

static void on_end(int number, siginfo_t *info, void *context) {
  (void)info;
  if (number == SIGFPE && sim_block_running())
    sim_divided(context);
  for (int i = 0; i < ENDS; i++)
    if (ends[i].number == number) {
      write_text("ferry: the program crashed: ");
      write_text(ends[i].name);
      write_text("\n");
    }
  if (sim_block_running())
    sim_report_place();
  sim_crash_tell_stack(number == SIGABRT ? NULL : sim_crash_pc(context));
  if (number == SIGFPE || number == SIGABRT) { // of the others fault.c tells; a damaged heap may hold a lock for ever
    alarm(10);
    SIM_NOTIFY(dies, ());
  }
  sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
  raise(number); // when this returns
}

static void begin(void) {
  void *frame;
  backtrace(&frame, 1); // loads what it needs now, not in the handler
  dl_iterate_phdr(read_headers, NULL);
  const ssize_t length = readlink("/proc/self/exe", program.path, sizeof program.path - 1);
  if (length <= 0 || getcwd(program.folder, sizeof program.folder) == NULL)
    program.folder[0] = '\0';
  sim_fault_prepare_thread();
  for (int i = 0; i < ENDS; i++) {
    struct sigaction action = {.sa_sigaction = on_end, .sa_flags = SA_SIGINFO | SA_ONSTACK}, present;
    sigemptyset(&action.sa_mask);
    if (sigaction(ends[i].number, NULL, &present) == 0 && !(present.sa_flags & SA_SIGINFO) &&
        present.sa_handler == SIG_DFL)
      sigaction(ends[i].number, &action, NULL);
  }
}

void sim_crash_init(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, begin);
}

// Every program has this file, and by this the check of its processor.
__attribute__((used)) static void (*const linked_with)(void) = sim_processor_check;

// A reader's program may crash before it first calls CUDA.
__attribute__((constructor)) static void begin_program(void) {
  if (sim_config_is_program())
    sim_crash_init();
}
