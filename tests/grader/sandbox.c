// SPDX-License-Identifier: MIT
// Watches over a command: its output, its reply, its memory and its time; and ends it.
#include "sandbox_impl.h"
#include "tool/print/plain.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLE_MS = 25, FIRST_SAMPLE_MS = 5, STARTS = 3 };

typedef struct Watch {
  const SandboxJob *job;
  Started started;
  SandboxResult *result;
  Excerpt excerpt;
  double began;
  size_t folder_bytes; // as sampled
  size_t sent;         // bytes of the request
  uint8_t *reply;      // header and body as far as they have come
  size_t reply_used, reply_room;
  bool in_reply, replied, ended;
  bool ran_out; // of memory, as the cgroup says
} Watch;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void close_if_open(int *descriptor) {
  if (*descriptor >= 0)
    close(*descriptor);
  *descriptor = -1;
}

// ---- descriptor 3 ------------------------------------------------------------------------------------------------------

static void forged(Watch *w) {
  w->result->forged = true;
  close_if_open(&w->started.socket);
}

// The header is checked as soon as it is there: magic, a length that is allowed, and the request's nonce.
static bool header_is_right(const Watch *w) {
  uint32_t head[2];
  memcpy(head, w->reply, sizeof head);
  return head[0] == WIRE_MAGIC && head[1] <= WIRE_LIMIT && memcmp(w->reply + 8, w->job->request + 8, 8) == 0;
}

// The records before the reply, as far as they are whole, are added up and dropped.
static void take_ledger(Watch *w) {
  LedgerRecord record;
  uint64_t nonce;
  size_t at = 0;
  memcpy(&nonce, w->job->request + 8, sizeof nonce);
  for (; w->reply_used - at >= sizeof record; at += sizeof record) {
    memcpy(&record, w->reply + at, sizeof record);
    if (record.magic != LEDGER_MAGIC)
      break;
    ledger_take(&w->result->ledger, &record, nonce);
  }
  w->reply_used -= at;
  memmove(w->reply, w->reply + at, w->reply_used);
}

static size_t reply_wanted(const Watch *w) {
  uint32_t length;
  memcpy(&length, w->reply + 4, sizeof length);
  return HEADER_BYTES + (size_t)length;
}

static void take_reply(Watch *w, const uint8_t *bytes, size_t count) {
  if (w->reply_used + count > w->reply_room) {
    w->reply_room = 2 * (w->reply_used + count);
    uint8_t *grown = realloc(w->reply, w->reply_room);
    if (!grown) {
      forged(w);
      return;
    }
    w->reply = grown;
  }
  memcpy(w->reply + w->reply_used, bytes, count);
  w->reply_used += count;
  if (!w->in_reply)
    take_ledger(w);
  if (w->reply_used < HEADER_BYTES)
    return;
  w->in_reply = true;
  if (!header_is_right(w) || w->reply_used > reply_wanted(w))
    forged(w);
  else
    w->replied = w->reply_used == reply_wanted(w);
}

static void read_socket(Watch *w) {
  uint8_t buffer[65536];
  ssize_t n = recv(w->started.socket, buffer, sizeof buffer, MSG_DONTWAIT);
  if (n > 0)
    take_reply(w, buffer, (size_t)n);
  else if (n == 0 || (errno != EAGAIN && errno != EINTR))
    close_if_open(&w->started.socket);
}

static void write_socket(Watch *w) {
  ssize_t n =
      send(w->started.socket, w->job->request + w->sent, w->job->request_bytes - w->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n > 0)
    w->sent += (size_t)n;
  else if (errno != EAGAIN && errno != EINTR)
    w->sent = w->job->request_bytes; // nobody reads it: what becomes of the command will say why
}

// ---- the watch ---------------------------------------------------------------------------------------------------------

static void read_output(Watch *w) {
  char buffer[16384];
  ssize_t n = read(w->started.output, buffer, sizeof buffer);
  if (n > 0 && w->job->heard && w->excerpt.total <= w->job->output_bytes)
    w->job->heard(w->job->listener, buffer, (size_t)n);
  if (n > 0)
    excerpt_add(&w->excerpt, buffer, (size_t)n);
  else if (n == 0 || (errno != EAGAIN && errno != EINTR))
    close_if_open(&w->started.output);
}

static void read_status(Watch *w) {
  int status;
  ssize_t n = read(w->started.status, &status, sizeof status);
  if (n < 0 && errno == EINTR)
    return;
  w->ended = true;
  if (n != (ssize_t)sizeof status) // the answer killed its supervisor
    status = SIGKILL;
  else if ((w->started.protections & PROTECT_BUBBLEWRAP) && WIFEXITED(status) && WEXITSTATUS(status) > 128)
    status = WEXITSTATUS(status) - 128; // how bubblewrap says that a signal ended it
  w->result->end = WIFSIGNALED(status) ? SANDBOX_SIGNALED : SANDBOX_EXITED;
  w->result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  w->result->status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static bool limit_passed(Watch *w, double time) {
  if (w->excerpt.total > w->job->output_bytes)
    w->result->end = SANDBOX_OUTPUT;
  else if (w->ran_out || w->result->peak_memory > w->job->memory)
    w->result->end = SANDBOX_MEMORY;
  else if (w->job->folder_bytes > 0 && w->folder_bytes > w->job->folder_bytes)
    w->result->end = SANDBOX_FILES;
  else if (time - w->began > w->job->seconds || w->result->processor_seconds > sandbox_processor_seconds(w->job))
    w->result->end = SANDBOX_TIMEOUT;
  else
    return false;
  return true;
}

static void wait_for_something(Watch *w, int milliseconds) {
  struct pollfd polls[3] = {
      {w->started.status, POLLIN, 0}, {w->started.output, POLLIN, 0}, {w->started.socket, POLLIN, 0}};
  if (w->started.socket >= 0 && w->sent < w->job->request_bytes)
    polls[2].events |= POLLOUT;
  if (poll(polls, 3, milliseconds) <= 0)
    return;
  if (polls[1].revents)
    read_output(w);
  if (polls[2].revents & POLLOUT)
    write_socket(w);
  if (w->started.socket >= 0 && polls[2].revents & (POLLIN | POLLHUP | POLLERR))
    read_socket(w);
  if (polls[0].revents && !(polls[1].revents & POLLIN) && !(polls[2].revents & POLLIN))
    read_status(w); // last: what it printed and replied before it ended is read first
}

static void sample(Watch *w) {
  TreeUse use = sandbox_tree_use(w->started.supervisor);
  const double counted = sandbox_cgroup_seconds(&w->started.cgroup), seconds = counted >= 0 ? counted : use.seconds;
  SandboxResult *r = w->result;
  r->peak_memory = use.memory > r->peak_memory ? use.memory : r->peak_memory;
  r->processor_seconds = seconds > r->processor_seconds ? seconds : r->processor_seconds;
  w->ran_out |= sandbox_cgroup_ran_out(&w->started.cgroup);
  if (w->job->folder_bytes > 0)
    w->folder_bytes = sandbox_folder_size(w->job->folder);
}

static void watch(Watch *w) {
  double next_sample = w->began + 1e-3 * FIRST_SAMPLE_MS;
  while (!w->ended && !w->result->forged) {
    wait_for_something(w, SAMPLE_MS);
    double time = now();
    if (time >= next_sample && !w->ended) {
      sample(w);
      next_sample = now() + 1e-3 * SAMPLE_MS;
    }
    if (!w->ended && limit_passed(w, time))
      return;
  }
}

double sandbox_processor_seconds(const SandboxJob *job) {
  return job->processor_seconds > 0 ? job->processor_seconds : 4 * (job->seconds + 2);
}

// What ended between two samples for want of memory was killed, and said nothing of it.
static void sample_end(Watch *w) {
  if (w->result->end == SANDBOX_SIGNALED && sandbox_cgroup_ran_out(&w->started.cgroup))
    w->result->end = SANDBOX_MEMORY;
}

// The supervisor is the first process of a namespace: the kernel ends all that is in it before the supervisor has ended. Else /proc is
// searched, which takes longer than many an answer.
static bool ends_with_supervisor(const Started *started) {
  return started->protections & PROTECT_PID_NAMESPACE && !(started->protections & PROTECT_BUBBLEWRAP);
}

static void end_everything(Watch *w) {
  sample_end(w);
  if (!ends_with_supervisor(&w->started))
    sandbox_tree_kill(w->started.supervisor);
  kill(w->started.supervisor, SIGKILL);
  while (waitpid(w->started.supervisor, NULL, 0) < 0 && errno == EINTR) {
  }
  if (!(w->started.protections & PROTECT_PID_NAMESPACE) && (w->started.protections & PROTECT_SUBREAPER))
    sandbox_tree_kill(getpid());
  if ((w->started.protections & PROTECT_OTHER_USER) &&
      !(w->started.protections & (PROTECT_MOUNT_NAMESPACE | PROTECT_LANDLOCK)))
    sandbox_sweep_files(sandbox_other_user());
  sandbox_cgroup_remove(&w->started.cgroup);
}

// bubblewrap ends with an exit status of its own when it cannot do what it is for, but tells nobody the command's then.
static bool has_run(const Watch *w) {
  char text[2048];
  size_t used = 0;
  if (w->started.bubblewrap < 0 || w->result->end != SANDBOX_EXITED)
    return true;
  for (ssize_t n; used < sizeof text - 1 && (n = read(w->started.bubblewrap, text + used, sizeof text - 1 - used)) > 0;)
    used += (size_t)n;
  text[used] = '\0';
  return strstr(text, "\"exit-code\"") != NULL;
}

// What is still in the pipe when everything has ended, and no more than that.
static void drain_output(Watch *w) {
  if (w->started.output < 0)
    return;
  fcntl(w->started.output, F_SETFL, O_NONBLOCK);
  for (size_t before = w->excerpt.total;;) {
    read_output(w);
    if (w->started.output < 0 || w->excerpt.total == before || w->excerpt.total > w->job->output_bytes)
      return;
    before = w->excerpt.total;
  }
}

static void take_result(Watch *w) {
  SandboxResult *r = w->result;
  if (w->replied && !r->forged) {
    r->reply_bytes = w->reply_used - HEADER_BYTES;
    memmove(w->reply, w->reply + HEADER_BYTES, r->reply_bytes);
    r->reply = w->reply;
  } else {
    free(w->reply);
  }
  free(r->output);
  r->output = excerpt_end(&w->excerpt);
  r->seconds = now() - w->began;
}

SandboxResult sandbox_watch(const SandboxJob *job, Started started) {
  SandboxResult result = {.end = SANDBOX_NOT_STARTED, .protections = started.protections};
  Watch w = {.job = job, .result = &result, .began = now(), .started = started};
  excerpt_begin(&w.excerpt, job->lines);
  watch(&w);
  end_everything(&w);
  drain_output(&w);
  if (!has_run(&w))
    result.end = SANDBOX_NOT_STARTED;
  take_result(&w);
  close_if_open(&w.started.status);
  close_if_open(&w.started.output);
  close_if_open(&w.started.socket);
  close_if_open(&w.started.bubblewrap);
  return result;
}

SandboxResult sandbox_run(const SandboxJob *job) {
  SandboxResult result = {.end = SANDBOX_NOT_STARTED};
  for (int i = 0; i < STARTS && result.end == SANDBOX_NOT_STARTED; i++) {
    char why[768] = "";
    Started started = sandbox_start(job, why, sizeof why);
    sandbox_result_free(&result);
    if (started.supervisor > 0) {
      result = sandbox_watch(job, started);
      continue;
    }
    size_t used = strlen(why); // it has been tried again already
    snprintf(why + used, sizeof why - used, "\n");
    result.output = plain_text(why, strlen(why));
    return result;
  }
  return result;
}

bool sandbox_starved(const SandboxResult *result) {
  return result->end == SANDBOX_TIMEOUT && result->processor_seconds < 0.9 * result->seconds;
}

void sandbox_result_free(SandboxResult *result) {
  free(result->reply);
  free(result->output);
  result->reply = NULL;
  result->output = NULL;
}

// ---- in words ----------------------------------------------------------------------------------------------------------

static const struct {
  unsigned bit;
  const char *name;
} protection_names[] = {
    {PROTECT_PID_NAMESPACE, "own process tree"},
    {PROTECT_MOUNT_NAMESPACE, "own view of the files"},
    {PROTECT_NETWORK, "no network"},
    {PROTECT_USER_NAMESPACE, "user namespace"},
    {PROTECT_BUBBLEWRAP, "bubblewrap"},
    {PROTECT_LANDLOCK, "files closed by Landlock"},
    {PROTECT_SIGNALS, "no signals to others"},
    {PROTECT_OTHER_USER, "another user"},
    {PROTECT_NO_NEW_PRIVS, "no new privileges"},
    {PROTECT_LIMITS, "limits on time, memory and files"},
    {PROTECT_CAPABILITIES, "no capabilities"},
    {PROTECT_SYSTEM_CALLS, "dangerous system calls refused"},
    {PROTECT_FILES, "limit on all that it writes"},
    {PROTECT_PROCESSES, "limit on processes"},
    {PROTECT_CGROUP, "a cgroup counts them"},
    {PROTECT_SUBREAPER, "orphans swept"},
};

void sandbox_describe(unsigned protections, char *on, size_t on_bytes, char *off, size_t off_bytes) {
  sandbox_describe_at(sandbox_chosen(), protections, on, on_bytes, off, off_bytes);
}

unsigned sandbox_described(const char *on, char *level, size_t level_bytes) {
  const char *names = strstr(on, ": ");
  unsigned protections = 0;
  snprintf(level, level_bytes, "%.*s", names ? (int)(names - on) : 0, on);
  for (names = names ? names + 2 : ""; *names;) {
    size_t length = 0;
    for (size_t i = 0; i < sizeof protection_names / sizeof protection_names[0] && length == 0; i++) {
      size_t n = strlen(protection_names[i].name);
      if (strncmp(names, protection_names[i].name, n) == 0 && (!names[n] || strncmp(names + n, ", ", 2) == 0)) {
        protections |= protection_names[i].bit;
        length = n;
      }
    }
    if (length == 0)
      return 0;
    names += length + (names[length] ? 2 : 0);
  }
  return protections;
}

void sandbox_describe_at(const char *level, unsigned protections, char *on, size_t on_bytes, char *off,
                         size_t off_bytes) {
  // One thing does for another: a user namespace for another user, Landlock for a view of the files of one's own.
  unsigned optional = PROTECT_USER_NAMESPACE | PROTECT_BUBBLEWRAP | PROTECT_LANDLOCK | PROTECT_SIGNALS | PROTECT_CGROUP;
  optional |= protections & PROTECT_LANDLOCK ? PROTECT_MOUNT_NAMESPACE : 0;
  optional |= protections & (PROTECT_USER_NAMESPACE | PROTECT_BUBBLEWRAP) ? PROTECT_OTHER_USER : 0;
  optional |= protections & PROTECT_BUBBLEWRAP ? PROTECT_PID_NAMESPACE : 0;
  size_t on_used = 0, off_used = 0, before;
  on[0] = off[0] = '\0';
  if (protections)
    on_used = (size_t)snprintf(on, on_bytes, "%s: ", level);
  before = on_used;
  for (size_t i = 0; i < sizeof protection_names / sizeof protection_names[0]; i++) {
    unsigned bit = protection_names[i].bit;
    const char *name = protection_names[i].name;
    if (protections & bit && on_used < on_bytes)
      on_used += (size_t)snprintf(on + on_used, on_bytes - on_used, "%s%s", on_used > before ? ", " : "", name);
    else if (!(protections & bit) && !(optional & bit) && off_used < off_bytes)
      off_used += (size_t)snprintf(off + off_used, off_bytes - off_used, "%s%s", off_used ? ", " : "", name);
  }
}
