// SPDX-License-Identifier: MIT
// Grading answers, several at a time: a process of the grader's own for each, which sends its verdict through a pipe. A check
// that breaks takes its own process with it and no other.
#include "grade.h"
#include "case.h"
#include "sandbox.h"
#include "verdict_pipe.h"
#include "worker.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_JOBS = 64, STARTS = 6 };

typedef struct Job {
  pid_t pid; // 0: this place is free
  int pipe;
  Learner *learner;
  Verdict *verdict;
  uint64_t answer; // hash of its file
  bool again;      // after all others
  Text sent;
} Job;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---- the jobs ------------------------------------------------------------------------------------------------------------

static _Noreturn void be_worker(const Grading *g, const Learner *l, int exercise, bool again, int to) {
  static Verdict v;
  const Exercise *e = g->exercises[exercise];
  JudgeOptions options = g->options;
  char source[4096];
  snprintf(source, sizeof source, "%s/%s.%s", l->folder, e->id, exercise_extension(e));
  if (again) {
    options.hurry = true;
    verdict_starved(&l->verdicts[exercise], &options.tests);
  }
  judge_answer(&v, e, source, &options);
  verdict_send(to, &v);
  _exit(0);
}

static bool start(const Grading *g, Job *job, Learner *l, int exercise, bool again) {
  int end;
  const uint64_t hash = answer_hash(l->folder, g->exercises[exercise]);
  const pid_t pid = worker_begin(&end);
  if (pid == 0)
    be_worker(g, l, exercise, again, end);
  if (pid > 0)
    *job =
        (Job){.pid = pid, .pipe = end, .learner = l, .verdict = &l->verdicts[exercise], .answer = hash, .again = again};
  return pid > 0;
}

static void not_judged(Verdict *v, Status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void not_judged(Verdict *v, Status status, const char *format, ...) {
  va_list arguments;
  v->status = status;
  for (int i = 0; i < v->test_count; i++)
    v->tests[i].status = status;
  va_start(arguments, format);
  if (vasprintf(&v->report, format, arguments) < 0)
    v->report = NULL;
  va_end(arguments);
}

static bool out_of_time(const Grading *g, const Learner *l) {
  return l->began > 0 && now() - l->began > g->limit;
}

static void say_out_of_time(const Grading *g, Verdict *v) {
  not_judged(v, STATUS_TIMEOUT, "the learner's answers together exceeded the limit of %.0f s (--limit)\n", g->limit);
}

// A worker that is at its end has swept up after its answer; one that is not is stopped, so that it starts nothing more, and
// what it has started ends before it does.
static void end_worker(const Job *job) {
  kill(job->pid, SIGSTOP);
  sandbox_tree_kill(job->pid);
  kill(job->pid, SIGKILL);
  waitpid(job->pid, NULL, 0);
  sandbox_folders_remove(job->pid);
}

static void finish(Grading *g, Job *job, bool ended) {
  static Verdict judged;
  if (ended && job->sent.used > 0)
    waitpid(job->pid, NULL, 0);
  else
    end_worker(job);
  close(job->pipe);
  const bool whole = verdict_take(job->sent.at, job->sent.used, &judged);
  if (whole && job->again)
    verdict_take_again(job->verdict, &judged);
  else if (whole)
    *job->verdict = judged;
  else if (!ended)
    say_out_of_time(g, job->verdict);
  else
    not_judged(job->verdict, STATUS_GRADER_ERROR, "the grader crashed while it judged this answer\n");
  if (job->verdict->protections)
    g->protections = g->protections ? g->protections & job->verdict->protections : job->verdict->protections;
  job->verdict->answer = job->answer;
  text_free(&job->sent);
  job->pid = 0;
}

// Reads what has come; true when the job is at its end.
static bool proceed(Job *job) {
  char buffer[65536];
  ssize_t n = read(job->pipe, buffer, sizeof buffer);
  if (n > 0) {
    text_add(&job->sent, "%*s", (int)n, "");
    memcpy(job->sent.at + job->sent.used - n, buffer, (size_t)n);
  }
  return n == 0 || (n < 0 && errno != EINTR);
}

static void wait_for_one(Grading *g, Job *jobs, void (*done)(Grading *g, Learner *l, Verdict *v)) {
  struct pollfd polls[MAX_JOBS];
  for (int i = 0; i < g->jobs; i++)
    polls[i] = (struct pollfd){jobs[i].pid ? jobs[i].pipe : -1, POLLIN, 0};
  poll(polls, (nfds_t)g->jobs, 1000);
  for (int i = 0; i < g->jobs; i++) {
    if (!jobs[i].pid)
      continue;
    bool ended = polls[i].revents && proceed(&jobs[i]);
    if (ended || (!jobs[i].again && out_of_time(g, jobs[i].learner))) {
      finish(g, &jobs[i], ended);
      done(g, jobs[i].learner, jobs[i].verdict);
    }
  }
}

// A machine that has no process or descriptor to spare now may have one in a moment.
static bool start_at_last(const Grading *g, Job *job, Learner *l, int exercise, bool again) {
  for (int i = 0; i < STARTS; i++) {
    if (start(g, job, l, exercise, again))
      return true;
    nanosleep(&(struct timespec){.tv_nsec = (10000000 << i)}, NULL);
  }
  return false;
}

// The next answer, in a free place; at once timed out where its learner's time is over.
static void begin_unit(Grading *g, Job *job, int unit, void (*done)(Grading *g, Learner *l, Verdict *v)) {
  Learner *l = &g->learners[unit / g->exercise_count];
  int exercise = unit % g->exercise_count;
  if (l->verdicts[exercise].known)
    return;
  l->began = l->began > 0 ? l->began : now();
  if (out_of_time(g, l)) {
    say_out_of_time(g, &l->verdicts[exercise]);
    done(g, l, &l->verdicts[exercise]);
  } else if (!start_at_last(g, job, l, exercise, false)) {
    not_judged(&l->verdicts[exercise], STATUS_GRADER_ERROR, "a process to judge it could not be started: %s\n",
               strerror(errno));
    done(g, l, &l->verdicts[exercise]);
  }
}

// What ran out of time while others ran, and had no processor for all of it: alone, up to the first test that does not end even so.
static void grade_starved(Grading *g, Job *jobs, void (*done)(Grading *g, Learner *l, Verdict *v)) {
  bool said = false;
  for (int unit = 0; unit < g->learner_count * g->exercise_count; unit++) {
    Learner *l = &g->learners[unit / g->exercise_count];
    const int exercise = unit % g->exercise_count;
    uint64_t tests;
    if (!verdict_starved(&l->verdicts[exercise], &tests) || !start_at_last(g, &jobs[0], l, exercise, true))
      continue;
    if (!said)
      printf("Repeating answers that timed out, one at a time, because other answers used the CPU meanwhile.\n");
    said = true;
    while (jobs[0].pid)
      wait_for_one(g, jobs, done);
  }
}

void grading_run(Grading *g, void (*done)(Grading *g, Learner *l, Verdict *v)) {
  static Job jobs[MAX_JOBS];
  int units = g->learner_count * g->exercise_count, running = 0;
  for (int next = 0; next < units || running > 0;) {
    for (int i = 0; i < g->jobs; i++)
      while (!jobs[i].pid && next < units)
        begin_unit(g, &jobs[i], next++, done);
    running = 0;
    for (int i = 0; i < g->jobs; i++)
      running += jobs[i].pid != 0;
    if (running > 0)
      wait_for_one(g, jobs, done);
  }
  if (g->jobs > 1 && units > 1)
    grade_starved(g, jobs, done);
}
