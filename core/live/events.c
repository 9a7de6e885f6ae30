// SPDX-License-Identifier: MIT
// Server-sent events: a source in the workspace has changed on the disk, or the progress has. The kernel tells (inotify).
#include "live/live.h"
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { MAX_SEEN = 512, MAX_PAGES = 64, UNSENT_LIMIT = 256 << 10 };

static Stream *pages[MAX_PAGES];
static Watch changes = {.fd = -1};
static int workspace = -1, around = -1; // watches of inotify: the folder, and the one that it is in

// What was told last of each file: a change that leaves the same text is none.
static struct Seen { char name[NAME_MAX + 1], version[17]; } * seen;
static int seen_count;

// ---- to the pages ------------------------------------------------------------------------------------------------------------

static void page_gone(void *owner) {
  *(Stream **)owner = NULL;
}

static void tell(const char *text, size_t bytes) {
  for (int i = 0; i < MAX_PAGES; i++)
    if (pages[i] && stream_waiting(pages[i]) > UNSENT_LIMIT)
      stream_end(pages[i]); // its page asks again when it goes on
    else if (pages[i])
      stream_add(pages[i], text, bytes);
}

enum MHD_Result events_get(struct MHD_Connection *c) {
  static const char hello[] = "retry: 2000\n\n";
  for (int i = 0; i < MAX_PAGES; i++)
    if (!pages[i]) {
      pages[i] = stream_open(c, "text/event-stream", page_gone, &pages[i]);
      if (pages[i])
        stream_add(pages[i], hello, sizeof hello - 1);
      return pages[i] ? MHD_YES : MHD_NO;
    }
  return reply_error(c, MHD_HTTP_TOO_MANY_REQUESTS, "too many pages are open; close some");
}

void events_state(void) {
  static const char text[] = "event: state\ndata: {}\n\n";
  tell(text, sizeof text - 1);
}

// ---- from the disk -------------------------------------------------------------------------------------------------------------

static struct Seen *seen_of(const char *name) {
  for (int i = 0; i < seen_count; i++)
    if (strcmp(seen[i].name, name) == 0)
      return &seen[i];
  if (!seen)
    seen = calloc(MAX_SEEN, sizeof *seen);
  if (!seen || seen_count == MAX_SEEN)
    return NULL;
  snprintf(seen[seen_count].name, sizeof seen[0].name, "%s", name);
  return &seen[seen_count++];
}

static void source_changed(const char *name) {
  char path[NAME_MAX + 8], version[17];
  Text text = {0};
  snprintf(path, sizeof path, "work/%s", name);
  work_version(path, version);
  struct Seen *s = work_is_source(path) ? seen_of(name) : NULL;
  if (!s || strcmp(s->version, version) == 0)
    return;
  memcpy(s->version, version, sizeof version);
  text_add(&text, "event: change\ndata: {\"path\": ");
  text_json(&text, path);
  text_add(&text, ", \"version\": \"%s\"}\n\n", version);
  tell(text.at, text.used);
  text_free(&text);
}

void events_look(void) {
  if (workspace >= 0)
    return;
  workspace = inotify_add_watch(changes.fd, work_folder(),
                                IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
  if (workspace >= 0)
    events_state();
}

// What the state is made from.
static bool is_record(const char *name) {
  static const char *const records[] = {".progress", ".course", ".predictions", ".milestones"};
  for (size_t i = 0; i < sizeof records / sizeof records[0]; i++)
    if (strcmp(name, records[i]) == 0)
      return true;
  return false;
}

static void changed(const struct inotify_event *event) {
  if (event->wd == around) {
    events_look();
  } else if (event->mask & (IN_IGNORED | IN_MOVE_SELF)) {
    if (event->mask & IN_MOVE_SELF)
      inotify_rm_watch(changes.fd, event->wd);
    workspace = -1;
    events_look();
  } else if (event->len > 0 && is_record(event->name)) {
    events_state();
  } else if (event->len > 0) {
    source_changed(event->name);
  }
}

static void readable(Watch *watch, uint32_t events) {
  _Alignas(struct inotify_event) char buffer[16384];
  const ssize_t bytes = read(watch->fd, buffer, sizeof buffer);
  (void)events;
  for (ssize_t at = 0; at < bytes;) {
    const struct inotify_event *event = (const struct inotify_event *)(const void *)(buffer + at);
    changed(event);
    at += (ssize_t)(sizeof *event + event->len);
  }
}

void events_begin(void) {
  char parent[PATH_MAX];
  changes = (Watch){inotify_init1(IN_CLOEXEC | IN_NONBLOCK), readable, NULL};
  if (changes.fd < 0) {
    perror("ferry book --live: changes on the disk are not seen (inotify)");
    return;
  }
  loop_add(&changes, EPOLLIN);
  snprintf(parent, sizeof parent, "%s", work_folder());
  around = inotify_add_watch(changes.fd, dirname(parent), IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
  events_look();
}
