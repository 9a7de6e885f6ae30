// SPDX-License-Identifier: MIT
// Jobs: commands of ./ferry that a page has asked for. What they print goes to the one reader of the job, a line of JSON for each part; a
// job without a reader, without an end or with too much to say is ended.
#include "live/live.h"
#include "tool/print/plain.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNNING_LIMIT = 4, MAX_JOBS = 32, UNREAD_SECONDS = 10, OUTPUT_LIMIT = 1 << 20, RESULT_LIMIT = 64 << 20 };

typedef struct Job {
  int number; // 0: the place is free
  JobCommand command;
  Child *child;   // NULL: it has ended
  Stream *reader; // NULL: none yet, or no more
  Text unread;    // lines, until there is a reader
  char *result;   // as it came
  size_t result_used, result_room;
  size_t printed;
  char tail[4]; // of a character that has not come whole
  size_t tail_used;
  const char *stopped;    // why; NULL: it was not
  double end, unread_end; // when it is ended; when nobody has read it for too long, 0: it was read
} Job;

static Job jobs[MAX_JOBS];
static int last_number;

static double seconds_of_a_job(void) {
  const char *wanted = getenv("FERRY_LIVE_SECONDS");
  const double seconds = wanted ? strtod(wanted, NULL) : 0;
  return seconds >= 1 && seconds <= 3600 ? seconds : 180;
}

static void free_job(Job *job) {
  job_command_free(&job->command);
  text_free(&job->unread);
  free(job->result);
  *job = (Job){0};
}

static void stop(Job *job, const char *why) {
  if (job->child && !job->stopped) {
    job->stopped = why;
    child_stop(job->child);
  }
}

// ---- what it says ----------------------------------------------------------------------------------------------------------------

static void add_line(Job *job, Text *line) {
  if (job->reader)
    stream_add(job->reader, line->at, line->used);
  else
    text_add(&job->unread, "%s", line->at);
  text_free(line);
}

static void say(Job *job, const char *bytes, size_t count, bool last) {
  char *text = malloc(job->tail_used + count + 1);
  Text line = {0};
  if (!text)
    return;
  memcpy(text, job->tail, job->tail_used);
  memcpy(text + job->tail_used, bytes, count);
  count += job->tail_used;
  const size_t used = last ? count : utf8_whole(text, count);
  job->tail_used = count - used;
  memcpy(job->tail, text + used, job->tail_used);
  for (size_t i = 0; i < used; i++)
    if (text[i] == '\0')
      text[i] = '?';
  text[used] = '\0';
  if (used > 0) {
    text_add(&line, "{\"out\": ");
    text_json(&line, text);
    text_add(&line, "}\n");
    add_line(job, &line);
  }
  free(text);
}

static void printed(void *owner, const char *bytes, size_t count) {
  Job *job = owner;
  job->printed += count;
  if (job->printed > OUTPUT_LIMIT)
    stop(job, "output");
  else
    say(job, bytes, count, false);
}

static void take_result(void *owner, const char *bytes, size_t count) {
  Job *job = owner;
  if (job->result_used + count + 1 > job->result_room) {
    const size_t room = 2 * (job->result_used + count + 1);
    char *grown = room <= RESULT_LIMIT ? realloc(job->result, room) : NULL;
    if (!grown) {
      stop(job, "output");
      return;
    }
    job->result = grown;
    job->result_room = room;
  }
  memcpy(job->result + job->result_used, bytes, count);
  job->result_used += count;
  job->result[job->result_used] = '\0';
}

// A line of JSON has no line breaks, and each of the lines of ./ferry inspect --json is a value.
static void add_result(Job *job, int status, Text *line) {
  const bool lines = job->command.result == RESULT_LINES, record = job->command.result == RESULT_RECORD;
  if (lines && job->result_used == 0 && status == 0) { // nothing was found
    text_add(line, "[]");
    return;
  }
  if (job->result_used == 0 || !job_result_is_json(job->result, job->result_used, lines)) {
    text_add(line, "null");
    return;
  }
  while (job->result_used > 0 && job->result[job->result_used - 1] == '\n')
    job->result[--job->result_used] = '\0';
  for (char *at = job->result; (at = strchr(at, '\n'));)
    *at = lines ? ',' : ' ';
  text_add(line, lines ? "[" : record ? "{\"record\": " : "");
  text_add(line, "%s", job->result);
  text_add(line, lines ? "]" : record ? "}" : "");
}

static void ended(void *owner, int status) {
  Job *job = owner;
  Text line = {0};
  job->child = NULL;
  if (job->command.exercise && job->command.is_check && !job->stopped && status <= 1)
    course_checked(job->command.exercise, status == 0);
  if (job->unread_end < 0) { // its reader has gone
    free_job(job);
    return;
  }
  if (job->tail_used > 0)
    say(job, "", 0, true);
  text_add(&line, "{\"exit\": %d, \"result\": ", status);
  add_result(job, status, &line);
  if (job->stopped)
    text_add(&line, ", \"stopped\": \"%s\"", job->stopped);
  text_add(&line, "}\n");
  add_line(job, &line);
  free(job->result);
  job->result = NULL;
  job->result_used = job->result_room = 0;
  if (job->reader)
    stream_end(job->reader);
}

// ---- requests --------------------------------------------------------------------------------------------------------------------

static Job *free_place(void) {
  Job *oldest = NULL;
  for (Job *job = jobs; job < jobs + MAX_JOBS; job++)
    if (job->number == 0)
      return job;
    else if (!job->child && !job->reader && (!oldest || job->number < oldest->number))
      oldest = job;
  if (oldest)
    free_job(oldest);
  return oldest;
}

static int running(void) {
  int count = 0;
  for (int i = 0; i < MAX_JOBS; i++)
    count += jobs[i].child != NULL;
  return count;
}

enum MHD_Result jobs_post(struct MHD_Connection *c, const Json *asked) {
  static const ChildEvents events = {printed, take_result, ended};
  char why[300] = "";
  Text json = {0};
  Job *job = running() < RUNNING_LIMIT ? free_place() : NULL;
  if (!job)
    return reply_error(c, MHD_HTTP_TOO_MANY_REQUESTS, "%d runs are going on; wait until one has ended, or stop one",
                       RUNNING_LIMIT);
  JobCommand command = {.input = -1};
  if (!job_command(&command, asked, why, sizeof why)) {
    job_command_free(&command);
    return reply_error(c, MHD_HTTP_BAD_REQUEST, "%s", why);
  }
  Child *child = child_start(command.argv, command.input, command.result != RESULT_NONE, &events, job);
  if (!child) {
    const int error = errno;
    job_command_free(&command);
    return reply_error(c, MHD_HTTP_SERVICE_UNAVAILABLE, "the command could not be started: %s", strerror(error));
  }
  *job = (Job){.number = ++last_number,
               .command = command,
               .child = child,
               .end = loop_now() + seconds_of_a_job(),
               .unread_end = loop_now() + UNREAD_SECONDS};
  text_add(&json, "{\"job\": %d}\n", job->number);
  return reply_json(c, MHD_HTTP_OK, &json);
}

static Job *numbered(int number) {
  for (Job *job = jobs; number > 0 && job < jobs + MAX_JOBS; job++)
    if (job->number == number)
      return job;
  return NULL;
}

static void reader_gone(void *owner) {
  Job *job = owner;
  job->reader = NULL;
  job->unread_end = -1;
  if (job->child)
    stop(job, "stop");
  else
    free_job(job);
}

enum MHD_Result jobs_get(struct MHD_Connection *c, int number) {
  Job *job = numbered(number);
  if (!job || job->unread_end <= 0)
    return reply_error(c, MHD_HTTP_NOT_FOUND, "there is no such run, or it has its reader");
  job->reader = stream_open(c, "application/x-ndjson", reader_gone, job);
  if (!job->reader)
    return MHD_NO;
  job->unread_end = 0;
  if (job->unread.used > 0)
    stream_add(job->reader, job->unread.at, job->unread.used);
  text_free(&job->unread);
  if (!job->child)
    stream_end(job->reader);
  return MHD_YES;
}

enum MHD_Result jobs_stop(struct MHD_Connection *c, int number) {
  Job *job = numbered(number);
  Text json = {0};
  if (!job)
    return reply_error(c, MHD_HTTP_NOT_FOUND, "there is no such run; it has ended");
  stop(job, "stop");
  text_add(&json, "{}\n");
  return reply_json(c, MHD_HTTP_OK, &json);
}

// ---- time ------------------------------------------------------------------------------------------------------------------------

double jobs_deadline(void) {
  double next = 0;
  for (const Job *job = jobs; job < jobs + MAX_JOBS; job++) {
    if (job->child && !job->stopped && (next == 0 || job->end < next))
      next = job->end;
    if (job->unread_end > 0 && !(job->child && job->stopped) && (next == 0 || job->unread_end < next))
      next = job->unread_end;
  }
  return next;
}

void jobs_tick(void) {
  const double now = loop_now();
  for (Job *job = jobs; job < jobs + MAX_JOBS; job++) {
    if (job->child && now >= job->end)
      stop(job, "time");
    if (job->unread_end <= 0 || now < job->unread_end)
      continue;
    if (job->child)
      stop(job, "stop");
    else
      free_job(job);
  }
}
