// SPDX-License-Identifier: MIT
// build/ferry-live [--port N] [--bind ADDRESS] [--no-open] [--site FOLDER] [PAGE], which ./ferry book --live starts.
#include "live/live.h"
#include "tool/compile/process.h"
#include "tool/print/usage.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Options {
  int port;
  const char *address, *page, *site;
  bool open;
} Options;

static int parse(int argc, char **argv, Options *o) {
  for (int i = 1; i < argc; i++) {
    const bool port = strcmp(argv[i], "--port") == 0, address = strcmp(argv[i], "--bind") == 0,
               site = strcmp(argv[i], "--site") == 0;
    char *end = NULL;
    if ((port || address || site) && i + 1 == argc)
      return usage_error("book", "%s needs a value", argv[i]);
    if (port) {
      o->port = (int)strtol(argv[++i], &end, 10);
      if (*end || end == argv[i] || o->port < 0 || o->port > 65535)
        return usage_error("book", "--port takes a number up to 65535, not %s", argv[i]);
    } else if (address) {
      o->address = argv[++i];
    } else if (site) {
      o->site = argv[++i];
    } else if (strcmp(argv[i], "--no-open") == 0) {
      o->open = false;
    } else {
      o->page = argv[i];
    }
  }
  return EXIT_PASS;
}

// As ./ferry book does. The browser is nobody's child: it stays when the server ends.
static void open_browser(const char *url) {
  const char *browser = getenv("BROWSER");
  const bool named = browser && *browser;
  if (!named && !getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
    return;
  const pid_t pid = fork();
  if (pid == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setsid();
    if (fork() != 0)
      _exit(0);
    run_instead(named ? browser : "xdg-open", url);
    _exit(127);
  }
  if (pid > 0)
    waitpid(pid, NULL, 0);
}

static void asked_to_end(Watch *watch, uint32_t events) {
  (void)watch;
  (void)events;
  loop_end();
}

static Watch watch_signals(void) {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGINT);
  sigaddset(&awaited, SIGTERM);
  sigaddset(&awaited, SIGHUP);
  sigprocmask(SIG_BLOCK, &awaited, NULL);
  signal(SIGPIPE, SIG_IGN);
  return (Watch){signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK), asked_to_end, NULL};
}

int main(int argc, char **argv) {
  Options o = {.address = "127.0.0.1", .page = "", .open = true};
  char url[512];
  for (int fd = 0; fd < 3; fd++) // a socket must not become one of these
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
      return EXIT_GRADER;
  const int status = parse(argc, argv, &o);
  if (status != EXIT_PASS)
    return status;
  site_begin(o.site);
  Watch signals = watch_signals();
  if (!course_begin())
    return EXIT_GRADER;
  struct MHD_Daemon *daemon = server_start(o.address, &o.port);
  if (!daemon)
    return EXIT_GRADER;
  guard_begin(o.address, o.port);
  loop_add(&signals, EPOLLIN);
  events_begin();
  const size_t path = strcspn(o.page, "#");
  snprintf(url, sizeof url, "http://%s:%d/%.*s?token=%s%s", guard_shown_host(), o.port, (int)path, o.page,
           guard_token(), o.page + path);
  printf("%s\nThe book is served until you press Ctrl+C.\n", url);
  fflush(stdout);
  if (o.open)
    open_browser(url);
  loop_run(daemon);
  child_wait_for_all();
  return EXIT_PASS; // what is open closes with the process
}
