// SPDX-License-Identifier: MIT
// Runs an answer's tests and says what each showed.
#include "judge.h"
#include "registry.h"
#include "judge_report.h"
#include "judge_tests.h"
#include "case.h"
#include "host_memory.h"
#include "inspect/report/inspection.h"
#include "schedule.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

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
           "ferry: grader error: the check of %s crashed while it %s \"%s\"; this is not an error in the answer\n",
           c->exercise->id, doing, c->test->name);
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    signal(signals[i], *doing ? check_broke : SIG_DFL);
  alarm(*doing ? CHECK_SECONDS : 0);
}

// ---- what became of one run ------------------------------------------------------------------------------------------------

// What the compiler puts where an index leaves its array (answer.c): ud2 on x86-64, brk on aarch64.
static bool is_trap(int signal) {
  return signal == SIGILL || signal == SIGTRAP;
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
  case SANDBOX_SIGNALED:
    return STATUS_CRASH;
  case SANDBOX_NOT_STARTED:
    return STATUS_GRADER_ERROR;
  default:
    if (!r->reply && report_signal(r))
      return STATUS_CRASH;
    return r->reply ? STATUS_PASS : STATUS_FAIL; // any exit status: an answer can choose it
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

static void unpack_reply(Case *c, SandboxResult *r, Status *status) {
  const char *wrong = r->reply ? message_unpack(&c->reply, r->reply, r->reply_bytes) : NULL;
  c->replied = r->reply && !wrong && !r->forged;
  r->forged |= wrong != NULL;
  if (r->forged)
    *status = STATUS_FAIL;
}

// The replies of a test's passes that were judged right. To the same question the same reply, byte for byte, is as right in
// another pass: judging it costs more than all the rest where the result is large.
typedef struct Replies {
  uint8_t *bytes[8];
  size_t size[8];
  int count;
} Replies;

static Replies right_replies;

static bool judged_right(const SandboxResult *r) {
  for (int i = 0; i < right_replies.count; i++)
    if (right_replies.size[i] == r->reply_bytes && memcmp(right_replies.bytes[i], r->reply, r->reply_bytes) == 0)
      return true;
  return false;
}

static void keep_reply(const SandboxResult *r) {
  Replies *kept = &right_replies;
  if (kept->count == 8 || !(kept->bytes[kept->count] = malloc(r->reply_bytes + 1)))
    return;
  memcpy(kept->bytes[kept->count], r->reply, r->reply_bytes);
  kept->size[kept->count++] = r->reply_bytes;
}

static void forget_replies(void) {
  while (right_replies.count > 0)
    free(right_replies.bytes[--right_replies.count]);
}

// Right as it comes, and wrong where nothing but the order is another: that is what is wrong, whichever it is. Of blocks it may be a
// race as well as an order that was taken for granted.
static const Mistake *mistake_of_schedule(const Case *c) {
  switch (*got_error(c) ? SCHEDULE_IN_ORDER : c->schedule) {
  case SCHEDULE_THREADS_DOWN:
  case SCHEDULE_WITHIN_BLOCKS:
    return &RACE;
  case SCHEDULE_OTHERS_AHEAD:
  case SCHEDULE_DELAYED:
    return &STREAMS_APART;
  default:
    return NULL;
  }
}

static void judge_reply(Case *c, const SandboxResult *r, Status *status, bool unseen) {
  if (*status == STATUS_PASS && !counts_agree(c, &r->ledger)) {
    case_fail(c, NULL, "the counts in the reply are wrong: the answer changed the counters or bypassed them");
    *status = STATUS_FAIL;
  }
  if (*status == STATUS_PASS && unseen) {
    case_fail(c, NULL, "the reply does not contain the inspector's record: the answer bypassed the inspector");
    *status = STATUS_FAIL;
  }
  if (*status != STATUS_PASS || judged_right(r))
    return;
  guard_check(c, "judged");
  case_judge(c);
  guard_check(c, "");
  const Mistake *of_schedule = c->inspection ? NULL : mistake_of_schedule(c);
  if (of_schedule && c->failed && (!c->mistake || c->mistake == c->fallback)) {
    c->mistake = of_schedule; // what is left unwritten in this order alone was written too late
    c->likely = false;
  }
  // In all else it is the first pass, which was right: whatever fits the result, this is why. A divergent barrier may be that of
  // the first call, whose inputs are another test's.
  if (c->failed && c->schedule == SCHEDULE_AGAIN && !strstr(got_error(c), "divergent")) {
    c->mistake = &FIRST_CALL_ALONE;
    c->likely = false;
  }
  *status = c->failed ? STATUS_FAIL : STATUS_PASS;
  if (*status == STATUS_PASS && !c->inspection)
    keep_reply(r);
}

static bool printed(const SandboxResult *r, const char *text) {
  return r->output && strstr(r->output, text);
}

static const Mistake *mistake_of(const Case *c, const SandboxResult *r, Status status) {
  if (status == STATUS_CRASH && printed(r, "cudasim: host code used a device pointer"))
    return &POINTER_ON_HOST;
  if (status == STATUS_CRASH && printed(r, HOST_MEMORY_FREED))
    return &USED_AFTER_FREE;
  if (status == STATUS_CRASH && (is_trap(report_signal(r)) || printed(r, HOST_MEMORY_BEFORE)))
    return &INDEX_OUTSIDE;
  if (status == STATUS_CRASH)
    return c->test->crash;
  if (status == STATUS_TIMEOUT)
    return c->test->timeout;
  return status == STATUS_FAIL ? c->mistake : NULL;
}

// One run of a test, from the asking to the reply.
typedef struct Run {
  Case c; // large
  SandboxResult r;
  const Schedule *schedule;
  Status status;
} Run;

// Draws the case's inputs, and appends them as a message.
static void add_request(Case *c, uint8_t **request, size_t *bytes) {
  size_t more = 0;
  guard_check(c, "drew");
  case_ask(c);
  guard_check(c, "");
  if (getrandom(&c->request.nonce, sizeof c->request.nonce, 0) != (ssize_t)sizeof c->request.nonce)
    fatal_error("the system provided no random numbers: %s", strerror(errno));
  uint8_t *packed = message_pack(&c->request, &more);
  uint8_t *all = packed ? realloc(*request, *bytes + more) : NULL;
  if (!all)
    fatal_error("%s: the request of \"%s\" is too long", c->exercise->id, c->test->name);
  memcpy(all + *bytes, packed, more);
  free(packed);
  *request = all;
  *bytes += more;
}

// For the call before, in SCHEDULE_AGAIN.
static void add_first_request(const Case *c, uint8_t **request, size_t *bytes) {
  static Case first; // large
  case_begin(&first, c->exercise, schedule_first_test(c->exercise, c->test), c->seed, c->devices);
  add_request(&first, request, bytes);
  case_free(&first);
}

static void run_begin(Run *run, const TestVerdict *v, Answer *a, const Exercise *e, int devices,
                      const Schedule *schedule) {
  ScheduleSettings settings;
  size_t bytes = 0;
  Case *c = &run->c;
  uint8_t *request = NULL;
  case_begin(c, e, v->test, v->seed, devices);
  c->schedule = schedule->is;
  c->symptoms = v->symptoms;
  add_request(c, &request, &bytes);
  if (schedule->is == SCHEDULE_AGAIN)
    add_first_request(c, &request, &bytes);
  run->schedule = schedule;
  if (v->test->scored)
    schedule_scored_settings(&settings, v->test->scored, a->mix);
  else
    schedule_settings(&settings, schedule, v->seed);
  run->r = answer_run(a, request, bytes, devices, v->test->no_cuda, settings.list);
  if (run->r.end != SANDBOX_NOT_STARTED)
    a->protections &= run->r.protections;
  run->status = status_of(&run->r);
  unpack_reply(c, &run->r, &run->status);
  free(request);
}

// An answer's process has named the kernel.
static void take_step(TestVerdict *v, const Case *c) {
  bool plain = v->status != STATUS_PASS && !v->test->huge && !v->test->scored;
  for (const char *at = c->step; *at; at++)
    plain = plain && ' ' <= *at && *at <= '~';
  snprintf(v->step, sizeof v->step, "%s", plain ? c->step : "");
}

static bool run_end(Run *run, TestVerdict *v, const Answer *a) {
  judge_reply(&run->c, &run->r, &run->status, a->for_inspector && !run->c.inspection);
  v->counted = case_counted(&run->c);
  v->counts = *counts(&run->c);
  v->score = run->c.score;
  for (int star = 0; star < EXTRA_STARS; star++)
    if (!v->lost[star].finding[0])
      v->lost[star] = run->c.lost[star];
  v->status = run->status;
  v->starved = sandbox_starved(&run->r);
  v->mistake = mistake_of(&run->c, &run->r, v->status);
  v->likely = v->mistake == run->c.mistake && run->c.likely;
  take_step(v, &run->c);
  if (v->status != STATUS_PASS) {
    run->r.output = answer_name_lines(a, run->r.output);
    report_write(v, a, &run->c, &run->r, run->schedule);
  }
  return v->status == STATUS_PASS;
}

static void run_free(Run *run, TestVerdict *v) {
  v->seconds += run->r.seconds;
  sandbox_result_free(&run->r);
  case_free(&run->c);
}

static bool run_schedule(TestVerdict *v, Answer *a, const Exercise *e, int devices, const Schedule *schedule) {
  static Run run;
  run_begin(&run, v, a, e, devices, schedule);
  bool passed = run_end(&run, v, a);
  run_free(&run, v);
  return passed;
}

// ---- what the inspector saw --------------------------------------------------------------------------------------------------

enum { RECORD_LIMIT = 4 << 20 };

// The record in a reply, to be read; NULL: there is none that could be right.
static FILE *record_of(Run *run) {
  Item *item = run->c.replied ? message_find(&run->c.reply, 't', INSPECTION_ITEM) : NULL;
  size_t bytes = item && item->text ? strlen(item->text) : 0;
  FILE *record = bytes > 0 && bytes < RECORD_LIMIT ? fmemopen(item->text, bytes, "r") : NULL;
  if (record && inspection_want(record))
    return record;
  if (record)
    fclose(record);
  return NULL;
}

// Of the runs in both orders together. False when addr2line failed.
static bool inspect_runs(Inspection *i, Run *runs, int count, Answer *a) {
  FILE *record[2] = {0};
  locations_forget();
  for (int n = 0; n < count; n++)
    record[n] = record_of(&runs[n]);
  bool good = answer_find_places(a, i);
  for (int n = 0; n < count; n++)
    if (record[n]) {
      if (good)
        inspection_take(i, record[n], n == 1);
      runs[n].c.inspection = i;
      fclose(record[n]);
    }
  inspection_finish(i);
  return good;
}

static bool judge_inspected(TestVerdict *v, Answer *a, const Exercise *e, int devices) {
  static Run runs[2];
  Inspection i = {.title = a->title, .source = a->source, .text = a->text};
  if (v->test->scored && !answer_find_mix(a))
    return false;
  run_begin(&runs[0], v, a, e, devices, &inspected_schedules[0]);
  int count = runs[0].c.replied && !v->test->scored ? 2 : 1; // the time is counted in ascending order
  if (count == 2)
    run_begin(&runs[1], v, a, e, devices, &inspected_schedules[1]);
  bool good = inspect_runs(&i, runs, count, a);
  for (int n = 0; n < count; n++) {
    if (good && (n == 0 || v->status == STATUS_PASS))
      run_end(&runs[n], v, a);
    run_free(&runs[n], v);
  }
  inspection_free(&i);
  location_files_forget();
  return good;
}

// The answer again, compiled for the inspector. What that compiler says of it, or what became of it, is the answer's.
static void run_inspected(TestVerdict *v, Answer *a, const Exercise *e, int devices) {
  Answer *b = answer_inspected(a);
  if (b->status == STATUS_NOT_RUN && judge_inspected(v, b, e, devices)) {
    a->protections &= b->protections;
    return;
  }
  v->status = b->status == STATUS_GRADER_ERROR ? STATUS_GRADER_ERROR : STATUS_FAIL;
  v->starved = b->status == STATUS_COMPILE_ERROR && b->starved;
  free(v->report);
  snprintf(v->headline, sizeof v->headline, "it does not compile with instrumentation");
  if (asprintf(&v->report, "  compiling with instrumentation printed:\n%s", b->diagnostics ? b->diagnostics : "") < 0)
    v->report = NULL;
  v->report = report_shown(v->report);
}

static void run_schedules(TestVerdict *v, Answer *a, const Exercise *e, int devices) {
  const ScheduleList list = schedules_of(e, v->test, a->real_gpu);
  for (int i = 0; i < list.count && run_schedule(v, a, e, devices, &list.schedules[i]); i++)
    continue;
  forget_replies();
}

// Simulated ones cost nothing: what shows on several is never left out for want of them.
int judge_devices(const Test *test, int devices) {
  devices = devices < test->devices ? test->devices : devices;
  return test->at_most && test->at_most < devices ? test->at_most : devices;
}

void judge_test(TestVerdict *v, Answer *a, const Exercise *e, const JudgeOptions *o) {
  int devices = o->devices;
  if (o->progress) {
    char doing[256];
    snprintf(doing, sizeof doing, "test %d of %d: %s", (int)(v->test - e->tests) + 1, exercise_tests(e), v->test->name);
    o->progress(doing);
  }
  if (a->real_gpu && devices < v->test->devices && !v->test->no_cuda) {
    v->status = STATUS_SKIPPED;
    return;
  }
  bool kernel = strcmp(exercise_extension(e), "cu") == 0 && !a->real_gpu;
  if (!a->real_gpu)
    devices = judge_devices(v->test, devices);
  if (test_is_inspected(v->test) && kernel)
    run_inspected(v, a, e, devices);
  else
    run_schedules(v, a, e, devices);
}

// ---- the whole answer ------------------------------------------------------------------------------------------------------

static void run_tests(Verdict *v, Answer *a, const JudgeOptions *o) {
  for (int i = 0; i < MAX_TESTS && v->exercise->tests[i].name; i++) {
    const Test *test = &v->exercise->tests[i];
    if ((o->only && strcmp(o->only, test->name) != 0) || (o->tests && !(o->tests >> i & 1)))
      continue;
    TestVerdict *t = &v->tests[v->test_count++];
    t->test = test;
    t->symptoms = o->symptoms;
    t->seed = o->replay ? o->seed : hash_text(hash_text(o->seed, v->exercise->id), test->name);
  }
  judge_tests(v, a, o);
  verdict_sum_up(v);
}

static void not_judged(Verdict *v, Status status) {
  const Exercise *exercise = v->exercise;
  verdict_free(v);
  *v = (Verdict){.exercise = exercise, .status = status};
  for (; v->test_count < MAX_TESTS && exercise->tests[v->test_count].name; v->test_count++)
    v->tests[v->test_count] = (TestVerdict){.test = &exercise->tests[v->test_count], .status = status};
}

void judge_built(Verdict *v, Answer *a, const JudgeOptions *options) {
  double began = now();
  *v = (Verdict){.exercise = a->exercise};
  if (a->status == STATUS_NOT_RUN)
    run_tests(v, a, options);
  // What failed may have failed because the build is being replaced; nobody loses points by that.
  bool failed = a->status != STATUS_NOT_RUN || v->status != STATUS_PASS;
  if (failed && a->folder[0] && a->status != STATUS_MISSING)
    answer_build_is_whole(a);
  if (a->status != STATUS_NOT_RUN)
    not_judged(v, a->status);
  v->real_gpu = a->real_gpu;
  v->starved = a->status == STATUS_COMPILE_ERROR && a->starved;
  v->report = report_shown(a->diagnostics);
  v->warning = report_shown(a->warning);
  a->diagnostics = a->warning = NULL;
  v->protections = a->protections;
  v->seconds = now() - began;
}

void judge_answer(Verdict *v, const Exercise *exercise, const char *source, const JudgeOptions *options) {
  double began = now();
  Answer a;
  if (options->progress)
    options->progress("compiling");
  answer_build(&a, exercise, source, options->first);
  judge_built(v, &a, options);
  answer_free(&a);
  v->seconds = now() - began;
}
