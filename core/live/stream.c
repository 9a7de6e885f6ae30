// SPDX-License-Identifier: MIT
// A response that comes in parts. While it has nothing to send, its connection is suspended, and libmicrohttpd does not look at it: that its
// reader has gone away is seen here.
#include "live/live.h"
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

struct Stream {
  struct MHD_Connection *connection;
  Watch reader; // the connection's socket
  char *bytes;
  size_t used, sent, room;
  bool suspended, ended, broken;
  void (*gone)(void *owner);
  void *owner;
};

static void wake(Stream *s) {
  if (s->suspended)
    MHD_resume_connection(s->connection);
  s->suspended = false;
}

static void hung_up(Watch *watch, uint32_t events) {
  Stream *s = watch->owner;
  (void)events;
  loop_remove(watch);
  s->broken = true;
  wake(s);
}

static ssize_t give(void *owner, uint64_t position, char *to, size_t most) {
  Stream *s = owner;
  (void)position;
  if (s->broken)
    return MHD_CONTENT_READER_END_WITH_ERROR;
  const size_t left = s->used - s->sent, count = left < most ? left : most;
  if (count > 0) {
    memcpy(to, s->bytes + s->sent, count);
    s->sent += count;
    return (ssize_t)count;
  }
  if (s->ended)
    return MHD_CONTENT_READER_END_OF_STREAM;
  s->used = s->sent = 0;
  s->suspended = true;
  MHD_suspend_connection(s->connection);
  return 0;
}

static void over(void *owner) {
  Stream *s = owner;
  loop_remove(&s->reader);
  if (s->gone)
    s->gone(s->owner);
  free(s->bytes);
  free(s);
}

Stream *stream_open(struct MHD_Connection *c, const char *type, void (*gone)(void *owner), void *owner) {
  Stream *s = calloc(1, sizeof *s);
  struct MHD_Response *response = s ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, give, s, over) : NULL;
  if (!response) {
    free(s);
    return NULL;
  }
  s->connection = c;
  s->reader = (Watch){MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd, hung_up, s};
  loop_add(&s->reader, EPOLLRDHUP);
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  if (reply_send(c, MHD_HTTP_OK, response) != MHD_YES)
    return NULL; // `over` has freed it
  s->gone = gone;
  s->owner = owner;
  return s;
}

void stream_add(Stream *s, const char *bytes, size_t count) {
  if (s->used + count > s->room) {
    const size_t room = 2 * (s->used + count);
    char *grown = realloc(s->bytes, room);
    s->broken |= !grown;
    s->bytes = grown ? grown : s->bytes;
    s->room = grown ? room : s->room;
  }
  if (!s->broken)
    memcpy(s->bytes + s->used, bytes, count);
  s->used += s->broken ? 0 : count;
  wake(s);
}

size_t stream_waiting(const Stream *s) {
  return s->used - s->sent;
}

void stream_end(Stream *s) {
  s->ended = true;
  wake(s);
}
