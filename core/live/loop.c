// SPDX-License-Identifier: MIT
// The loop: one epoll for everything. libmicrohttpd brings an epoll of its own, which is watched like any other descriptor.
#include "live/live.h"
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static int epoll = -1;
static bool over;

static int the_epoll(void) {
  if (epoll < 0)
    epoll = epoll_create1(EPOLL_CLOEXEC);
  return epoll;
}

void loop_add(Watch *watch, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = watch};
  epoll_ctl(the_epoll(), EPOLL_CTL_ADD, watch->fd, &event);
}

void loop_remove(Watch *watch) {
  if (watch->fd >= 0)
    epoll_ctl(the_epoll(), EPOLL_CTL_DEL, watch->fd, NULL);
  watch->fd = -1;
}

double loop_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void loop_end(void) {
  over = true;
}

static double sooner(double a, double b) {
  return a == 0 || (b != 0 && b < a) ? b : a;
}

// In milliseconds; -1: until something happens.
static int time_to_wait(struct MHD_Daemon *daemon) {
  const double next = sooner(jobs_deadline(), server_deadline()), left = next - loop_now();
  MHD_UNSIGNED_LONG_LONG wanted;
  int wait = next == 0 ? -1 : left <= 0 ? 0 : left > 60 ? 60000 : (int)(1e3 * left) + 1;
  if (MHD_get_timeout(daemon, &wanted) == MHD_YES && (wait < 0 || wanted < (MHD_UNSIGNED_LONG_LONG)wait))
    wait = (int)wanted;
  return wait;
}

static void nothing(Watch *watch, uint32_t events) {
  (void)watch;
  (void)events;
}

// One event at a time: what it does may end what another one is about.
void loop_run(struct MHD_Daemon *daemon) {
  Watch server = {.fd = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, .ready = nothing};
  loop_add(&server, EPOLLIN);
  while (!over) {
    struct epoll_event event;
    if (epoll_wait(the_epoll(), &event, 1, time_to_wait(daemon)) == 1) {
      Watch *watch = event.data.ptr;
      watch->ready(watch, event.events);
    }
    jobs_tick();
    server_tick();
    MHD_run(daemon);
  }
  loop_remove(&server);
}
