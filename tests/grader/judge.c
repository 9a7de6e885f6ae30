// Runs an answer's tests and says what each showed.
#include "judge.h"
#include "registry.h"
#include "case.h"
#include "plain.h"
#include <errno.h>
#include <stdarg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { REPORT_BYTES = 24 << 10 };

typedef struct Text {
  char *at;
  size_t used, room;
} Text;

static void say(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(Text *t, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(t->at + t->used, t->room - t->used, format, arguments);
  va_end(arguments);
  if (length > 0)
    t->used = t->used + (size_t)length < t->room ? t->used + (size_t)length : t->room - 1;
}

// Lines of `text`, each after four blanks.
static void say_indented(Text *t, const char *text) {
  while (text && *text) {
    size_t length = strcspn(text, "\n");
    say(t, "    %.*s\n", (int)length, text);
    text += length + (text[length] == '\n');
  }
}

// A sentence or two, broken between words.
static void say_wrapped(Text *t, const char *text) {
  enum { COLUMNS = 96 };
  while (*text) {
    size_t length = strlen(text);
    for (size_t i = length > COLUMNS ? COLUMNS : 0; i > 0; i--)
      if (text[i] == ' ') {
        length = i;
        break;
      }
    say(t, "    %.*s\n", (int)length, text);
    text += length + strspn(text + length, " ");
  }
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---- a check that breaks ---------------------------------------------------------------------------------------------------

enum { CHECK_SECONDS = 60 };

static char broken[256]; // what to say of it

static void check_broke(int number) {
  if (write(STDERR_FILENO, broken, strlen(broken)) < 0) {
  }
  (void)number;
  _exit(3);
}

// While an exercise's own code draws and judges, its crash is the grader's error, not the answer's; so is its taking for ever.
static void guard_check(const Case *c, const char *doing) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
  snprintf(broken, sizeof broken,
           "ferry: grader error: the check of %s broke while it %s \"%s\"; no fault of the answer\n", c->exercise->id,
           doing, c->test->name);
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    signal(signals[i], *doing ? check_broke : SIG_DFL);
  alarm(*doing ? CHECK_SECONDS : 0);
}

// ---- what became of one run ------------------------------------------------------------------------------------------------

// What ended it; the simulator reports a signal of the answer's and then exits with 128 and its number, as shells do.
static int signal_of(const SandboxResult *r) {
  if (r->end == SANDBOX_EXITED)
    return r->status > 128 && r->status < 128 + NSIG ? r->status - 128 : 0;
  return r->signal;
}

static Status status_of(const SandboxResult *r) {
  switch (r->end) {
  case SANDBOX_TIMEOUT:
    return STATUS_TIMEOUT;
  case SANDBOX_MEMORY:
    return STATUS_OUT_OF_MEMORY;
  case SANDBOX_OUTPUT:
  case SANDBOX_FILES:
    return STATUS_OUTPUT_LIMIT;
  case SANDBOX_SIGNALLED:
    return STATUS_CRASH;
  case SANDBOX_NOT_STARTED:
    return STATUS_GRADER_ERROR;
  default:
    if (!r->reply && signal_of(r))
      return STATUS_CRASH;
    return r->reply ? STATUS_PASS : STATUS_FAIL; // any exit status: an answer can choose it
  }
}

static void say_end(Text *t, const Answer *a, const SandboxResult *r, Status status) {
  if (r->forged)
    say(t, "  something other than a reply came through the grader's channel\n");
  else if (status == STATUS_CRASH)
    say(t, "  it was ended by signal %d: %s\n", signal_of(r), strsignal(signal_of(r)));
  else if (status == STATUS_TIMEOUT)
    say(t, "  it did not end within %.0f s\n", r->seconds);
  else if (status == STATUS_OUT_OF_MEMORY)
    say(t, "  it used more memory than the %zu MiB allowed\n", answer_memory(a) >> 20);
  else if (status == STATUS_OUTPUT_LIMIT)
    say(t, "  it printed more than 1 MiB\n");
  else if (status == STATUS_GRADER_ERROR)
    say(t, "  the grader could not run it; this is not your fault\n");
  else
    say(t, "  it ended by itself (exit status %d) before its result was asked for\n", r->status);
}

static void say_mistake(Text *t, const Mistake *m) {
  if (!m)
    return;
  say(t, "  known mistake: %s\n", m->name);
  say_wrapped(t, m->says);
  say(t, "    see %s\n", m->lesson);
}

static void say_finding(Text *t, const Case *c) {
  say_indented(t, c->finding);
  if (c->map[0]) {
    say(t, "  where it is wrong (. right, # wrong, + some of both):\n");
    say_indented(t, c->map);
  }
}

// Everything that the library says was counted has to be what was sent while it was counted.
static bool counts_agree(const Case *c, const Ledger *ledger) {
  const Counts *n = counts(c);
  const int64_t *count = ledger->count, *bytes = ledger->value;
  if (ledger->broken || ledger->begun != ledger->ended || ledger->begun != case_counted(c))
    return false;
  if (strcmp(exercise_extension(c->exercise), "cu") == 0)
    return n->operations >= count[LEDGER_OPERATION];
  return n->host_to_device == count[LEDGER_HOST_TO_DEVICE] && n->device_to_host == count[LEDGER_DEVICE_TO_HOST] &&
         n->device_to_device == count[LEDGER_DEVICE_TO_DEVICE] && n->launches == count[LEDGER_LAUNCH] &&
         n->synchronizations == count[LEDGER_SYNCHRONIZATION] &&
         n->host_to_device_bytes == bytes[LEDGER_HOST_TO_DEVICE] &&
         n->device_to_host_bytes == bytes[LEDGER_DEVICE_TO_HOST] &&
         n->device_to_device_bytes == bytes[LEDGER_DEVICE_TO_DEVICE];
}

static void take_reply(Case *c, SandboxResult *r, Status *status) {
  const char *wrong = r->reply ? message_unpack(&c->reply, r->reply, r->reply_bytes) : NULL;
  if (wrong || r->forged) {
    r->forged = true;
    *status = STATUS_FAIL;
    return;
  }
  if (*status == STATUS_PASS && !counts_agree(c, &r->ledger)) {
    case_fail(c, NULL, "the counts are not what was counted: the answer changed the counters or hid from them");
    *status = STATUS_FAIL;
  }
  if (*status == STATUS_PASS) {
    guard_check(c, "judged");
    case_judge(c);
    guard_check(c, "");
    *status = c->failed ? STATUS_FAIL : STATUS_PASS;
  }
}

static const Mistake *mistake_of(const Case *c, const SandboxResult *r, Status status) {
  if (status == STATUS_CRASH && r->output && strstr(r->output, "cudasim: host code used a device pointer"))
    return &POINTER_ON_HOST;
  if (status == STATUS_CRASH)
    return c->test->crash;
  if (status == STATUS_TIMEOUT)
    return c->test->timeout;
  return status == STATUS_FAIL ? c->mistake : NULL;
}

// What came from an answer may be made to command a terminal. Frees `text`.
static char *shown(char *text) {
  char *plain = text ? plain_text(text, strlen(text)) : NULL;
  if (text && !plain)
    grader_panic("no memory for a report");
  free(text);
  return plain;
}

// How the simulator runs an answer, once for each. What one of them hides the other shows, and the same seed gives the same.
typedef struct Pass {
  const char *threads, *blocks; // in which order they begin; "random" has the seed added
  const char *edge;             // on which side of an array even a read is an error
  const char *weak;             // to whom a write is shown no sooner than they can rely on it
} Pass;

static const Pass once = {"ascending", "ascending", "none", "none"};
static const Pass kernel_passes[] = {[PASS_IN_ORDER] = {"ascending", "ascending", "before", "none"},
                                     [PASS_THREADS_DOWN] = {"descending", "ascending", "behind", "none"},
                                     [PASS_WITHIN_BLOCKS] = {"random", "ascending", "behind", "within"},
                                     [PASS_BLOCKS_DOWN] = {"ascending", "descending", "before", "none"},
                                     [PASS_BETWEEN_BLOCKS] = {"ascending", "random", "behind", "between"}};

static void say_pass(Text *t, const Pass *p) {
  static const char *const says[] = {
      [PASS_THREADS_DOWN] = "with the threads of each block begun in descending order",
      [PASS_WITHIN_BLOCKS] =
          "with the threads of each block in random order, and what one writes to shared memory seen by the "
          "others after the next barrier",
      [PASS_BLOCKS_DOWN] = "with the blocks run in descending order",
      [PASS_BETWEEN_BLOCKS] =
          "with the blocks side by side: what one writes the others see after a fence or when the kernel ends"};
  if (p != &once && p != &kernel_passes[PASS_IN_ORDER])
    say(t, "  %s\n", says[p - kernel_passes]);
}

static void write_report(TestVerdict *v, const Answer *a, const Case *c, const SandboxResult *r, const Pass *pass) {
  Text t = {.at = calloc(1, REPORT_BYTES), .room = REPORT_BYTES};
  char asked[2048];
  if (!t.at)
    grader_panic("no memory for a report");
  case_describe(c, asked, sizeof asked);
  if (*asked)
    say(&t, "  given: %s\n", asked);
  say_pass(&t, pass);
  if (c->replied)
    say_finding(&t, c);
  else
    say_end(&t, a, r, v->status);
  say_mistake(&t, v->mistake);
  if (r->output && *r->output) {
    say(&t, "  it printed:\n");
    say_indented(&t, r->output);
  }
  v->report = shown(t.at);
}

static void setting(char *text, size_t bytes, const char *name, const char *value, uint64_t seed) {
  if (strcmp(value, "random") == 0)
    snprintf(text, bytes, "%s=random:%u", name, (unsigned)(seed & 0xffff));
  else
    snprintf(text, bytes, "%s=%s", name, value);
}

static SandboxResult run_pass(const Answer *a, const TestVerdict *v, const uint8_t *request, size_t bytes, int devices,
                              const Pass *p) {
  char threads[64], blocks[64], edge[64], weak[64];
  setting(threads, sizeof threads, "FERRY_SIM_ORDER", p->threads, v->seed);
  setting(blocks, sizeof blocks, "FERRY_SIM_BLOCKS", p->blocks, v->seed >> 16);
  setting(edge, sizeof edge, "FERRY_SIM_EDGE", p->edge, 0);
  setting(weak, sizeof weak, "FERRY_SIM_WEAK", p->weak, 0);
  const char *const settings[] = {threads, blocks, edge, weak, NULL};
  return answer_run(a, request, bytes, devices, v->test->no_cuda, settings);
}

static bool run_once(TestVerdict *v, Answer *a, const Exercise *e, int devices, const Pass *pass) {
  static Case c; // large
  case_begin(&c, e, v->test, v->seed, devices);
  c.pass = pass == &once ? PASS_IN_ORDER : (KernelPass)(pass - kernel_passes);
  guard_check(&c, "drew");
  case_ask(&c);
  guard_check(&c, "");
  if (getrandom(&c.request.nonce, sizeof c.request.nonce, 0) != (ssize_t)sizeof c.request.nonce)
    grader_panic("no random numbers from the system: %s", strerror(errno));
  size_t bytes = 0;
  uint8_t *request = message_pack(&c.request, &bytes);
  if (!request)
    grader_panic("%s: the request of \"%s\" is too long", e->id, v->test->name);
  SandboxResult r = run_pass(a, v, request, bytes, devices, pass);
  if (r.end != SANDBOX_NOT_STARTED)
    a->protections &= r.protections;
  v->status = status_of(&r);
  c.replied = r.reply != NULL;
  take_reply(&c, &r, &v->status);
  c.replied = c.replied && !r.forged;
  v->mistake = mistake_of(&c, &r, v->status);
  if (v->status != STATUS_PASS)
    write_report(v, a, &c, &r, pass);
  v->seconds += r.seconds;
  free(request);
  sandbox_result_free(&r);
  case_free(&c);
  return v->status == STATUS_PASS;
}

static void run_test(TestVerdict *v, Answer *a, const Exercise *e, const JudgeOptions *o) {
  int needed = v->test->devices > 1 ? v->test->devices : 1;
  if (o->devices < needed && !v->test->no_cuda) {
    v->status = STATUS_SKIPPED;
    return;
  }
  bool kernel = strcmp(exercise_extension(e), "cu") == 0;
  if (!kernel || a->real_gpu) {
    run_once(v, a, e, o->devices, &once);
    return;
  }
  size_t all = sizeof kernel_passes / sizeof kernel_passes[0];
  size_t passes = v->test->passes > 0 ? (size_t)v->test->passes : all;
  for (size_t i = 0; i < passes && run_once(v, a, e, o->devices, &kernel_passes[i]); i++)
    continue;
}

// ---- the whole answer ------------------------------------------------------------------------------------------------------

static Status worst(Status a, Status b) {
  static const int rank[] = {[STATUS_PASS] = 0,         [STATUS_SKIPPED] = 0,      [STATUS_FAIL] = 1,
                             [STATUS_CRASH] = 2,        [STATUS_TIMEOUT] = 2,      [STATUS_OUT_OF_MEMORY] = 2,
                             [STATUS_OUTPUT_LIMIT] = 2, [STATUS_GRADER_ERROR] = 3, [STATUS_NOT_RUN] = 0};
  return rank[b] > rank[a] ? b : a;
}

static void run_tests(Verdict *v, Answer *a, const JudgeOptions *o) {
  v->status = STATUS_PASS;
  for (int i = 0; i < MAX_TESTS && v->exercise->tests[i].name; i++) {
    const Test *test = &v->exercise->tests[i];
    if (o->only && strcmp(o->only, test->name) != 0)
      continue;
    TestVerdict *t = &v->tests[v->test_count++];
    t->test = test;
    t->seed = o->replay ? o->seed : hash_text(hash_text(o->seed, v->exercise->id), test->name);
    run_test(t, a, v->exercise, o);
    v->passed += t->status == STATUS_PASS;
    v->skipped += t->status == STATUS_SKIPPED;
    v->status = worst(v->status, t->status);
  }
}

static void not_judged(Verdict *v, Status status) {
  const Exercise *exercise = v->exercise;
  verdict_free(v);
  *v = (Verdict){.exercise = exercise, .status = status};
  for (; v->test_count < MAX_TESTS && exercise->tests[v->test_count].name; v->test_count++)
    v->tests[v->test_count] = (TestVerdict){.test = &exercise->tests[v->test_count], .status = status};
}

void judge_answer(Verdict *v, const Exercise *exercise, const char *source, const JudgeOptions *options) {
  double began = now();
  Answer a;
  *v = (Verdict){.exercise = exercise};
  answer_build(&a, exercise, source);
  if (a.status == STATUS_NOT_RUN)
    run_tests(v, &a, options);
  // What failed may have failed because the build is being replaced; nobody loses points by that.
  bool failed = a.status != STATUS_NOT_RUN || v->status != STATUS_PASS;
  if (failed && a.folder[0] && a.status != STATUS_MISSING)
    answer_build_is_whole(&a);
  if (a.status != STATUS_NOT_RUN)
    not_judged(v, a.status);
  v->real_gpu = a.real_gpu;
  v->report = shown(a.diagnostics);
  a.diagnostics = NULL;
  v->protections = a.protections;
  answer_free(&a);
  v->seconds = now() - began;
}

void verdict_free(Verdict *v) {
  free(v->report);
  for (int i = 0; i < v->test_count; i++)
    free(v->tests[i].report);
  *v = (Verdict){0};
}

double verdict_score(const Verdict *v) {
  int run = v->test_count - v->skipped;
  return run > 0 ? (double)v->passed / run : 0;
}
