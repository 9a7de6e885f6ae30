// SPDX-License-Identifier: MIT
// The learner's editor. Some take the terminal until they end ($EDITOR); others have a window of their own, and may show the next exercise
// by themselves: --edit-cmd, or VS Code where ./ferry runs in its terminal.
#include "tool/editor.h"
#include "tool/compile/process.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *setting(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

static bool is_on_path(const char *program) {
  const char *path = setting("PATH");
  for (const char *at = path ? path : ""; *at; at += *at == ':') {
    char file[4096];
    const size_t length = strcspn(at, ":");
    snprintf(file, sizeof file, "%.*s/%s", (int)length, at, program);
    if (access(file, X_OK) == 0)
      return true;
    at += length;
  }
  return false;
}

bool editor_take_option(int *argc, char **argv, const char **command) {
  int kept = 1;
  for (int i = 1; i < *argc; i++) {
    if (strcmp(argv[i], "--edit-cmd") != 0) {
      argv[kept++] = argv[i];
      continue;
    }
    if (i + 1 == *argc || !*argv[i + 1]) {
      usage_error(argv[0], "--edit-cmd needs a command, such as 'code' or 'emacsclient -n'");
      return false;
    }
    *command = argv[++i];
  }
  argv[kept] = NULL;
  *argc = kept;
  return true;
}

const char *editor_with_window(const char *given) {
  const char *terminal = setting("TERM_PROGRAM");
  return given ? given : terminal && strcmp(terminal, "vscode") == 0 && is_on_path("code") ? "code" : NULL;
}

const char *editor_command(const char *given) {
  const char *const in_terminal = setting("VISUAL") ? setting("VISUAL") : setting("EDITOR");
  return given ? given : in_terminal ? in_terminal : editor_with_window(NULL);
}

void editor_become(const char *command, const char *file) {
  run_instead(command, file);
  perror("/bin/sh");
}

// ---- an editor beside ./ferry ------------------------------------------------------------------------------------------------

// In a process of its own: what the editor prints would be in the middle of a report, and Ctrl-C in ./ferry watch does not close it.
static void run_editor(int socket, const char *command, const char *file) {
  int status = 0;
  const pid_t pid = fork();
  if (pid == 0) {
    umask(file_mask());
    const int nothing = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && nothing >= 0; i++)
      dup2(nothing, i);
    editor_become(command, file);
    _exit(127);
  }
  if (pid < 0 || waitpid(pid, &status, 0) != pid || status == 0)
    return;
  const int code = exit_status(status);
  send(socket, &code, sizeof code, MSG_NOSIGNAL);
}

// Opens each file whose name comes, until ./ferry ends.
static void serve(int socket, const char *command) {
  char file[4096];
  ssize_t length;
  while ((length = recv(socket, file, sizeof file - 1, 0)) > 0) {
    file[length] = '\0';
    if (fork() == 0) {
      signal(SIGCHLD, SIG_DFL);
      run_editor(socket, command, file);
      _exit(0);
    }
  }
}

bool editor_begin(Editor *e, const char *command) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return false;
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();
    if (fork() == 0) { // its parent ends, so it is not below ./ferry
      close(ends[0]);
      signal(SIGCHLD, SIG_IGN);
      serve(ends[1], command);
    }
    _exit(0);
  }
  close(ends[1]);
  if (pid > 0)
    waitpid(pid, NULL, 0);
  *e = (Editor){.command = command, .socket = ends[0]};
  return pid > 0;
}

void editor_open(const Editor *e, const char *file) {
  send(e->socket, file, strlen(file), MSG_NOSIGNAL);
}

void editor_tell_failure(Editor *e) {
  int status;
  if (recv(e->socket, &status, sizeof status, 0) == (ssize_t)sizeof status)
    fprintf(stderr, "ferry watch: the editor did not open: \"%s\" ended with status %d. --edit-cmd names another.\n",
            e->command, status);
  else
    e->socket = -1; // poll() passes it over
}
