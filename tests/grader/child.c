// SPDX-License-Identifier: MIT
// The process that the answer runs in: reads one request from the socket, lets the exercise's driver call the answer, sends
// one reply. It is trusted code in an untrusted process, so nothing here decides anything.
#include "child.h"
#include "driver.h"
#include "host_memory.h"
#include "sim/engine/crash.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SOCKET = 3, DRIVER_DISAGREES = 97 };

void child_bug(const char *what, const char *name) {
  fprintf(stderr, "grader: %s '%s': the exercise's check and driver disagree\n", what, name);
  _exit(DRIVER_DISAGREES);
}

static void read_all(void *to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = read(SOCKET, (char *)to + done, bytes - done);
    if (n == 0 || (n < 0 && errno != EINTR)) // nothing comes any more, whatever errno says of a call before
      child_bug("no request on the socket", "");
    if (n > 0)
      done += (size_t)n;
  }
}

static void read_request(Driver *d) {
  uint32_t head[2];
  read_all(head, sizeof head);
  read_all(&d->request.nonce, sizeof d->request.nonce);
  uint8_t *body = malloc((size_t)head[1] + 1);
  if (!body)
    child_bug("no memory for a request of this size", "");
  read_all(body, head[1]);
  const char *wrong = message_unpack(&d->request, body, head[1]);
  if (wrong)
    child_bug(wrong, "");
  free(body);
  d->test = child_asked(d, 't', "test")->text;
  d->reply.nonce = d->request.nonce;
}

static void write_all(const void *data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t n = write(SOCKET, (const char *)data + done, bytes - done);
    if (n < 0 && errno != EINTR)
      _exit(DRIVER_DISAGREES);
    if (n > 0)
      done += (size_t)n;
  }
}

static void send_reply(Driver *d) {
  size_t bytes = 0;
  uint8_t *packed = message_pack(&d->reply, &bytes);
  if (!packed)
    child_bug("the reply is too long", "");
  write_all(packed, bytes);
}

// ---- the ledger ------------------------------------------------------------------------------------------------------

static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static bool ledger_open; // between driver_count and driver_stop

void ledger_lock(void) {
  pthread_mutex_lock(&ledger);
}

void ledger_unlock(void) {
  pthread_mutex_unlock(&ledger);
}

void ledger_write(uint32_t kind, uint64_t value) {
  LedgerRecord record = {LEDGER_MAGIC, kind, value};
  if (ledger_open)
    write_all(&record, sizeof record);
}

void ledger_add(uint32_t kind, uint64_t value) {
  ledger_lock();
  ledger_write(kind, value);
  ledger_unlock();
}

Item *child_asked(Driver *d, char kind, const char *name) {
  Item *item = message_find(&d->request, kind, name);
  if (!item)
    child_bug("the request has no", name);
  return item;
}

Item *child_add(Driver *d, char kind, const char *name) {
  Item *item = message_add(&d->reply, kind, name);
  if (!item)
    child_bug("no room in the reply for", name);
  return item;
}

static char *copy_text(const char *text) {
  char *copy = strdup(text ? text : "");
  if (!copy)
    child_bug("no memory for a text", "");
  return copy;
}

void child_error(Driver *d, const char *text) {
  child_add(d, 'e', "error")->text = copy_text(text);
}

// ---- for drivers -----------------------------------------------------------------------------------------------------

const char *driver_test(const Driver *d) {
  return d->test;
}

double driver_number(Driver *d, const char *name) {
  return child_asked(d, 'n', name)->number;
}

const char *driver_text(Driver *d, const char *name) {
  return child_asked(d, 't', name)->text;
}

const Array *driver_array(Driver *d, const char *name) {
  return &child_asked(d, 'a', name)->array;
}

int driver_has(Driver *d, const char *name) {
  return message_find(&d->request, 'n', name) || message_find(&d->request, 't', name) ||
         message_find(&d->request, 'a', name);
}

void driver_put_number(Driver *d, const char *name, double value) {
  child_add(d, 'n', name)->number = value;
}

void driver_put_text(Driver *d, const char *name, const char *text) {
  child_add(d, 't', name)->text = copy_text(text);
}

void driver_put_array(Driver *d, const char *name, FyDType dtype, Shape shape, const void *data) {
  Array *a = &child_add(d, 'a', name)->array;
  *a = (Array){.dtype = dtype, .shape = shape, .count = shape_count(shape), .device = -1};
  if (!data) {
    a->flags = ARRAY_NULL;
    return;
  }
  size_t bytes = (size_t)a->count * fy_dtype_size(dtype);
  a->data = malloc(bytes + 1);
  if (!a->data)
    child_bug("no memory for", name);
  memcpy(a->data, data, bytes);
}

void driver_count(Driver *d) {
  if (d->counted_later)
    return;
  d->counting = 1;
  ledger_lock();
  buffers_count_begin();
  buffers_counts(&d->before);
  ledger_open = true;
  ledger_write(LEDGER_BEGIN, d->request.nonce);
  ledger_unlock();
}

void driver_stop(Driver *d) {
  if (d->counting != 1)
    return;
  d->counting = 2;
  Counts now;
  ledger_lock();
  buffers_counts(&now);
  ledger_write(LEDGER_END, d->request.nonce);
  ledger_open = false;
  ledger_unlock();
  d->before.cuda_peak_bytes = d->before.cuda_live_bytes; // the peak, over what was there before
  int64_t *difference = (int64_t *)&now;
  const int64_t *before = (const int64_t *)&d->before;
  for (size_t i = 0; i < sizeof now / sizeof(int64_t); i++)
    difference[i] -= before[i];
  child_add(d, 'c', "counts")->counts = now;
  if (buffers_count_end)
    buffers_count_end(d);
}

// Of an inspected answer (core/inspect), which the `_exit` below would keep from writing. `ferry inspect` wants a file, a test has
// it in the reply.
__attribute__((weak)) void inspect_write_record(void);
__attribute__((weak)) char *inspect_record_text(void);

int main(void) {
  static Driver driver, first; // large
  sim_crash_init();
  sim_crash_tell_addresses();          // answer_lines.c knows what they stand for
  setvbuf(stdout, NULL, _IOLBF, 4096); // what a learner prints is seen up to where it crashes
  read_request(&driver);
  if (getenv("FERRY_ANSWER_AGAIN")) { // schedule.c
    read_request(&first);
    first.counted_later = true;
    driver.first = &first;
  }
  buffers_run(&driver);
  driver_stop(&driver);
  if (host_memory_check)
    host_memory_check();
  fflush(stdout);
  if (inspect_write_record && getenv("FERRY_INSPECT_RECORD"))
    inspect_write_record();
  else if (inspect_record_text)
    child_add(&driver, 't', INSPECTION_ITEM)->text = inspect_record_text();
  send_reply(&driver);
  _exit(0);
}
