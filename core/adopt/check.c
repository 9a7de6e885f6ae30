// SPDX-License-Identifier: MIT
// The differential test of adopted kernels: `check OP...` computes random calls of these ops on the CPU and on a CUDA device, whose
// kernels are the adopted ones, and compares. A call that differs, fails, crashes or does not end is made as small as possible and
// printed. Exit status: 0 no difference, 1 a difference, 3 the test could not run.
//
// Kernels may do anything to their process. So calls run in children: one for a series of calls, one for each call while a call is
// made smaller. The parent draws, and never uses a device.
#include "adopt/adopt.h"
#include "adopt/check.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SERIES = 60, CALL_SECONDS = 20, MOST_SHRINKS = 200, SAID = 400 };

// ---- drawing -----------------------------------------------------------------------------------------------------------------

static uint64_t state;

static uint64_t next(void) { // splitmix64
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

// Small sizes, sizes around multiples of 32, and any others.
static int64_t draw_size(int64_t most) {
  static const int64_t blocks[] = {32, 64, 128, 256, 512, 1024, 2048};
  int64_t size = 1 + (int64_t)(next() % 8);
  const uint64_t kind = next() % 4;
  if (kind == 1)
    size = blocks[next() % (sizeof blocks / sizeof *blocks)] + (int64_t)(next() % 3) - 1;
  if (kind > 1)
    size = 1 + (int64_t)(next() % (uint64_t)(next() % 2 ? most : most < 300 ? most : 300));
  return size < most ? size : most;
}

static CheckCall draw_call(const CheckKind *kind) {
  CheckCall c = {.kind = kind};
  do {
    for (int i = 0; i < CHECK_SIZES; i++)
      c.size[i] = kind->most[i] ? draw_size(kind->most[i]) : 1;
  } while (check_elements(&c) > CHECK_MOST_ELEMENTS);
  c.seed = next() >> 32;
  c.odd = kind->odd && next() % 5 == 0;
  return c;
}

// ---- children ------------------------------------------------------------------------------------------------------------------

// What came of a series: how many calls were equal, and what the next one did.
typedef struct Outcome {
  int equal;
  CheckDifference difference;
  char said[SAID]; // by the process, when it ended before its time
  bool trouble;    // there was no process
  int64_t own;     // calls that ran on adopted kernels
} Outcome;

static int64_t own_calls(void) {
  int64_t calls = 0;
  for (int op = 0; op < FY_ADOPTED_OPS; op++)
    calls += fy_adopted_use((FyAdoptedOp)op).own;
  return calls;
}

// In the child. Sends a 0 for each call that is equal, and at the end how many ran on adopted kernels; or a 1 and the difference.
static _Noreturn void run_series(const CheckCall *calls, int count, int to) {
  for (int i = 0; i < count; i++) {
    CheckDifference d = {0};
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = CALL_SECONDS}, NULL);
    const char differs = check_run(&calls[i], &d);
    if (write(to, &differs, 1) != 1 || (differs && write(to, &d, sizeof d) != sizeof d))
      _exit(3);
    if (differs)
      _exit(1);
  }
  const int64_t own = own_calls();
  _exit(write(to, &own, sizeof own) == sizeof own ? 0 : 3);
}

static void read_all(int from, void *to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = read(from, (char *)to + done, bytes - done);
    if (n <= 0)
      break;
    done += (size_t)n;
  }
}

static void read_outcome(Outcome *o, int count, int from) {
  char differs = 0;
  while (o->equal < count && read(from, &differs, 1) == 1 && !differs)
    o->equal++;
  if (o->equal == count)
    read_all(from, &o->own, sizeof o->own);
  else
    read_all(from, &o->difference, sizeof o->difference);
}

static void tell_end(Outcome *o, int status, const char *said) {
  const char *line = said + strspn(said, "\n");
  char how[64] = "its process ended";
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
    snprintf(how, sizeof how, "it did not end within %d seconds of processor time", CALL_SECONDS);
  else if (WIFSIGNALED(status))
    snprintf(how, sizeof how, "it crashed (%s)", strsignal(WTERMSIG(status)));
  o->difference.failed = true;
  snprintf(o->difference.got, sizeof o->difference.got, "%s%s%.*s", how, *line ? ": " : "", (int)strcspn(line, "\n"),
           line);
}

static Outcome run_calls(const CheckCall *calls, int count) {
  Outcome o = {0};
  int results[2], errors[2], status = 0;
  if (pipe(results) != 0 || pipe(errors) != 0) {
    o.trouble = true;
    return o;
  }
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    fcntl(errors[1], F_SETFL, O_NONBLOCK); // what does not fit is left out
    dup2(errors[1], STDERR_FILENO);
    dup2(errors[1], STDOUT_FILENO);
    run_series(calls, count, results[1]);
  }
  close(results[1]);
  close(errors[1]);
  o.trouble = child < 0;
  if (child > 0) {
    read_outcome(&o, count, results[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    const ssize_t n = read(errors[0], o.said, SAID - 1);
    o.said[n > 0 ? n : 0] = '\0';
  }
  close(results[0]);
  close(errors[0]);
  if (!o.trouble && o.equal < count && !o.difference.expected[0] && !o.difference.failed)
    tell_end(&o, status, o.said);
  return o;
}

// ---- smaller calls -----------------------------------------------------------------------------------------------------------------

static bool still_differs(const CheckCall *c, CheckDifference *d) {
  const Outcome o = run_calls(c, 1);
  if (o.trouble || o.equal == 1)
    return false;
  *d = o.difference;
  return true;
}

// Tries each size at 1, a half, and one less, until none of these differs.
static void shrink(CheckCall *c, CheckDifference *d) {
  bool smaller = true;
  for (int tries = 0; smaller && tries < MOST_SHRINKS;) {
    smaller = false;
    for (int i = 0; i <= CHECK_SIZES; i++)
      for (int way = 0; way < 3 && tries < MOST_SHRINKS; way++, tries++) {
        CheckCall less = *c;
        if (i == CHECK_SIZES)
          less.odd = false;
        else
          less.size[i] = way == 0 ? 1 : way == 1 ? c->size[i] / 2 : c->size[i] - 1;
        const bool is_less = i == CHECK_SIZES ? c->odd : less.size[i] > 0 && less.size[i] < c->size[i];
        if (is_less && still_differs(&less, d)) {
          *c = less;
          smaller = true;
          break;
        }
      }
  }
}

// ---- the report ----------------------------------------------------------------------------------------------------------------

static int refuse(CheckCall *c, CheckDifference *d) {
  shrink(c, d);
  printf("call      %s, with ", c->kind->name);
  check_print_inputs(c);
  if (d->failed) {
    printf("outcome   %s\n", d->got);
    return 1;
  }
  if (d->elements > 1)
    printf("differs   %lld of %lld elements\n", (long long)d->wrong, (long long)d->elements);
  printf("expected  %s = %s\ngot       %s = %s\n", d->where, d->expected, d->where, d->got);
  return 1;
}

static int check_kind(const CheckKind *kind, int64_t *own) {
  static CheckCall calls[SERIES];
  for (int i = 0; i < SERIES; i++)
    calls[i] = draw_call(kind);
  Outcome o = run_calls(calls, SERIES);
  if (o.trouble) {
    fprintf(stderr, "check: a process could not be started: %s\n", strerror(errno));
    return 3;
  }
  *own += o.own;
  return o.equal == SERIES ? 0 : refuse(&calls[o.equal], &o.difference);
}

int main(int argc, char **argv) {
  const char *seed = getenv("FERRY_CHECK_SEED");
  state = seed ? strtoull(seed, NULL, 10) : 1;
  int64_t own = 0;
  int kinds = 0;
  for (int i = 0; i < check_kind_count; i++)
    for (int a = 1; a < argc; a++)
      if (strcmp(check_kinds[i].op, argv[a]) == 0) {
        const int status = check_kind(&check_kinds[i], &own);
        kinds++;
        if (status != 0)
          return status;
      }
  if (own == 0) {
    fprintf(stderr, "check: none of %d calls ran on an adopted kernel\n", kinds * SERIES);
    return 3;
  }
  printf("%d calls are equal, %lld of them on adopted kernels\n", kinds * SERIES, (long long)own);
  return 0;
}
