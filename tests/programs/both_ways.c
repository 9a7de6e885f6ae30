// Linked to an answer's program by both_ways.sh, in place of its main: runs it with its kernels on fibers and as loops over their blocks'
// threads, each in a process of its own, and fails where what the answer computed is not the same bit by bit.
#include "wire.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SOCKET = 3 };

int __real_main(int argc, char **argv);

static size_t read_all(int from, char **bytes, size_t most) {
  size_t length = 0;
  ssize_t got;
  for (*bytes = NULL; length < most; length += (size_t)got) {
    *bytes = realloc(*bytes, length + 65537);
    got = read(from, *bytes + length, most - length < 65536 ? most - length : 65536);
    if (got <= 0)
      break;
  }
  return length;
}

static void write_all(int to, const char *bytes, size_t length) {
  for (ssize_t done; length > 0; bytes += done, length -= (size_t)done)
    if ((done = write(to, bytes, length)) <= 0)
      return;
}

static size_t run(const char *split, const char *request, size_t length, char **reply, int *status) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
    abort();
  const pid_t child = fork();
  if (child == 0) {
    dup2(pair[1], SOCKET);
    if (pair[0] != SOCKET)
      close(pair[0]);
    if (pair[1] != SOCKET)
      close(pair[1]);
    unsetenv("FERRY_SIM_ORDER");
    unsetenv("FERRY_SIM_BLOCKS");
    unsetenv("FERRY_SIM_STORE_BUFFER");
    unsetenv("FERRY_SIM_DELAYS");
    unsetenv("FERRY_SIM_GPU");
    setenv("FERRY_SIM_SPLIT", split, 1);
    setenv("FERRY_SIM_MODE", "sync", 1);
    static char name[] = "program", *arguments[] = {name, NULL};
    exit(__real_main(1, arguments));
  }
  close(pair[1]);
  write_all(pair[0], request, length);
  const size_t bytes = read_all(pair[0], reply, (size_t)1 << 30);
  waitpid(child, status, 0);
  close(pair[0]);
  return bytes;
}

// The reply behind the records of the ledger.
static Message unpack(const char *reply, size_t length) {
  Message m = {0};
  uint32_t head[2];
  for (; length >= HEADER_BYTES; reply += HEADER_BYTES, length -= HEADER_BYTES) {
    memcpy(head, reply, sizeof head);
    if (head[0] == WIRE_MAGIC) {
      const char *wrong = message_unpack(&m, (const uint8_t *)reply + HEADER_BYTES, head[1]);
      if (wrong)
        fprintf(stderr, "%s\n", wrong);
      break;
    }
  }
  return m;
}

// What the answer computed: arrays, texts and errors; what was counted may differ.
static int same_results(const Message *a, const Message *b) {
  int same = a->count == b->count && a->count > 0;
  for (int i = 0; i < a->count && same; i++) {
    const Item *x = &a->items[i], *y = &b->items[i];
    same = x->kind == y->kind && strcmp(x->name, y->name) == 0;
    if (x->name[0] == '#') // what happened when
      continue;
    if (same && x->text)
      same = strcmp(x->text, y->text) == 0;
    if (same && x->kind == 'a')
      same = same_shape(x->array.shape, y->array.shape) && x->array.dtype == y->array.dtype &&
             x->array.flags == y->array.flags &&
             (x->array.data == NULL || memcmp(x->array.data, y->array.data,
                                              (size_t)x->array.count * (size_t)fy_dtype_size(x->array.dtype)) == 0);
    if (!same)
      fprintf(stderr, "item %s\n", x->name);
  }
  return same;
}

static size_t read_request(char **request) {
  size_t length = 0;
  *request = NULL;
  for (int m = getenv("FERRY_ANSWER_AGAIN") ? 2 : 1; m > 0; m--) {
    char *head, *body;
    uint32_t bytes;
    if (read_all(SOCKET, &head, HEADER_BYTES) != HEADER_BYTES)
      break;
    memcpy(&bytes, head + 4, 4);
    const size_t got = read_all(SOCKET, &body, bytes);
    *request = realloc(*request, length + HEADER_BYTES + got);
    memcpy(*request + length, head, HEADER_BYTES);
    memcpy(*request + length + HEADER_BYTES, body, got);
    length += HEADER_BYTES + got;
  }
  return length;
}

int __wrap_main(void) {
  char *request, *reply[2];
  int status[2] = {0};
  const size_t whole = read_request(&request);
  size_t fibers = run("0", request, whole, &reply[0], &status[0]);
  if (!getenv("FERRY_SIM_ORDER") && !getenv("FERRY_SIM_BLOCKS") && !getenv("FERRY_ANSWER_AGAIN")) {
    const size_t loops = run("1", request, whole, &reply[1], &status[1]);
    const Message a = unpack(reply[0], fibers), b = unpack(reply[1], loops);
    if (status[0] != status[1] || !same_results(&a, &b)) {
      fprintf(stderr, "BOTH WAYS DIFFER; ends %d and %d\n", status[0], status[1]);
      return 1;
    }
  }
  write_all(SOCKET, reply[0], fibers);
  return WIFEXITED(status[0]) ? WEXITSTATUS(status[0]) : 1;
}
